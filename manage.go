package piweb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// ForkOptions say what a fork is to be.
type ForkOptions struct {
	// At is the entry that the fork ends with; "" takes all entries of all
	// branches.
	At session.ID
	// Before ends the fork at the parent of At, whose text is returned.
	Before bool
	// CWD is the working folder of the fork; "" for the source's.
	CWD string
}

// Forked is a fork that was made.
type Forked struct {
	session.Forked
	// Policy is what the fork may do.
	Policy policy.Policy
	// Carried is the selection that was added at the end, because the path alone
	// would have allowed something else; unset if nothing was.
	Carried toolselect.Selection
}

// Fork makes a new session file from an old one: the path to an entry, or all
// there is. It may do what the source may do now, and never more: the selection
// in effect is carried over where the path does not hold it, and where the path
// or another folder's settings would allow more than the source has, the source's
// tools are pinned. A subagent is forked only with the record that limits it.
// While a prompt runs it is refused.
func (r *Runtime) Fork(ctx context.Context, path string, o ForkOptions) (Forked, error) {
	if o.At == "" && o.Before {
		return Forked{}, fmt.Errorf("%s: fork: name the entry before which the fork ends", path)
	}
	if f, done, err := r.handedFork(ctx, path, forkBody{o, false}); done {
		return f, err
	}
	return r.fork(path, o, func(*session.Session) session.ID { return o.At })
}

// Clone is Fork of the branch that the session is on.
func (r *Runtime) Clone(ctx context.Context, path string, o ForkOptions) (Forked, error) {
	o.Before = false
	if f, done, err := r.handedFork(ctx, path, forkBody{o, true}); done {
		return f, err
	}
	return r.fork(path, o, (*session.Session).Leaf)
}

// handedFork lets the program that holds a session fork it.
func (r *Runtime) handedFork(ctx context.Context, path string, b forkBody) (f Forked, done bool, err error) {
	if b.CWD != "" { // that program stands in another folder
		if b.CWD, err = filepath.Abs(b.CWD); err != nil {
			return f, true, err
		}
	}
	var res forkResult
	if done, err = r.handed(ctx, path, askFork, b, &res); !done || err != nil {
		return f, done, err
	}
	f.Forked = res.Forked
	if len(res.Carried) > 0 {
		if f.Carried, err = toolselect.Parse(res.Carried); err != nil {
			return f, true, err
		}
	}
	f.Policy, _, err = r.Decide(f.Path, "")
	return f, true, err
}

func (r *Runtime) fork(path string, o ForkOptions, at func(*session.Session) session.ID) (Forked, error) {
	if err := r.quiet(path, "a fork"); err != nil {
		return Forked{}, err
	}
	so := session.ForkOptions{Before: o.Before, Companions: r.companions}
	if o.CWD != "" {
		var err error
		if so.CWD, so.Dir, err = r.newFolder(o.CWD); err != nil {
			return Forked{}, err
		}
	}
	src, err := session.Open(path, r.session)
	if err != nil {
		return Forked{}, err
	}
	defer src.Close()
	if at(src) == "" {
		return r.forkAll(src, so)
	}
	draft, err := session.NewDraft(src, at(src), so)
	if err != nil {
		return Forked{}, err
	}
	was, is, err := r.bothFacts(src, draft.View(), so.CWD)
	if err != nil {
		return Forked{}, err
	}
	sel, p, err := keep(src.Path(), was, is)
	if err != nil {
		return Forked{}, err
	}
	carry, err := r.carry(src.Path(), sel)
	if err == nil {
		err = draft.Carry(carry...)
	}
	if err != nil {
		return Forked{}, err
	}
	f, err := draft.Write()
	return Forked{f, p, sel}, err
}

func (r *Runtime) forkAll(src *session.Session, so session.ForkOptions) (Forked, error) {
	was, is, err := r.bothFacts(src, src, so.CWD)
	if err != nil {
		return Forked{}, err
	}
	sel, p, err := keep(src.Path(), was, is)
	if err != nil {
		return Forked{}, err
	}
	if so.Carry, err = r.carry(src.Path(), sel); err != nil {
		return Forked{}, err
	}
	f, err := session.ForkAll(src, so)
	return Forked{f, p, sel}, err
}

