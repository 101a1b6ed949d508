package gc

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/internal/signed"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// TestMain makes fewer histories than the usual hundred, because each touches the
// disk at every step; -rapid.checks=1000 makes more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "60"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const grace = 24 * time.Hour

// modelled is what the model knows of a session.
type modelled struct {
	id      string
	path    string
	trashed *session.Trashed
	blobs   map[string]string // hash → text
	outs    map[artifact.ID]string
	atts    map[attachment.ID]bool
}

// world is a root with everything in it, and what should be there. Its clock is
// moved by hand: every file that an operation has changed gets the world's time.
type world struct {
	t          *rapid.T
	root       string
	dirs       []string
	contents   *blob.Contents
	store      *attachment.Store
	companions []session.Companion
	collector  *Collector
	now        time.Time
	stamps     map[string]time.Time
	sessions   []*modelled
	removed    int
}

func newWorld(t *rapid.T, root string) *world {
	w := &world{t: t, root: root, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), stamps: map[string]time.Time{}}
	w.dirs = []string{filepath.Join(root, "sessions", "--a 名前--"), filepath.Join(root, "sessions", "--b--"), filepath.Join(root, "elsewhere")}
	for _, d := range w.dirs {
		w.must(os.MkdirAll(d, 0o755))
	}
	dir, err := blob.NewDir(filepath.Join(root, "blobs"), blob.DirOptions{})
	w.must(err)
	w.contents = blob.NewContents(dir)
	registry, err := blob.NewDir(filepath.Join(root, "attachments"), blob.DirOptions{})
	w.must(err)
	keys, err := signed.NewKeys("a secret of the test")
	w.must(err)
	w.store, err = attachment.Open(attachment.Options{Registry: registry, Links: attachment.NewLinks(keys, "/api", 0, nil)})
	w.must(err)
	w.companions = []session.Companion{artifact.Companion{}, attachment.NewCompanion(w.store, nil)}
	w.collector = &Collector{
		Roots:  []Root{Folder{Path: filepath.Join(root, "sessions")}, Folder{Path: filepath.Join(root, "elsewhere")}},
		Stores: []Store{Contents{w.contents}, Attachments{w.store}, Grants{w.store}, Outputs{filepath.Join(root, "sessions")}, Outputs{filepath.Join(root, "elsewhere")}, Leftovers{filepath.Join(root, "sessions")}},
		Dir:    filepath.Join(root, "notes"), Grace: grace, Now: func() time.Time { return w.now },
	}
	return w
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

// stamp gives what has changed the world's time.
func (w *world) stamp() {
	w.must(filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.ModTime().Equal(w.stamps[path]) {
			if err := os.Chtimes(path, w.now, w.now); err != nil {
				return err
			}
			w.stamps[path] = w.now
		}
		return nil
	}))
}

