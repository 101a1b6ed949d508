package tool

import "io"

// wholeOutput ends the sink of a call whose output is shown in part, and says
// where all of it is: a path for the details, and one more note. Without a sink
// there is neither.
func wholeOutput(call *Call, notes []string) (path string, all []string) {
	if call.Sink == nil {
		return "", notes
	}
	if c, ok := call.Sink.(io.Closer); ok {
		_ = c.Close() // its failure is told by whereKept
	}
	sink, ok := call.Sink.(Located)
	if !ok {
		return "", notes
	}
	path, words := whereKept(sink)
	return path, append(notes, sentence(words))
}

// sentence begins a note with a capital.
func sentence(words string) string {
	if words == "" {
		return words
	}
	return string(words[0]-'a'+'A') + words[1:]
}
