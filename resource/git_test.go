package resource

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestGitRoot(t *testing.T) {
	g := newGround(t)
	g.put(g.base+"/code/.git/HEAD", "ref: x")
	g.put(g.base+"/code/proj/wt/.git", "gitdir: ../../.git/worktrees/wt\n")
	g.put(g.base+"/code/proj/wt/deep/x", "")
	g.link(g.project, g.base+"/alias")
	work := filepath.Join(g.base, "code")
	for dir, want := range map[string]string{
		g.project:                               work,
		work:                                    work,
		filepath.Join(g.project, "gone", "far"): work,
		filepath.Join(g.project, "wt", "deep"):  filepath.Join(g.project, "wt"),
		filepath.Join(g.base, "alias"):          work,
		g.outside:                               "",
		"":                                      "",
	} {
		if got := GitRoot(dir); got != want {
			t.Errorf("GitRoot(%q) = %q, want %q", dir, got, want)
		}
	}
}

// layout writes by hand what git writes for a checkout with worktrees.
func (g *ground) checkout(main string, worktree, gitdir string) {
	g.put(main+"/.git/HEAD", "ref: refs/heads/main\n")
	if worktree != "" {
		g.put(main+"/.git/worktrees/w/HEAD", "ref: refs/heads/w\n")
		g.put(main+"/.git/worktrees/w/commondir", "../..\n")
		g.put(worktree+"/.git", gitdir)
	}
}

func TestContextNestedWorktree(t *testing.T) {
	for _, c := range []struct {
		name         string
		build        func(g *ground, main, wt string)
		cwd          string // below the worktree
		mainFile     string
		worktreeFile string
		want         []string
		omitted      []string
	}{
		{"same name is read once", nil, "", "AGENTS.md", "AGENTS.md", []string{"wt"}, []string{"code/main/AGENTS.md"}},
		{"from a folder below", nil, "a/b", "AGENTS.md", "AGENTS.md", []string{"wt"}, []string{"code/main/AGENTS.md"}},
		{"different names are both read", nil, "", "AGENTS.md", "CLAUDE.md", []string{"main", "wt"}, nil},
		{"override of the worktree hides nothing above", nil, "", "AGENTS.md", "AGENTS.override.md", []string{"main", "wt"}, nil},
		{"worktree without a file", nil, "", "AGENTS.md", "", []string{"main"}, nil},
		{"relative gitdir", func(g *ground, main, wt string) { g.checkout(main, wt, "gitdir: ../../.git/worktrees/w\n") }, "", "AGENTS.md", "AGENTS.md", []string{"wt"}, []string{"code/main/AGENTS.md"}},
		{"CRLF and blanks behind the gitdir", func(g *ground, main, wt string) { g.checkout(main, wt, "gitdir: ../../.git/worktrees/w \r\n") }, "", "AGENTS.md", "AGENTS.md", []string{"wt"}, []string{"code/main/AGENTS.md"}},
		{"no HEAD", func(g *ground, main, wt string) {
			g.checkout(main, wt, "gitdir: ../../.git/worktrees/w\n")
			os.Remove(filepath.Join(main, ".git", "worktrees", "w", "HEAD"))
		}, "", "AGENTS.md", "AGENTS.md", []string{"main", "wt"}, nil},
		{"gitdir leads nowhere", func(g *ground, main, wt string) { g.checkout(main, wt, "gitdir: /gone\n") }, "", "AGENTS.md", "AGENTS.md", []string{"main", "wt"}, nil},
		{"not a gitdir line", func(g *ground, main, wt string) { g.checkout(main, wt, "something else") }, "", "AGENTS.md", "AGENTS.md", []string{"main", "wt"}, nil},
		{"submodule", func(g *ground, main, wt string) {
			g.put(main+"/.git/HEAD", "ref: x")
			g.put(main+"/.git/modules/w/HEAD", "ref: x")
			g.put(wt+"/.git", "gitdir: ../../.git/modules/w\n")
		}, "", "AGENTS.md", "AGENTS.md", []string{"main", "wt"}, nil},
		{"bare layout", func(g *ground, main, wt string) {
			g.put(main+"/.bare/HEAD", "ref: x")
			g.put(main+"/.bare/worktrees/w/HEAD", "ref: x")
			g.put(main+"/.bare/worktrees/w/commondir", "../..")
			g.put(wt+"/.git", "gitdir: ../../.bare/worktrees/w\n")
		}, "", "AGENTS.md", "AGENTS.md", []string{"main", "wt"}, nil},
		{"plain nested repository", func(g *ground, main, wt string) {
			g.put(main+"/.git/HEAD", "ref: x")
			g.put(wt+"/.git/HEAD", "ref: x")
		}, "", "AGENTS.md", "AGENTS.md", []string{"main", "wt"}, nil},
		{"no git at all", func(*ground, string, string) {}, "", "AGENTS.md", "AGENTS.md", []string{"main", "wt"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			main := filepath.Join(g.base, "code", "main")
			wt := filepath.Join(main, ".worktrees", "w")
			if c.build == nil {
				c.build = func(g *ground, main, wt string) {
					g.checkout(main, wt, "gitdir: "+filepath.Join(main, ".git", "worktrees", "w")+"\n")
				}
			}
			os.MkdirAll(filepath.Join(wt, "a", "b"), 0o755)
			c.build(g, main, wt)
			g.put(main+"/"+c.mainFile, "main")
			if c.worktreeFile != "" {
				g.put(wt+"/"+c.worktreeFile, "wt")
			}
			p := g.place()
			p.Cwd = filepath.Join(wt, filepath.FromSlash(c.cwd))
			found, omitted := texts(g, p)
			expect(t, "found", found, c.want...)
			expect(t, "left out", omitted, c.omitted...)
		})
	}
}

