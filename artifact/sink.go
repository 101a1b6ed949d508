package artifact

import (
	"bytes"
	"fmt"
	"time"
	"unicode/utf8"
)

// DefaultThreshold is how much of an output is held before the whole of it goes to
// an artifact, in bytes, and how much of it a summary shows.
const DefaultThreshold = 51200

// SinkOptions are the settings of a sink. The zero value shows the end of an
// output.
type SinkOptions struct {
	Threshold int // bytes; 0 for DefaultThreshold
	// HeadBytes of the beginning are shown as well; at most half of the threshold.
	HeadBytes int
	// MaxColumns cuts the lines that are shown, in bytes; 0 for no limit. The
	// artifact has them whole.
	MaxColumns int
	// FeedCR takes a carriage return for a line feed. Else it goes, so that the
	// lines are those that other readers of the same bytes count.
	FeedCR bool
	// MaxArtifact and ArtifactHead bound what is kept: the beginning, then the end,
	// and between them a line that says what is missing. 0 for the store's limit,
	// with all but its last MiB as the beginning.
	MaxArtifact  int64
	ArtifactHead int64
	// Sixel lets pictures for terminals through, which else go with the other
	// escape sequences. See [SixelWanted].
	Sixel bool
	// OnText is told of the text as it comes; it must not keep it. It is called by
	// whoever writes.
	OnText func(text []byte)
	// Throttle is the least time between two calls of OnText, 0 for none. What comes
	// in between is told in one piece, by a timer's goroutine or by Close; then
	// OnText must not call the sink. No two calls run at once, and none after Close.
	Throttle time.Duration
}

// Sink takes an output as it comes. It counts all of it, holds a bounded piece,
// and as soon as that is not the whole any more, streams everything to an
// artifact. Not being able to is no reason to stop whoever writes: Write never
// fails, the first failure is remembered, the half artifact is taken away, and
// Summary says so.
//
// A sink is for one goroutine. Close must be called on every way out.
type Sink struct {
	store *Store // nil for a sink that keeps nothing
	tool  string
	opts  SinkOptions

	clean   cleaner
	scratch []byte
	tell    *throttle // nil where OnText is not throttled
	columns columns
	head    []byte
	tail    []byte // at least the last bytes that are shown, if there were as many
	buffer  []byte // all of the text, until the artifact is opened

	bytes, lines int64 // of the text; lines are line feeds
	shown        int64 // bytes after the columns were cut
	out          *keeper
	kept         Kept
	partial      bool   // kept is its beginning and its end
	failure      string // ArtifactError
	err          error
	closed       bool
}

// Sink begins a sink whose artifact is named by a tool.
func (s *Store) Sink(tool string, opts SinkOptions) *Sink {
	k := NewSink(opts)
	k.store, k.tool = s, tool
	return k
}

// NewSink is a sink that keeps nothing: it counts and shows.
func NewSink(opts SinkOptions) *Sink {
	if opts.Threshold <= 0 {
		opts.Threshold = DefaultThreshold
	}
	opts.HeadBytes = max(0, min(opts.HeadBytes, opts.Threshold/2))
	k := &Sink{opts: opts, clean: cleaner{feedCR: opts.FeedCR, sixel: opts.Sixel}, columns: columns{most: opts.MaxColumns}}
	if opts.OnText != nil && opts.Throttle > 0 {
		k.tell = &throttle{every: opts.Throttle, tell: opts.OnText}
	}
	return k
}

// Write takes the next piece. It never fails; after Close it does nothing.
func (k *Sink) Write(piece []byte) (int, error) {
	if k.closed {
		return len(piece), nil
	}
	// In pieces that stay in the cache: each is looked at several times.
	const most = 32 << 10
	for rest := piece; len(rest) > 0; {
		n := min(len(rest), most)
		k.scratch = k.clean.append(k.scratch[:0], rest[:n])
		k.text(k.scratch)
		rest = rest[n:]
	}
	return len(piece), nil
}

