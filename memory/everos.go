package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"

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

// list is the API's listing of episodes.
func (u *everOS) list(ctx context.Context, s Scope, page, size int) ([]Item, int, error) {
	return u.episodes(ctx, s, page, size, nil)
}

func (u *everOS) episodes(ctx context.Context, s Scope, page, size int, filters map[string]any) ([]Item, int, error) {
	body := map[string]any{"user_id": s.User, "app_id": s.App, "project_id": s.Project, "memory_type": "episode",
		"page": page, "page_size": size, "sort_by": "timestamp", "sort_order": "desc"}
	if filters != nil {
		body["filters"] = filters
	}
	all, err := parsed(u.postOf(ctx, u.api+"/memory/get", body))
	if err != nil {
		return nil, 0, err
	}
	list := all.Get("data.episodes")
	if !list.IsArray() {
		return nil, 0, undocumented()
	}
	var items []Item
	for _, it := range list.Array() {
		if it.IsObject() {
			items = append(items, itemOf("episode", it, s))
		}
	}
	return items, int(all.Get("data.total_count").Int()), nil
}

// dated is the day in an id that the service gives: alice_ep_20260528_00000001.
var dated = regexp.MustCompile(`_ep_([0-9]{8})_[0-9]+$`)

// item looks for an episode in the days around the one that its id names: the API has
// no question for one.
func (u *everOS) item(ctx context.Context, s Scope, id string) (Item, error) {
	var days map[string]any
	if m := dated.FindStringSubmatch(id); m != nil {
		if day, err := time.Parse("20060102", m[1]); err == nil {
			days = map[string]any{"timestamp": map[string]any{"gte": day.AddDate(0, 0, -2).UnixMilli(), "lt": day.AddDate(0, 0, 3).UnixMilli()}}
		}
	}
	return scan(id, func(page int) ([]Item, error) {
		items, _, err := u.episodes(ctx, s, page, outsidePage, days)
		return items, err
	})
}

// drop is not offered by the API.
func (u *everOS) drop(context.Context, Scope, Item) error { return errStays }

// dropAll is not offered by the API.
func (u *everOS) dropAll(context.Context, string) error { return errStays }

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
