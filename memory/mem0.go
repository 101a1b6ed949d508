package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"
)

// mem0 is an engine behind the platform of mem0, version 3 of its API. It makes
// memories of what was said by itself, some time after an add, and takes texts alone:
// files go as their names. The user, the app and the session (its run) are members of
// its own; the project, and the names of files, stand in what it keeps as they are.
type mem0 struct{ *caller }

func newMem0(c *caller) *mem0 {
	c.scheme = "Token"
	return &mem0{c}
}

type mem0Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type mem0Metadata struct {
	Project string   `json:"project_id"`
	Session string   `json:"session_id"`
	Files   []string `json:"files,omitempty"`
}

// Add is Engine.Add.
func (m *mem0) Add(ctx context.Context, a Added) (Reply, error) {
	meta := mem0Metadata{Project: a.Scope.Project, Session: a.Session}
	var said []mem0Message
	last := int64(0)
	for i := range a.body.Messages {
		one := &a.body.Messages[i]
		text := one.text()
		if text == "" {
			continue
		}
		role := "assistant" // it knows these two
		if one.Role == "user" {
			role = "user"
		}
		said = append(said, mem0Message{role, text})
		for _, item := range one.items {
			if item.URI != "" || item.Base64 != "" {
				meta.Files = append(meta.Files, nameOf(item))
			}
		}
		last = max(last, one.at(0))
	}
	if len(said) == 0 {
		return Reply{}, invalid("the memory service takes texts, and there is none: messages")
	}
	body := map[string]any{"messages": said, "user_id": a.Scope.User, "app_id": a.Scope.App, "run_id": a.Session, "metadata": meta}
	if last > 0 {
		body["timestamp"] = last / 1000
	}
	reply, err := m.postOf(ctx, m.base+"/v3/memories/add/", body)
	if err != nil {
		return Reply{}, err
	}
	if !reply.OK() {
		return Reply{}, refused(reply)
	}
	if !gjson.ValidBytes(reply.Body) {
		return Reply{}, undocumented()
	}
	status := "accumulated" // it says PENDING: memories come later
	if gjson.GetBytes(reply.Body, "status").String() == "SUCCEEDED" {
		status = "extracted"
	}
	return envelope(map[string]any{"message_count": len(a.body.Messages), "status": status})
}

// Flush is Engine.Flush: the service has nothing that could be flushed.
func (m *mem0) Flush(context.Context, Scope, string) (Reply, error) {
	return envelope(map[string]string{"status": "no_extraction"})
}

// Health is Engine.Health.
func (m *mem0) Health(ctx context.Context) error { return m.well(ctx, m.base+"/v1/ping/") }

// Search is Engine.Search.
func (m *mem0) Search(ctx context.Context, s Scope, q Query) (Found, error) {
	f, err := q.plain()
	if err != nil {
		return Found{}, err
	}
	type field = map[string]any
	all := []field{{"user_id": s.User}, {"app_id": s.App}}
	if f.session != "" {
		all = append(all, field{"run_id": f.session})
	}
	span := map[string]string{}
	if !f.from.IsZero() {
		span["gte"] = f.from.Format(time.RFC3339)
	}
	if !f.to.IsZero() {
		span["lte"] = f.to.Format(time.RFC3339)
	}
	if len(span) > 0 {
		all = append(all, field{"created_at": span})
	}
	if s.Project != DefaultID {
		all = append(all, field{"metadata": field{"project_id": s.Project}})
	}
	reply, err := m.postOf(ctx, m.base+"/v3/memories/search/", field{"query": q.Text, "filters": field{"AND": all}, "top_k": q.topOf()})
	if err != nil {
		return Found{}, err
	}
	if !reply.OK() {
		return Found{}, refused(reply)
	}
	list := gjson.ParseBytes(reply.Body)
	if list.IsObject() {
		list = list.Get("results")
	}
	if !gjson.ValidBytes(reply.Body) || !list.IsArray() {
		return Found{}, undocumented()
	}
	found := Found{RequestID: requestID(), Results: []Item{}}
	for _, it := range list.Array() {
		if it.IsObject() {
			found.Results = append(found.Results, mem0Item(it, s))
		}
	}
	return found, nil
}

// list is the API's listing. A page is a part of its address.
func (m *mem0) list(ctx context.Context, s Scope, page, size int) ([]Item, int, error) {
	all := []any{map[string]any{"user_id": s.User}, map[string]any{"app_id": s.App}}
	if s.Project != DefaultID {
		all = append(all, map[string]any{"metadata": map[string]any{"project_id": s.Project}})
	}
	address := fmt.Sprintf("%s/v3/memories/?page=%d&page_size=%d", m.base, page, size)
	answer, err := parsed(m.postOf(ctx, address, map[string]any{"filters": map[string]any{"AND": all}}))
	if err != nil {
		return nil, 0, err
	}
	list := answer.Get("results")
	if !list.IsArray() {
		return nil, 0, undocumented()
	}
	var items []Item
	for _, it := range list.Array() {
		if it.IsObject() {
			items = append(items, mem0Item(it, s))
		}
	}
	total := answer.Get("count")
	if !total.Exists() {
		total = answer.Get("total")
	}
	return items, int(total.Int()), nil
}

// item asks for one. What does not say that it is the user's is not.
func (m *mem0) item(ctx context.Context, s Scope, id string) (Item, error) {
	reply, err := m.call(ctx, http.MethodGet, m.base+"/v1/memories/"+url.PathEscape(id)+"/", nil)
	if err == nil && (reply.Status == http.StatusNotFound || reply.Status == http.StatusBadRequest) { // 400: it is no id of theirs
		return Item{}, notFound("memory")
	}
	it, err := parsed(reply, err)
	if err != nil {
		return Item{}, err
	}
	if it.Get("id").String() != id || it.Get("user_id").String() != s.User {
		return Item{}, notFound("memory")
	}
	return mem0Item(it, s), nil
}

// drop takes one away.
func (m *mem0) drop(ctx context.Context, _ Scope, it Item) error {
	return told(m.call(ctx, http.MethodDelete, m.base+"/v1/memories/"+url.PathEscape(it.ID)+"/", nil))
}

// dropAll takes away what the service has of a user.
func (m *mem0) dropAll(ctx context.Context, user string) error {
	return told(m.call(ctx, http.MethodDelete, m.base+"/v1/memories/?"+url.Values{"user_id": {user}}.Encode(), nil))
}

// mem0Item is a memory of the service as a result. One that says nothing of a project
// was kept by another program, and belongs to the default one.
func mem0Item(it gjson.Result, s Scope) Item {
	item := Item{ID: it.Get("id").String(), Type: "episode", Score: number(it, "score"), Text: firstText(it, "memory"), Timestamp: firstText(it, "created_at", "updated_at"),
		SessionID: orNil(firstText(it, "run_id", "metadata.session_id")), Raw: json.RawMessage(it.Raw), Attachments: []File{}, app: s.App, project: DefaultID}
	if app := firstText(it, "app_id"); app != "" {
		item.app = app
	}
	if project := firstText(it, "metadata.project_id"); project != "" {
		item.project = project
	}
	return item
}
