package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// RefPrefix starts every content reference.
const RefPrefix = "blob:sha256:"

// Ref names bytes by their SHA-256. It is small, can be compared and used as a
// key of a map; the zero Ref names nothing.
type Ref struct{ sum [sha256.Size]byte }

// RefOf returns the reference of data.
func RefOf(data []byte) Ref { return Ref{sha256.Sum256(data)} }

// ParseRef reads a reference exactly as it is written: RefPrefix and 64 lower-case
// hex digits, nothing around them. That is the form in session files; everything
// else there is text that happens to look similar.
func ParseRef(s string) (Ref, error) {
	digits, ok := strings.CutPrefix(s, RefPrefix)
	if !ok {
		return Ref{}, fmt.Errorf("blob: %q is no content reference: it does not start with %s", clip(s), RefPrefix)
	}
	return ParseHash(digits)
}

// ParseHash reads the 64 lower-case hex digits behind the prefix, which are also
// the name of the file.
func ParseHash(digits string) (Ref, error) {
	var r Ref
	if len(digits) != hex.EncodedLen(len(r.sum)) || strings.ToLower(digits) != digits {
		return Ref{}, fmt.Errorf("blob: %q is no SHA-256 in 64 lower-case hex digits", clip(digits))
	}
	if _, err := hex.Decode(r.sum[:], []byte(digits)); err != nil {
		return Ref{}, fmt.Errorf("blob: %q is no SHA-256 in 64 lower-case hex digits", clip(digits))
	}
	return r, nil
}

// ParseRefLoose reads a reference as a person may have typed or pasted it: blanks
// around it, upper-case digits, no prefix, or the extension of a sidecar behind
// it. It is for command lines and addresses, never for session files.
func ParseRefLoose(s string) (Ref, error) {
	digits := strings.TrimSpace(s)
	if len(digits) >= len(RefPrefix) && strings.EqualFold(digits[:len(RefPrefix)], RefPrefix) {
		digits = digits[len(RefPrefix):]
	}
	if name, ext, ok := strings.Cut(digits, "."); ok && cleanExt(ext) != "" {
		digits = name
	}
	return ParseHash(strings.ToLower(digits))
}

// IsRef tells whether s starts like a reference, which is how oh-my-pi tells
// references from base64. ParseRef decides whether it is one.
func IsRef(s string) bool { return strings.HasPrefix(s, RefPrefix) }

// Hash returns the 64 hex digits.
func (r Ref) Hash() string { return hex.EncodeToString(r.sum[:]) }

// Sum returns the 32 bytes of the hash.
func (r Ref) Sum() [sha256.Size]byte { return r.sum }

// IsZero tells whether r names nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// String returns the reference as it is written, and "" for the zero Ref.
func (r Ref) String() string {
	if r.IsZero() {
		return ""
	}
	return RefPrefix + r.Hash()
}

// MarshalText writes the reference.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (r *Ref) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*r = Ref{}
		return nil
	}
	*r, err = ParseRef(string(text))
	return err
}

// clip shortens what an error quotes.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// ParseSidecar reads the name of a sidecar, "<hash>.<extension>".
func ParseSidecar(name string) (r Ref, ext string, ok bool) {
	digits, ext, found := strings.Cut(name, ".")
	if !found || cleanExt(ext) != ext || ext == "" {
		return Ref{}, "", false
	}
	r, err := ParseHash(digits)
	return r, ext, err == nil
}

// ExtOf returns the extension that the sidecar of a picture has, and "" for
// other types. Source: oh-my-pi, "Blob store".
func ExtOf(mimeType string) string {
	kind, sub, _ := strings.Cut(strings.ToLower(strings.TrimSpace(mimeType)), "/")
	if kind != "image" {
		return ""
	}
	sub, _, _ = strings.Cut(sub, ";")
	sub, _, _ = strings.Cut(sub, "+")
	if sub = strings.TrimSpace(sub); sub == "jpeg" {
		sub = "jpg"
	}
	return cleanExt(sub)
}

// cleanExt returns an extension as a sidecar has it, without the dot, or "".
func cleanExt(ext string) string {
	ext = strings.ToLower(strings.TrimPrefix(ext, "."))
	if ext == "" || len(ext) > 32 {
		return ""
	}
	for i := range len(ext) {
		c := ext[i]
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return ""
		}
	}
	return ext
}