// text takes the next piece of clean text.
func (k *Sink) text(text []byte) {
	if len(text) == 0 {
		return
	}
	k.bytes += int64(len(text))
	k.lines += int64(bytes.Count(text, []byte{'\n'}))
	switch {
	case k.tell != nil:
		k.tell.text(text)
	case k.opts.OnText != nil:
		k.opts.OnText(text)
	}
	k.show(text)
	switch {
	case k.out != nil:
		k.write(text)
	case k.err == nil && k.store != nil:
		k.buffer = append(k.buffer, text...)
		if k.cut() {
			k.Keep()
		}
	}
}

// cut tells whether what is shown is less than all.
func (k *Sink) cut() bool { return k.shown > int64(k.opts.Threshold) || k.columns.lines > 0 }

// show adds to the piece that is held, and lets go of what is behind it.
func (k *Sink) show(text []byte) {
	text = k.columns.cut(text)
	k.shown += int64(len(text))
	if room := k.opts.HeadBytes - len(k.head); room > 0 && len(k.tail) == 0 {
		n := len(headBytes(text, room))
		k.head = append(k.head, text[:n]...)
		if text = text[n:]; len(text) > 0 && len(k.head) < k.opts.HeadBytes {
			k.opts.HeadBytes = len(k.head) // a rune does not fit; the head is full
		}
	}
	budget := k.budget()
	if len(text) >= 2*budget {
		k.tail = append(k.tail[:0], text[max(0, len(text)-budget-utf8.UTFMax):]...)
		return
	}
	k.tail = append(k.tail, text...)
	// Trim only when there is much to drop: each byte is moved once at most.
	if len(k.tail) > 4*budget+4*utf8.UTFMax {
		k.tail = k.tail[:copy(k.tail, k.tail[len(k.tail)-budget-utf8.UTFMax:])]
	}
}

// budget is how many bytes of the end are shown.
func (k *Sink) budget() int { return k.opts.Threshold - len(k.head) }

// Keep opens the artifact now: whoever shows the output has cut it by a rule of
// its own. It does nothing if the artifact is open, or cannot be.
func (k *Sink) Keep() {
	if k.out != nil || k.err != nil || k.store == nil || k.closed {
		return
	}
	o, err := k.store.create(k.tool)
	if err != nil {
		k.fail("open", err)
		return
	}
	k.out = newKeeper(o, k.opts)
	buffer := k.buffer
	k.buffer = nil
	k.write(buffer)
}

func (k *Sink) write(text []byte) {
	if err := k.out.write(text); err != nil {
		k.out.discard()
		k.fail("write", err)
	}
}

func (k *Sink) fail(step string, err error) {
	k.out, k.buffer, k.failure, k.err = nil, nil, step, err
}

// Close ends the output: what is kept is synced. It may be called again. The
// error is that of the artifact; Summary and Location know it too.
func (k *Sink) Close() error {
	if k.closed {
		return k.err
	}
	rest := k.clean.finish(k.scratch[:0])
	k.text(rest)
	if k.tell != nil {
		k.tell.end()
	}
	if held := k.columns.finish(); len(held) > 0 {
		k.shown += int64(len(held))
		k.tail = append(k.tail, held...)
		if k.out == nil && k.cut() {
			k.Keep()
		}
	}
	k.closed = true
	if k.out != nil {
		path, id := k.out.o.path(), k.out.o.id
		step, err := k.out.finish()
		if err != nil {
			k.fail(step, err)
			return err
		}
		k.kept, k.partial = Kept{id, path, k.out.o.size}, k.out.elided
	}
	k.buffer = nil
	return k.err
}

// Summary is what there is to say of an output that has ended.
type Summary struct {
	Output    string // what is shown, with the notice before it
	Truncated bool

	TotalLines  int64 // a line feed at the end begins a line; 0 without any text
	TotalBytes  int64 // of the clean text
	OutputLines int64
	OutputBytes int64 // without the notice

	ElidedBytes int64 // between the head and the tail
	ElidedLines int64

	ColumnDroppedBytes   int64 // of lines that were cut
	ColumnTruncatedLines int64
	ColumnMax            int // bytes; 0 where none was cut

	ArtifactID    ID     // of the whole output; "" where none is kept
	ArtifactPath  string // where it lies
	ArtifactError string // "open", "write", "flush" or "end": the step that failed first
	Err           error  // why
}

