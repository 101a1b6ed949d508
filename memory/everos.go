package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// everOS is an engine behind EverOS' HTTP API, version 2, or 1, which is alike. Bodies
// reach it as they came in.
type everOS struct {
	*caller
	api string
}

func newEverOS(c *caller) *everOS { return &everOS{c, c.prefixed("/api/v2", "/api/v1", "/api/v2")} }

// Add is Engine.Add.
func (u *everOS) Add(ctx context.Context, a Added) (Reply, error) {
	return u.post(ctx, u.api+"/memory/add", a.Body)
}

// Flush is Engine.Flush.
func (u *everOS) Flush(ctx context.Context, s Scope, session string) (Reply, error) {
	return u.postOf(ctx, u.api+"/memory/flush", map[string]string{"session_id": session, "app_id": s.App, "project_id": s.Project})
}

// Health is Engine.Health.
func (u *everOS) Health(ctx context.Context) error {
	root := strings.TrimSuffix(strings.TrimSuffix(u.api, "/api/v1"), "/api/v2")
	return u.well(ctx, root+"/health")
}

// Search is Engine.Search.
func (u *everOS) Search(ctx context.Context, s Scope, q Query) (Found, error) {
	body, err := sjson.SetBytes(bytes.Clone(q.Body), "user_id", s.User)
	if err != nil {
		return Found{}, err
	}
	reply, err := u.post(ctx, u.api+"/memory/search", body)
	if err != nil {
		return Found{}, err
	}
	if !reply.OK() {
		return Found{}, refused(reply)
	}
	if !gjson.ValidBytes(reply.Body) || !gjson.GetBytes(reply.Body, "data").IsObject() {
		return Found{}, undocumented()
	}
	found := Found{RequestID: gjson.GetBytes(reply.Body, "request_id").String(), Results: []Item{}}
	data := gjson.GetBytes(reply.Body, "data")
	for _, a := range arrays {
		for _, it := range data.Get(a.name).Array() {
			if it.IsObject() {
				found.Results = append(found.Results, itemOf(a.kind, it, s))
			}
		}
	}
	return found, nil
}

// itemOf is an item of the service as a result. What it does not say of its scope is
// that of the question.
func itemOf(kind string, it gjson.Result, s Scope) Item {
	item := Item{ID: it.Get("id").String(), Type: kind, SessionID: orNil(firstText(it, "session_id")), Score: number(it, "score"), Timestamp: it.Get("timestamp").String(),
		Text: firstText(it, "episode", "text", "summary", "task_intent", "description", "content"), Raw: json.RawMessage(it.Raw), Attachments: []File{}, app: s.App, project: s.Project}
	if app := firstText(it, "app_id"); app != "" {
		item.app = app
	}
	if project := firstText(it, "project_id"); project != "" {
		item.project = project
	}
	if parts := it.Get("content"); item.Text == "" && parts.IsArray() {
		var texts []string
		for _, p := range parts.Get("#.text").Array() {
			texts = append(texts, p.String())
		}
		item.Text = strings.Join(texts, "\n")
	}
	if item.Text == "" {
		if v := it.Get("profile_data"); v.IsObject() {
			item.Text = v.Raw
		}
	}
	return item
}
