package blob

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Sizes of oh-my-pi.
const (
	// Threshold is the length of base64, in characters, from which on it is moved
	// out. The same counts for data URLs, however oh-my-pi moves them all.
	Threshold = 1024
	// MaxText is how long a string of an entry may be, in UTF-16 units.
	MaxText = 500_000
)

// notice ends a string that was cut. oh-my-pi's own says the same and does not
// tell where the rest is.
const notice = "\n\n[Session persistence truncated large content; all of it is %s]"

// Externalize moves large pictures out of the line of an entry that is about to
// be written, and leaves references in their place; it drops fields that mean
// nothing later. The line is valid JSON; one that has nothing to move comes back
// itself. What came back is durable before the line can name it.
//
// Base64 is moved only if it comes back character for character, and blocks that
// a provider has signed are not touched. A string of more than [MaxText] units is
// cut, and the notice at its end names the blob that has all of it.
//
// On an error nothing must be written; blobs that were put until then stay, and
// nobody names them.
func (c *Contents) Externalize(ctx context.Context, line []byte) ([]byte, error) {
	if !mayMove(line) {
		return line, nil
	}
	out, err := rewrite(line, func(p place, raw []byte) ([]byte, error) {
		switch p {
		case placeTransient:
			return []byte{}, nil
		case placeImage:
			return c.moveImage(ctx, raw)
		case placeURL:
			return c.moveURL(ctx, raw)
		}
		return c.moveText(ctx, raw)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Movable tells whether a line has something that Externalize would move out.
// It changes nothing, and no blob is written.
func Movable(line []byte) bool {
	if !mayMove(line) {
		return false
	}
	found := errors.New("found")
	_, err := rewrite(line, func(p place, raw []byte) ([]byte, error) {
		switch p {
		case placeImage:
			if _, ok := canonical(raw); ok {
				return nil, found
			}
		case placeURL:
			if len(raw)-2 >= Threshold && !isRefText(raw) {
				return nil, found
			}
		case placeText:
			if len(raw) > MaxText {
				return nil, found
			}
		}
		return nil, nil
	})
	return errors.Is(err, found)
}

// mayMove is a quick look at a line: most have nothing to move.
func mayMove(line []byte) bool {
	return len(line) > Threshold || bytes.Contains(line, []byte(`"partialJson"`)) || bytes.Contains(line, []byte(`"jsonlEvents"`))
}

// canonical decodes base64 that is long enough and would come back the same.
func canonical(raw []byte) ([]byte, bool) {
	if len(raw)-2 < Threshold || isRefText(raw) {
		return nil, false
	}
	text, plain := quoted(raw)
	if !plain {
		return nil, false
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(data, text)
	if err != nil || base64.StdEncoding.EncodedLen(n) != len(text) || bytes.ContainsAny(text, "\r\n") {
		return nil, false
	}
	return data[:n], true
}

func (c *Contents) moveImage(ctx context.Context, raw []byte) ([]byte, error) {
	data, ok := canonical(raw)
	if !ok {
		return nil, nil
	}
	return c.refTo(ctx, data)
}

func (c *Contents) moveURL(ctx context.Context, raw []byte) ([]byte, error) {
	if len(raw)-2 < Threshold || isRefText(raw) {
		return nil, nil
	}
	url, err := unquote(raw)
	if err != nil || !isText(url) {
		return nil, err
	}
	return c.refTo(ctx, []byte(url)) // the text of the URL, as oh-my-pi keeps it
}

func (c *Contents) refTo(ctx context.Context, data []byte) ([]byte, error) {
	ref, err := c.Put(ctx, data, "")
	if err != nil {
		return nil, fmt.Errorf("move a picture out of the session: %w", err)
	}
	return []byte(`"` + ref.String() + `"`), nil
}

// moveText cuts a string that is too long to stand in a line.
func (c *Contents) moveText(ctx context.Context, raw []byte) ([]byte, error) {
	if len(raw)-2 <= MaxText {
		return nil, nil
	}
	text, err := unquote(raw)
	if err != nil || !isText(text) {
		return nil, err
	}
	if units(text) <= MaxText {
		return nil, nil
	}
	ref, err := c.Put(ctx, []byte(text), "")
	if err != nil {
		return nil, fmt.Errorf("move a long text out of the session: %w", err)
	}
	end := fmt.Sprintf(notice, ref)
	return marshal(cutUnits(text, MaxText-units(end)) + end)
}

// isText tells whether a string survives being written as UTF-8: half of a
// surrogate pair does not.
func isText(s string) bool { return !strings.Contains(s, "\uFFFD") }

// units counts UTF-16 units.
func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// cutUnits is the beginning of s with at most n UTF-16 units and no half
// character.
func cutUnits(s string, n int) string {
	for i, r := range s {
		if n -= utf16.RuneLen(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

func marshal(s string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// Inline is the opposite of Externalize: references at the same positions, and
// notices at the end of cut strings, are replaced by what they name. A reference
// that cannot be opened stays, and is told in missing; that is no error.
func (c *Contents) Inline(ctx context.Context, line []byte) (out []byte, missing []Ref, err error) {
	if !bytes.Contains(line, []byte(RefPrefix)) {
		return line, nil, nil
	}
	out, err = rewrite(line, func(p place, raw []byte) ([]byte, error) {
		ref, ok := named(p, raw)
		if !ok {
			return nil, nil
		}
		data, err := c.Read(ctx, ref, 0)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			missing = append(missing, ref)
			return nil, nil
		case p == placeImage:
			quote := make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))+2)
			quote = append(base64.StdEncoding.AppendEncode(append(quote, '"'), data), '"')
			return quote, nil
		}
		return marshal(string(data))
	})
	if err != nil {
		return nil, missing, err
	}
	return out, missing, nil
}

// named is the reference at a position, if there is a good one.
func named(p place, raw []byte) (Ref, bool) {
	text, _ := quoted(raw)
	switch p {
	case placeImage, placeURL:
		ref, err := ParseRef(string(text[:min(len(text), len(RefPrefix)+65)]))
		return ref, err == nil
	case placeText: // the notice at its end
		const digits = 64
		tail := len(RefPrefix) + digits + 1 // and the bracket
		if len(text) < tail || text[len(text)-1] != ']' {
			return Ref{}, false
		}
		ref, err := ParseRef(string(text[len(text)-tail : len(text)-1]))
		if err != nil {
			return Ref{}, false
		}
		end, _ := marshal(fmt.Sprintf(notice, ref))
		return ref, bytes.HasSuffix(text, end[1:len(end)-1])
	}
	return Ref{}, false
}

// Refs lists the references of a line at the positions where they count, in
// order. Text that looks like one elsewhere is text.
func Refs(line []byte) (refs []Ref) {
	if !bytes.Contains(line, []byte(RefPrefix)) {
		return nil
	}
	_, _ = rewrite(line, func(p place, raw []byte) ([]byte, error) {
		if ref, ok := named(p, raw); ok {
			refs = append(refs, ref)
		}
		return nil, nil
	})
	return refs
}

// isDataURL tells a data URL of a picture as oh-my-pi does.
func isDataURL(text []byte) bool {
	return bytes.HasPrefix(text, []byte("data:image/")) && bytes.Contains(text[:min(len(text), 200)], []byte(";base64,"))
}

// isRefText tells a JSON string that begins as a reference does.
func isRefText(raw []byte) bool { return bytes.HasPrefix(raw, []byte(`"`+RefPrefix)) }

// isSignature names the members whose value is opaque to everybody but a
// provider.
func isSignature(key string) bool {
	return key == "thinkingSignature" || key == "thoughtSignature" || key == "textSignature"
}

// indexQuote finds the first quote or backslash.
func indexQuote(b []byte) int {
	q := bytes.IndexByte(b, '"')
	if q >= 0 {
		b = b[:q]
	}
	if e := bytes.IndexByte(b, '\\'); e >= 0 {
		return e
	}
	return q
}
