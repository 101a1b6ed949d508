package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/message"
)

// decodeArgs fills args from a call. What does not fit becomes a result for the
// model; callers that checked the call before never see one.
func decodeArgs(t Tool, call *Call, args any) (failed Result, ok bool) {
	raw := t.Prepare(call.Arguments)
	if err := Check(t.Declaration(), raw); err != nil {
		return Error(err.Error()), false
	}
	if len(raw) == 0 {
		return Result{}, true
	}
	if err := json.Unmarshal(raw, args); err != nil {
		return Error(fmt.Sprintf("The arguments of %s cannot be read: %v. Send them again as one JSON object.",
			t.Declaration().Name, err)), false
	}
	return Result{}, true
}

// pathAliases are the names that models give to path, by habit of other tools.
func pathAliases() []string {
	return []string{"file_path", "filePath", "file", "target_file"}
}

// renamePath moves the path from one of its other names to "path". Arguments
// that have a path, or are no object, come back as they are.
func renamePath(args json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil || fields["path"] != nil {
		return args
	}
	for _, alias := range pathAliases() {
		value, ok := fields[alias]
		if !ok {
			continue
		}
		delete(fields, alias)
		fields["path"] = value
		renamed, err := message.Marshal(fields)
		if err != nil {
			return args
		}
		return renamed
	}
	return args
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// shellQuote makes a name one word of a shell command.
func shellQuote(name string) string {
	plain := func(r rune) bool {
		return r >= 0x80 || strings.ContainsRune("_-./+,@%", r) ||
			'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
