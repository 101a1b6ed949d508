package openai

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
)

// The SDK's own constructor would read all of these.
func TestEnvironmentIsNotRead(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "env-key", "OPENAI_ADMIN_KEY": "env-admin", "OPENAI_BASE_URL": "http://127.0.0.1:1/env",
		"OPENAI_ORG_ID": "env-org", "OPENAI_PROJECT_ID": "env-project", "OPENAI_WEBHOOK_SECRET": "env-webhook",
		"OPENAI_CUSTOM_HEADERS": "X-Env: env-header", "OPENAI_LOG": "debug",
		"HTTP_PROXY": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1", "NO_PROXY": "",
	} {
		t.Setenv(name, value)
	}
	for _, c := range []struct {
		name string
		key  string
		want string
	}{
		{"with a key", "own-key", "Bearer own-key"},
		{"without a key", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := modeltest.NewServer(t, modeltest.Text("fine"))
			spec := server.Spec()
			spec.APIKey, spec.Client = c.key, nil
			m, err := New(spec)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.(*client).Close() })
			if got := modeltest.Ask(t, m, modeltest.UserRequest("hello")); got.Err != nil {
				t.Fatal(got.Err)
			}
			last, _ := server.Last()
			if got := last.Header.Get("Authorization"); got != c.want {
				t.Errorf("authorization is %q, want %q", got, c.want)
			}
			for name, values := range last.Header {
				if strings.Contains(strings.ToLower(name+strings.Join(values, " ")), "env") {
					t.Errorf("from the environment came %s: %q", name, values)
				}
			}
		})
	}
}

func TestWhatCrossesTheWire(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Text("fine"))
	spec := server.Spec()
	spec.BaseURL += "/?api-version=2&x=a%20b"
	spec.Headers = map[string]string{"X-Title": "mine", "x-api-key": "other"}
	m, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := modeltest.Ask(t, m, modeltest.UserRequest("hello")); got.Err != nil {
		t.Fatal(got.Err)
	}
	last, _ := server.Last()
	if last.Method != "POST" || last.Path != "/v1/chat/completions" || last.Query != "api-version=2&x=a+b" {
		t.Errorf("it went to %s %s?%s", last.Method, last.Path, last.Query)
	}
	want := []string{
		"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent", "X-Api-Key", "X-Title",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(last.Header))); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if got := last.Header.Get("User-Agent"); got != "piweb" {
		t.Errorf("user agent is %q", got)
	}
}

func TestHeadersOverrule(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Text("fine"))
	spec := server.Spec()
	spec.Headers = map[string]string{"Authorization": "Basic abc", "User-Agent": "mine"}
	m, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := modeltest.Ask(t, m, modeltest.UserRequest("hello")); got.Err != nil {
		t.Fatal(got.Err)
	}
	last, _ := server.Last()
	if got := last.Header.Get("Authorization") + ", " + last.Header.Get("User-Agent"); got != "Basic abc, mine" {
		t.Errorf("got %q", got)
	}
}

func TestNothingToSend(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Text("fine"))
	m, err := New(server.Spec())
	if err != nil {
		t.Fatal(err)
	}
	if got := modeltest.Ask(t, m, agent.Request{}); got.Err == nil || server.Count() != 0 {
		t.Errorf("got %+v after %d requests", got, server.Count())
	}
}

func TestOwnClientAndDefaultAddress(t *testing.T) {
	m, err := New(model.Spec{Info: agent.ModelInfo{Provider: "openai", ID: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	c := m.(*client)
	if c.Base.Host != "api.openai.com" || !c.dialect.shortIDs {
		t.Errorf("without a base URL it goes to %q", c.Base.Host)
	}
	if c.HTTP.Timeout != 0 {
		t.Errorf("a whole answer has a limit of %v", c.HTTP.Timeout)
	}
}
