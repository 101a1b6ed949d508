package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/piweb-go/piweb/internal/confine"
)

// maxFile bounds every configuration file. Real ones have kilobytes.
const maxFile = 8 << 20

// readFile returns the bytes of a configuration file, or nil where there is
// none. Links are followed, special files are refused without blocking.
func readFile(path, hint string) ([]byte, *Problem) {
	data, err := confine.ReadRegular(path, maxFile)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	}
	var ce *confine.Error
	why := err
	if errors.As(err, &ce) {
		why = ce.Err
	}
	return nil, &Problem{File: path, What: "it cannot be read: " + why.Error(), Hint: hint,
		Err: errors.Join(ErrUnreadable, err)}
}

// parse decodes one JSON document into maps, slices, strings, bools and
// json.Number. Of a key that is given twice the last one counts, as in
// JavaScript. A BOM is blanked, so that offsets are those of the file.
func parse(path string, data []byte, hint string) (any, *Problem) {
	text := blankBOM(data)
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var doc any
	err := dec.Decode(&doc)
	if err == nil {
		if rest := bytes.TrimLeft(text[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
			at := int64(len(text) - len(rest))
			return nil, syntaxProblem(path, data, at, errors.New("more text follows"), hint)
		}
		return doc, nil
	}
	at := dec.InputOffset()
	var se *json.SyntaxError
	if errors.As(err, &se) {
		at = max(se.Offset-1, 0)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = int64(len(data)), errors.New("it ends too early")
	}
	return nil, syntaxProblem(path, data, at, err, hint)
}

func syntaxProblem(path string, data []byte, at int64, err error, hint string) *Problem {
	p := &Problem{File: path, Offset: at, What: "it is not valid JSON: " + err.Error(), Hint: hint,
		Err: fmt.Errorf("%w: %w", ErrSyntax, err)}
	p.Line, p.Column = position(data, at)
	return p
}

// position turns a byte offset into line and column, both from 1.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(offset, int64(len(data)))]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1
}

var bom = []byte("\xef\xbb\xbf")

func blankBOM(data []byte) []byte {
	if !bytes.HasPrefix(data, bom) {
		return data
	}
	return append([]byte("   "), data[len(bom):]...)
}

// blankComments replaces what pi allows in models.json beyond JSON by spaces of
// the same length: "//" comments to the end of the line, and a comma before a
// closing bracket. Strings are left alone.
func blankComments(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1 // a comma with only space and comments behind it so far
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case c == ',':
			comma = i
		case c == ']' || c == '}':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		default:
			comma = -1
		}
	}
	return out
}