// bothFacts are what decides the policy of a source and of its fork, each in its
// own folder.
func (r *Runtime) bothFacts(src, fork *session.Session, cwd string) (was, is policy.Facts, err error) {
	gather := func(v policy.View, folder string) (policy.Facts, error) {
		f, err := policy.Gather(v)
		if err == nil {
			f.Settings, err = r.host.Settings(folder)
		}
		return f, err
	}
	own := wrapper.WorkingFolder(src.Header().CWD, "").Path
	if was, err = gather(src, own); err != nil {
		return was, is, err
	}
	if cwd == "" {
		cwd = own
	}
	is, err = gather(fork, cwd)
	return was, is, err
}

// keep decides what a fork must carry so that it may do what its source may do,
// and the policy that follows. is are the facts of the fork without it.
func keep(path string, was, is policy.Facts) (toolselect.Selection, policy.Policy, error) {
	none := toolselect.Selection{}
	limit, _ := policy.Resolve(was)
	p, _ := policy.Resolve(is)
	if was.Child.Is {
		// Ids can repeat, so it is the record's meaning that counts.
		if p.Kind != limit.Kind || p.Prompt != limit.Prompt || !policy.Within(p, limit) {
			return none, p, fmt.Errorf("%s: fork: %w; the entry %s that says so would not decide in the fork; fork at a later entry, or all of it", path, wrapper.ErrChild, was.Child.Entry)
		}
		return none, p, nil
	}
	sel := none
	if own := was.Selection.Selection; own.State() != toolselect.Unset && !own.Equal(is.Selection.Selection) {
		sel = own
		is.Selection = toolselect.Found{Selection: sel}
		p, _ = policy.Resolve(is)
	}
	if policy.Within(p, limit) {
		return sel, p, nil
	}
	// What limits the source is not in the fork: a declaration on another branch,
	// or the settings of its folder.
	sel, err := toolselect.Pin(limit.Tools...)
	if err != nil {
		return none, p, fmt.Errorf("%s: fork: %w", path, err)
	}
	is.Selection = toolselect.Found{Selection: sel}
	if p, _ = policy.Resolve(is); !policy.Within(p, limit) {
		return none, p, fmt.Errorf("%s: fork: the fork would be allowed more than its source: %s, and not only %s", path, p, limit)
	}
	return sel, p, nil
}

// carry is what a fork is given beside its path: the selection in effect, and what
// the subagents of its source have spent, so that no fork begins anew with a full
// purse.
func (r *Runtime) carry(path string, sel toolselect.Selection) ([]session.Payload, error) {
	out, err := payloads(sel)
	if err != nil {
		return nil, err
	}
	b, err := r.subagents.CarriedBudget(context.Background(), path)
	if err != nil || b == nil {
		return out, err
	}
	entry, err := b.Payload()
	return append(out, entry), err
}

func payloads(sel toolselect.Selection) ([]session.Payload, error) {
	if sel.State() == toolselect.Unset {
		return nil, nil
	}
	p, err := sel.Payload()
	return []session.Payload{p}, err
}

// newFolder is a working folder that a session gets, and the folder of its file.
func (r *Runtime) newFolder(cwd string) (abs, dir string, err error) {
	if abs, err = filepath.Abs(cwd); err != nil {
		return "", "", err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", "", fmt.Errorf("%w: %q is no folder", wrapper.ErrFolder, cwd)
	}
	return abs, r.filesOf(abs), nil
}

// filesOf is where the session files of a working folder lie.
func (r *Runtime) filesOf(cwd string) string {
	root := r.SessionRoot(cwd)
	r.roots.remember(root.Dir)
	if root.Custom {
		return root.Dir
	}
	return filepath.Join(root.Dir, session.DirName(cwd))
}

// quiet refuses what cannot be done while a prompt of the session runs here.
func (r *Runtime) quiet(path, what string) error {
	s, live := r.registry.Live(path)
	if !live {
		return nil
	}
	if state, _ := s.State(); state == wrapper.Running {
		return fmt.Errorf("%s: %w: %s has to wait until the running prompt has ended, or until it is stopped", path, wrapper.ErrRunning, what)
	}
	return nil
}

// letGo closes the live session of a file that is going away, if nothing runs on
// it.
func (r *Runtime) letGo(path string) error {
	if s, live := r.registry.Live(path); live {
		return r.registry.ReleaseIdle(s)
	}
	return nil
}

