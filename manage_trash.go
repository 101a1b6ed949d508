package piweb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/wrapper"
)

// Delete moves a session to the trash beside it, and its subagents with it, found
// by their metadata. It returns them, the session first. Live ones are closed
// first; if one runs, or another process holds one, nothing is deleted. Deleting
// what is in the trash already changes nothing.
func (r *Runtime) Delete(ctx context.Context, path string) ([]session.Trashed, error) {
	var gone []session.Trashed
	if done, err := r.handed(ctx, path, askDelete, nil, &gone); done {
		return gone, err
	}
	paths := []string{path}
	if exists(path) == nil {
		children, err := r.descendants(path, r.sessionFiles)
		if err != nil {
			return nil, err
		}
		paths = append(paths, children...)
	}
	for _, p := range paths {
		if err := r.quiet(p, "the deletion"); err != nil {
			return nil, err
		}
	}
	var out []session.Trashed
	for i, p := range paths {
		went, err := r.trash(ctx, p, i > 0)
		for _, t := range went {
			if !slices.ContainsFunc(out, func(o session.Trashed) bool { return o.Path == t.Path }) {
				out = append(out, t)
			}
		}
		if err != nil {
			return nil, errors.Join(err, r.restoreAll(out))
		}
	}
	var errs []error
	for _, p := range paths {
		errs = append(errs, r.gone(p))
	}
	return out, errors.Join(errs...)
}

// trash moves one file. A subagent that another program holds goes there, with those
// below it.
func (r *Runtime) trash(ctx context.Context, path string, below bool) (went []session.Trashed, err error) {
	if below {
		if done, err := r.handed(ctx, path, askDelete, nil, &went); done {
			return went, err
		}
	}
	if err := r.letGo(path); err != nil {
		return nil, err
	}
	t, err := session.Trash(path, r.companions, r.session)
	if err != nil {
		return nil, err
	}
	return []session.Trashed{t}, nil
}

func (r *Runtime) restoreAll(list []session.Trashed) error {
	var errs []error
	for _, t := range slices.Backward(list) {
		errs = append(errs, session.Restore(t, r.companions, r.session))
	}
	return errors.Join(errs...)
}

// Trashed lists the deleted sessions of all folders that hold the sessions of
// cwd's root.
func (r *Runtime) Trashed(cwd string) ([]session.Trashed, error) {
	return trashBelow(r.SessionRoot(cwd).Dir)
}

func trashBelow(root string) ([]session.Trashed, error) {
	list, err := session.ListTrash(root)
	if err != nil {
		return nil, err
	}
	dirs, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list the trash of %s: %w", root, err)
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		more, err := session.ListTrash(filepath.Join(root, d.Name()))
		if err != nil {
			continue // a folder that may not be read hides no other
		}
		list = append(list, more...)
	}
	slices.SortStableFunc(list, func(a, b session.Trashed) int { return b.At.Compare(a.At) })
	return list, nil
}

// Restore brings a deleted session back, and those of its subagents that are in
// the trash. ref is its id, the beginning of one, the path that it had, or the one that
// it has in the trash. If one of them cannot come back, none does.
func (r *Runtime) Restore(ctx context.Context, cwd, ref string) ([]session.Trashed, error) {
	all, _, err := r.RestoreNoted(ctx, cwd, ref)
	return all, err
}

// RestoreNoted is Restore, and returns what a person should know of it: that the
// folder of outputs was there again, and now holds both. Where the same name or
// number is in both, nothing comes back and nothing is replaced.
func (r *Runtime) RestoreNoted(_ context.Context, cwd, ref string) (all []session.Trashed, notes []string, err error) {
	if all, err = r.trashedFamily(cwd, ref); err != nil {
		return nil, nil, err
	}
	kept := make([][]string, len(all))
	for i, t := range all {
		followers := r.following(true, func(text string) { kept[i] = append(kept[i], text) })
		if err := session.Restore(t, followers, r.session); err != nil {
			for _, back := range all[:i] {
				_, terr := session.Trash(back.Origin, r.companions, r.session)
				err = errors.Join(err, terr)
			}
			return nil, nil, err
		}
	}
	for i, t := range all {
		r.keepNotes(t.Origin, kept[i])
		notes = append(notes, kept[i]...)
	}
	return all, notes, nil
}

// trashedFamily is a deleted session and those of its subagents that are in the
// trash, the session first.
func (r *Runtime) trashedFamily(cwd, ref string) ([]session.Trashed, error) {
	t, err := r.findTrashed(cwd, ref)
	if err != nil {
		return nil, err
	}
	all := []session.Trashed{t}
	children, err := r.descendants(t.Path, r.trashedFiles)
	if err != nil {
		return nil, err
	}
	for _, path := range children {
		if child, ok := session.TrashedAt(path); ok {
			all = append(all, child)
		}
	}
	return all, nil
}

