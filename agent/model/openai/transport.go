package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/piweb-go/piweb/agent/model"
)

// How long the client waits. There is no limit on a whole answer.
const (
	connectTimeout = 30 * time.Second
	headerTimeout  = 5 * time.Minute // pi's httpIdleTimeoutMs
	idleTimeout    = 5 * time.Minute // silence in the middle of an answer
	keepIdle       = 90 * time.Second
)

// maxErrorBody bounds what is read of a refusal, in bytes.
const maxErrorBody = 64 << 10

func newHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           dialer.DialContext,
			ForceAttemptHTTP2:     true,
			TLSHandshakeTimeout:   connectTimeout,
			ResponseHeaderTimeout: headerTimeout,
			IdleConnTimeout:       keepIdle,
			MaxIdleConnsPerHost:   8,
		},
		// A redirect would repeat the conversation at a place that nobody
		// configured; it is reported as a refusal.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// baseURL splits the address into a URL without query, and its query.
func baseURL(spec model.Spec) (*url.URL, url.Values, error) {
	text := spec.BaseURL
	if text == "" {
		text = defaultBaseURL
	}
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		// Neither the text nor the parser's error, which repeats it: it may hold
		// credentials.
		return nil, nil, fmt.Errorf("model %s: the base URL is not an http or https URL", spec.Info)
	}
	query := base.Query()
	base.RawQuery, base.Fragment = "", ""
	return base, query, nil
}

func options(spec model.Spec, base *url.URL, query url.Values, c *client) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(c.http),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", "piweb"),
	}
	// The SDK tells servers about the machine that it runs on.
	for _, name := range []string{
		"Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Retry-Count", "Timeout",
	} {
		opts = append(opts, option.WithHeaderDel("X-Stainless-"+name))
	}
	if spec.APIKey != "" {
		opts = append(opts, option.WithAPIKey(spec.APIKey))
	}
	for name, value := range spec.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	for name, values := range query {
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	return opts
}

// watch looks at each answer before the SDK reads it: what is not an event
// stream becomes a refusal, and a stream that falls silent is ended through
// cancel.
func (c *client) watch(cancel context.CancelCauseFunc) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(req)
		if err != nil {
			return nil, err
		}
		if res.StatusCode < 200 || res.StatusCode > 299 {
			return nil, c.refusal(res)
		}
		media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		if media == "text/html" || media == "application/json" {
			return nil, c.noStream(res, media)
		}
		res.Body = newWatched(res.Body, c.idle, func() {
			cancel(fmt.Errorf("%w for %v", errSilent, c.idle))
		})
		return res, nil
	}
}

var errSilent = errors.New("the provider fell silent in the middle of its answer")

// watched calls expired when one read waits longer than limit.
type watched struct {
	io.ReadCloser
	limit time.Duration
	timer *time.Timer
}

func newWatched(body io.ReadCloser, limit time.Duration, expired func()) *watched {
	timer := time.AfterFunc(limit, expired)
	timer.Stop()
	return &watched{ReadCloser: body, limit: limit, timer: timer}
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	defer w.timer.Stop()
	return w.ReadCloser.Read(p)
}

func (w *watched) Close() error {
	w.timer.Stop()
	return w.ReadCloser.Close()
}

// readRefusal reads the body of a refusal, as far as it is kept, and closes it.
func readRefusal(res *http.Response) []byte {
	defer func() { _ = res.Body.Close() }()                       // nothing depends on it any more
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // a part is better than none
	return []byte(strings.ToValidUTF8(string(body), "\ufffd"))
}
