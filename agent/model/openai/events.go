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

	"github.com/piweb-go/piweb/agent/model/wire"
)

// send posts a body and returns the events of the answer. The SDK sends and does
// not read: its typed stream takes "error": null for an error.
func send(ctx context.Context, end *wire.Endpoint, sdk *openai.Client, path string, body any, cancel context.CancelCauseFunc) (*wire.Events, error) {
	watch := func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		return end.Watch(cancel, req, next)
	}
	var res *http.Response
	if err := sdk.Execute(ctx, http.MethodPost, path, body, &res, option.WithMiddleware(watch)); err != nil {
		return nil, err
	}
	if res == nil || res.Body == nil {
		return nil, errors.New("the SDK gave neither an answer nor an error")
	}
	return wire.NewEvents(res.Body), nil
}

// Event takes a chunk of the answer.
func (a *assembler) Event(e wire.Event) (more bool, err error) {
	if bytes.HasPrefix(e.Data, []byte("[DONE]")) {
		return false, nil
	}
	if e.Mark() {
		return false, a.client.StreamRefusal(e.Data)
	}
	var c openai.ChatCompletionChunk
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return false, fmt.Errorf("an event of the answer cannot be read: %w", err)
	}
	return a.chunk(c), nil
}
