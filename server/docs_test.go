package server

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCurlExamples: every curl line of docs/http-api.md, in its order, is answered as
// one that was taken.
func TestCurlExamples(t *testing.T) {
	data, err := os.ReadFile("../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, slowTalk(t))
	id, asked := "", 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(data), -1) {
		for line := range strings.Lines(block[1]) {
			if strings.HasPrefix(line, "PIWEB=") || strings.HasPrefix(line, "TOKEN=") || strings.TrimSpace(line) == "" {
				continue
			}
			line = strings.NewReplacer("$PIWEB", w.http.URL, "$TOKEN", testToken, "$ID", id, `"ID"`, `"`+id+`"`, "/home/me/project", w.project).Replace(line)
			req := curlOf(t, line)
			res, err := w.client.Do(req.WithContext(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			var answer map[string]any
			if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
				if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			_ = res.Body.Close()
			if res.StatusCode >= 300 {
				t.Errorf("%s: %d %v", line, res.StatusCode, answer)
			}
			if asked++; req.Method == "POST" && strings.HasSuffix(req.URL.Path, "/api/sessions") {
				id, _ = answer["sessionId"].(string)
			}
			if strings.HasSuffix(req.URL.Path, "/messages") {
				w.idle(id)
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d lines were found", asked)
	}
}

// curlOf is the request of a curl line. What the document does not use is not known.
func curlOf(t *testing.T, line string) *http.Request {
	t.Helper()
	words := shellWords(line)
	if len(words) == 0 || words[0] != "curl" {
		t.Fatalf("no curl line: %s", line)
	}
	method, url, body := "GET", "", ""
	header := http.Header{}
	for i := 1; i < len(words); i++ {
		next := func() string {
			if i++; i == len(words) {
				t.Fatalf("%s: %s wants a word", line, words[i-1])
			}
			return words[i]
		}
		switch word := words[i]; {
		case word == "-H":
			name, value, _ := strings.Cut(next(), ": ")
			header.Set(name, value)
		case word == "-X":
			method = next()
		case word == "--json":
			body = next()
			header.Set("Content-Type", "application/json")
			if !slices.Contains(words, "-X") {
				method = "POST"
			}
		case strings.HasPrefix(word, "http") && url == "":
			url = word
		default:
			t.Fatalf("%s: %q is not understood", line, word)
		}
	}
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	return req
}

// shellWords splits a line as a shell does, quotes and a comment at the end
// included.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	open, quote := false, rune(0)
	for _, c := range line + "\n" {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\n'):
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		case quote == 0 && !open && c == '#':
			return words
		default:
			word.WriteRune(c)
			open = true
		}
	}
	return words
}
