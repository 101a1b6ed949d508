package memory

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// everMemOS is an engine behind the HTTP API of EverOS' generation before: messages go
// to /memories, a search is a question by its address. It knows neither apps nor
// projects, so only the default ones can be used.
type everMemOS struct {
	*caller
	api string
}

func newEverMemOS(c *caller) *everMemOS {
	return &everMemOS{c, c.prefixed("/api/v1", "/api/v1")}
}

func (u *everMemOS) check(s Scope) error {
	if s.App != DefaultID || s.Project != DefaultID {
		return invalid("the memory service knows neither apps nor projects: leave app_id and project_id out")
	}
	return nil
}

// Add is Engine.Add. The messages go as they came in.
func (u *everMemOS) Add(ctx context.Context, a Added) (Reply, error) {
	if err := u.check(a.Scope); err != nil {
		return Reply{}, err
	}
	return u.tell(ctx, "/memories", a.Scope, map[string]any{"session_id": a.Session, "messages": json.RawMessage(gjson.GetBytes(a.Body, "messages").Raw)}, len(a.body.Messages))
}

// Flush is Engine.Flush.
func (u *everMemOS) Flush(ctx context.Context, s Scope, session string) (Reply, error) {
	if err := u.check(s); err != nil {
		return Reply{}, err
	}
	return u.tell(ctx, "/memories/flush", s, map[string]any{"session_id": session}, 0)
}

// tell sends something, and gives the answer the form of the generation after.
func (u *everMemOS) tell(ctx context.Context, path string, s Scope, body map[string]any, messages int) (Reply, error) {
	body["user_id"] = s.User
	reply, err := u.postOf(ctx, u.api+path, body)
	if err != nil {
		return Reply{}, err
	}
	if !reply.OK() {
		return Reply{}, refused(reply)
	}
	if !gjson.ValidBytes(reply.Body) {
		return Reply{}, undocumented()
	}
	all := gjson.ParseBytes(reply.Body)
	status := firstText(all, "data.status", "result.status_info", "result.status")
	if messages == 0 {
		if status != "extracted" {
			status = "no_extraction"
		}
		return envelope(map[string]string{"status": status})
	}
	if status != "extracted" {
		status = "accumulated"
	}
	return envelope(map[string]any{"message_count": messages, "status": status})
}

// Health is Engine.Health.
func (u *everMemOS) Health(ctx context.Context) error {
	return u.well(ctx, strings.TrimSuffix(u.api, "/api/v1")+"/health")
}

// Search is Engine.Search.
func (u *everMemOS) Search(ctx context.Context, s Scope, q Query) (Found, error) {
	if err := u.check(s); err != nil {
		return Found{}, err
	}
	f, err := q.plain()
	if err != nil {
		return Found{}, err
	}
	ask := url.Values{"user_id": {s.User}, "query": {q.Text}, "retrieve_method": {q.Method}, "top_k": {strconv.Itoa(q.topOf())}}
	for name, at := range map[string]int64{"start_time": f.from.UnixMilli(), "end_time": f.to.UnixMilli()} {
		if at > 0 {
			ask.Set(name, strconv.FormatInt(at, 10))
		}
	}
	if f.session != "" {
		ask.Set("session_id", f.session)
	}
	reply, err := u.call(ctx, http.MethodGet, u.api+"/memories/search?"+ask.Encode(), nil)
	if err != nil {
		return Found{}, err
	}
	if !reply.OK() {
		return Found{}, refused(reply)
	}
	all := gjson.ParseBytes(reply.Body)
	data := all.Get("result")
	if !data.IsObject() {
		data = all.Get("data")
	}
	if !gjson.ValidBytes(reply.Body) || !data.Get("memories").IsArray() {
		return Found{}, undocumented()
	}
	found := Found{RequestID: firstText(all, "request_id"), Results: []Item{}}
	if found.RequestID == "" {
		found.RequestID = requestID()
	}
	add := func(kind, member string) {
		for n, it := range data.Get(member).Array() {
			grouped(it, data.Get("scores."+strconv.Itoa(n)), func(group string, it gjson.Result, score *float64) {
				item := everMemOSItem(kind, it, group, s)
				if item.Score == nil && kind != "message" {
					item.Score = score
				}
				// It may know nothing of sessions in a search: then what is not of the one
				// that was asked for is left out here.
				if f.session == "" || item.SessionID != nil && *item.SessionID == f.session {
					found.Results = append(found.Results, item)
				}
			})
		}
	}
	add("episode", "memories")
	if f.session != "" { // as with the generation after
		add("message", "pending_messages")
	}
	return found, nil
}

