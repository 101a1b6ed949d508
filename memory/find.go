package memory

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// searchBody is the body of a search, as far as it is looked at.
type searchBody struct {
	UserID  *string         `json:"user_id"`
	AgentID *string         `json:"agent_id"`
	App     string          `json:"app_id"`
	Project string          `json:"project_id"`
	Query   string          `json:"query"`
	Method  string          `json:"method"`
	TopK    *int            `json:"top_k"`
	Filters json.RawMessage `json:"filters"`
}

// Search finds memories of a user. body is EverOS' body of a search without its
// owner. Every result has the files of its session that it names.
func (s *Service) Search(ctx context.Context, user string, body []byte) (Found, error) {
	var b searchBody
	if len(body) > 1<<20 {
		return Found{}, tooLarge("A search may have 1 MiB at most.")
	}
	if err := decode(body, &b); err != nil {
		return Found{}, err
	}
	scope, err := Scope{user, b.App, b.Project}.check()
	if err != nil {
		return Found{}, err
	}
	if b.UserID != nil && *b.UserID != user || b.AgentID != nil {
		return Found{}, forbidden("A search is for the user who is signed in: leave user_id and agent_id out.")
	}
	if strings.TrimSpace(b.Query) == "" {
		return Found{}, invalid("at least one letter is wanted: query")
	}
	q := Query{Text: b.Query, Method: b.Method, Body: body}
	switch b.Method {
	case "":
		q.Method = "hybrid"
	case "keyword", "vector", "hybrid", "agentic":
	default:
		return Found{}, invalid("one of keyword, vector, hybrid and agentic is wanted: method")
	}
	if b.TopK != nil {
		if q.TopK = *b.TopK; q.TopK != -1 && (q.TopK < 1 || q.TopK > maxTop) {
			return Found{}, invalid("-1 or a number from 1 to %d is wanted: top_k", maxTop)
		}
	}
	if q.filter, q.Session, err = readFilter(b.Filters); err != nil {
		return Found{}, err
	}
	return s.find(ctx, scope, q)
}

// Find is Search for those inside the program.
func (s *Service) Find(ctx context.Context, scope Scope, text string, top int) (Found, error) {
	scope, err := scope.check()
	if err != nil {
		return Found{}, err
	}
	if strings.TrimSpace(text) == "" {
		return Found{}, invalid("at least one letter is wanted: query")
	}
	q := Query{Text: text, Method: "keyword", TopK: min(top, maxTop)}
	if s.local == nil {
		q.Body, err = json.Marshal(map[string]any{"app_id": scope.App, "project_id": scope.Project, "query": text, "top_k": max(1, q.TopK)})
		if err != nil {
			return Found{}, err
		}
	}
	return s.find(ctx, scope, q)
}

func (s *Service) find(ctx context.Context, scope Scope, q Query) (Found, error) {
	found, err := s.engine.Search(ctx, scope, q)
	if err != nil {
		return found, err
	}
	if s.local == nil {
		hidden, err := s.hidden(ctx, scope)
		if err != nil {
			return found, err
		}
		if found.Results, err = s.shown(ctx, scope, found.Results, hidden); err != nil {
			return found, err
		}
	}
	for i := range found.Results {
		found.Results[i].Snippet = snippet(found.Results[i].Text, q.Text)
	}
	return found, s.decorate(ctx, scope, found.Results)
}

// ownOnly takes out of an upstream's answer what is not the user's: messages that are
// in no memory yet carry no owner there, and are given out for any session.
func (s *Service) ownOnly(ctx context.Context, scope Scope, items []Item) ([]Item, error) {
	owned := map[string]bool{}
	var failed error
	kept := slices.DeleteFunc(items, func(it Item) bool {
		if owner := gjson.GetBytes(it.Raw, "user_id"); owner.Exists() && owner.String() != scope.User {
			return true
		}
		if it.app != scope.App || it.project != scope.Project {
			return true
		}
		if it.Type != "message" {
			return false
		}
		if it.SessionID == nil {
			return true
		}
		ok, known := owned[*it.SessionID]
		if !known {
			var err error
			if ok, err = s.owns(ctx, scope, *it.SessionID); err != nil {
				failed = err
			}
			owned[*it.SessionID] = ok
		}
		return !ok
	})
	return kept, failed
}

// arrays are the parts of EverOS' answer to a search, with the types of their items.
var arrays = []struct{ name, kind string }{
	{"episodes", "episode"}, {"profiles", "profile"}, {"agent_cases", "agent_case"}, {"agent_skills", "agent_skill"}, {"unprocessed_messages", "message"},
}

// UpstreamShape is the answer in EverOS' own form, with the attachments in each item.
func (f Found) UpstreamShape() ([]byte, error) {
	data := map[string][]json.RawMessage{}
	for _, a := range arrays {
		data[a.name] = []json.RawMessage{}
	}
	for _, it := range f.Results {
		files, err := json.Marshal(it.Attachments)
		if err != nil {
			return nil, err
		}
		raw, err := sjson.SetRawBytes(slices.Clone(it.Raw), "attachments", files)
		if err != nil {
			return nil, err
		}
		for _, a := range arrays {
			if a.kind == it.Type {
				data[a.name] = append(data[a.name], raw)
			}
		}
	}
	answer := map[string]any{"request_id": f.RequestID, "data": data}
	if f.Degraded {
		answer["degraded"] = true
	}
	return json.Marshal(answer)
}