func TestContextWorktreeBesideTheCheckout(t *testing.T) {
	g := newGround(t)
	main, wt := filepath.Join(g.base, "code", "main"), filepath.Join(g.base, "code", "feat")
	g.checkout(main, wt, "gitdir: "+filepath.Join(main, ".git", "worktrees", "w")+"\n")
	g.put(main+"/AGENTS.md", "main")
	g.put(wt+"/AGENTS.md", "wt")
	p := g.place()
	p.Cwd = wt
	found, omitted := texts(g, p)
	expect(t, "found", found, "wt")
	expect(t, "left out", omitted)
}

// git writes real paths into .git while the cwd may go through a link.
func TestContextNestedWorktreeReachedByALink(t *testing.T) {
	g := newGround(t)
	main := filepath.Join(g.base, "code", "main")
	wt := filepath.Join(main, "wt")
	g.checkout(main, wt, "gitdir: "+filepath.Join(main, ".git", "worktrees", "w")+"\n")
	g.put(main+"/AGENTS.md", "main")
	g.put(wt+"/AGENTS.md", "wt")
	g.link(filepath.Join(g.base, "code"), g.base+"/alias")
	p := g.place()
	p.Cwd = filepath.Join(g.base, "alias", "main", "wt")
	found, omitted := texts(g, p)
	expect(t, "found", found, "wt")
	expect(t, "left out", omitted, "alias/main/AGENTS.md")
}

// A worktree's file that is a link to the main checkout's leads outside of the
// worktree; it is left out, and so the main checkout's own is read.
func TestContextNestedWorktreeWithLinkToMain(t *testing.T) {
	g := newGround(t)
	main := filepath.Join(g.base, "code", "main")
	wt := filepath.Join(main, "wt")
	g.checkout(main, wt, "gitdir: "+filepath.Join(main, ".git", "worktrees", "w")+"\n")
	g.put(main+"/AGENTS.md", "main")
	g.link("../AGENTS.md", wt+"/AGENTS.md")
	p := g.place()
	p.Cwd = wt
	found, omitted := texts(g, p)
	expect(t, "found", found, "main")
	expect(t, "left out", omitted, "code/main/wt/AGENTS.md")
}

// The same with what git itself writes.
func TestContextNestedWorktreeByGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	g := newGround(t)
	main := filepath.Join(g.base, "code", "main")
	wt := filepath.Join(main, ".worktrees", "w")
	g.put(main+"/AGENTS.md", "main")
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "AGENTS.md"},
		{"-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "m", "--no-gpg-sign"},
		{"worktree", "add", "-q", wt},
	} {
		cmd := exec.Command(git, args...)
		cmd.Dir = main
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	g.put(wt+"/AGENTS.md", "wt")
	p := g.place()
	p.Cwd = wt
	found, omitted := texts(g, p)
	expect(t, "found", found, "wt")
	expect(t, "left out", omitted, "code/main/AGENTS.md")
	p.Cwd = main
	found, omitted = texts(g, p)
	expect(t, "in the main checkout", found, "main")
	expect(t, "left out there", omitted)
}
