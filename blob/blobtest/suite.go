// Package blobtest is the suite that every blob.Store passes: what the comments
// of blob.Store promise, each as a test named after the promise. A new store is
// done when [Run] passes.
//
// Only tests import it.
package blobtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piweb-go/piweb/blob"
)

// Run tests the stores that open makes. Each call of open makes an empty one,
// which may end with the test that it is given.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, blob.Store)
	}{
		{"what was put is got", roundTrip},
		{"a put replaces", replaces},
		{"an empty object is an object", empty},
		{"nothing is not found", notFound},
		{"a seek reads from there", seeks},
		{"delete is idempotent", deletes},
		{"a list is sorted and has a prefix", lists},
		{"a list may be left", leaves},
		{"keys are checked", keys},
		{"a conditional put meets what is there", ifAbsent},
		{"of many conditional puts one succeeds", race},
		{"readers see whole objects", whole},
		{"a failed put leaves the old object", failed},
		{"a broken connection is no end", broken},
		{"a put ends with its context", cancelled},
		{"limits and announced sizes hold", limits},
		{"large objects stream", streams},
		{"a path holds the bytes", path},
		{"a presigned address fetches", presigned},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// Random returns n random bytes.
func Random(t testing.TB, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return data
}

func put(t *testing.T, s blob.Store, key string, data []byte) blob.Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, bytes.NewReader(data), blob.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Key != key || info.Size != int64(len(data)) {
		t.Fatalf("put says %+v of %q with %d bytes", info, key, len(data))
	}
	return info
}

func get(t *testing.T, s blob.Store, key string) []byte {
	t.Helper()
	o, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	data, err := io.ReadAll(o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Info.Key != key || o.Info.Size != int64(len(data)) {
		t.Fatalf("get says %+v of %q with %d bytes", o.Info, key, len(data))
	}
	return data
}

func want(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("the error is %v, not %v", err, target)
	}
}

func gone(t *testing.T, s blob.Store, key string) {
	t.Helper()
	if _, err := s.Stat(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
		t.Fatalf("%q is there: %v", key, err)
	}
	if got := list(t, s, ""); len(got) != 0 {
		t.Fatalf("the store holds %q", got)
	}
}

