package modeltest

import (
	"fmt"
	"io"
	"net/http"

	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/message"
)

// stream writes a step as server-sent events, the way the providers do: the role
// first, text by words, a call as its name and then fragments of its arguments,
// the finish, the usage in a chunk without choices, and the end mark.
func (chat) stream(s *sse) {
	step := s.step
	s.delta(map[string]any{"role": "assistant", "content": ""})
	for _, word := range s.step.Pieces(step.Thinking) {
		s.delta(map[string]any{"reasoning_content": word})
	}
	for _, word := range s.step.Pieces(step.FullText()) {
		s.delta(map[string]any{"content": word})
	}
	s.calls(step.ToolCalls)
	switch {
	case step.Error != nil:
		s.event(map[string]any{"error": map[string]any{
			"message": step.Error.Message, "type": "modeltest", "code": step.Error.Code, "status": step.Error.Status,
		}})
	case step.Broken():
	default:
		s.finish(step.FinishWord())
		if step.Usage != nil && s.turn.usage {
			s.usage(*step.Usage)
		}
		s.raw("[DONE]")
	}
}

// sse is one event stream under way. After the client or the handler ended, it
// writes nothing more.
type sse struct {
	h       *Handler
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	step    offline.Step
	turn    turn
	n       int // the request
	over    bool
}

func (s *sse) id() string { return fmt.Sprintf("chatcmpl-%d", s.n) }

// calls interleaves the fragments of parallel calls, so that nothing may rely on
// one call being whole before the next begins.
func (s *sse) calls(calls []offline.ToolCall) {
	fragments := make([][]string, len(calls))
	longest := 0
	for i, c := range calls {
		fragments[i] = s.step.Fragments(c.Text())
		longest = max(longest, len(fragments[i]))
		s.delta(map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": c.ID, "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": ""},
		}}})
	}
	for k := range longest {
		for i := range calls {
			if k >= len(fragments[i]) {
				continue
			}
			s.delta(map[string]any{"tool_calls": []any{map[string]any{
				"index": i, "function": map[string]any{"arguments": fragments[i][k]},
			}}})
		}
	}
}

func (s *sse) delta(d map[string]any) { s.choice(d, nil) }

func (s *sse) finish(word string) { s.choice(map[string]any{}, word) }

func (s *sse) choice(delta map[string]any, finish any) {
	s.event(map[string]any{
		"id": s.id(), "object": "chat.completion.chunk", "created": 1, "model": s.turn.model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

func (s *sse) usage(u offline.Usage) {
	prompt := u.Input + u.CacheRead + u.CacheWrite
	s.event(map[string]any{
		"id": s.id(), "object": "chat.completion.chunk", "created": 1, "model": s.turn.model,
		"choices": []any{},
		"usage": map[string]any{
			"prompt_tokens": prompt, "completion_tokens": u.Output, "total_tokens": prompt + u.Output,
			"prompt_tokens_details":     map[string]any{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
		},
	})
}

// named writes an event with a type, whose data names it too.
func (s *sse) named(v map[string]any) {
	data, err := message.Marshal(v)
	if err != nil {
		s.over = true
		return
	}
	s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", v["type"], data))
}

func (s *sse) event(v any) {
	data, err := message.Marshal(v)
	if err != nil {
		s.over = true // maps of strings and numbers always encode
		return
	}
	s.raw(string(data))
}

func (s *sse) raw(data string) { s.write("data: " + data + "\n\n") }

func (s *sse) write(text string) {
	if s.over || !s.h.pause(s.r.Context(), s.step.Delay()) {
		s.over = true
		return
	}
	select {
	case <-s.h.stop:
		s.over = true
		return
	default:
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		s.over = true
		return
	}
	if err := s.control.Flush(); err != nil {
		s.over = true
	}
}
