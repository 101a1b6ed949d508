package server

import (
	"bytes"
	"context"
	"net/http"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/server/wire"
)

const versionHeader = "X-Pi-Protocol-Version"

type idKey struct{}

// requestID is the id that the answer carries, too.
func requestID(r *http.Request) string {
	id, _ := r.Context().Value(idKey{}).(string)
	return id
}

func withRequestID(r *http.Request, id string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), idKey{}, id))
}

// write answers with a JSON object, the protocol's version as its last member.
func write(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := message.Marshal(v)
	if err != nil || !bytes.HasSuffix(body, []byte("}")) {
		panic("server: an answer is no JSON object")
	}
	body = body[:len(body)-1]
	if len(body) > 1 {
		body = append(body, ',')
	}
	body = append(body, `"protocolVersion":"`+wire.ProtocolVersion+`"}`...)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set(versionHeader, wire.ProtocolVersion)
	sendBody(w, r, status, body)
}

// okay is the answer of what has no other.
type okay struct {
	OK bool `json:"ok"`
}
