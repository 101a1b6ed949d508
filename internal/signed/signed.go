// Package signed makes references that anybody may carry and only we can make: a
// name, a time at which it ends, and a signature over both. A browser without a
// cookie, a pane of another origin or a tool program can then fetch one thing for
// a while, and nothing else.
//
// The signature is the lower-case hex HMAC-SHA256 over "<name>.<milliseconds>",
// so that a reference signed by pi-web with the same secret is valid here, and the
// other way round. Secrets rotate: the first signs, every one of the list is
// accepted. Checks take the same time for every wrong signature.
//
// What may be touched here: secrets, which are never logged, never part of an
// error, and kept in a file that its owner alone can read. What a name means and
// whether the thing exists is the caller's business, and is asked after the
// signature was found good, so that a guess learns nothing. Names of different
// kinds must not look alike ("att_…" is an attachment's).
//
// Source of the rules: pi-web, "Signed URLs".
package signed

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// ErrInvalid says that a reference is missing, malformed, forged or past its
// time. It does not say which.
var ErrInvalid = errors.New("the signature is missing, wrong or past its time")

// Keys sign and check. They may be used by many goroutines and do not change.
type Keys struct{ secrets [][]byte }

// NewKeys takes the secret that signs and those that are accepted besides.
// Empty ones are an error: they would make every reference forgeable.
func NewKeys(sign string, accept ...string) (*Keys, error) {
	k := new(Keys)
	for _, s := range append([]string{sign}, accept...) {
		if s == "" {
			return nil, errors.New("signed: a secret is empty")
		}
		k.secrets = append(k.secrets, []byte(s))
	}
	return k, nil
}

// String keeps secrets out of logs.
func (k *Keys) String() string { return fmt.Sprintf("signed.Keys(%d)", len(k.secrets)) }

// GoString keeps secrets out of logs.
func (k *Keys) GoString() string { return k.String() }

// Reference is a signed, expiring name.
type Reference struct {
	Name    string
	Expires string // milliseconds since 1970, in decimal
	Sig     string // 64 lower-case hex digits
}

// Sign makes a reference to name that ends at a time.
func (k *Keys) Sign(name string, end time.Time) Reference {
	expires := strconv.FormatInt(max(0, end.UnixMilli()), 10)
	return Reference{name, expires, hex.EncodeToString(sum(k.secrets[0], name, expires))}
}

// Check returns nil if r was signed with one of the secrets and has not ended,
// else ErrInvalid. One time has one spelling: decimal digits without leading zero,
// sign, point or blank. A reference is still good in the millisecond in which it
// ends.
func (k *Keys) Check(r Reference, now time.Time) error {
	given, err := hex.DecodeString(r.Sig)
	shape := err == nil && len(given) == sha256.Size && hex.EncodeToString(given) == r.Sig
	if !shape {
		given = make([]byte, sha256.Size)
	}
	good := 0
	for _, secret := range k.secrets { // all of them, whichever fits
		good |= subtle.ConstantTimeCompare(sum(secret, r.Name, r.Expires), given)
	}
	end, ok := ParseTime(r.Expires)
	if !shape || good != 1 || !ok || now.UnixMilli() > end.UnixMilli() {
		return ErrInvalid
	}
	return nil
}

func sum(secret []byte, name, expires string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(name + "." + expires))
	return h.Sum(nil)
}

// ParseTime reads the time of a reference in its one spelling.
func ParseTime(s string) (time.Time, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(n)), true
}

// End is now plus a lifetime, held below what a page can count exactly (2⁵³ ms).
func End(now time.Time, lifetime time.Duration) time.Time {
	const most = 1 << 53
	ms := now.UnixMilli()
	if add := lifetime.Milliseconds(); add < math.MaxInt64-ms {
		ms += add
	}
	return time.UnixMilli(min(ms, most))
}