// pick draws one of the sessions that are in the trash, or not.
func (w *world) pick(trashed bool) *modelled {
	var list []*modelled
	for _, m := range w.sessions {
		if (m.trashed != nil) == trashed {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(w.t, "session")]
}

func (w *world) open(m *modelled, do func(*session.Session)) {
	s, err := session.Open(m.path, session.Options{})
	w.must(err)
	defer s.Close()
	do(s)
}

func (w *world) append(m *modelled, p session.Payload) {
	w.open(m, func(s *session.Session) {
		_, err := s.Commit(p)
		w.must(err)
	})
}

func (w *world) create() {
	dir := w.dirs[rapid.IntRange(0, len(w.dirs)-1).Draw(w.t, "dir")]
	s, err := session.Create(session.NewSession{Dir: dir, CWD: w.root}, session.Options{})
	w.must(err)
	defer s.Close()
	_, err = s.Commit(session.Message(&message.User{Content: message.Content{message.Text("q")}, Timestamp: 1}))
	w.must(err)
	w.sessions = append(w.sessions, &modelled{id: s.ID(), path: s.Path(), blobs: map[string]string{}, outs: map[artifact.ID]string{}, atts: map[attachment.ID]bool{}})
}

func (w *world) useBlob() {
	m := w.pick(false)
	if m == nil {
		return
	}
	text := fmt.Sprintf("blob %d", rapid.IntRange(0, 5).Draw(w.t, "blob"))
	ref, err := w.contents.Put(context.Background(), []byte(text), rapid.SampledFrom([]string{"", "png"}).Draw(w.t, "ext"))
	w.must(err)
	// Positions of references: a picture's data, a foreign field, prose.
	at := rapid.SampledFrom([]string{`{"data":%q}`, `{"image_url":%q}`, `{"deep":[{"x":"see %s"}]}`}).Draw(w.t, "position")
	w.append(m, session.Custom{CustomType: "x", Data: []byte(strings.Replace(fmt.Sprintf(strings.Replace(at, "%q", `"%s"`, 1), ref), "", "", 0))})
	m.blobs[ref.Hash()] = text
}

func (w *world) saveOutput() {
	m := w.pick(false)
	if m == nil {
		return
	}
	text := rapid.SampledFrom([]string{"out", "another"}).Draw(w.t, "text")
	k, err := artifact.New(m.path, artifact.Options{}).Save("bash", text)
	w.must(err)
	if _, again := m.outs[k.ID]; again {
		w.t.Fatalf("the id %s was given twice", k.ID)
	}
	m.outs[k.ID] = text
}

func (w *world) attach() {
	m := w.pick(false)
	if m == nil {
		return
	}
	d, err := w.store.Put(context.Background(), attachment.New{Name: "f", MimeType: "text/plain", Origin: attachment.Upload, SessionID: m.id}, strings.NewReader("file"))
	w.must(err)
	if rapid.Bool().Draw(w.t, "noted") {
		e, err := attachment.Entry(d)
		w.must(err)
		w.append(m, e)
	}
	m.atts[d.ID] = true
}

func (w *world) fork() {
	m := w.pick(false)
	if m == nil {
		return
	}
	w.open(m, func(s *session.Session) {
		f, err := session.Fork(s, s.Leaf(), session.ForkOptions{Companions: w.companions})
		w.must(err)
		w.sessions = append(w.sessions, &modelled{id: f.ID, path: f.Path, blobs: maps.Clone(m.blobs), outs: maps.Clone(m.outs), atts: maps.Clone(m.atts)})
	})
}

func (w *world) move() {
	m := w.pick(false)
	if m == nil {
		return
	}
	dir := w.dirs[rapid.IntRange(0, len(w.dirs)-1).Draw(w.t, "dir")]
	to, err := session.Move(m.path, session.MoveOptions{Dir: dir, CWD: w.root, Companions: w.companions}, session.Options{})
	w.must(err)
	m.path = to
}

func (w *world) trash() {
	m := w.pick(false)
	if m == nil {
		return
	}
	t, err := session.Trash(m.path, w.companions, session.Options{})
	w.must(err)
	m.trashed, m.path = &t, t.Path
}

func (w *world) restore() {
	m := w.pick(true)
	if m == nil {
		return
	}
	w.must(session.Restore(*m.trashed, w.companions, session.Options{}))
	m.path, m.trashed = m.trashed.Origin, nil
}

func (w *world) forget(m *modelled) {
	w.sessions = slices.DeleteFunc(w.sessions, func(o *modelled) bool { return o == m })
}

func (w *world) purge() {
	m := w.pick(true)
	if m == nil {
		return
	}
	w.must(session.Purge(*m.trashed, w.companions, session.Options{}))
	if rapid.Bool().Draw(w.t, "ended well") { // else the process ended before
		w.must(artifact.Purged(m.trashed.Place))
	}
	w.forget(m)
}

// remove is what a person does with a file manager.
func (w *world) remove() {
	if m := w.pick(false); m != nil {
		w.must(os.Remove(m.path))
		w.forget(m)
	}
}

func (w *world) pass() {
	w.now = w.now.Add(time.Duration(rapid.IntRange(6, 60).Draw(w.t, "hours")) * time.Hour)
}

func (w *world) passAndCollect() {
	w.pass()
	w.collect()
}

func (w *world) collect() {
	if rapid.IntRange(0, 3).Draw(w.t, "look") == 0 {
		r, err := w.collector.Look(context.Background())
		if w.count(r, err) > 0 {
			w.t.Fatal("a look removed something")
		}
		return
	}
	w.count(w.collector.Collect(context.Background()))
}

// count holds a run against the grace period.
func (w *world) count(r Report, err error) (gone int) {
	w.must(err)
	for _, u := range r.Unused {
		if u.Gone {
			w.removed++
			gone++
			if w.now.Sub(u.Modified) < grace || w.now.Sub(u.Since) < grace {
				w.t.Fatalf("%s went before its grace period was over", u.Label)
			}
		}
	}
	return gone
}

// check: whatever a session can reach is there.
func (w *world) check() {
	ctx := context.Background()
	for _, m := range w.sessions {
		for hash, text := range m.blobs {
			ref, _ := blob.ParseHash(hash)
			if data, err := w.contents.Read(ctx, ref, 0); err != nil || string(data) != text {
				w.t.Fatalf("session %s: its blob %s: %q, %v", m.path, hash[:8], data, err)
			}
		}
		st := artifact.New(m.path, artifact.Options{})
		for id, text := range m.outs {
			f, err := st.Open(id)
			if err != nil {
				w.t.Fatalf("session %s: its output %s: %v", m.path, id, err)
			}
			if f.Info.Size != int64(len(text)) {
				w.t.Fatalf("session %s: its output %s has %d bytes", m.path, id, f.Info.Size)
			}
			f.Close()
		}
		for id := range m.atts {
			if _, err := w.store.Check(ctx, m.id, id); err != nil {
				w.t.Fatalf("session %s: its attachment: %v", m.path, err)
			}
		}
	}
}

// end: nobody writes any more, time passes, and only what is reachable stays.
func (w *world) end() {
	ctx := context.Background()
	for range 4 { // what is named only by garbage goes one round later
		w.count(w.collector.Collect(ctx))
		w.now = w.now.Add(grace + time.Hour)
	}
	w.count(w.collector.Collect(ctx))
	w.check()
	blobs, folders, ids := map[string]bool{}, map[string]bool{}, map[string]bool{}
	named := map[attachment.ID]bool{}
	for _, m := range w.sessions {
		for hash := range m.blobs {
			blobs[hash] = true
		}
		for id := range m.atts {
			named[id] = true
		}
		folders[artifact.Folder(m.path)] = true
		ids[attachment.Tag(m.id)] = true
	}
	for b, err := range w.contents.List(ctx) {
		w.must(err)
		if !blobs[b.Ref.Hash()] {
			w.t.Fatalf("the blob %s is left", b.Ref.Hash())
		}
	}
	if list, _ := os.ReadDir(w.contents.Root()); len(list) > 2*len(blobs) {
		w.t.Fatalf("%d files for %d blobs", len(list), len(blobs))
	}
	held, err := w.store.Holdings(ctx)
	w.must(err)
	for _, h := range held {
		if !named[h.ID] {
			w.t.Fatalf("the attachment %s of %s is left", h.ID, h.Owner)
		}
	}
	grants, err := w.store.AllGrants(ctx)
	w.must(err)
	for _, g := range grants {
		if !ids[g.Tag] {
			w.t.Fatalf("a grant of a session that is gone is left")
		}
	}
	for _, dir := range []string{"sessions", "elsewhere"} {
		items, err := Outputs{filepath.Join(w.root, dir)}.List(ctx)
		w.must(err)
		for _, i := range items {
			if !folders[strings.TrimPrefix(string(i.Key), "outputs:")] {
				w.t.Fatalf("%s is left", i.Label)
			}
		}
	}
}

// TestModel: random histories of sessions and what they keep, with collections in
// between. Nothing that a session can reach ever goes, whatever happens; when time
// passes everything else does.
func TestModel(t *testing.T) {
	var total atomic.Int64
	n := 0
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		n++
		root := filepath.Join(base, fmt.Sprint(n))
		if err := os.Mkdir(root, 0o755); err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		w := newWorld(rt, root)
		step := func(do func()) func(*rapid.T) {
			return func(*rapid.T) {
				do()
				w.stamp()
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create": step(w.create), "blob": step(w.useBlob), "output": step(w.saveOutput), "attach": step(w.attach), "fork": step(w.fork),
			"move": step(w.move), "trash": step(w.trash), "restore": step(w.restore), "purge": step(w.purge), "remove": step(w.remove),
			"pass": step(w.pass), "collect": step(w.collect), "collect again": step(w.passAndCollect), "and again": step(w.passAndCollect), "remove too": step(w.remove), "": func(*rapid.T) { w.check() },
		})
		w.end()
		total.Add(int64(w.removed))
	})
	if total.Load() == 0 {
		t.Error("no history ever removed anything: the test shows nothing")
	}
	t.Logf("%d things were removed", total.Load())
}

