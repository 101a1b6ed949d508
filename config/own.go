package config

import (
	"encoding/json"
	"errors"
	"path/filepath"
)

// Own are the settings that are piweb's and not pi's, in <agentDir>/piweb.json. Only
// the user's file counts; a project cannot change them.
type Own struct {
	Mentions    Mentions
	Attachments Attachments
	// Externalize says when large pictures of a session go to blobs of their own:
	// setting blobs.externalize, default auto.
	Externalize Externalize
	// PictureBytes is the most that a picture may have as it comes, in bytes:
	// setting images.maxBytes; 0 for the default of package media.
	PictureBytes int64
	Memory       Memory
}

// Memory says how what was said is kept beyond sessions.
type Memory struct {
	// Off keeps nothing: setting memory.off.
	Off bool `json:"off"`
	// Tools gives normal sessions the tools remember and recall: setting
	// memory.tools, default false.
	Tools bool `json:"tools"`
	// Upstream is the address of a service that keeps memories in place of piweb:
	// setting memory.upstream, default none.
	Upstream string `json:"upstream"`
	// Kind is the API of the service, everos, evermemos or mem0: setting memory.kind,
	// default everos.
	Kind string `json:"kind"`
	// Fallback keeps a copy here, which answers while the service does not: setting
	// memory.fallback, default false.
	Fallback bool `json:"fallback"`
	// TokenVariable is the environment variable with the service's key: setting
	// memory.tokenVariable.
	TokenVariable string `json:"tokenVariable"`
	// TimeoutSeconds bounds one try to reach the service; 0 for 30.
	TimeoutSeconds int `json:"timeoutSeconds"`
	// Retries are tries after the first; 0 for 2, -1 for none.
	Retries int `json:"retries"`
	// Senders is "strict" (a message of a user is of the one who is signed in) or
	// "open", for groups.
	Senders string `json:"senders"`
	// Aliases are senders that are the user as well.
	Aliases []string `json:"aliases"`
	// StrictNames takes a.png for no part of data.png.
	StrictNames bool `json:"strictNames"`
}

// Attachments says what sessions can do with attached files.
type Attachments struct {
	// Tools gives normal sessions the tools edit_image and attachment_info: setting
	// attachments.tools, default false.
	Tools bool
	// Origins are pages of other addresses that may fetch the bytes by a signed
	// address, such as "https://host": setting attachments.origins, default none.
	Origins []string
}

// Externalize says when large pictures go to blobs.
type Externalize string

// The values of blobs.externalize.
const (
	ExternalizeAuto Externalize = "auto" // where the file has references, or oh-my-pi keeps it
	ExternalizeOn   Externalize = "on"
	ExternalizeOff  Externalize = "off"
)

// Valid tells whether e is one of the values.
func (e Externalize) Valid() bool {
	return e == ExternalizeAuto || e == ExternalizeOn || e == ExternalizeOff
}

// Mentions says which files are offered where a message names one with @, and what
// becomes of them.
type Mentions struct {
	// Ignored offers what git ignores too, without a ! in the query: setting
	// mentions.ignored, default false.
	Ignored bool
	// Documents puts the text of small files behind the message: setting
	// mentions.documents, default false.
	Documents bool
	// MaxBytes is what counts as small: setting mentions.maxBytes, default 64 KiB.
	MaxBytes int64
}

const defaultMentionBytes = 64 << 10

// ReadOwn reads piweb's own settings. What is broken is a problem and has its
// default.
func ReadOwn(agentDir string) (Own, *Problem) {
	own := Own{Mentions: Mentions{MaxBytes: defaultMentionBytes}, Externalize: ExternalizeAuto}
	path := filepath.Join(agentDir, "piweb.json")
	data, problem := readFile(path, settingsHint)
	if data == nil {
		return own, problem
	}
	if _, problem := parse(path, data, settingsHint); problem != nil {
		return own, problem
	}
	var file struct {
		Mentions struct {
			Ignored   bool   `json:"ignored"`
			Documents bool   `json:"documents"`
			MaxBytes  *int64 `json:"maxBytes"`
		} `json:"mentions"`
		Attachments struct {
			Tools   bool     `json:"tools"`
			Origins []string `json:"origins"`
		} `json:"attachments"`
		Blobs struct {
			Externalize *Externalize `json:"externalize"`
		} `json:"blobs"`
		Memory Memory `json:"memory"`
		Images struct {
			MaxBytes int64 `json:"maxBytes"`
		} `json:"images"`
	}
	if err := json.Unmarshal(blankBOM(data), &file); err != nil {
		var te *json.UnmarshalTypeError
		what := "a value has the wrong type"
		if errors.As(err, &te) {
			what = "the value of " + te.Field + " has the wrong type"
		}
		return own, &Problem{File: path, What: what, Hint: settingsHint, Err: errors.Join(ErrUnreadable, err)}
	}
	own.Mentions.Ignored, own.Mentions.Documents = file.Mentions.Ignored, file.Mentions.Documents
	own.Attachments = Attachments(file.Attachments)
	if n := file.Mentions.MaxBytes; n != nil && *n > 0 {
		own.Mentions.MaxBytes = *n
	}
	own.PictureBytes = max(0, file.Images.MaxBytes)
	if s := file.Memory.Senders; s != "" && s != "strict" && s != "open" {
		return own, &Problem{File: path, Path: "memory.senders", What: `it must be "strict" or "open"`, Hint: settingsHint, Err: ErrValue}
	}
	switch file.Memory.Kind {
	case "", "everos", "evermemos", "mem0":
	default:
		return own, &Problem{File: path, Path: "memory.kind", What: `it must be "everos", "evermemos" or "mem0"`, Hint: settingsHint, Err: ErrValue}
	}
	own.Memory = file.Memory
	if e := file.Blobs.Externalize; e != nil {
		if !e.Valid() {
			return own, &Problem{File: path, Path: "blobs.externalize", What: `it must be "auto", "on" or "off"`, Hint: settingsHint, Err: ErrValue}
		}
		own.Externalize = *e
	}
	return own, nil
}
