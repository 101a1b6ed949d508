// Package archtest holds the map of the program: every package, the floor that
// it stands on, what it is for, and what it may import, ours and others'. Its
// test holds the code against the map and writes the table of ARCHITECTURE.md
// from it.
//
// A new package, or a new import, is a line here first. Test files may import
// more: only what ships is bound.
package archtest

// room is one package.
type room struct {
	floor string
	path  string // below the module
	line  string // what it is for
	ours  []string
	third []string // modules
}

const (
	gjson       = "github.com/tidwall/gjson"
	sjson       = "github.com/tidwall/sjson"
	flock       = "github.com/gofrs/flock"
	minioGo     = "github.com/minio/minio-go/v7"
	uuid        = "github.com/google/uuid"
	openaiGo    = "github.com/openai/openai-go/v3"
	anthropicGo = "github.com/anthropics/anthropic-sdk-go/v2"
	gocmp       = "github.com/google/go-cmp" // packages for tests only, as is the next
	rapid       = "pgregory.net/rapid"
	catwalk     = "charm.land/catwalk"
	cobra       = "github.com/spf13/cobra"
	xtext       = "golang.org/x/text"
	xsys        = "golang.org/x/sys" // Windows only

	jsonschema = "github.com/santhosh-tekuri/jsonschema/v6"
	goInternal = "github.com/rogpeppe/go-internal"
	gitignore  = "github.com/sabhiram/go-gitignore"
	doublestar = "github.com/bmatcuk/doublestar/v4"
	fsnotify   = "github.com/fsnotify/fsnotify"
	mcpSDK     = "github.com/modelcontextprotocol/go-sdk"
	mimetype   = "github.com/gabriel-vasile/mimetype"
	ximage     = "golang.org/x/image"
	yaml       = "go.yaml.in/yaml/v3"
	fzf        = "github.com/junegunn/fzf"
	sqliteGo   = "modernc.org/sqlite"
	xtime      = "golang.org/x/time"
	prometheus = "github.com/prometheus/client_golang"
)

