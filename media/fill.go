package media

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/piweb-go/piweb/message"
)

// refPrefix begins a picture's data that stands elsewhere.
const refPrefix = "blob:"

// IsRef tells whether the data of an image block is a reference, good or bad.
func IsRef(data string) bool { return strings.HasPrefix(data, refPrefix) }

// evictBatch is how many pictures give way together once more than that many
// must: the beginning of a request changes seldom then, and stays in the
// provider's cache.
const evictBatch = 4

// fill decides for each picture what goes out, the newest first.
func (p *Placer) fill(ctx context.Context, slots []*slot, eyes Eyes) error {
	b := eyes.Budget
	count, total, out := 0, 0, 0 // out is how many of the oldest have to give way
	made := map[memoKey]*slot{}  // one picture that stands in many places is opened and held once
	for i := len(slots) - 1; i >= 0 && out == 0; i-- {
		s := slots[i]
		if err := p.prepare(ctx, s, eyes, made); err != nil {
			return err
		}
		if s.send == nil {
			continue
		}
		if b.Pictures > 0 && count+1 > b.Pictures || b.Base64 > 0 && total+len(s.send.Data) > b.Base64 {
			out = i + 1
			break
		}
		count, total = count+1, total+len(s.send.Data)
	}
	if out > evictBatch {
		for more := (out + evictBatch - 1) / evictBatch * evictBatch; out < more && out < len(slots) && !slots[out].fresh; {
			out++
		}
	}
	for _, s := range slots[:out] {
		s.crowd()
	}
	if b.Many > 0 && count > b.Many {
		return p.shrink(ctx, slots[out:], b.ManySide)
	}
	return nil
}

// crowd says that a picture had to give way.
func (s *slot) crowd() {
	s.send = nil
	if s.result != nil && s.attachment.Path != "" {
		s.instead = words(proseCrowded, "{what}", s.what())
	} else {
		s.instead = words(proseCrowdedUser, "{what}", s.what())
	}
}

// shrink bounds pictures that are too wide to stand beside many others.
func (p *Placer) shrink(ctx context.Context, slots []*slot, side int) error {
	made := map[*message.Block]*slot{}
	for _, s := range slots {
		if s.send == nil || s.width <= side && s.height <= side {
			continue
		}
		if same := made[s.send]; same != nil {
			s.send, s.width, s.height = same.send, same.width, same.height
		} else {
			data, err := base64.StdEncoding.DecodeString(s.send.Data)
			if err != nil {
				return err // it was clean
			}
			wide := s.send
			if err := p.bounded(ctx, s, data); err != nil {
				return err
			}
			if s.send != nil {
				made[wide] = s
			}
		}
		if s.send != nil && (s.width > side || s.height > side) {
			s.crowd()
		}
	}
	return nil
}

// prepare decides whether a picture can go out, and as what.
func (p *Placer) prepare(ctx context.Context, s *slot, eyes Eyes, made map[memoKey]*slot) error {
	text := s.data.Data
	key := p.Admitter.memo.key(text)
	s.key = key.String()
	switch {
	case p.Withheld != nil && p.Withheld(s.key):
		s.instead = words(proseRefused, "{what}", s.what())
		return nil
	case s.result != nil && eyes.Delivery == None:
		s.instead = words(proseBlindOlder, "{what}", s.what())
		return nil
	}
	if same := made[key]; same != nil && same.data.Data == text {
		s.send, s.width, s.height = same.send, same.width, same.height
		return nil
	}
	defer func() {
		if s.send != nil {
			made[key] = s
		}
	}()
	j, known := p.Admitter.memo.get(key)
	if known && j.refused != nil {
		s.unfit(j.refused)
		return nil
	}
	if known && !j.again && !IsRef(text) && j.within(len(text), eyes.Budget) {
		s.goes(j, text)
		return nil
	}
	data, ok, err := p.bytes(ctx, s)
	if err != nil || !ok {
		return err
	}
	if !known {
		if j, err = p.Admitter.judge(ctx, data, s.attachment.SHA256); err != nil {
			return err
		}
		clean := IsRef(text) || base64Len(len(data)) == len(text) && base64.StdEncoding.EncodeToString(data) == text
		j.again = j.again || !clean && j.refused == nil
		p.Admitter.memo.put(key, j)
	}
	switch {
	case j.refused != nil:
		s.unfit(j.refused)
	case j.again, !j.within(base64Len(len(data)), eyes.Budget):
		return p.again(ctx, s, j, data, eyes.Budget)
	case IsRef(text):
		s.goes(j, base64.StdEncoding.EncodeToString(data))
	default:
		s.goes(j, text)
	}
	return nil
}

