package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/piweb-go/piweb/agent/model/offline"
)

// generate is Google's wire.
type generate struct{}

type generateRequest struct {
	System   *generateContent  `json:"systemInstruction"`
	Contents []generateContent `json:"contents"`
	Tools    *[]struct {
		Functions []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`

	model string
}

type generateContent struct {
	Role  string         `json:"role"`
	Parts []generatePart `json:"parts"`
}

type generatePart struct {
	Text    *string `json:"text"`
	Thought bool    `json:"thought"`
	Inline  *struct {
		MimeType string `json:"mimeType"`
		Data     string `json:"data"`
	} `json:"inlineData"`
	Call *struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		Name     string         `json:"name"`
		Response map[string]any `json:"response"`
		Parts    []generatePart `json:"parts"`
	} `json:"functionResponse"`
	Signature string `json:"thoughtSignature"`
}

func (generate) read(r *http.Request, body []byte) (turn, error) {
	var req generateRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return turn{}, err
	}
	req.model = strings.TrimSuffix(path.Base(r.URL.Path), ":streamGenerateContent")
	check := func() error {
		if r.URL.Query().Get("alt") != "sse" {
			return errors.New("only events are served here: alt must be sse")
		}
		return req.check()
	}
	return turn{model: req.model, lastUser: req.lastUser(), usage: true, check: check}, nil
}

func (generate) key(r *http.Request) string { return r.Header.Get("X-Goog-Api-Key") }

func (generate) refuse(w http.ResponseWriter, status int, message, code, retryAfter string) {
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{"code": status, "message": message, "status": strings.ToUpper(code)}})
}

func (generate) sent(body []byte) Sent {
	var req generateRequest
	_ = json.Unmarshal(body, &req) // what is no request says nothing
	var s Sent
	if req.System != nil {
		s.Heads = append(s.Heads, []byte(req.System.text()))
	}
	if req.Tools != nil {
		s.HasTools = true
		for _, t := range *req.Tools {
			for _, f := range t.Functions {
				s.Tools = append(s.Tools, f.Name)
			}
		}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil && fields["toolConfig"] != nil {
		s.HasTools = true
	}
	return s
}

func (c generateContent) text() string {
	var b strings.Builder
	for _, p := range c.Parts {
		if p.Text != nil {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}

func (r generateRequest) lastUser() string {
	for i := len(r.Contents) - 1; i >= 0; i-- {
		if text := r.Contents[i].text(); r.Contents[i].Role == "user" && text != "" {
			return text
		}
	}
	return ""
}

var generateName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

func (r generateRequest) check() error {
	if len(r.Contents) == 0 {
		return errors.New("contents is not specified")
	}
	if r.Contents[0].Role != "user" {
		return errors.New("the first content must be of the user")
	}
	if r.Tools != nil {
		for _, t := range *r.Tools {
			if len(t.Functions) == 0 {
				return errors.New("tools: a set without functions; leave the field out")
			}
			for _, f := range t.Functions {
				if !generateName.MatchString(f.Name) || len(f.Schema) == 0 || f.Schema[0] != '{' {
					return fmt.Errorf("tools: not a function with a name and a schema: %q", f.Name)
				}
			}
		}
	}
	open := 0 // calls that wait for their results
	for i, c := range r.Contents {
		if c.Role != "user" && c.Role != "model" || len(c.Parts) == 0 {
			return fmt.Errorf("contents[%d]: role %q with %d parts", i, c.Role, len(c.Parts))
		}
		calls, results := 0, 0
		for k, p := range c.Parts {
			if err := p.check(c.Role, strings.Contains(r.model, "gemini-3")); err != nil {
				return fmt.Errorf("contents[%d].parts[%d]: %w", i, k, err)
			}
			if p.Call != nil {
				calls++
			}
			if p.Response != nil {
				results++
			}
		}
		if results != open {
			return fmt.Errorf("contents[%d]: the number of function response parts is to equal the number of function call parts: %d and %d", i, results, open)
		}
		open = calls
	}
	if open > 0 {
		return errors.New("contents: the last function calls have no responses")
	}
	return nil
}

func (p generatePart) check(role string, third bool) error {
	switch {
	case p.Signature != "" && role != "model":
		return errors.New("a signature of a user")
	case p.Text != nil:
		if *p.Text == "" {
			return errors.New("an empty text")
		}
	case p.Inline != nil:
		if data, err := base64.StdEncoding.DecodeString(p.Inline.Data); err != nil || len(data) == 0 || !strings.HasPrefix(p.Inline.MimeType, "image/") {
			return fmt.Errorf("inlineData of the type %q cannot be read", p.Inline.MimeType)
		}
	case p.Call != nil:
		if role != "model" || !generateName.MatchString(p.Call.Name) || len(p.Call.Args) == 0 || p.Call.Args[0] != '{' {
			return errors.New("a function call without name or args")
		}
		if third && p.Signature == "" {
			return errors.New("a function call is missing a thought_signature")
		}
	case p.Response != nil:
		if role != "user" || p.Response.Name == "" || len(p.Response.Response) == 0 || len(p.Response.Parts) > 0 && !third {
			return errors.New("a function response without name or response, or with parts that this model does not take")
		}
	default:
		return errors.New("a part that says nothing")
	}
	return nil
}

// stream writes a step as Google does: chunks of parts, calls whole, and the end
// with the tokens. What is no JSON cannot be an argument here: it is sent as the
// text that it is.
func (generate) stream(s *sse) {
	chunk := func(part map[string]any) {
		s.event(s.generated([]any{part}, ""))
	}
	for _, word := range s.step.Pieces(s.step.Thinking) {
		chunk(map[string]any{"text": word, "thought": true})
	}
	for _, word := range s.step.Pieces(s.step.FullText()) {
		chunk(map[string]any{"text": word})
	}
	for _, c := range s.step.ToolCalls {
		var args any = json.RawMessage(c.Text())
		if !json.Valid([]byte(c.Text())) {
			args = c.Text()
		}
		chunk(map[string]any{"functionCall": map[string]any{"id": c.ID, "name": c.Name, "args": args}, "thoughtSignature": "c2ln"})
	}
	switch {
	case s.step.Error != nil:
		s.event(map[string]any{"error": map[string]any{"code": s.step.Error.Status, "message": s.step.Error.Message, "status": "UNAVAILABLE"}})
	case s.step.Broken():
	default:
		last := s.generated([]any{}, generateWord(s.step))
		if u := s.step.Usage; u != nil {
			last["usageMetadata"] = map[string]any{
				"promptTokenCount": u.Input + u.CacheRead, "cachedContentTokenCount": u.CacheRead,
				"candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning,
			}
		}
		s.event(last)
	}
}

func (s *sse) generated(parts []any, finish string) map[string]any {
	c := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	if finish != "" {
		c["finishReason"] = finish
	}
	return map[string]any{"candidates": []any{c}, "responseId": fmt.Sprintf("r%d", s.n), "modelVersion": s.turn.model}
}

func generateWord(step offline.Step) string {
	switch word := step.FinishWord(); word {
	case "stop", "tool_calls":
		return "STOP"
	case "length":
		return "MAX_TOKENS"
	default:
		return word
	}
}
