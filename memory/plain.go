package memory

import (
	"time"

	"github.com/tidwall/gjson"
)

// plainFilter is what the filters of a search say, where they are plain enough for a
// service that knows few: one session, and a span of time.
type plainFilter struct {
	session  string // "" for all
	from, to time.Time
}

// plain reads the filters of a query, which are valid, or refuses what a service of
// another kind does not offer.
func (q Query) plain() (f plainFilter, err error) {
	f.session = q.Session
	var given []string
	gjson.GetBytes(q.Body, "filters").ForEach(func(key, value gjson.Result) bool {
		switch {
		case key.String() == "session_id" && value.Type == gjson.String:
		case key.String() == "timestamp" && value.IsObject():
			value.ForEach(func(op, at gjson.Result) bool {
				v, err := filterValue("timestamp", []byte(at.Raw))
				ms, ok := v.(int64)
				switch op.String() {
				case "gte":
					f.from = time.UnixMilli(ms).UTC()
				case "lte":
					f.to = time.UnixMilli(ms).UTC()
				default:
					ok = false
				}
				if err != nil || !ok {
					given = append(given, "timestamp."+op.String())
				}
				return true
			})
		default:
			given = append(given, key.String())
		}
		return true
	})
	if len(given) > 0 {
		return f, invalid("the memory service knows the filters session_id and timestamp with gte and lte alone: filters.%s", given[0])
	}
	return f, nil
}

// topOf is how many results are wanted.
func (q Query) topOf() int {
	if q.TopK <= 0 {
		return defaultTop
	}
	return min(q.TopK, maxTop)
}