// TestTwoCollectorsAndAWriter: while two collections run all the time, a writer puts
// blobs, names them, drops the sessions that name them, and puts the same ones
// again. What a session names is there.
func TestTwoCollectorsAndAWriter(t *testing.T) {
	const short = 150 * time.Millisecond
	root := t.TempDir()
	folder := filepath.Join(root, "sessions", "--p--")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := blob.NewDir(filepath.Join(root, "blobs"), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	contents := blob.NewContents(dir)
	collector := func() *Collector {
		return &Collector{Roots: []Root{Folder{Path: filepath.Join(root, "sessions")}}, Stores: []Store{Contents{contents}, Outputs{filepath.Join(root, "sessions")}},
			Dir: filepath.Join(root, "notes"), Grace: short}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var wg sync.WaitGroup
	var runs, removed, busy atomic.Int64
	for range 2 {
		c := collector()
		wg.Go(func() {
			for ctx.Err() == nil {
				r, err := c.Collect(context.Background())
				switch {
				case errors.Is(err, ErrBusy):
					busy.Add(1)
					time.Sleep(time.Millisecond) // lets the other one go on
				case err != nil:
					t.Errorf("collect: %v", err)
					return
				}
				runs.Add(1)
				for _, u := range r.Unused {
					if u.Gone {
						removed.Add(1)
					}
				}
			}
		})
	}
	named := map[string][]blob.Ref{} // by session file
	checked := 0
	deadline := time.Now().Add(30 * time.Second)
	for round := 0; removed.Load() < 50 || runs.Load() < 40; round++ {
		if time.Now().After(deadline) {
			t.Errorf("after %d rounds only %d were removed in %d runs", round, removed.Load(), runs.Load())
			break
		}
		file := filepath.Join(folder, fmt.Sprintf("2026-01-01T00-00-00-%03dZ_s%d.jsonl", round%11, round%11))
		if round%3 == 0 {
			_ = os.Remove(file)
			delete(named, file)
			continue
		}
		began := time.Now()
		content := round / 15 // half of the contents come again and again, half never
		if content%2 == 0 {
			content %= 8
		}
		ref, err := contents.Put(context.Background(), fmt.Appendf(nil, "content %d", content), "")
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, `{"type":"custom","data":{"x":%q}}`+"\n", ref)
		f.Close()
		if time.Since(began) < short/2 { // the grace period is for this time
			named[file] = append(named[file], ref)
		}
		for _, refs := range named {
			for _, ref := range refs {
				if _, err := contents.Read(context.Background(), ref, 0); err != nil {
					t.Fatalf("round %d: a blob that a session names is gone: %v", round, err)
				}
				checked++
			}
		}
	}
	stop()
	wg.Wait()
	t.Logf("%d runs, %d found another one running, %d blobs removed, %d reads of named ones", runs.Load(), busy.Load(), removed.Load(), checked)
}
