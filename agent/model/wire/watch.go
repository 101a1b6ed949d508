package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// maxErrorBody bounds what is read of a refusal, in bytes.
const maxErrorBody = 64 << 10

// What ends an answer that a provider does not end well; match with errors.Is.
var (
	ErrSilent  = errors.New("the provider fell silent in the middle of its answer")
	ErrTooLong = errors.New("the answer is longer than any answer may be")
)

// Watch sends a request through next and looks at the answer before an SDK reads
// it: what is not an event stream becomes a refusal, a stream that falls silent
// is ended through cancel, and one that does not end is cut at the limit.
func (e *Endpoint) Watch(cancel context.CancelCauseFunc, req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, e.refusal(res)
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media == "text/html" || media == "application/json" {
		return nil, e.noStream(res, media)
	}
	res.Body = newWatched(res.Body, e.Idle, e.Limit, cancel)
	return res, nil
}

// Cause prefers the reason for which we ended a request to the error that this
// gave.
func Cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}

// watched ends a request when one read waits longer than idle, or when more than
// limit bytes came.
type watched struct {
	io.ReadCloser
	idle  time.Duration
	timer *time.Timer
	left  int64
	limit int64
	end   context.CancelCauseFunc
}

func newWatched(body io.ReadCloser, idle time.Duration, limit int64, end context.CancelCauseFunc) *watched {
	timer := time.AfterFunc(idle, func() { end(fmt.Errorf("%w for %v", ErrSilent, idle)) })
	timer.Stop()
	return &watched{ReadCloser: body, idle: idle, timer: timer, left: limit, limit: limit, end: end}
}

func (w *watched) Read(p []byte) (int, error) {
	if w.left <= 0 {
		err := fmt.Errorf("%w: %d bytes", ErrTooLong, w.limit)
		w.end(err)
		return 0, err
	}
	p = p[:min(int64(len(p)), w.left)]
	w.timer.Reset(w.idle)
	defer w.timer.Stop()
	n, err := w.ReadCloser.Read(p)
	w.left -= int64(n)
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	return w.ReadCloser.Close()
}

// readRefusal reads the body of a refusal, as far as it is kept, and closes it.
func readRefusal(res *http.Response) []byte {
	defer func() { _ = res.Body.Close() }()                       // nothing depends on it any more
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // a part is better than none
	return []byte(strings.ToValidUTF8(string(body), replacement))
}
