package wire

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
)

// Post sends a body of JSON to a path below the endpoint, for wires whose maker's
// SDK does not fit, and returns the events of the answer.
func (e *Endpoint) Post(ctx context.Context, cancel context.CancelCauseFunc, path string, query url.Values, header http.Header, body []byte) (*Events, error) {
	to := e.Base.JoinPath(path)
	all := url.Values{}
	for _, values := range []url.Values{e.Query, query} {
		for name, v := range values {
			all[name] = append(all[name], v...)
		}
	}
	to.RawQuery = all.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "piweb")
	res, err := e.Watch(cancel, req, e.HTTP.Do)
	if err != nil {
		return nil, err
	}
	return NewEvents(res.Body), nil
}
