package piweb

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/gc"
)

// CollectOptions say what a collection does.
type CollectOptions struct {
	// Remove takes away what has been unused for the grace period; else nothing is
	// removed.
	Remove bool
	// Grace is how long a thing must be unused; 0 for gc.DefaultGrace.
	Grace time.Duration
	Now   func() time.Time // nil for time.Now
}

// Collected is what a collection found.
type Collected struct {
	gc.Report
	Folders []string // of sessions that were read
	Skipped []string // what was left alone, and why
}

// Collect finds the blobs, attachments, grants and whole outputs that no session
// names any more, in any folder that is known to hold sessions: the agent
// directory's, that of cwd's configuration, and all others that sessions were ever
// opened or made in. With Remove it takes away what an earlier collection found
// unused a grace period ago, and what has been unused since. It is safe while
// sessions run, here or in other processes.
func (r *Runtime) Collect(ctx context.Context, cwd string, o CollectOptions) (Collected, error) {
	folders, err := r.knownFolders(cwd)
	if err != nil {
		return Collected{}, err
	}
	var out Collected
	c := &gc.Collector{Dir: filepath.Join(r.host.agentDir, "piweb"), Grace: o.Grace, Now: o.Now}
	for _, f := range folders {
		out.Folders = append(out.Folders, f.Path)
		c.Roots = append(c.Roots, f)
		c.Stores = append(c.Stores, gc.Outputs{Path: f.Path}, gc.Leftovers{Path: f.Path})
	}
	for _, own := range []string{"piweb", "piweb-data"} {
		c.Stores = append(c.Stores, gc.Leftovers{Path: filepath.Join(r.host.agentDir, own)})
	}
	// What programs of ours keep for good may name things as well.
	c.Roots = append(c.Roots, gc.Folder{Path: filepath.Join(r.host.agentDir, "piweb-data"), Optional: true})
	c.Roots = append(c.Roots, r.memoryRoot())
	if out.Skipped, err = r.host.collectBlobs(c, folders); err != nil {
		return out, err
	}
	if err := r.collectAttachments(c); err != nil {
		return out, err
	}
	if o.Remove {
		out.Report, err = c.Collect(ctx)
	} else {
		out.Report, err = c.Look(ctx)
	}
	if err == nil && o.Remove && r.hasAttachments() {
		err = r.sweepAttachments(ctx, o.Grace)
	}
	return out, err
}

// sweepAttachments removes what no descriptor names: bytes of uploads that never
// ended.
func (r *Runtime) sweepAttachments(ctx context.Context, grace time.Duration) error {
	if grace == 0 {
		grace = gc.DefaultGrace
	}
	store, err := r.attachments.open()
	if err != nil || store == nil {
		return err
	}
	_, err = store.Collect(ctx, grace)
	return err
}

// knownFolders are the folders of sessions. One that lies in another is read with
// that one; a remembered one that is not there stays on the list, and stops the
// collection.
func (r *Runtime) knownFolders(cwd string) ([]gc.Folder, error) {
	remembered, err := r.roots.list()
	if err != nil {
		return nil, err
	}
	var all []gc.Folder
	for _, dir := range remembered {
		all = append(all, gc.Folder{Path: dir})
	}
	for _, dir := range []string{r.roots.sessions, r.SessionRoot(cwd).Dir} {
		if !slices.ContainsFunc(all, func(f gc.Folder) bool { return f.Path == dir }) {
			all = append(all, gc.Folder{Path: dir, Optional: true})
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(f gc.Folder) bool {
		_, err := os.Stat(f.Path)
		return err == nil && slices.ContainsFunc(all, func(g gc.Folder) bool { return g.Path != f.Path && inFolder(f.Path, g.Path) })
	}), nil
}

// inFolder tells whether a path is a folder or lies in it.
func inFolder(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// collectBlobs adds the folders of blobs: that of the agent directory, and those
// beside a folder "sessions" that is known, which is read as a whole then. Where
// oh-my-pi keeps its sessions, blobs are left alone.
func (h *host) collectBlobs(c *gc.Collector, folders []gc.Folder) (skipped []string, err error) {
	omp := mover{lookup: h.lookup}
	dirs := []string{filepath.Join(h.agentDir, "blobs")}
	for _, f := range folders {
		dir := BlobDir(h.agentDir, filepath.Join(f.Path, "x.jsonl"))
		if slices.Contains(dirs, dir) {
			continue
		}
		dirs = append(dirs, dir)
		c.Roots = append(c.Roots, gc.Folder{Path: filepath.Join(filepath.Dir(dir), "sessions"), Optional: true})
	}
	for _, path := range dirs {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if omp.ofOhMyPi(path) {
			skipped = append(skipped, path+": blobs of oh-my-pi, which may have sessions that piweb does not know; use its own collection")
			continue
		}
		dir, err := blob.NewDir(path, blob.DirOptions{})
		if err != nil {
			return nil, err
		}
		c.Stores = append(c.Stores, gc.Contents{Contents: blob.NewContents(dir)})
	}
	return skipped, nil
}

// collectAttachments adds the attachments, where there are any.
func (r *Runtime) collectAttachments(c *gc.Collector) error {
	if !r.hasAttachments() {
		return nil
	}
	store, err := r.attachments.open()
	if err != nil || store == nil {
		return err
	}
	c.Stores = append(c.Stores, gc.Attachments{Store: store}, gc.Grants{Store: store})
	return nil
}

// hasAttachments tells whether there may be any: opening the store makes its folder
// and its secret.
func (r *Runtime) hasAttachments() bool {
	dir := r.attachments.setup.Dir
	if named, ok := r.host.lookup(attachment.EnvDir); ok && named != "" {
		dir = named
	}
	_, err := os.Stat(dir)
	return err == nil
}