// rooms is the map, from the lowest floor to the highest. A package may import
// only packages of its list, and never one of a higher floor.
var rooms = []room{
	{"leaf", "internal/structure", "JSON where it lies: ends of values, fields, validity", nil, nil},
	{"leaf", "message", "messages, blocks, usage and tool declarations as pi writes them", []string{"internal/structure"}, nil},
	{"leaf", "internal/confine", "the one door to files named by someone else", nil, nil},
	{"leaf", "fixtures/scripts", "scripts for the offline model, as a file system", nil, nil},
	{"leaf", "fixtures/pictures", "pictures for tests, made from numbers", nil, nil},
	{"leaf", "internal/durable", "the one way to write: save, create, append, lock, sync", nil, []string{flock}},

	{"leaf", "internal/ignore", "git's ignore rules, exactly", nil, []string{gitignore, doublestar}},
	{"leaf", "internal/failpoint", "places where a test build can be killed", nil, nil},
	{"leaf", "internal/watch", "fsnotify with coalescing, limits and fallback", nil, []string{fsnotify}},
	{"leaf", "internal/signed", "signed, expiring references with rotating keys", []string{"internal/confine", "internal/durable"}, nil},
	{"leaf", "internal/document", "text files as documents for a task: limits, UTF-8, blocks", []string{"internal/confine"}, nil},
	{"leaf", "internal/frontmatter", "lenient YAML front matter", nil, []string{yaml}},
	{"leaf", "internal/owner", "a door between the programs of one user on one machine", nil, nil},
	{"leaf", "internal/sqlite", "opening, migrations, full text of any script", nil, []string{sqliteGo, xtext}},
	{"leaf", "web", "the page, embedded", nil, nil},

	{"data", "config/public", "what is known of public providers and their models", nil, []string{catwalk}},
	{"data", "config", "agent directory, settings, models, keys, trust", []string{"internal/confine", "internal/durable", "config/public"}, []string{gjson, sjson}},
	{"data", "session", "the JSONL file: entries, tree, context, append, fork, move, trash", []string{"message", "internal/structure", "internal/durable", "internal/watch"}, []string{gjson, uuid}},
	{"data", "toolselect", "which tools a session has chosen, and the presets", []string{"message", "session"}, nil},
	{"data", "blob", "bytes by key or by hash: the store and its folder, content references", []string{"internal/confine", "internal/durable"}, nil},
	{"data", "attachment/handle", "what the author of a tool needs of attachments", nil, nil},
	{"data", "attachment/client", "uploads files to a running piweb, for programs", nil, nil},
	{"data", "attachment", "ids, descriptors, grants, signed addresses, markers, ownership, the handle of tools", []string{"attachment/handle", "blob", "message", "session", "internal/durable", "internal/signed", "internal/structure"}, []string{gjson}},
	{"data", "blob/s3", "the store in a bucket", []string{"blob", "attachment"}, []string{minioGo}},
	{"data", "account", "who may use a server, and which session is whose", []string{"session", "internal/durable", "internal/signed"}, nil},
	{"data", "session/catalog", "list sessions, find one, search in all", []string{"message", "attachment", "session", "toolselect", "internal/durable", "internal/watch", "internal/structure"}, []string{xtext}},
	{"data", "session/export", "a session as JSONL, Markdown or HTML, without secrets", []string{"message", "session", "internal/durable", "internal/structure"}, []string{gjson}},
	{"data", "session/doctor", "what is wrong with a file, and a repaired copy", []string{"message", "session", "session/export", "internal/durable", "internal/structure"}, []string{gjson, uuid}},
	{"data", "artifact", "whole outputs beside the session; artifact:// and agent://", []string{"session", "internal/confine", "internal/durable"}, []string{gjson}},
	{"data", "blob/blobtest", "the suite that every store passes", []string{"blob"}, nil},
	{"data", "media", "pictures: admit, bound, describe, place in a request", []string{"message"}, []string{mimetype, ximage}},
	{"data", "resource", "context files, skills, templates, profiles on disk", []string{"toolselect", "internal/confine", "internal/frontmatter", "internal/ignore"}, []string{xtext, doublestar}},
	{"data", "memory", "what was said and shown, found again with its files", []string{"internal/durable", "internal/failpoint", "internal/sqlite"}, []string{gjson, sjson, xtext}},
	{"data", "gc", "mark what sessions name, sweep what nothing names", []string{"session", "artifact", "attachment", "blob", "internal/durable"}, nil},

	{"rule", "chatonly", "Chat Only: what is off, and the exact prompt", []string{"resource"}, nil},
	{"rule", "policy", "resolve, trail, receipt, verify", []string{"message", "session", "toolselect", "chatonly", "internal/structure"}, []string{gjson}},

	{"engine", "agent/tool", "read, bash, edit, write, grep, find, ls", []string{"internal/confine", "message", "media", "internal/ignore"}, []string{xtext, xsys, jsonschema, goInternal, doublestar}},
	{"engine", "agent", "the loop: turns, calls, gates, events", []string{"internal/failpoint", "message", "media", "session", "toolselect", "policy", "agent/tool"}, nil},
	{"engine", "agent/compact", "summaries of long conversations and of branches that were left", []string{"message", "media", "session", "agent"}, nil},
	{"engine", "agent/model", "the registry of providers", []string{"agent"}, nil},
	{"engine", "agent/model/wire", "what the providers' wires share: endpoint, watch, refusals without secrets", []string{"internal/structure", "message", "agent", "agent/model"}, []string{gjson}},
	{"engine", "agent/model/openai", "OpenAI: chat completions, which many servers copy, and Responses", []string{"message", "agent", "agent/model", "agent/model/wire"}, []string{openaiGo, gjson}},
	{"engine", "agent/model/anthropic", "Anthropic's Messages", []string{"message", "agent", "agent/model", "agent/model/wire"}, []string{anthropicGo, gjson}},
	{"engine", "agent/model/google", "Google's Gemini", []string{"message", "agent", "agent/model", "agent/model/wire"}, []string{gjson}},
	{"engine", "agent/model/discover", "model servers on this machine, looked for when asked", nil, []string{gjson}},
	{"engine", "agent/model/offline", "the offline model, and scripts for tests", []string{"message", "agent", "agent/model"}, nil},
	{"engine", "agent/model/modeltest", "a recording provider, and the suite that every provider passes", []string{"message", "agent", "agent/model", "agent/model/offline", "fixtures/scripts"}, []string{gjson, gocmp, rapid}},
	{"engine", "extension/attach/attachtest", "a model for tests that calls what it is told to", []string{"message", "agent", "agent/model"}, nil},
	{"engine", "extension/attach", "edit_image and attachment_info", []string{"message", "media", "agent", "agent/tool", "attachment/handle"}, []string{ximage}},

	{"engine", "extension/recall", "remember and recall", []string{"message", "policy", "agent", "agent/tool", "attachment", "attachment/handle", "memory"}, nil},
	{"top", "completion", "triggers, dispatch, tokens, and what they become in a message", nil, []string{xtext}},
	{"top", "completion/files", "the files of a folder: index, matching, the gate for paths", []string{"completion", "internal/confine", "internal/ignore", "internal/watch"}, []string{doublestar, fzf, xtext}},
	{"top", "completion/hostile", "folders and names that attack, for the tests of every door", nil, nil},
	{"top", "completion/sources", "commands, sessions, attachments and profiles as offers, through their owners", []string{"completion"}, []string{xtext}},
	{"engine", "extension/mcp", "the tools of MCP servers, shared between sessions", []string{"message", "policy", "agent", "agent/tool", "internal/confine", "internal/durable"}, []string{mcpSDK, gjson}},
	{"top", "subagent", "profiles in force, control tools, queue, budgets, the life of a child, delivery",
		[]string{"message", "session", "toolselect", "resource", "policy", "internal/confine", "internal/document", "internal/durable", "internal/failpoint", "internal/frontmatter", "agent", "agent/tool", "internal/structure"}, []string{gjson, sjson}},
	{"top", "wrapper", "live sessions: prompt door, engine swap, registry, event hub",
		[]string{"internal/document", "message", "media", "session", "toolselect", "resource", "chatonly", "policy", "agent", "agent/compact", "agent/tool"}, nil},
	{"top", ".", "the facade: New(Config) wires everything",
		[]string{"account", "internal/watch", "blob", "attachment", "artifact", "internal/durable", "gc",
			"agent",
			"agent/compact",
			"agent/model",
			"agent/model/offline",
			"agent/tool",
			"artifact",
			"attachment",
			"attachment/handle",
			"blob",
			"chatonly",
			"completion",
			"completion/files",
			"completion/sources",
			"config",
			"extension/attach",
			"extension/mcp",
			"extension/recall",
			"gc",
			"internal/confine",
			"internal/document",
			"internal/durable",
			"internal/owner",
			"internal/structure",
			"media",
			"memory",
			"message",
			"policy",
			"resource",
			"session",
			"session/catalog",
			"session/export",
			"subagent",
			"toolselect",
			"wrapper",
		}, nil},
	{"top", "server/wire", "the existing client's vocabulary: events to frames", []string{"message", "session", "policy", "agent", "wrapper"}, nil},
	{"top", "server", "HTTP and event streams, who may ask, limits", []string{".", "account", "internal/signed", "completion", "completion/files", "message", "artifact", "attachment", "internal/confine", "internal/document", "config", "session", "session/catalog", "session/export", "session/doctor", "gc", "subagent", "resource", "toolselect", "policy", "agent", "agent/compact", "agent/tool", "agent/model/offline", "wrapper", "server/wire", "memory", "media"}, []string{xtime, prometheus}},
	{"top", "cmd/piweb", "the command line", []string{"account", "attachment", "blob/s3", ".", "artifact", "gc", "memory", "subagent", "server", "web", "message", "config", "session", "session/catalog", "session/export", "session/doctor", "toolselect", "resource", "policy", "agent", "agent/model", "agent/model/openai", "agent/model/anthropic",
		"agent/model/google", "agent/model/discover", "agent/model/offline", "wrapper", "extension/mcp"}, []string{cobra, mcpSDK}},

	{"–", "cmd/piweb/killed", "kills of the real program at its failpoints", nil, nil},
	{"–", "bench", "the figures of session files beside the bars that they keep", nil, nil},
	{"–", "bench/load", "many streams on a real server: nothing lost, memory flat", nil, nil},
	{"–", "interop/made", "sessions of each kind for the check against real pi", []string{"message", "session"}, nil},
	{"–", "examples/attachments", "a file's whole way, in one program", []string{".", "server", "message", "agent", "agent/model", "attachment/client"}, nil},
	{"–", "internal/archtest", "this map, held against the code", nil, nil},
}
