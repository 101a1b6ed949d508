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
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// UpstreamConfig says how a memory service with EverOS' API is reached.
type UpstreamConfig struct {
	URL     string        // such as http://127.0.0.1:8000; the API's prefix is added
	Token   string        // sent as bearer; "" for none
	Timeout time.Duration // for one try; 0 for 30 s
	Retries int           // after the first try; 0 for 2, negative for none
	Backoff time.Duration // before the first of them, doubled each time; 0 for 200 ms
}

// maxUpstream is how much of an answer is read, in bytes.
const maxUpstream = 32 << 20

// Upstream is an engine behind EverOS' HTTP API, version 2. A try is repeated only
// where nothing can have happened: nobody answered the call, or the service says
// that a part of it is away for the moment.
type Upstream struct {
	cfg    UpstreamConfig
	base   string
	client *http.Client
}

// NewUpstream makes the engine. It asks nothing yet.
func NewUpstream(cfg UpstreamConfig) (*Upstream, error) {
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
	switch {
	case cfg.Retries == 0:
		cfg.Retries = 2
	case cfg.Retries < 0:
		cfg.Retries = 0
	}
	base := strings.TrimRight(u.String(), "/")
	if !strings.HasSuffix(base, "/api/v1") && !strings.HasSuffix(base, "/api/v2") {
		base += "/api/v2"
	}
	dialer := &net.Dialer{Timeout: min(cfg.Timeout, 10*time.Second)}
	return &Upstream{cfg, base, &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, ResponseHeaderTimeout: cfg.Timeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Add is Engine.Add.
func (u *Upstream) Add(ctx context.Context, a Added) (Reply, error) {
	return u.post(ctx, "/memory/add", a.Body)
}

// Flush is Engine.Flush.
func (u *Upstream) Flush(ctx context.Context, s Scope, session string) (Reply, error) {
	body, err := json.Marshal(map[string]string{"session_id": session, "app_id": s.App, "project_id": s.Project})
	if err != nil {
		return Reply{}, err
	}
	return u.post(ctx, "/memory/flush", body)
}

// Drop is Engine.Drop: the service offers no such thing.
func (u *Upstream) Drop(context.Context, Scope, string) error { return ErrUpstream }

// Health is Engine.Health.
func (u *Upstream) Health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.Timeout)
	defer cancel()
	root := strings.TrimSuffix(strings.TrimSuffix(u.base, "/api/v1"), "/api/v2")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, root+"/health", nil)
	if err != nil {
		return err
	}
	resp, err := u.client.Do(r)
	if err != nil {
		return u.away(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: it says that it is not well (status %d)", ErrUnavailable, resp.StatusCode)
	}
	return nil
}

// Search is Engine.Search.
func (u *Upstream) Search(ctx context.Context, s Scope, q Query) (Found, error) {
	body, err := sjson.SetBytes(bytes.Clone(q.Body), "user_id", s.User)
	if err != nil {
		return Found{}, err
	}
	reply, err := u.post(ctx, "/memory/search", body)
	if err != nil {
		return Found{}, err
	}
	if !reply.OK() {
		return Found{}, refused(reply)
	}
	if !gjson.ValidBytes(reply.Body) || !gjson.GetBytes(reply.Body, "data").IsObject() {
		return Found{}, &Error{http.StatusBadGateway, "BAD_UPSTREAM", "The memory service gave an answer that is none of its documented ones.", ErrUnavailable}
	}
	found := Found{RequestID: gjson.GetBytes(reply.Body, "request_id").String(), Results: []Item{}}
	data := gjson.GetBytes(reply.Body, "data")
	for _, a := range arrays {
		for _, it := range data.Get(a.name).Array() {
			if it.IsObject() {
				found.Results = append(found.Results, itemOf(a.kind, it, s))
			}
		}
	}
	return found, nil
}

// itemOf is an item of the service as a result. What it does not say of its scope is
// that of the question.
func itemOf(kind string, it gjson.Result, s Scope) Item {
	item := Item{ID: it.Get("id").String(), Type: kind, Timestamp: it.Get("timestamp").String(), Raw: json.RawMessage(it.Raw), Attachments: []File{}, app: s.App, project: s.Project}
	if v := it.Get("session_id"); v.Type == gjson.String {
		id := v.String()
		item.SessionID = &id
	}
	if v := it.Get("score"); v.Type == gjson.Number {
		n := v.Float()
		item.Score = &n
	}
	if v := it.Get("app_id"); v.Type == gjson.String {
		item.app = v.String()
	}
	if v := it.Get("project_id"); v.Type == gjson.String {
		item.project = v.String()
	}
	for _, key := range []string{"episode", "text", "summary", "task_intent", "description", "content"} {
		if v := it.Get(key); v.Type == gjson.String && v.String() != "" {
			item.Text = v.String()
			break
		}
	}
	if parts := it.Get("content"); item.Text == "" && parts.IsArray() {
		var texts []string
		for _, p := range parts.Get("#.text").Array() {
			texts = append(texts, p.String())
		}
		item.Text = strings.Join(texts, "\n")
	}
	if item.Text == "" {
		if v := it.Get("profile_data"); v.IsObject() {
			item.Text = v.Raw
		}
	}
	return item
}

// refused is an answer of the service that says no, in its own words.
func refused(r Reply) error {
	code, text := gjson.GetBytes(r.Body, "error.code").String(), gjson.GetBytes(r.Body, "error.message").String()
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
	return &Error{status, code, cut(text, 2000), nil}
}

// post asks once, and again where nothing can have happened.
func (u *Upstream) post(ctx context.Context, path string, body []byte) (Reply, error) {
	wait := u.cfg.Backoff
	for try := 0; ; try++ {
		reply, err := u.once(ctx, path, body)
		var dial *net.OpError
		again := err != nil && errors.As(err, &dial) && dial.Op == "dial" ||
			err == nil && reply.Status == http.StatusServiceUnavailable && gjson.GetBytes(reply.Body, "error.code").String() == "EXTERNAL_SERVICE_UNAVAILABLE"
		if !again || try >= u.cfg.Retries || ctx.Err() != nil {
			if err != nil {
				err = u.away(err)
			}
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

func (u *Upstream) once(ctx context.Context, path string, body []byte) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.base+path, bytes.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if u.cfg.Token != "" {
		r.Header.Set("Authorization", "Bearer "+u.cfg.Token)
	}
	resp, err := u.client.Do(r)
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

// away says that the service did not answer. Neither its address nor the key is told
// to clients.
func (u *Upstream) away(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &Error{http.StatusGatewayTimeout, "TIMEOUT", "The memory service took too long to answer. Nothing is known to be kept.", errors.Join(ErrUnavailable, err)}
	}
	return &Error{http.StatusBadGateway, "UPSTREAM_UNAVAILABLE", "The memory service cannot be reached. See whether it runs, and its address in piweb.json.", errors.Join(ErrUnavailable, err)}
}