// list asks as the generation of the search does, and as the one after it where that
// is not known: a page by its address, or by a body.
func (u *everMemOS) list(ctx context.Context, s Scope, page, size int) ([]Item, int, error) {
	if err := u.check(s); err != nil {
		return nil, 0, err
	}
	const kind = "episodic_memory"
	ask := url.Values{"user_id": {s.User}, "memory_type": {kind}, "limit": {strconv.Itoa(size)}, "offset": {strconv.Itoa((page - 1) * size)}}
	reply, err := u.call(ctx, http.MethodGet, u.api+"/memories?"+ask.Encode(), nil)
	if err == nil && reply.Status == http.StatusMethodNotAllowed {
		reply, err = u.postOf(ctx, u.api+"/memories/get", map[string]any{"memory_type": kind, "filters": map[string]string{"user_id": s.User},
			"page": page, "page_size": size, "rank_by": "timestamp", "rank_order": "desc"})
	}
	all, err := parsed(reply, err)
	if err != nil {
		return nil, 0, err
	}
	data := all.Get("result")
	if !data.IsObject() {
		data = all.Get("data")
	}
	list := data.Get("memories")
	if !list.IsArray() {
		list = data.Get("episodes")
	}
	if !list.IsArray() {
		return nil, 0, undocumented()
	}
	var items []Item
	for _, it := range list.Array() {
		if it.IsObject() {
			items = append(items, everMemOSItem("episode", it, "", s))
		}
	}
	return items, int(data.Get("total_count").Int()), nil
}

// item pages through the memories: the API has no question for one.
func (u *everMemOS) item(ctx context.Context, s Scope, id string) (Item, error) {
	return scan(id, func(page int) ([]Item, error) {
		items, _, err := u.list(ctx, s, page, outsidePage)
		return items, err
	})
}

// drop takes one away, in the form of either generation. The first goes by the
// event's id and the user's; the other takes the memory's id alone.
func (u *everMemOS) drop(ctx context.Context, s Scope, it Item) error {
	event := gjson.GetBytes(it.Raw, "event_id").String()
	if event == "" {
		event = it.ID
	}
	return u.deleted(ctx, map[string]string{"event_id": event, "user_id": s.User}, map[string]string{"memory_id": it.ID})
}

// dropAll takes away what the service has of a user.
func (u *everMemOS) dropAll(ctx context.Context, user string) error {
	of := map[string]string{"user_id": user}
	return u.deleted(ctx, of, of)
}

func (u *everMemOS) deleted(ctx context.Context, filter, later map[string]string) error {
	body, err := json.Marshal(filter)
	if err != nil {
		return err
	}
	reply, err := u.call(ctx, http.MethodDelete, u.api+"/memories", body)
	if err == nil && reply.Status == http.StatusMethodNotAllowed {
		reply, err = u.postOf(ctx, u.api+"/memories/delete", later)
	}
	return told(reply, err)
}

// grouped gives the items of one element of a list: it is one itself, or has lists of
// them by the group that they stand in, with their scores beside it in the same form.
func grouped(it, scores gjson.Result, each func(group string, it gjson.Result, score *float64)) {
	if !it.IsObject() {
		return
	}
	if it.Get("id").Exists() || it.Get("content").Exists() || it.Get("episode").Exists() || it.Get("summary").Exists() {
		each("", it, nil)
		return
	}
	it.ForEach(func(group, list gjson.Result) bool {
		if !list.IsArray() {
			return true
		}
		var beside []gjson.Result
		scores.ForEach(func(name, v gjson.Result) bool {
			if name.String() == group.String() {
				beside = v.Array()
			}
			return true
		})
		for n, one := range list.Array() {
			var score *float64
			if n < len(beside) && beside[n].Type == gjson.Number {
				v := beside[n].Float()
				score = &v
			}
			if one.IsObject() {
				each(group.String(), one, score)
			}
		}
		return true
	})
}

func everMemOSItem(kind string, it gjson.Result, group string, s Scope) Item {
	session := firstText(it, "session_id", "group_id")
	if session == "" {
		session = group
	}
	text := firstText(it, "episode", "text", "summary", "content", "subject")
	return Item{ID: firstText(it, "id", "memory_id", "event_id", "message_id"), Type: kind, SessionID: orNil(session), Score: number(it, "score"), Text: text,
		Timestamp: firstText(it, "timestamp", "created_at"), Raw: json.RawMessage(it.Raw), Attachments: []File{}, app: s.App, project: s.Project}
}
