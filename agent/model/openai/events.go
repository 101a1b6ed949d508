package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/tidwall/gjson"
)

// events are the server-sent events of one answer. The zero value has none.
type events struct{ decoder ssestream.Decoder }

// send posts a body and returns its events. They are to be closed, also after an
// error.
func (c *client) send(ctx context.Context, body openai.ChatCompletionNewParams, watch option.Middleware) (events, error) {
	var res *http.Response
	if err := c.sdk.Execute(ctx, http.MethodPost, "chat/completions", body, &res, option.WithMiddleware(watch)); err != nil {
		return events{}, err
	}
	if res == nil || res.Body == nil {
		return events{}, errors.New("the SDK gave neither an answer nor an error")
	}
	return events{decoder: ssestream.NewDecoder(res)}, nil
}

// next reads the next event, and is false after the last one.
func (e events) next() bool {
	return e.decoder.Next() && !bytes.HasPrefix(e.decoder.Event().Data, []byte("[DONE]"))
}

func (e events) event() ssestream.Event { return e.decoder.Event() }

func (e events) err() error {
	if e.decoder == nil {
		return nil
	}
	return e.decoder.Err()
}

func (e events) close() {
	if e.decoder != nil {
		_ = e.decoder.Close() // what was wanted of it was read
	}
}

// event takes one event of the answer. It is false after the listener left. The
// error is the provider's, or tells that the event cannot be read.
func (a *assembler) event(e ssestream.Event) (more bool, err error) {
	if isError(e) {
		return true, a.client.streamRefusal(e.Data)
	}
	var c openai.ChatCompletionChunk
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return true, fmt.Errorf("an event of the answer cannot be read: %w", err)
	}
	return a.chunk(c), nil
}

// isError says that an event tells of a failure. Servers that send an empty
// error with every chunk mean none.
func isError(e ssestream.Event) bool {
	if e.Type == "error" {
		return true
	}
	switch r := gjson.GetBytes(e.Data, "error"); r.Type {
	case gjson.Null, gjson.False:
		return false
	case gjson.String:
		return r.Str != ""
	case gjson.Number:
		return r.Num != 0
	default:
		return r.Raw != "{}" && r.Raw != "[]"
	}
}
