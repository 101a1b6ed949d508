package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// responses is OpenAI's newer wire. Keys and refusals are those of the older one.
type responses struct{ chat }

type responsesRequest struct {
	Model  string           `json:"model"`
	Stream bool             `json:"stream"`
	Input  []responsesItem  `json:"input"`
	Tools  *[]responsesTool `json:"tools"`
}

type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

type responsesItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	ID        string          `json:"id"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Summary   json.RawMessage `json:"summary"`
}

type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
}

func (responses) read(_ *http.Request, body []byte) (turn, error) {
	var req responsesRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return turn{}, err
	}
	return turn{model: req.Model, lastUser: req.lastUser(), usage: true, check: req.check}, nil
}

func (responses) sent(body []byte) Sent {
	var req responsesRequest
	_ = json.Unmarshal(body, &req) // what is no request says nothing
	s := Sent{HasTools: HasTools(body)}
	for _, i := range req.Input {
		if i.Role == "system" || i.Role == "developer" {
			s.Heads = append(s.Heads, []byte(partsText(i.Content)))
		}
	}
	var top struct{ Instructions *string }
	if json.Unmarshal(body, &top) == nil && top.Instructions != nil {
		s.Heads = append(s.Heads, []byte(*top.Instructions))
	}
	if req.Tools != nil {
		for _, t := range *req.Tools {
			s.Tools = append(s.Tools, t.Name)
		}
	}
	return s
}

// partsText is a content as one string, whatever its shape.
func partsText(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []responsesPart
	_ = json.Unmarshal(content, &parts) // another shape has no text
	for _, p := range parts {
		s += p.Text
	}
	return s
}

func (r responsesRequest) lastUser() string {
	for i := len(r.Input) - 1; i >= 0; i-- {
		if r.Input[i].Role == "user" {
			return partsText(r.Input[i].Content)
		}
	}
	return ""
}

func (r responsesRequest) check() error {
	switch {
	case !r.Stream:
		return errors.New("only streaming is served here: stream must be true")
	case r.Model == "":
		return errors.New("Missing required parameter: 'model'.")
	case len(r.Input) == 0:
		return errors.New("Missing required parameter: 'input'.")
	}
	if r.Tools != nil {
		if len(*r.Tools) == 0 {
			return errors.New("tools: the list is empty; leave the field out")
		}
		for i, t := range *r.Tools {
			if t.Type != "function" || !messagesName.MatchString(t.Name) || len(t.Parameters) == 0 || t.Parameters[0] != '{' {
				return fmt.Errorf("tools[%d]: not a function with a name and a schema: %q", i, t.Name)
			}
		}
	}
	open, seen := map[string]bool{}, map[string]bool{}
	for i, item := range r.Input {
		if err := item.check(open, seen); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
		if item.Type == "reasoning" && (i+1 == len(r.Input) || r.Input[i+1].ID == "" && r.Input[i+1].Type != "reasoning") {
			return fmt.Errorf("input[%d]: Item of type 'reasoning' was provided without its required following item", i)
		}
	}
	for id := range open {
		return fmt.Errorf("No tool output found for function call %s.", id)
	}
	return nil
}

func (i responsesItem) check(open, seen map[string]bool) error {
	switch i.Type {
	case "reasoning":
		if i.ID == "" || i.Encrypted == "" || len(i.Summary) == 0 {
			return errors.New("a thought without id, summary or its encrypted content")
		}
	case "function_call":
		if i.CallID == "" || len(i.CallID) > 64 || i.Name == "" || i.Arguments == nil || seen[i.CallID] {
			return fmt.Errorf("a function call without call_id, name or arguments, or with the id of another: %q", i.CallID)
		}
		if i.ID != "" && !strings.HasPrefix(i.ID, "fc") {
			return fmt.Errorf("Invalid 'id': %q. Expected an ID that begins with 'fc'.", i.ID)
		}
		open[i.CallID], seen[i.CallID] = true, true
	case "function_call_output":
		if !open[i.CallID] {
			return fmt.Errorf("No tool call found for function call output with call_id %s.", i.CallID)
		}
		delete(open, i.CallID)
		return checkParts(i.Output, "input_text", true)
	case "", "message":
		switch i.Role {
		case "user":
			return checkParts(i.Content, "input_text", true)
		case "system", "developer":
			return checkParts(i.Content, "input_text", false)
		case "assistant":
			return checkParts(i.Content, "output_text", false)
		}
		return fmt.Errorf("unknown role %q", i.Role)
	default:
		return fmt.Errorf("unknown type %q", i.Type)
	}
	return nil
}

// checkParts wants a text, or a list of texts and, where they may stand, pictures.
func checkParts(content json.RawMessage, text string, pictures bool) error {
	var s string
	if json.Unmarshal(content, &s) == nil {
		if s == "" {
			return errors.New("an empty content")
		}
		return nil
	}
	var parts []responsesPart
	if json.Unmarshal(content, &parts) != nil || len(parts) == 0 {
		return errors.New("a content that is neither a text nor a list of parts")
	}
	for _, p := range parts {
		switch {
		case p.Type == text && p.Text != "":
		case p.Type == "input_image" && pictures:
			if err := (wireMessage{Role: "user", Content: json.RawMessage(`[{"type":"image_url","image_url":{"url":` + fmt.Sprintf("%q", p.ImageURL) + `}}]`)}).checkImages(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("a part of type %q, or an empty one", p.Type)
		}
	}
	return nil
}

// stream writes a step as OpenAI does: item after item, each with its whole at the
// end, and the tokens last. Calls interleave.
func (responses) stream(s *sse) {
	id, index := fmt.Sprintf("resp_%d", s.n), 0
	s.named(map[string]any{"type": "response.created", "response": map[string]any{"id": id, "status": "in_progress"}})
	added := func(item map[string]any) {
		s.named(map[string]any{"type": "response.output_item.added", "output_index": index, "item": item})
	}
	done := func(at int, item map[string]any) {
		s.named(map[string]any{"type": "response.output_item.done", "output_index": at, "item": item})
	}
	delta := func(kind string, at int, text string) {
		s.named(map[string]any{"type": "response." + kind + ".delta", "output_index": at, "delta": text})
	}
	broken := s.step.Broken() || s.step.Error != nil
	if s.step.Thinking != "" {
		item := map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{}}
		added(item)
		for _, word := range s.step.Pieces(s.step.Thinking) {
			delta("reasoning_summary_text", index, word)
		}
		item["encrypted_content"] = "gAAA=="
		done(index, item)
		index++
	}
	if text := s.step.FullText(); text != "" {
		item := map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "content": []any{}}
		added(item)
		for _, word := range s.step.Pieces(text) {
			delta("output_text", index, word)
		}
		if !broken {
			done(index, item)
		}
		index++
	}
	first, longest := index, 0
	fragments := make([][]string, len(s.step.ToolCalls))
	for i, c := range s.step.ToolCalls {
		fragments[i] = s.step.Fragments(c.Text())
		longest = max(longest, len(fragments[i]))
		added(map[string]any{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": ""})
		index++
	}
	for k := range longest {
		for i := range fragments {
			if k < len(fragments[i]) {
				delta("function_call_arguments", first+i, fragments[i][k])
			}
		}
	}
	switch {
	case s.step.Error != nil:
		s.named(map[string]any{"type": "response.failed", "response": map[string]any{
			"id": id, "status": "failed", "error": map[string]any{"code": "server_error", "message": s.step.Error.Message},
		}})
	case broken:
	default:
		for i, c := range s.step.ToolCalls {
			done(first+i, map[string]any{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": c.Text()})
		}
		s.responseEnd(id)
	}
}

func (s *sse) responseEnd(id string) {
	response := map[string]any{"id": id, "status": "completed", "model": s.turn.model}
	kind := "response.completed"
	if word := s.step.FinishWord(); word == "length" {
		kind = "response.incomplete"
		response["status"], response["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	if u := s.step.Usage; u != nil {
		response["usage"] = map[string]any{
			"input_tokens":          u.Input + u.CacheRead + u.CacheWrite,
			"input_tokens_details":  map[string]any{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"output_tokens":         u.Output,
			"output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
		}
	}
	s.named(map[string]any{"type": kind, "response": response})
}