func (r *Runtime) findTrashed(cwd, ref string) (session.Trashed, error) {
	var hits []session.Trashed
	if strings.ContainsAny(ref, `/\`) || strings.HasSuffix(ref, ".jsonl") {
		if t, ok := session.TrashedAt(ref); ok {
			return t, nil
		}
		abs, err := filepath.Abs(ref)
		if err != nil {
			return session.Trashed{}, err
		}
		list, err := session.ListTrash(filepath.Dir(abs))
		if err != nil {
			return session.Trashed{}, err
		}
		hits = slices.DeleteFunc(list, func(t session.Trashed) bool { return t.Origin != abs })
	} else {
		list, err := r.Trashed(cwd)
		if err != nil {
			return session.Trashed{}, err
		}
		hits = slices.DeleteFunc(slices.Clone(list), func(t session.Trashed) bool { return t.ID != ref })
		if len(hits) == 0 && ref != "" {
			hits = slices.DeleteFunc(list, func(t session.Trashed) bool { return !strings.HasPrefix(t.ID, ref) })
		}
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return session.Trashed{}, fmt.Errorf("%q: %w in the trash; `piweb sessions restore` lists what is there", ref, catalog.ErrNone)
	}
	var paths []string
	for _, t := range hits {
		paths = append(paths, t.Path)
	}
	return session.Trashed{}, fmt.Errorf("%q: %w; name one of the files:\n  %s", ref, catalog.ErrAmbiguous, strings.Join(paths, "\n  "))
}

// origin is the path that a session has, or had before it was deleted.
func origin(path string) string {
	if t, ok := session.TrashedAt(path); ok {
		return t.Origin
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// descendants are the subagents of a session, and theirs, among the files that
// files lists for it.
func (r *Runtime) descendants(path string, files func(of string, h session.Header) ([]string, error)) ([]string, error) {
	h, err := session.ReadHeader(path)
	if err != nil {
		return nil, nil // who deletes or restores it says what is wrong
	}
	list, err := files(path, h)
	if err != nil {
		return nil, err
	}
	links := map[string][]link{} // by the id of the parent
	for _, f := range list {
		if l, ok := r.linkOf(f); ok {
			links[l.ID] = append(links[l.ID], l)
		}
	}
	var out []string
	seen := map[string]bool{origin(path): true}
	for queue := []string{path}; len(queue) > 0; queue = queue[1:] {
		h, err := session.ReadHeader(queue[0])
		if err != nil {
			continue
		}
		for _, l := range links[h.ID] {
			if !seen[origin(l.file)] && l.means(queue[0]) {
				seen[origin(l.file)] = true
				out, queue = append(out, l.file), append(queue, l.file)
			}
		}
	}
	return out, nil
}

// sessionFiles are the files among which a session's subagents are.
func (r *Runtime) sessionFiles(path string, h session.Header) ([]string, error) {
	list, err := catalog.Files(r.SessionRoot(h.CWD).Dir)
	if err != nil {
		return nil, err
	}
	beside, err := os.ReadDir(filepath.Dir(path))
	for _, d := range beside {
		if d.Type().IsRegular() && filepath.Ext(d.Name()) == ".jsonl" {
			list = append(list, filepath.Join(filepath.Dir(path), d.Name()))
		}
	}
	return list, err
}

// trashedFiles are the deleted sessions among which a deleted one's subagents are.
func (r *Runtime) trashedFiles(path string, h session.Header) ([]string, error) {
	list, err := trashBelow(r.SessionRoot(h.CWD).Dir)
	if err != nil {
		return nil, err
	}
	beside, err := session.ListTrash(filepath.Dir(origin(path)))
	var out []string
	for _, t := range append(list, beside...) {
		out = append(out, t.Path)
	}
	return out, err
}

// link is what a subagent's record says of its parent.
type link struct {
	ID   string `json:"parentSessionId"`
	Path string `json:"parentSessionPath"`
	file string // of the subagent
}

// linkOf reads the record of a subagent. Only a file whose header names a parent
// is read further.
func (r *Runtime) linkOf(path string) (link, bool) {
	if h, err := session.ReadHeader(path); err != nil || h.ParentSession == "" {
		return link{}, false
	}
	s, err := session.Open(path, r.session)
	if err != nil {
		return link{}, false
	}
	defer s.Close()
	for e := range s.Entries() {
		if e.Type != session.TypeCustom || e.CustomType != policy.SubagentType {
			continue
		}
		p, err := s.Decode(e)
		if err != nil {
			return link{}, false
		}
		l := link{file: path}
		custom, _ := p.(session.Custom)
		err = structure.Unmarshal(custom.Data, &l)
		return l, err == nil // the first record counts
	}
	return link{}, false
}

// means tells whether this is the parent. Ids of copies repeat, so the path counts
// too, unless nothing is there any more: a session that was moved, or is in the
// trash, keeps its subagents.
func (l link) means(parent string) bool {
	if _, err := os.Stat(l.Path); err != nil {
		return true
	}
	a, errA := wrapper.RealPath(l.Path)
	b, errB := wrapper.RealPath(origin(parent))
	return errA == nil && errB == nil && a == b
}
