package server

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// leastGzip is the size from which an answer is worth compressing, in bytes.
const leastGzip = 1024

// acceptsGzip tells whether a client takes gzip: by name or by "*", and not with a
// quality of 0.
func acceptsGzip(r *http.Request) bool {
	all := false
	for _, item := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(item, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "gzip" && name != "*" {
			continue
		}
		takes := true
		if key, q, ok := strings.Cut(strings.TrimSpace(params), "="); ok && strings.EqualFold(strings.TrimSpace(key), "q") {
			n, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			takes = err == nil && n > 0
		}
		if name == "gzip" {
			return takes
		}
		all = takes
	}
	return all
}

var gzips = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is a valid one
	return z
}}

// sendBody sends a body that is there as a whole, compressed where that is worth
// it and the client takes it.
func sendBody(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	if len(body) < leastGzip || !acceptsGzip(r) {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // a client that left is no news
		}
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	z, _ := gzips.Get().(*gzip.Writer)
	z.Reset(w)
	_, _ = z.Write(body)
	_ = z.Close()
	z.Reset(io.Discard)
	gzips.Put(z)
}
