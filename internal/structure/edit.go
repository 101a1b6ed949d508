package structure

import (
	"bytes"
	"errors"
	"slices"
)

// ErrNoObject says that a field cannot be changed because there is no JSON object.
var ErrNoObject = errors.New("this is no JSON object")

// Set replaces the value of a key of a JSON object, or adds the field at its end;
// value is JSON. Every other byte stays as it is. A key that repeats is replaced every
// time: which one counts differs from reader to reader.
func Set(object []byte, key string, value []byte) ([]byte, error) {
	spans, err := spansOf(object, key)
	if err != nil {
		return nil, err
	}
	if len(spans) == 0 {
		return Splice(object, append(append(AppendText(nil, key), ':'), value...)), nil
	}
	out := bytes.Clone(object)
	for _, s := range slices.Backward(spans) {
		out = slices.Replace(out, s.value, s.end, value...)
	}
	return out, nil
}

// SetText is Set with a string.
func SetText(object []byte, key, text string) ([]byte, error) {
	return Set(object, key, AppendText(nil, text))
}

// Delete takes a key out of a JSON object, every time that it stands there.
func Delete(object []byte, key string) ([]byte, error) {
	spans, err := spansOf(object, key)
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(object)
	for _, s := range slices.Backward(spans) {
		from, to := s.key, s.end
		if rest := Space(out, to); out[rest] == ',' {
			to = Space(out, rest+1) // up to the next key
		} else if before := bytes.TrimRight(out[:from], " \t\r\n"); before[len(before)-1] == ',' {
			from = len(before) - 1
		}
		out = slices.Delete(out, from, to)
	}
	return out, nil
}

// Splice adds fields, as they stand between the braces of an object, at the end of a
// JSON object.
func Splice(object, fields []byte) []byte {
	body := bytes.TrimRight(object[:len(object)-1], " \t\r\n")
	out := append(make([]byte, 0, len(body)+len(fields)+2), body...)
	if body[len(body)-1] != '{' {
		out = append(out, ',')
	}
	return append(append(out, fields...), '}')
}

// span is where a field stands: its key from the quote on, its value, its end.
type span struct{ key, value, end int }

func spansOf(object []byte, key string) (spans []span, err error) {
	if len(object) == 0 || object[0] != '{' {
		return nil, ErrNoObject
	}
	end := Shape.Fields(object, 0, MaxDepth, func(k []byte, at int) int {
		end := Shape.Value(object, at, MaxDepth-1)
		if end > 0 && string(Key(k)) == key {
			before := bytes.TrimRight(object[:at], " \t\r\n:")
			spans = append(spans, span{len(before) - len(k) - 2, at, end})
		}
		return end
	})
	if end != len(object) {
		return nil, ErrNoObject
	}
	return spans, nil
}