// gone closes what was opened between letGo and the moment in which the file went:
// it holds a file without a name.
func (r *Runtime) gone(path string) error {
	if s, live := r.registry.Live(path); live {
		return r.registry.Release(s)
	}
	return nil
}

// Import copies a session file into the folder of its working folder's sessions,
// or of cwd's where its own is not there, and returns the path of the copy. A name
// that is taken gets a number. folder, if it is not "", becomes the copy's working
// folder. The file may be a session that is in use: what lies beside it is copied,
// too, so the program that holds it does that, and not while a prompt runs.
func (r *Runtime) Import(ctx context.Context, cwd, file, folder string) (to string, err error) {
	h, err := session.ReadHeader(file)
	if err != nil {
		return "", err
	}
	var b importBody
	if folder != "" {
		if b.CWD, b.Dir, err = r.newFolder(folder); err != nil {
			return "", err
		}
	} else {
		at := wrapper.WorkingFolder(h.CWD, cwd)
		if at.Err != nil {
			return "", at.Err
		}
		b.Dir = r.filesOf(at.Path)
	}
	if b.Dir, err = filepath.Abs(b.Dir); err != nil { // another program stands in another folder
		return "", err
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", err
	}
	if s, live := r.registry.Live(file); !live || !s.Log().Held() {
		if done, err := r.handed(ctx, file, askImport, b, &to); done {
			return to, err
		}
	}
	return r.importFrom(file, b)
}

func (r *Runtime) importFrom(file string, b importBody) (string, error) {
	if err := r.quiet(file, "an import"); err != nil {
		return "", err
	}
	return session.Import(file, session.ImportOptions{Dir: b.Dir, CWD: b.CWD, Companions: r.companions}, r.session)
}

// exists is asked before a live session is closed for nothing.
func exists(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", path, session.ErrNoFile)
	}
	return nil
}

// maxName bounds a session's name, in characters, as for a live session.
const maxName = 200

// Rename names a session, live or not. Line breaks become blanks.
func (r *Runtime) Rename(ctx context.Context, path, name string) error {
	s, live := r.registry.Live(path)
	if !live || !s.Log().Held() {
		if done, err := r.handed(ctx, path, askRename, renameBody{name}, nil); done {
			return err
		}
	}
	if live {
		return s.SetName(ctx, name)
	}
	name = session.CleanName(name)
	if name == "" || len([]rune(name)) > maxName {
		return fmt.Errorf("%w: it must have 1 to %d characters", wrapper.ErrName, maxName)
	}
	log, err := session.Open(path, r.session)
	if err != nil {
		return err
	}
	_, err = log.Commit(session.SessionInfo{Name: name})
	return errors.Join(err, log.Close())
}

// MoveLeaf makes another entry of a session the one that the next prompt goes on
// from, durably, live or not. The text is that of a message that a person may want
// to write anew; the leaf is above it then. Where the branch would widen what may be
// used, the tools of now are pinned.
func (r *Runtime) MoveLeaf(ctx context.Context, path string, target session.ID) (text string, err error) {
	s, live := r.registry.Live(path)
	if !live || !s.Log().Held() {
		if done, err := r.handed(ctx, path, askLeaf, leafBody{target}, &text); done {
			return text, err
		}
	}
	if live {
		return s.MoveLeaf(ctx, target)
	}
	log, err := session.Open(path, r.session)
	if err != nil {
		return "", err
	}
	text, err = r.moveLeaf(log, target)
	return text, errors.Join(err, log.Close())
}

func (r *Runtime) moveLeaf(log *session.Session, target session.ID) (string, error) {
	if _, ok := log.Entry(target); !ok {
		return "", fmt.Errorf("%s: %w: %s", log.Path(), session.ErrNoEntry, target)
	}
	settings, err := r.host.Settings(wrapper.WorkingFolder(log.Header().CWD, "").Path)
	if err != nil {
		return "", err
	}
	pin, err := wrapper.KeepRights(log, target, settings)
	if err != nil {
		return "", err
	}
	var carry []session.Payload
	if pin != nil {
		carry = append(carry, pin)
	}
	return log.MoveLeaf(target, carry...)
}
