package discover

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers paths with texts and counts what it is asked.
func server(t *testing.T, answers map[string]string) (addr string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
			if r.Header.Get(name) != "" {
				t.Errorf("%s was sent", name)
			}
		}
		answer, ok := answers[r.URL.Path+string(body)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestLook(t *testing.T) {
	places := Places()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	got, err := Look(t.Context(), []Place{
		places[0].At(server(t, map[string]string{
			"/v1/models":                       `{"data":[{"id":"qwen3-vl:8b"},{"id":"old"},{"id":"old"},{"id":""}]}`,
			`/api/show{"model":"qwen3-vl:8b"}`: `{"model_info":{"general.architecture":"q","qwen3vl.context_length":262144},"capabilities":["completion","vision","tools","thinking"]}`,
		})),
		places[1].At(server(t, map[string]string{
			"/v1/models":     `{"data":[{"id":"gemma"},{"id":"other"}]}`,
			"/api/v0/models": `{"data":[{"id":"gemma","type":"vlm","max_context_length":131072,"loaded_context_length":8192},{"id":"other","type":"llm","max_context_length":4096}]}`,
		})),
		places[2].At(server(t, map[string]string{
			"/v1/models": `{"data":[{"id":"model.gguf"}]}`,
			"/props":     `{"default_generation_settings":{"n_ctx":4096},"modalities":{"vision":true}}`,
		})),
		places[3].At(server(t, map[string]string{"/v1/models": `{"data":[{"id":"big","max_model_len":32768},{"id":"odd","max_model_len":-5}]}`})),
		places[3].At(nobody),
		places[3].At(server(t, map[string]string{"/v1/models": `<html>`})),
		places[3].At(server(t, map[string]string{"/v1/models": `{"data":"none"}`})),
		places[3].At(server(t, map[string]string{"/v1/models": `{"data":["` + strings.Repeat("x", maxAnswer) + `"]}`})),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].BaseURL = got[i].BaseURL[:len("http://127.0.0.1:")]
	}
	const base = "http://127.0.0.1:"
	want := []Server{
		{"ollama", "Ollama", base, []Model{{ID: "qwen3-vl:8b", ContextWindow: 262144, Images: true, Reasoning: true}, {ID: "old"}}},
		{"lmstudio", "LM Studio", base, []Model{{ID: "gemma", ContextWindow: 8192, Images: true}, {ID: "other", ContextWindow: 4096}}},
		{"llamacpp", "llama.cpp", base, []Model{{ID: "model.gguf", ContextWindow: 4096, Images: true}}},
		{"vllm", "vLLM", base, []Model{{ID: "big", ContextWindow: 32768}, {ID: "odd"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyThisMachineIsAsked(t *testing.T) {
	for _, addr := range []string{"192.0.2.1:80", "example.com:80", "localhost:80", "0.0.0.0:80", "127.0.0.1", ""} {
		if _, err := Look(t.Context(), []Place{Places()[0].At(addr)}); !errors.Is(err, ErrNotHere) {
			t.Errorf("%q: %v", addr, err)
		}
	}
	for _, p := range Places() {
		host, _, err := net.SplitHostPort(p.Addr)
		if err != nil || !net.ParseIP(host).IsLoopback() {
			t.Errorf("%s is at %s", p.Name, p.Addr)
		}
	}
	// A redirect leads nowhere.
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer s.Close()
	got, err := Look(t.Context(), []Place{Places()[0].At(s.Listener.Addr().String())})
	if err != nil || len(got) != 0 || asked {
		t.Errorf("%v, %v, asked elsewhere: %t", got, err, asked)
	}
}

func TestASilentServerDoesNotHoldUp(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	start := time.Now()
	if got, err := Look(t.Context(), []Place{Places()[0].At(s.Listener.Addr().String())}); err != nil || len(got) != 0 || time.Since(start) > 4*patience {
		t.Errorf("%v, %v after %v", got, err, time.Since(start))
	}
}

func TestModelsJSON(t *testing.T) {
	got := string(ModelsJSON([]Server{{"ollama", "Ollama", "http://127.0.0.1:11434/v1", []Model{{ID: "q<3", ContextWindow: 4096, Images: true}, {ID: "r", Reasoning: true}}}}))
	want := `{
  "providers": {
    "ollama": {
      "baseUrl": "http://127.0.0.1:11434/v1",
      "api": "openai-completions",
      "apiKey": "none",
      "compat": {
        "supportsStore": false,
        "maxTokensField": "max_tokens"
      },
      "models": [
        {
          "id": "q<3",
          "contextWindow": 4096,
          "input": [
            "text",
            "image"
          ]
        },
        {
          "id": "r",
          "reasoning": true
        }
      ]
    }
  }
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
