package signed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

func keys(t testing.TB, sign string, accept ...string) *Keys {
	t.Helper()
	k, err := NewKeys(sign, accept...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestVector holds the signature against one computed by another program:
//
//	printf %s 'att_AAAAAAAAAAAAAAAAAAAAAA.1800000000000' | openssl dgst -sha256 -hmac 'secret'
func TestVector(t *testing.T) {
	r := keys(t, "secret").Sign("att_AAAAAAAAAAAAAAAAAAAAAA", time.UnixMilli(1_800_000_000_000))
	const want = "6f931ca8e2e656533035b2f2f46947822a975627db51acbc1570a39b66720739"
	if r.Expires != "1800000000000" || r.Sig != want {
		t.Errorf("signed %+v", r)
	}
}

func TestCheck(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	k := keys(t, "new", "old")
	good := k.Sign("att_x", now.Add(time.Second))
	with := func(change func(*Reference)) Reference {
		r := good
		change(&r)
		return r
	}
	respelled := func(exp string) Reference { // signed by one who has the secret, or found a way
		r := good
		r.Expires = exp
		r.Sig = fmt.Sprintf("%x", sum([]byte("new"), r.Name, exp))
		return r
	}
	for _, test := range []struct {
		name string
		ref  Reference
		ok   bool
	}{
		{"valid", good, true},
		{"signed with the old secret", keys(t, "old").Sign("att_x", now.Add(time.Second)), true},
		{"signed with another secret", keys(t, "other").Sign("att_x", now.Add(time.Second)), false},
		{"in its last millisecond", k.Sign("att_x", now), true},
		{"expired", k.Sign("att_x", now.Add(-time.Millisecond)), false},
		{"before 1970", k.Sign("att_x", time.UnixMilli(-5)), false},
		{"another name", with(func(r *Reference) { r.Name = "att_y" }), false},
		{"another time", with(func(r *Reference) { r.Expires = "1001001" }), false},
		{"the point moved", with(func(r *Reference) { r.Name, r.Expires = "att_x.1", "001000" }), false},
		{"no signature", with(func(r *Reference) { r.Sig = "" }), false},
		{"short", with(func(r *Reference) { r.Sig = r.Sig[:62] }), false},
		{"long", with(func(r *Reference) { r.Sig += "00" }), false},
		{"no hex", with(func(r *Reference) { r.Sig = "zz" + r.Sig[2:] }), false},
		{"upper case", with(func(r *Reference) { r.Sig = strings.ToUpper(r.Sig) }), false},
		{"one digit off", with(func(r *Reference) { r.Sig = flip(r.Sig) }), false},
		{"zeros", with(func(r *Reference) { r.Sig = strings.Repeat("0", 64) }), false},
		{"no time", respelled(""), false},
		{"blank", respelled(" 1001000 "), false},
		{"point", respelled("1001000.0"), false},
		{"hex", respelled("0xF4628"), false},
		{"exponent", respelled("1e15"), false},
		{"plus", respelled("+1001000"), false},
		{"minus", respelled("-1"), false},
		{"leading zero", respelled("01001000"), false},
		{"beyond all numbers", respelled("99999999999999999999"), false},
		{"NaN", respelled("NaN"), false},
		{"in canonical spelling", respelled("1001000"), true},
	} {
		if err := k.Check(test.ref, now); (err == nil) != test.ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func flip(s string) string {
	last := "0"
	if strings.HasSuffix(s, "0") {
		last = "1"
	}
	return s[:len(s)-1] + last
}

func TestKeysAreNotPrinted(t *testing.T) {
	k := keys(t, "swordfish")
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(format, k); strings.Contains(s, "swordfish") || strings.Contains(s, "115") {
			t.Errorf("%s prints %s", format, s)
		}
	}
	if _, err := NewKeys("a", ""); err == nil {
		t.Error("an empty secret was taken")
	}
}

func TestEnd(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	if got := End(now, time.Hour); !got.Equal(now.Add(time.Hour)) {
		t.Errorf("an hour ends at %v", got)
	}
	if got := End(now, 1<<63-1); got.UnixMilli() > 1<<53 || got.Before(now) {
		t.Errorf("for ever ends at %v", got)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new folder", "secret")
	now := time.Now()
	sigs := make([]Reference, 8)
	var wg sync.WaitGroup
	for i := range sigs {
		wg.Go(func() {
			k, err := Load(durable.OS{}, path)
			if err != nil {
				t.Error(err)
				return
			}
			sigs[i] = k.Sign("x", now)
		})
	}
	wg.Wait()
	for _, r := range sigs {
		if r != sigs[0] {
			t.Fatal("processes that start together have different secrets")
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
	// Rotation by hand: the new line signs, the old one is still accepted.
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte("fresh\n\n"), old...), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := Load(durable.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Check(sigs[0], now); err != nil {
		t.Error("the old reference is dead:", err)
	}
	if k.Sign("x", now) == sigs[0] {
		t.Error("the old secret still signs")
	}
}

type noLinks struct{ durable.OS }

func (noLinks) Link(string, string) error { return syscall.EPERM }

func TestLoadWithoutHardLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	a, err := Load(noLinks{}, path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Load(noLinks{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if now := time.Now(); a.Sign("x", now) != b.Sign("x", now) {
		t.Error("the secret did not survive")
	}
}

func TestLoadRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(" \n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(durable.OS{}, path); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("a file without secret: %v", err)
	}
	if _, err := Load(durable.OS{}, filepath.Dir(path)); err == nil {
		t.Error("a folder was taken")
	}
}

func FuzzCheck(f *testing.F) {
	k, _ := NewKeys("secret")
	now := time.UnixMilli(1000)
	good := k.Sign("att_x", now)
	f.Add(good.Name, good.Expires, good.Sig)
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, name, exp, sig string) {
		r := Reference{name, exp, sig}
		if k.Check(r, now) == nil {
			end, _ := ParseTime(exp)
			if k.Sign(name, end) != r {
				t.Errorf("%+v was taken and not signed", r)
			}
		}
	})
}
