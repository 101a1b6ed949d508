package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Kind says which API a memory service has.
type Kind string

// The kinds of services.
const (
	KindEverOS    Kind = "everos"    // EverOS, version 2; the default
	KindEverMemOS Kind = "evermemos" // the generation before it
	KindMem0      Kind = "mem0"      // the platform of mem0, version 3
)

// Kinds are all of them.
var Kinds = []Kind{KindEverOS, KindEverMemOS, KindMem0}

// UpstreamConfig says how a memory service is reached.
type UpstreamConfig struct {
	Kind    Kind          // "" for KindEverOS
	URL     string        // such as http://127.0.0.1:8000; the API's prefix is added
	Token   string        // the service's key; "" for none
	Timeout time.Duration // for one try; 0 for 30 s
	Retries int           // after the first try; 0 for 2, negative for none
	Backoff time.Duration // before the first of them, doubled each time; 0 for 200 ms
	// BreakAfter failures in a row nobody asks for the time of Rest; 0 for 5, negative
	// for never.
	BreakAfter int
	Rest       time.Duration // 0 for 30 s
	Now        func() time.Time
}

// maxUpstream is how much of an answer is read, in bytes.
const maxUpstream = 32 << 20

// NewUpstream makes the engine behind a service's HTTP API. It asks nothing yet.
func NewUpstream(cfg UpstreamConfig) (Engine, error) {
	c, err := newCaller(cfg)
	if err != nil {
		return nil, err
	}
	switch cfg.Kind {
	case "", KindEverOS:
		return newEverOS(c), nil
	case KindEverMemOS:
		return newEverMemOS(c), nil
	case KindMem0:
		return newMem0(c), nil
	}
	return nil, fmt.Errorf("there is no kind of memory service called %q; there are %v", cfg.Kind, Kinds)
}

// caller asks a service. A try is repeated only where nothing can have happened: nobody
// answered the call, or the service says that a part of it is away for the moment.
type caller struct {
	cfg     UpstreamConfig
	base    string // without a slash at its end
	scheme  string // of the key
	client  *http.Client
	breaker breaker
}

func newCaller(cfg UpstreamConfig) (*caller, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the memory service's address must be like http://host:port, without a user or a query")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.Backoff <= 0 {
		cfg.Backoff = 200 * time.Millisecond
	}
	if cfg.Rest <= 0 {
		cfg.Rest = 30 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Retries = orDefault(cfg.Retries, 2)
	cfg.BreakAfter = orDefault(cfg.BreakAfter, 5)
	dialer := &net.Dialer{Timeout: min(cfg.Timeout, 10*time.Second)}
	return &caller{cfg: cfg, base: strings.TrimRight(u.String(), "/"), scheme: "Bearer",
		breaker: breaker{after: cfg.BreakAfter, rest: cfg.Rest, now: cfg.Now},
		client: &http.Client{
			Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, ResponseHeaderTimeout: cfg.Timeout},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}, nil
}

// orDefault is a number of which 0 stands for a default, and what is negative for none.
func orDefault(n, normal int) int {
	if n == 0 {
		return normal
	}
	return max(n, 0)
}

// prefixed puts the API's prefix behind the address, where none of those is there.
func (c *caller) prefixed(prefix string, known ...string) string {
	if slices.ContainsFunc(known, func(k string) bool { return strings.HasSuffix(c.base, k) }) {
		return c.base
	}
	return c.base + prefix
}

// post sends JSON to an address.
func (c *caller) post(ctx context.Context, address string, body []byte) (Reply, error) {
	return c.call(ctx, http.MethodPost, address, body)
}

// postOf is post of a value.
func (c *caller) postOf(ctx context.Context, address string, value any) (Reply, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return Reply{}, err
	}
	return c.post(ctx, address, body)
}

// call asks, and again where nothing can have happened.
func (c *caller) call(ctx context.Context, method, address string, body []byte) (Reply, error) {
	if err := c.breaker.begin(); err != nil {
		return Reply{}, err
	}
	reply, err := c.tries(ctx, method, address, body)
	switch {
	case ctx.Err() != nil:
		c.breaker.end(takenBack)
	case err != nil || gone(reply):
		c.breaker.end(away)
	default:
		c.breaker.end(answered)
	}
	if err != nil {
		err = unreachable(err)
	}
	return reply, err
}

