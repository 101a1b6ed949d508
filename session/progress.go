package session

import "io"

// Progress says how far long work has come: opening, copying or migrating a large
// file, or going through many files. It is for people who wait; nothing depends on it.
type Progress struct {
	Work  string // what is done: "searching"
	Done  int64
	Total int64
	Unit  string // what is counted: UnitBytes, or a word such as "files"
}

// UnitBytes is the unit of work that is measured in bytes.
const UnitBytes = "bytes"

// tellEvery is how much is done between two reports, in bytes.
const tellEvery = 4 << 20

// teller counts bytes and tells of them.
type teller struct {
	tell func(Progress)
	Progress
	told int64
}

// progress begins a piece of work; nil where nobody wants to know.
func (o *Options) progress(work string, total int64) *teller {
	if o.Progress == nil || total < tellEvery {
		return nil
	}
	return &teller{o.Progress, Progress{work, 0, total, UnitBytes}, 0}
}

// at tells that the work has come to a byte.
func (t *teller) at(done int64) {
	if t != nil && done >= t.told+tellEvery && done < t.Total {
		t.told, t.Done = done, done
		t.tell(t.Progress)
	}
}

// end tells that the work is done.
func (t *teller) end() {
	if t != nil {
		t.Done = t.Total
		t.tell(t.Progress)
	}
}

// counted is fill with its bytes counted.
func (o *Options) counted(work string, total int64, fill func(io.Writer) error) func(io.Writer) error {
	t := o.progress(work, total)
	if t == nil {
		return fill
	}
	return func(w io.Writer) error {
		defer t.end()
		return fill(&countedWriter{w, t, 0})
	}
}

type countedWriter struct {
	w io.Writer
	t *teller
	n int64
}

func (c *countedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.t.at(c.n)
	return n, err
}
