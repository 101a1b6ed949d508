package config

import (
	"encoding/json"
	"errors"
	"path/filepath"
)

// Own are the settings that are piweb's and not pi's, in <agentDir>/piweb.json. Only
// the user's file counts; a project cannot change them.
type Own struct {
	Mentions Mentions
}

// Mentions says what becomes of files that a message names with @.
type Mentions struct {
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
	own := Own{Mentions{MaxBytes: defaultMentionBytes}}
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
			Documents bool   `json:"documents"`
			MaxBytes  *int64 `json:"maxBytes"`
		} `json:"mentions"`
	}
	if err := json.Unmarshal(blankBOM(data), &file); err != nil {
		var te *json.UnmarshalTypeError
		what := "a value has the wrong type"
		if errors.As(err, &te) {
			what = "the value of " + te.Field + " has the wrong type"
		}
		return own, &Problem{File: path, What: what, Hint: settingsHint, Err: errors.Join(ErrUnreadable, err)}
	}
	own.Mentions.Documents = file.Mentions.Documents
	if n := file.Mentions.MaxBytes; n != nil && *n > 0 {
		own.Mentions.MaxBytes = *n
	}
	return own, nil
}