func list(t *testing.T, s blob.Store, prefix string) (keys []string) {
	t.Helper()
	for info, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func roundTrip(t *testing.T, s blob.Store) {
	for _, key := range []string{"a", "att_AbC-_09", "att_x.att.json", strings.Repeat("k", blob.MaxKey)} {
		data := Random(t, 70_000)
		put(t, s, key, data)
		if !bytes.Equal(get(t, s, key), data) {
			t.Fatalf("%q: other bytes", key)
		}
		info, err := s.Stat(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if info.Key != key || info.Size != int64(len(data)) || time.Since(info.ModTime).Abs() > time.Hour {
			t.Fatalf("stat says %+v", info)
		}
	}
}

func replaces(t *testing.T, s blob.Store) {
	put(t, s, "k", []byte("a long first object"))
	put(t, s, "k", []byte("second"))
	if got := get(t, s, "k"); string(got) != "second" {
		t.Fatalf("got %q", got)
	}
	if got := list(t, s, ""); !slices.Equal(got, []string{"k"}) {
		t.Fatalf("the store holds %q", got)
	}
}

func empty(t *testing.T, s blob.Store) {
	put(t, s, "k", nil)
	if got := get(t, s, "k"); len(got) != 0 {
		t.Fatalf("got %q", got)
	}
}

func notFound(t *testing.T, s blob.Store) {
	_, err := s.Get(t.Context(), "k")
	want(t, err, blob.ErrNotFound)
	_, err = s.Stat(t.Context(), "k")
	want(t, err, blob.ErrNotFound)
	var e *blob.Error
	if !errors.As(err, &e) || e.Key != "k" || e.Op != "stat" {
		t.Fatalf("the error does not say what was asked for: %v", err)
	}
	gone(t, s, "k")
}

func seeks(t *testing.T, s blob.Store) {
	data := Random(t, 300_000)
	put(t, s, "k", data)
	o, err := s.Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if end, err := o.Seek(0, io.SeekEnd); err != nil || end != int64(len(data)) {
		t.Fatalf("the end is at %d: %v", end, err)
	}
	for _, at := range []int64{250_000, 0, 299_999} {
		if _, err := o.Seek(at, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		part := make([]byte, min(1000, len(data)-int(at)))
		if _, err := io.ReadFull(o, part); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(part, data[at:int(at)+len(part)]) {
			t.Fatalf("other bytes at %d", at)
		}
	}
}

func deletes(t *testing.T, s blob.Store) {
	put(t, s, "k", []byte("x"))
	for range 2 {
		if err := s.Delete(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		gone(t, s, "k")
	}
}

func lists(t *testing.T, s blob.Store) {
	if got := list(t, s, ""); len(got) != 0 {
		t.Fatalf("an empty store holds %q", got)
	}
	all := []string{"Z", "_1", "a.1", "a.10", "a.2", "a_", "b"}
	for _, key := range []string{"b", "a.2", "_1", "a.10", "Z", "a.1", "a_"} {
		put(t, s, key, []byte(key))
	}
	if got := list(t, s, ""); !slices.Equal(got, all) {
		t.Fatalf("listed %q", got)
	}
	if got := list(t, s, "a."); !slices.Equal(got, []string{"a.1", "a.10", "a.2"}) {
		t.Fatalf("listed %q", got)
	}
	if got := list(t, s, "c"); len(got) != 0 {
		t.Fatalf("listed %q", got)
	}
}

func leaves(t *testing.T, s blob.Store) {
	put(t, s, "a", nil)
	put(t, s, "b", nil)
	n := 0
	for range s.List(t.Context(), "") {
		n++
		break
	}
	if n != 1 {
		t.Fatalf("%d steps", n)
	}
}

// Keys that no store may take.
var hostile = []string{
	"", ".", "..", "../k", "a/b", "/etc/passwd", `a\b`, `..\k`, "a\x00b", "a\nb", "é", "a b", ".hidden", "-rf",
	"a.", "a:b", "a*b", "k%2e%2e", strings.Repeat("k", blob.MaxKey+1),
}

func keys(t *testing.T, s blob.Store) {
	for _, key := range hostile {
		_, err := s.Put(t.Context(), key, strings.NewReader("x"), blob.PutOptions{})
		want(t, err, blob.ErrKey)
		_, err = s.Get(t.Context(), key)
		want(t, err, blob.ErrKey)
		_, err = s.Stat(t.Context(), key)
		want(t, err, blob.ErrKey)
		want(t, s.Delete(t.Context(), key), blob.ErrKey)
		if l, ok := s.(blob.Local); ok {
			_, err = l.Path(t.Context(), key)
			want(t, err, blob.ErrKey)
		}
		if p, ok := s.(blob.Presigner); ok {
			_, err = p.Presign(t.Context(), key, time.Minute)
			want(t, err, blob.ErrKey)
		}
	}
	gone(t, s, "k")
}

func ifAbsent(t *testing.T, s blob.Store) {
	only := blob.PutOptions{IfAbsent: true}
	if _, err := s.Put(t.Context(), "k", strings.NewReader("first"), only); err != nil {
		t.Fatal(err)
	}
	_, err := s.Put(t.Context(), "k", strings.NewReader("second"), only)
	want(t, err, blob.ErrExists)
	if got := get(t, s, "k"); string(got) != "first" {
		t.Fatalf("got %q", got)
	}
}

func race(t *testing.T, s blob.Store) {
	const n = 12
	var won atomic.Int64
	winner := make([]bool, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, err := s.Put(t.Context(), "k", strings.NewReader(fmt.Sprint(i)), blob.PutOptions{IfAbsent: true})
			switch {
			case err == nil:
				won.Add(1)
				winner[i] = true
			case !errors.Is(err, blob.ErrExists):
				t.Errorf("put %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d puts succeeded", won.Load())
	}
	if got := string(get(t, s, "k")); got != fmt.Sprint(slices.Index(winner, true)) {
		t.Fatalf("the object is of put %s, which was told that it lost", got)
	}
}

// whole replaces one object by others of other lengths under the eyes of readers.
func whole(t *testing.T, s blob.Store) {
	object := func(i int) []byte {
		data := bytes.Repeat([]byte{byte(i)}, 100_000+i*1000)
		sum := sha256.Sum256(data)
		return append(data, sum[:]...)
	}
	put(t, s, "k", object(0))
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				o, err := s.Get(t.Context(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				data, err := io.ReadAll(o)
				o.Close()
				if err != nil {
					t.Error(err)
					return
				}
				body := data[:max(0, len(data)-sha256.Size)]
				if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[len(body):]) {
					t.Errorf("a torn read of %d bytes", len(data))
					return
				}
			}
		})
	}
	for w := range 4 {
		writers.Go(func() {
			for i := range 8 {
				if _, err := s.Put(t.Context(), "k", bytes.NewReader(object(w*8+i)), blob.PutOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

var errReader = errors.New("the reader failed")

// failing yields data and then err.
func failing(data []byte, err error) io.Reader {
	return io.MultiReader(bytes.NewReader(data), readerFunc(func([]byte) (int, error) { return 0, err }))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func failed(t *testing.T, s blob.Store) {
	_, err := s.Put(t.Context(), "k", failing(Random(t, 400_000), errReader), blob.PutOptions{})
	want(t, err, errReader)
	gone(t, s, "k")
	put(t, s, "k", []byte("old"))
	_, err = s.Put(t.Context(), "k", failing([]byte("new"), errReader), blob.PutOptions{})
	want(t, err, errReader)
	if got := get(t, s, "k"); string(got) != "old" {
		t.Fatalf("got %q", got)
	}
}

func broken(t *testing.T, s blob.Store) {
	_, err := s.Put(t.Context(), "k", failing([]byte("half"), io.ErrUnexpectedEOF), blob.PutOptions{})
	want(t, err, io.ErrUnexpectedEOF)
	gone(t, s, "k")
}

func cancelled(t *testing.T, s blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	r := readerFunc(func(p []byte) (int, error) {
		if n++; n == 20 {
			cancel()
		}
		return len(p), nil // without end
	})
	_, err := s.Put(ctx, "k", r, blob.PutOptions{})
	want(t, err, context.Canceled)
	gone(t, s, "k")
	_, err = s.Put(ctx, "k", strings.NewReader("x"), blob.PutOptions{})
	want(t, err, context.Canceled)
	gone(t, s, "k")
}

func limits(t *testing.T, s blob.Store) {
	data := Random(t, 300_000)
	size := int64(len(data))
	for _, test := range []struct {
		name string
		opts blob.PutOptions
		want error
	}{
		{"exactly the limit", blob.PutOptions{Limit: size}, nil},
		{"one over the limit", blob.PutOptions{Limit: size - 1}, blob.ErrTooBig},
		{"as announced", blob.PutOptions{Size: size}, nil},
		{"more than announced", blob.PutOptions{Size: size - 1}, blob.ErrSize},
		{"fewer than announced", blob.PutOptions{Size: size + 1}, blob.ErrSize},
	} {
		_, err := s.Put(t.Context(), "k", bytes.NewReader(data), test.opts)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: the error is %v, not %v", test.name, err, test.want)
		}
		if test.want == nil {
			if !bytes.Equal(get(t, s, "k"), data) {
				t.Errorf("%s: other bytes", test.name)
			}
			if err := s.Delete(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
		}
		gone(t, s, "k")
	}
}

// streams puts an object that a store which sends in parts sends in several, from
// a reader whose length nobody can know.
func streams(t *testing.T, s blob.Store) {
	const size = 20 << 20
	data := Random(t, size)
	_, err := s.Put(t.Context(), "k", struct{ io.Reader }{bytes.NewReader(data)}, blob.PutOptions{ContentType: "application/x-test"})
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	sum := sha256.New()
	if n, err := io.Copy(sum, o); err != nil || n != size {
		t.Fatalf("%d bytes: %v", n, err)
	}
	if expect := sha256.Sum256(data); !bytes.Equal(sum.Sum(nil), expect[:]) {
		t.Fatal("other bytes")
	}
}

func path(t *testing.T, s blob.Store) {
	l, ok := s.(blob.Local)
	if !ok {
		return // not what this store can do
	}
	_, err := l.Path(t.Context(), "k")
	want(t, err, blob.ErrNotFound)
	put(t, s, "k", []byte("x"))
	name, err := l.Path(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if data := readFile(t, name); string(data) != "x" {
		t.Fatalf("%s holds %q", name, data)
	}
}

func presigned(t *testing.T, s blob.Store) {
	p, ok := s.(blob.Presigner)
	if !ok {
		return // not what this store can do
	}
	data := Random(t, 5000)
	if _, err := s.Put(t.Context(), "k", bytes.NewReader(data), blob.PutOptions{ContentType: "image/png"}); err != nil {
		t.Fatal(err)
	}
	address, err := p.Presign(t.Context(), "k", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !bytes.Equal(body, data) || resp.Header.Get("Content-Type") != "image/png" {
		t.Fatalf("%s with %d bytes of %s", resp.Status, len(body), resp.Header.Get("Content-Type"))
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
