package memory

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// condition is a filter as SQL over the table m.
type condition struct {
	sql  string
	args []any
}

// Limits of a filter.
const (
	maxFilterDepth = 8
	maxFilterTerms = 100
)

// readFilter reads a tree of AND and OR lists and predicates of fields. A session
// that it names as a plain equality at the top is told besides.
func readFilter(raw json.RawMessage) (c condition, session string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return c, "", nil
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil {
		return c, "", invalid("an object is wanted: filters")
	}
	if json.Unmarshal(top["session_id"], &session) != nil {
		session = ""
	}
	left := maxFilterTerms
	c, err = filterOf(raw, maxFilterDepth, &left)
	return c, session, err
}

func filterOf(raw json.RawMessage, depth int, left *int) (c condition, err error) {
	if *left--; depth == 0 || *left < 0 {
		return c, invalid("it has too many parts: filters")
	}
	var node map[string]json.RawMessage
	if json.Unmarshal(raw, &node) != nil {
		return c, invalid("an object is wanted: filters")
	}
	keys := make([]string, 0, len(node))
	for k := range node {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var all []string
	for _, key := range keys {
		var one condition
		switch key {
		case "AND", "OR":
			one, err = filterList(node[key], " "+key+" ", depth, left)
		default:
			one, err = predicate(key, node[key], left)
		}
		if err != nil {
			return c, err
		}
		all = append(all, "("+one.sql+")")
		c.args = append(c.args, one.args...)
	}
	if len(all) == 0 {
		all = []string{"1"}
	}
	c.sql = strings.Join(all, " AND ")
	return c, nil
}

func filterList(raw json.RawMessage, join string, depth int, left *int) (c condition, err error) {
	var nodes []json.RawMessage
	if json.Unmarshal(raw, &nodes) != nil || len(nodes) == 0 {
		return c, invalid("a list is wanted: filters.%s", strings.TrimSpace(join))
	}
	var all []string
	for _, n := range nodes {
		one, err := filterOf(n, depth-1, left)
		if err != nil {
			return c, err
		}
		all = append(all, "("+one.sql+")")
		c.args = append(c.args, one.args...)
	}
	c.sql = strings.Join(all, join)
	return c, nil
}

var comparisons = map[string]string{"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

func predicate(field string, raw json.RawMessage, left *int) (c condition, err error) {
	switch field {
	case "session_id", "sender_id", "timestamp":
	case "parent_type", "parent_id":
		return condition{sql: "0"}, nil // no memory of this engine has one
	case "owner_id", "owner_type", "app_id", "project_id", "user_id":
		return c, invalid("it is given by who asks and where: filters.%s", field)
	default:
		return c, invalid("there is no such field: filters.%s", field)
	}
	ops := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &ops) != nil {
		ops = map[string]json.RawMessage{"eq": raw}
	}
	var all []string
	for _, op := range []string{"eq", "ne", "gt", "gte", "lt", "lte", "in"} {
		given, ok := ops[op]
		if !ok {
			continue
		}
		delete(ops, op)
		values := []json.RawMessage{given}
		if op == "in" && (json.Unmarshal(given, &values) != nil || len(values) == 0) {
			return c, invalid("a list is wanted: filters.%s.in", field)
		}
		var any []string
		for _, v := range values {
			if *left--; *left < 0 {
				return c, invalid("it has too many parts: filters")
			}
			value, err := filterValue(field, v)
			if err != nil {
				return c, err
			}
			any = append(any, comparison(field, op))
			c.args = append(c.args, value)
		}
		all = append(all, "("+strings.Join(any, " OR ")+")")
	}
	if len(ops) > 0 || len(all) == 0 {
		return c, invalid("one of eq, ne, gt, gte, lt, lte and in is wanted: filters.%s", field)
	}
	c.sql = strings.Join(all, " AND ")
	return c, nil
}

func comparison(field, op string) string {
	sign := comparisons[op]
	if op == "in" {
		sign = "="
	}
	switch field {
	case "sender_id":
		if op == "ne" {
			return "NOT EXISTS (SELECT 1 FROM json_each(m.senders) WHERE value = ?)"
		}
		return "EXISTS (SELECT 1 FROM json_each(m.senders) WHERE value " + sign + " ?)"
	case "timestamp":
		return "m.at " + sign + " ?"
	}
	return "m.session_id " + sign + " ?"
}

func filterValue(field string, raw json.RawMessage) (any, error) {
	if field != "timestamp" {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil, invalid("a text is wanted: filters.%s", field)
		}
		return s, nil
	}
	var n float64
	if json.Unmarshal(raw, &n) == nil {
		if n < 1e12 {
			n *= 1000
		}
		return int64(n), nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if t, err := time.Parse(time.RFC3339, s); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return nil, invalid("milliseconds or an ISO time are wanted: filters.timestamp")
}
