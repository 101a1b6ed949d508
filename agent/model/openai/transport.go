package openai

import (
	"github.com/openai/openai-go/v3/option"

	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/wire"
)

// options tell the SDK where to send and what not to do.
func options(spec model.Spec, end *wire.Endpoint) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(end.Base.String()),
		option.WithHTTPClient(end.HTTP),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", "piweb"),
	}
	for _, name := range wire.TellingHeaders() {
		opts = append(opts, option.WithHeaderDel(name))
	}
	if spec.APIKey != "" {
		opts = append(opts, option.WithAPIKey(spec.APIKey))
	}
	for name, value := range spec.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	for name, values := range end.Query {
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	return opts
}
