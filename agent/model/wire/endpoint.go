package wire

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
)

// How long a client waits. There is no limit on the time of a whole answer.
const (
	connectTimeout = 30 * time.Second
	headerTimeout  = 5 * time.Minute // pi's httpIdleTimeoutMs
	idleTimeout    = 5 * time.Minute // silence in the middle of an answer
	keepIdle       = 90 * time.Second
)

// MaxAnswer bounds what is read of one answer, in bytes as they arrive. It is far
// above what any model gives in one answer, and keeps a server that never stops
// from filling the memory.
const MaxAnswer = 64 << 20

// Endpoint is where one model is reached. It is safe for concurrent use once it
// is set up.
type Endpoint struct {
	Info  agent.ModelInfo
	Base  *url.URL   // without query and fragment
	Query url.Values // of the configured base URL, sent with every request
	HTTP  *http.Client
	Idle  time.Duration // how long an answer may be silent
	Limit int64         // bytes of one answer

	sampling map[string]json.RawMessage
	byLevel  map[string]map[string]json.RawMessage
	secrets  scrubber
	own      bool // HTTP is ours to close
}

// NewEndpoint reads where a spec points to, or takes the provider's own place. It
// opens no connection.
func NewEndpoint(spec model.Spec, otherwise string) (*Endpoint, error) {
	base, query, err := baseURL(spec, otherwise)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		Info: spec.Info, Base: base, Query: query, HTTP: spec.Client,
		Idle: idleTimeout, Limit: MaxAnswer, secrets: newScrubber(spec, base, query),
	}
	if err := e.readSampling(spec); err != nil {
		return nil, err
	}
	if e.HTTP == nil {
		e.HTTP, e.own = NewHTTPClient(), true
	}
	return e, nil
}

// Format writes the model's name, whatever the verb: an endpoint, and a client that
// embeds one, holds keys.
func (e *Endpoint) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.Info.String()) }

// MarshalJSON encodes the model's name.
func (e *Endpoint) MarshalJSON() ([]byte, error) { return json.Marshal(e.Info.String()) }

// Close ends the idle connections of the endpoint's own http.Client.
func (e *Endpoint) Close() error {
	if e.own {
		e.HTTP.CloseIdleConnections()
	}
	return nil
}

func (e *Endpoint) readSampling(spec model.Spec) error {
	object := func(raw json.RawMessage) (m map[string]json.RawMessage, err error) {
		if len(raw) > 0 && json.Unmarshal(raw, &m) != nil {
			err = fmt.Errorf("model %s: samplingParams are no JSON object", spec.Info)
		}
		return m, err
	}
	var err error
	if e.sampling, err = object(spec.Sampling); err != nil {
		return err
	}
	e.byLevel = map[string]map[string]json.RawMessage{}
	for level, raw := range spec.SamplingByLevel {
		if e.byLevel[level], err = object(raw); err != nil {
			return err
		}
	}
	return nil
}

// Sampling are the members that the configuration wants in a request, in the
// spelling of the configuration.
func (e *Endpoint) Sampling(level string) map[string]any {
	if level == "" {
		level = "off"
	}
	out := map[string]any{}
	for _, params := range []map[string]json.RawMessage{e.sampling, e.byLevel[level]} {
		for name, raw := range params {
			out[name] = raw
		}
	}
	return out
}

// NewHTTPClient returns a client with time-outs that suit models: it asks nobody
// for a proxy and follows no redirect.
func NewHTTPClient() *http.Client {
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
func baseURL(spec model.Spec, otherwise string) (*url.URL, url.Values, error) {
	text := spec.BaseURL
	if text == "" {
		text = otherwise
	}
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		// Neither the text nor the parser's error, which repeats it: it may hold
		// credentials.
		return nil, nil, fmt.Errorf("model %s: the base URL is not an http or https URL", spec.Info)
	}
	query := base.Query()
	base.RawQuery, base.Fragment = "", ""
	base.Path = strings.TrimRight(base.Path, "/")
	return base, query, nil
}

// TellingHeaders are what the SDKs of one family tell servers about the machine
// that they run on; a provider takes them out.
func TellingHeaders() []string {
	var out []string
	for _, name := range []string{
		"Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Retry-Count", "Timeout", "Helper-Method",
	} {
		out = append(out, "X-Stainless-"+name)
	}
	return out
}