// gone tells whether an answer says that the service, or a part of it, is not there.
func gone(r Reply) bool {
	switch r.Status {
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusServiceUnavailable:
		return gjson.GetBytes(r.Body, "error.code").String() != "CAPABILITY_UNAVAILABLE"
	}
	return false
}

func (c *caller) tries(ctx context.Context, method, address string, body []byte) (Reply, error) {
	wait := c.cfg.Backoff
	for try := 0; ; try++ {
		reply, err := c.once(ctx, method, address, body)
		again := err != nil && unasked(err) ||
			err == nil && reply.Status == http.StatusServiceUnavailable && gjson.GetBytes(reply.Body, "error.code").String() == "EXTERNAL_SERVICE_UNAVAILABLE"
		if !again || try >= c.cfg.Retries || ctx.Err() != nil {
			return reply, err
		}
		select {
		case <-ctx.Done():
			return reply, ctx.Err()
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// unasked tells whether an error says that nobody heard the question.
func unasked(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

func (c *caller) once(ctx context.Context, method, address string, body []byte) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json")
	if c.cfg.Token != "" {
		r.Header.Set("Authorization", c.scheme+" "+c.cfg.Token)
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxUpstream+1))
	if err != nil {
		return Reply{}, err
	}
	if len(data) > maxUpstream {
		return Reply{}, fmt.Errorf("its answer is larger than %d MiB", maxUpstream>>20)
	}
	return Reply{resp.StatusCode, data}, nil
}

// well asks an address that answers 200 as long as the service is well. It asks even
// while the others rest.
func (c *caller) well(ctx context.Context, address string) error {
	reply, err := c.once(ctx, http.MethodGet, address, nil)
	if err != nil {
		return unreachable(err)
	}
	if reply.Status != http.StatusOK {
		return fmt.Errorf("%w: it says that it is not well (status %d)", ErrUnavailable, reply.Status)
	}
	return nil
}

// unreachable says that the service did not answer. Neither its address nor the key is
// told to clients.
func unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() && !unasked(err) {
		return &Error{http.StatusGatewayTimeout, "TIMEOUT", "The memory service took too long to answer. Nothing is known to be kept.", errors.Join(ErrUnavailable, err)}
	}
	cause := errors.Join(ErrUnavailable, err)
	if unasked(err) {
		cause = errors.Join(cause, errUnasked)
	}
	return &Error{http.StatusBadGateway, "UPSTREAM_UNAVAILABLE", "The memory service cannot be reached. See whether it runs, and its address in piweb.json.", cause}
}

// refused is an answer of the service that says no, in its own words.
func refused(r Reply) error {
	code, text := gjson.GetBytes(r.Body, "error.code").String(), ""
	for _, at := range []string{"error.message", "message", "detail", "error"} {
		if v := gjson.GetBytes(r.Body, at); v.Type == gjson.String && v.String() != "" {
			text = v.String()
			break
		}
	}
	if code == "" {
		code = "UPSTREAM"
	}
	if text == "" {
		text = fmt.Sprintf("The memory service refused (status %d).", r.Status)
	}
	status := r.Status
	if status < 400 || status == http.StatusUnauthorized || status == http.StatusForbidden {
		status = http.StatusBadGateway // the service refuses us, and not who asks
	}
	var cause error
	if gone(r) {
		cause = ErrUnavailable
	}
	return &Error{status, code, cut(text, 2000), cause}
}

// undocumented is an answer that is none of those that the service says it gives.
func undocumented() error {
	return &Error{http.StatusBadGateway, "BAD_UPSTREAM", "The memory service gave an answer that is none of its documented ones.", ErrUnavailable}
}

// firstText is the first of some members of an item that is a text.
func firstText(it gjson.Result, members ...string) string {
	for _, m := range members {
		if v := it.Get(m); v.Type == gjson.String && v.String() != "" {
			return v.String()
		}
	}
	return ""
}

// number is a member of an item that may be missing.
func number(it gjson.Result, member string) *float64 {
	v := it.Get(member)
	if v.Type != gjson.Number {
		return nil
	}
	n := v.Float()
	return &n
}

// orNil is a session of an item that may have none.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