// again sends what cannot go out as it stands: encoded anew, or bounded.
func (p *Placer) again(ctx context.Context, s *slot, j judgement, data []byte, b Budget) error {
	if !j.bound {
		if clean := cleanAs(j.mime, data); j.within(base64Len(len(clean)), b) {
			s.goes(j, base64.StdEncoding.EncodeToString(clean))
			return nil
		}
	}
	if err := p.bounded(ctx, s, data); err != nil {
		return err
	}
	if s.send != nil && b.Each > 0 && len(s.send.Data) > b.Each {
		s.unfit(&Error{Problem: TooLarge, Size: int64(len(data)), Limit: int64(b.Each) / 4 * 3})
	}
	return nil
}

// bounded sends the picture as it would be stored.
func (p *Placer) bounded(ctx context.Context, s *slot, data []byte) error {
	a, err := p.Admitter.admit(ctx, data)
	if err != nil {
		if refused, ok := errors.AsType[*Error](err); ok {
			s.unfit(refused)
			return nil
		}
		return err
	}
	s.goes(judgement{mime: a.MIME, width: a.Width, height: a.Height}, base64.StdEncoding.EncodeToString(a.Data))
	return nil
}

func (s *slot) goes(j judgement, data string) {
	block := message.Image(j.mime, data)
	s.send, s.width, s.height = &block, j.width, j.height
}

func (s *slot) unfit(why *Error) {
	s.send = nil
	s.instead = UnfitNote(why.Error(), s.what())
}

// UnfitNote is what stands for a picture that cannot go out.
func UnfitNote(why, what string) string { return words(proseUnfit, "{why}", why, "{what}", what) }

// within tells whether a picture may go out with its size.
func (j judgement) within(chars int, b Budget) bool {
	return (b.Each <= 0 || chars <= b.Each) && (b.Side <= 0 || j.width <= b.Side && j.height <= b.Side)
}

// bytes gives the picture's file. ok is false where there is none; the slot says
// why then.
func (p *Placer) bytes(ctx context.Context, s *slot) (data []byte, ok bool, err error) {
	if IsRef(s.data.Data) {
		if p.Open != nil {
			if data, err = p.Open(ctx, s.data.Data); err == nil {
				return data, true, nil
			}
			if ctx.Err() != nil {
				return nil, false, ctx.Err()
			}
		}
		s.instead = words(proseMissing, "{what}", s.what()) // and not remembered: it may come back
		return nil, false, nil
	}
	if data, ok = Decode(s.data.Data); !ok {
		s.unfit(&Error{Problem: NotReadable})
	}
	return data, ok, nil
}

// Decode reads the base64 of a picture as other writers have it: with line breaks, without
// padding, behind the head of a data URL. Anything else that does not belong is
// an error: what is missing in the middle of a picture cannot be guessed.
func Decode(text string) ([]byte, bool) {
	if data, err := base64.StdEncoding.DecodeString(text); err == nil {
		return data, true // line breaks are passed over
	}
	if strings.HasPrefix(text, "data:") {
		_, rest, found := strings.Cut(text, ";base64,")
		if !found {
			return nil, false
		}
		text = rest
	}
	text = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\r', '\n':
			return -1
		}
		return r
	}, text)
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return data, err == nil
}

// judge looks at a picture as it stands in a session. What carries the hash that
// we gave it at its admission was decoded then; anything else is decoded now.
func (a *Admitter) judge(ctx context.Context, data []byte, sum string) (judgement, error) {
	if n := int64(len(data)); n > a.limits.Input {
		return judgement{refused: &Error{Problem: TooLarge, Size: n, Limit: a.limits.Input}}, nil
	}
	h, err := look(data, a.limits)
	if refused, ok := errors.AsType[*Error](err); ok {
		return judgement{refused: refused}, nil
	}
	if err != nil {
		return judgement{}, err
	}
	j := judgement{mime: h.mime, width: h.width, height: h.height}
	own := sha256.Sum256(data)
	if hex.EncodeToString(own[:]) == sum {
		return j, nil
	}
	if err := a.enter(ctx); err != nil {
		return judgement{}, err
	}
	defer a.leave()
	if _, err := decode(ctx, data, h); err != nil {
		if refused, ok := errors.AsType[*Error](err); ok {
			return judgement{refused: refused}, nil
		}
		return judgement{}, err
	}
	j.bound = h.mime == GIF || h.animated || h.deep || h.cmyk || h.orientation != 1
	j.again = j.bound || !bytes.Equal(cleanAs(h.mime, data), data)
	return j, nil
}