// Summary closes the sink and sums up. A notice stands before the output, in
// brackets and on a line of its own.
func (k *Sink) Summary(notice string) Summary {
	_ = k.Close()
	s := Summary{
		TotalBytes: k.bytes, TotalLines: linesOf(k.bytes, k.lines),
		ColumnDroppedBytes: k.columns.dropped, ColumnTruncatedLines: k.columns.lines,
		ArtifactID: k.kept.ID, ArtifactPath: k.kept.Path, ArtifactError: k.failure, Err: k.err,
	}
	if k.columns.lines > 0 {
		s.ColumnMax = k.opts.MaxColumns
	}
	body := append([]byte(nil), k.head...)
	switch tail := k.tail; {
	case k.shown <= int64(k.opts.Threshold):
		body = append(body, tail...)
		s.OutputLines = linesOf(int64(len(body)), int64(bytes.Count(body, []byte{'\n'})))
	default:
		s.Truncated = true
		tail = tailBytes(tail, k.budget())
		if len(k.head) == 0 {
			body = append(body, tail...)
			s.OutputLines = linesOf(int64(len(body)), int64(bytes.Count(body, []byte{'\n'})))
			break
		}
		body = k.elided(&s, body, tail)
	}
	s.OutputBytes = int64(len(body))
	if notice != "" {
		notice = "[" + notice + "]\n"
	}
	s.Output = notice + string(body)
	return s
}

// elided puts head and tail together, with a line between them that says how much
// is missing.
func (k *Sink) elided(s *Summary, head, tail []byte) []byte {
	s.ElidedBytes = k.shown - int64(len(head)) - int64(len(tail))
	tail = bytes.TrimPrefix(tail, []byte{'\n'}) // the marker ends the line
	above, below := feedsAndOne(head), feedsAndOne(tail)
	s.ElidedLines = max(0, s.TotalLines-above-below) // within one line there is none
	marker := fmt.Sprintf("[…%dln elided…]\n", s.ElidedLines)
	if s.ElidedLines <= 1 {
		marker = fmt.Sprintf("[…%s elided…]\n", Size(s.ElidedBytes))
	}
	if !bytes.HasSuffix(head, []byte{'\n'}) {
		head = append(head, '\n')
	}
	s.OutputLines = above + below + 1
	return append(append(head, marker...), tail...)
}

func feedsAndOne(text []byte) int64 { return int64(bytes.Count(text, []byte{'\n'})) + 1 }

// linesOf counts lines as the reference does: a line feed at the end begins one.
func linesOf(size, feeds int64) int64 {
	if size == 0 {
		return 0
	}
	return feeds + 1
}

// Location is where the whole output is, for a result that shows a part of it.
func (k *Sink) Location() (path, name string) {
	if k.kept.ID == "" {
		return "", ""
	}
	return k.kept.Path, k.kept.URL()
}

// Failure is why the whole output is not kept, or nil. Partial tells that only
// its beginning and its end are, because it is longer than the limit.
func (k *Sink) Failure() error { return k.err }

// Partial tells how much of an output is kept that was too long, in bytes; 0 for
// one that is kept whole, or not at all.
func (k *Sink) Partial() int64 {
	if !k.partial {
		return 0
	}
	return k.kept.Size
}

// tailBytes are the last n bytes of text, less those of a rune that would be cut.
func tailBytes(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// headBytes are the first n bytes of text, less those of a rune that would be cut.
func headBytes(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Size prints a size in steps of 1024: B, KB, MB, GB.
func Size(n int64) string {
	const step = 1 << 10
	units := []string{"KB", "MB", "GB"}
	if n < step {
		return fmt.Sprintf("%dB", n)
	}
	v := float64(n) / step
	for i, unit := range units {
		if v < step || i == len(units)-1 {
			return fmt.Sprintf("%.1f%s", v, unit)
		}
		v /= step
	}
	return ""
}
