package artifact

import (
	"encoding/json"
	"strings"
)

// Structured is the structured result that an answer carries, or nil: the answer
// itself where it is a JSON object or array, else its only fenced block that is
// marked as JSON and is one. An answer with several has none, because nobody could
// say which is meant.
func Structured(answer string) json.RawMessage {
	if whole := container(answer); whole != nil {
		return whole
	}
	var found json.RawMessage
	blocks := 0
	for rest := answer; ; {
		body, after, ok := fenced(rest)
		if !ok {
			break
		}
		blocks++
		found, rest = container(body), after
	}
	if blocks != 1 {
		return nil
	}
	return found
}

// container is a text that is a JSON object or array, trimmed, or nil.
func container(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// fenced finds the next block of Markdown that begins with a line of three or more
// backticks and the word json; it ends at a line of as many backticks. Blocks of
// other kinds are passed over with what they hold.
func fenced(text string) (body, after string, ok bool) {
	for text != "" {
		line, rest, more := strings.Cut(text, "\n")
		if !more {
			return "", "", false
		}
		text = rest
		ticks, kind := fence(line)
		if ticks == 0 {
			continue
		}
		end, size := len(text), 0 // without an end the block goes to the end of the text
		for at := 0; at < len(text); {
			line, _, _ := strings.Cut(text[at:], "\n")
			if n, word := fence(line); n >= ticks && word == "" {
				end, size = at, len(line)
				break
			}
			at += len(line) + 1
		}
		body, text = text[:end], text[end+size:]
		if strings.EqualFold(kind, "json") {
			return body, text, true
		}
	}
	return "", "", false
}

// fence tells a line that begins or ends a block, by its backticks, and the first
// word behind them.
func fence(line string) (ticks int, word string) {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "`")
	if ticks = len(line) - len(rest); ticks < 3 || strings.Contains(rest, "`") {
		return 0, ""
	}
	word, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return ticks, word
}
