package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/internal/confine"
)

// ground is a file system with a home, an agent directory, a project and a
// folder that belongs to none of them.
type ground struct {
	t       *testing.T
	base    string
	home    string
	agent   string
	project string // no git
	outside string
}

func newGround(t *testing.T) *ground {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{t: t, base: base, home: base + "/home/me", agent: base + "/conf/agent", project: base + "/code/proj", outside: base + "/outside"}
	for _, p := range []*string{&g.home, &g.agent, &g.project, &g.outside} {
		*p = filepath.FromSlash(*p)
		if err := os.MkdirAll(*p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func (g *ground) place() Place { return Place{Cwd: g.project, AgentDir: g.agent, Home: g.home} }

func (g *ground) put(path, text string) string {
	g.t.Helper()
	path = filepath.FromSlash(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
	return path
}

func (g *ground) link(target, path string) string {
	g.t.Helper()
	path = filepath.FromSlash(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.Symlink(filepath.FromSlash(target), path); err != nil {
		if runtime.GOOS == "windows" {
			g.t.Skipf("links need a privilege here: %v", err)
		}
		g.t.Fatal(err)
	}
	return path
}

// texts are the contents found below base, in order, and the paths left out.
func texts(g *ground, p Place) (found, omitted []string) {
	files, omissions := ContextFiles(p)
	for _, f := range files {
		if strings.HasPrefix(f.Path, g.base) {
			found = append(found, f.Text)
		}
	}
	for _, o := range omissions {
		if o.Reason == "" {
			g.t.Errorf("%s is left out without a reason", o.Path)
		}
		rel, _ := filepath.Rel(g.base, o.Path)
		omitted = append(omitted, filepath.ToSlash(rel))
	}
	return found, omitted
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestContextOneFilePerFolderByPrecedence(t *testing.T) {
	caseless := ignoresCase(t)
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"none", nil, ""},
		{"override hides all", []string{"AGENTS.override.md", "AGENTS.md", "CLAUDE.md"}, "AGENTS.override.md"},
		{"AGENTS before CLAUDE", []string{"CLAUDE.md", "AGENTS.md"}, "AGENTS.md"},
		{"CLAUDE alone", []string{"CLAUDE.md"}, "CLAUDE.md"},
		{"upper case ending", []string{"AGENTS.MD", "CLAUDE.md"}, "AGENTS.MD"},
		{"lower case ending first", []string{"AGENTS.MD", "AGENTS.md"}, "AGENTS.md"},
		{"last choice", []string{"CLAUDE.MD"}, "CLAUDE.MD"},
		{"other names do not count", []string{"agents.md", "Claude.md", "AGENT.md", "AGENTS.txt", "README.md"}, ""},
		{"folders of that name are passed over", []string{"AGENTS.override.md/x", "AGENTS.md/x", "CLAUDE.md"}, "CLAUDE.md"},
		{"only folders", []string{"AGENTS.md/AGENTS.txt"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if caseless && (strings.Contains(c.name, "case") || strings.Contains(c.name, "other") || strings.Contains(c.name, "last")) {
				t.Skip("names differ in case only")
			}
			g := newGround(t)
			for _, name := range c.files {
				g.put(g.project+"/"+name, name)
			}
			found, omitted := texts(g, g.place())
			expect(t, "found", found, strings.Fields(c.want)...)
			expect(t, "left out", omitted)
		})
	}
}

func ignoresCase(t *testing.T) bool {
	t.Helper()
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "a"), nil, 0o644)
	_, err := os.Stat(filepath.Join(dir, "A"))
	return err == nil
}

func TestContextCaselessFileSystemCountsOnce(t *testing.T) {
	g := newGround(t)
	// What such a file system does: both names lead to one entry. Where case
	// counts, two hard links are two names.
	a := g.put(g.project+"/AGENTS.md", "x")
	if ignoresCase(t) {
		if !samePath(a, filepath.Join(g.project, "AGENTS.MD")) {
			t.Error("one entry, two spellings, counted twice")
		}
		return
	}
	b := filepath.Join(g.project, "AGENTS.MD")
	if err := os.Link(a, b); err != nil {
		t.Skipf("no hard links: %v", err)
	}
	if samePath(a, b) {
		t.Error("two names of one file counted as one")
	}
	if !samePath(a, a) || samePath(a, filepath.Join(g.project, "CLAUDE.md")) {
		t.Error("samePath")
	}
}

func TestContextOrder(t *testing.T) {
	g := newGround(t)
	g.put(g.agent+"/AGENTS.md", "agent")
	g.put(g.base+"/AGENTS.md", "base")
	g.put(g.base+"/code/CLAUDE.md", "code")
	g.put(g.project+"/AGENTS.override.md", "proj")
	g.put(g.project+"/sub 日本 é🙂/AGENTS.md", "sub")
	g.put(g.project+"/sub 日本 é🙂/below/AGENTS.md", "below, not on the way")
	p := g.place()
	p.Cwd = filepath.Join(g.project, "sub 日本 é🙂")
	found, omitted := texts(g, p)
	expect(t, "found", found, "agent", "base", "code", "proj", "sub")
	expect(t, "left out", omitted)

	p.Cwd += string(filepath.Separator)
	found, _ = texts(g, p)
	expect(t, "with a separator at the end", found, "agent", "base", "code", "proj", "sub")
}

func TestContextNormalFormsAreDifferentFolders(t *testing.T) {
	g := newGround(t)
	nfc, nfd := g.base+"/code/caf\u00e9", g.base+"/code/cafe\u0301"
	g.put(nfc+"/AGENTS.md", "nfc")
	g.put(nfd+"/AGENTS.md", "nfd")
	if found, _ := texts(g, Place{Cwd: filepath.FromSlash(nfd)}); len(found) != 1 || found[0] != "nfd" {
		t.Errorf("found %q; the second write counts where both are one folder, the folder asked for elsewhere", found)
	}
}

func TestContextSamePathOnce(t *testing.T) {
	for _, c := range []struct {
		name       string
		cwd, agent string // below the agent directory
		refused    bool
		want       []string
	}{
		{"agent directory is the cwd", "", "", false, []string{"agent", "conf"}},
		{"agent directory with dots", "", "/../agent/", false, []string{"agent", "conf"}},
		{"agent directory is above the cwd", "/sub", "", false, []string{"agent", "conf", "sub"}},
		{"a refused link there is told once, too", "", "", true, []string{"agent", "conf"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			g.put(g.agent+"/AGENTS.md", "agent")
			g.put(g.agent+"/sub/AGENTS.md", "sub")
			g.put(g.base+"/conf/AGENTS.md", "conf")
			var left []string
			if c.refused {
				g.link(g.put(g.outside+"/s", "s"), g.agent+"/AGENTS.override.md")
				left = []string{"conf/agent/AGENTS.override.md"}
			}
			found, omitted := texts(g, Place{Cwd: g.agent + c.cwd, AgentDir: g.agent + c.agent, Home: g.home})
			expect(t, "found", found, c.want...)
			expect(t, "left out", omitted, left...)
		})
	}
}

func TestContextText(t *testing.T) {
	for _, c := range []struct {
		name, file, want string
		replaced         bool
	}{
		{"empty", "", "", false},
		{"no trimming", " \n\t x \r\n\n", " \n\t x \r\n\n", false},
		{"one BOM goes", "\ufeffx", "x", false},
		{"only one", "\ufeff\ufeffx", "\ufeffx", false},
		{"BOM inside stays", "x\ufeff", "x\ufeff", false},
		{"only a BOM", "\ufeff", "", false},
		{"CJK and emoji", "日本語 🙂 é e\u0301", "日本語 🙂 é e\u0301", false},
		{"NUL and controls", "a\x00b\x1b[0m", "a\x00b\x1b[0m", false},
		{"no includes, no paths", "@/etc/hostname\n/etc/hostname", "@/etc/hostname\n/etc/hostname", false},
		{"broken UTF-8", "a\xffb\xe2\x82c\xc3(", "a\ufffdb\ufffdc\ufffd(", true},
		{"surrogate bytes", "\xed\xa0\x80", "\ufffd\ufffd\ufffd", true},
		{"BOM before broken UTF-8", "\ufeff\xff", "\ufffd", true},
		{"a real U+FFFD is no repair", "\ufffd", "\ufffd", false},
		{"UTF-16", "\xff\xfex\x00", "\ufffd\ufffdx\x00", true},
		{"huge", strings.Repeat("0123456789abcdef", 1<<19), strings.Repeat("0123456789abcdef", 1<<19), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			path := g.put(g.project+"/AGENTS.md", c.file)
			files, omissions := ContextFiles(g.place())
			if len(omissions) != 0 || len(files) == 0 {
				t.Fatalf("%d files, left out %v", len(files), omissions)
			}
			f := files[len(files)-1]
			sum := sha256.Sum256([]byte(c.file))
			if f.Text != c.want {
				t.Errorf("text %.60q, want %.60q", f.Text, c.want)
			}
			if f.Path != path || f.Real != path || f.Replaced != c.replaced || f.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("path %q real %q replaced %v sha %s", f.Path, f.Real, f.Replaced, f.SHA256)
			}
		})
	}
}

func TestContextTooLarge(t *testing.T) {
	g := newGround(t)
	path := g.put(g.project+"/AGENTS.md", "")
	if err := os.Truncate(path, maxSize+1); err != nil {
		t.Skip(err)
	}
	g.put(g.project+"/CLAUDE.md", "next")
	_, omissions := ContextFiles(g.place())
	found, _ := texts(g, g.place())
	expect(t, "found", found, "next")
	if len(omissions) != 1 || !errors.Is(omissions[0].Err, confine.ErrTooBig) || omissions[0].Path != path {
		t.Errorf("%v", omissions)
	}
}

func TestContextLinks(t *testing.T) {
	type setup func(g *ground) (target string)
	file := func(where func(g *ground) string) setup {
		return func(g *ground) string { return g.put(where(g), "linked") }
	}
	inHome := file(func(g *ground) string { return g.home + "/dot files/agents é.md" })
	for _, c := range []struct {
		name   string
		git    bool
		target setup
		ok     bool
		err    error
		says   string
	}{
		{"into the home folder", false, inHome, true, nil, ""},
		{"into the agent directory", false, file(func(g *ground) string { return g.agent + "/shared.md" }), true, nil, ""},
		{"inside the cwd", false, file(func(g *ground) string { return g.project + "/doc/a.md" }), true, nil, ""},
		{"relative, inside", false, func(g *ground) string { g.put(g.project+"/doc/a.md", "linked"); return "doc/a.md" }, true, nil, ""},
		{"relative, upwards and inside git", true, func(g *ground) string { g.put(g.base+"/code/shared.md", "linked"); return "../shared.md" }, true, nil, ""},
		{"the same without git", false, func(g *ground) string { g.put(g.base+"/code/shared.md", "linked"); return "../shared.md" }, false, confine.ErrOutside, "outside"},
		{"outside", false, file(func(g *ground) string { return g.outside + "/secret" }), false, confine.ErrOutside, "outside/secret"},
		{"outside, relative", false, func(g *ground) string { g.put(g.outside+"/secret", "linked"); return "../../outside/secret" }, false, confine.ErrOutside, "outside"},
		{"outside, with git", true, file(func(g *ground) string { return g.outside + "/secret" }), false, confine.ErrOutside, "outside"},
		{"a sibling with the same start", false, file(func(g *ground) string { return g.project + "-secret/s" }), false, confine.ErrOutside, "outside"},
		{"system file", false, func(*ground) string { return "/etc/hosts" }, false, confine.ErrOutside, "/etc/hosts"},
		{"by a link in the home folder to the outside", false, func(g *ground) string {
			return g.link(g.put(g.outside+"/s", "linked"), g.home+"/innocent.md")
		}, false, confine.ErrOutside, "outside/s"},
		{"by a link outside back in", false, func(g *ground) string {
			return g.link(g.put(g.home+"/a.md", "linked"), g.outside+"/l")
		}, true, nil, ""},
		{"through a linked folder to the outside", false, func(g *ground) string {
			g.put(g.outside+"/d/s", "linked")
			g.link(g.outside+"/d", g.project+"/d")
			return "d/s"
		}, false, confine.ErrOutside, "outside"},
		{"dangling", false, func(*ground) string { return "gone.md" }, false, fs.ErrNotExist, "does not exist"},
		{"dangling, absolute", false, func(g *ground) string { return g.outside + "/gone" }, false, fs.ErrNotExist, "does not exist"},
		{"loop", false, func(g *ground) string { g.link("AGENTS.md", g.project+"/loop"); return "loop" }, false, confine.ErrLoop, "too many links"},
		{"itself", false, func(*ground) string { return "AGENTS.md" }, false, confine.ErrLoop, "too many links"},
		{"folder inside is passed over", false, func(g *ground) string { return filepath.Dir(g.put(g.project+"/dir/x", "")) }, false, nil, ""},
		{"device", false, func(*ground) string { return "/dev/zero" }, false, confine.ErrOutside, "/dev/zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && (c.name == "system file" || c.name == "device") {
				t.Skip("no such file here")
			}
			g := newGround(t)
			if c.git {
				g.put(g.base+"/code/.git/HEAD", "ref: refs/heads/main\n")
			}
			path := g.link(c.target(g), g.project+"/AGENTS.md")
			g.put(g.project+"/CLAUDE.md", "next choice")
			files, omissions := ContextFiles(g.place())
			found, omitted := texts(g, g.place())
			if c.ok {
				expect(t, "found", found, "linked")
				expect(t, "left out", omitted)
				f := files[len(files)-1]
				want, _ := filepath.EvalSymlinks(path)
				if f.Path != path || f.Real != want {
					t.Errorf("path %q, real %q; want %q, %q", f.Path, f.Real, path, want)
				}
				return
			}
			expect(t, "found", found, "next choice")
			if c.says == "" {
				expect(t, "left out", omitted)
				return
			}
			if len(omissions) != 1 || omissions[0].Path != path || !errors.Is(omissions[0].Err, c.err) || !strings.Contains(omissions[0].String(), c.says) {
				t.Errorf("left out: %v; want %v, %q", omissions, c.err, c.says)
			}
		})
	}
}

// The rule holds for every folder on the way and for the agent directory.
func TestContextLinksElsewhereOnTheWay(t *testing.T) {
	g := newGround(t)
	secret := g.put(g.outside+"/secret", "SECRET")
	g.link(secret, g.agent+"/AGENTS.md")
	g.link(secret, g.base+"/AGENTS.md")
	g.link(secret, g.base+"/code/CLAUDE.md")
	g.put(g.project+"/AGENTS.md", "own")
	found, omitted := texts(g, g.place())
	expect(t, "found", found, "own")
	expect(t, "left out", omitted, "conf/agent/AGENTS.md", "AGENTS.md", "code/CLAUDE.md")
}

func TestContextHomeThatIsTheWholeSystemAllowsNothing(t *testing.T) {
	g := newGround(t)
	g.link(g.put(g.outside+"/secret", "SECRET"), g.project+"/AGENTS.md")
	p := g.place()
	p.Home = "/"
	found, omitted := texts(g, p)
	expect(t, "found", found)
	expect(t, "left out", omitted, "code/proj/AGENTS.md")
}

// The folders of the session may be links; only files are judged.
func TestContextFoldersMayBeLinks(t *testing.T) {
	g := newGround(t)
	g.put(g.project+"/AGENTS.md", "proj")
	g.put(g.project+"/doc.md", "doc")
	g.link("doc.md", g.project+"/CLAUDE.md")
	g.put(g.agent+"/AGENTS.md", "agent")
	g.link(g.project, g.base+"/alias/p")
	g.link(g.agent, g.base+"/alias/a")
	g.put(g.base+"/alias/AGENTS.md", "above the link")
	p := Place{Cwd: filepath.Join(g.base, "alias", "p"), AgentDir: filepath.Join(g.base, "alias", "a")}
	found, omitted := texts(g, p)
	expect(t, "found", found, "agent", "above the link", "proj")
	expect(t, "left out", omitted)
	os.Remove(filepath.Join(g.project, "AGENTS.md"))
	found, _ = texts(g, p)
	expect(t, "a relative link in a linked folder", found, "agent", "above the link", "doc")
}

func TestContextPlacesThatAreNotThere(t *testing.T) {
	g := newGround(t)
	g.put(g.project+"/AGENTS.md", "proj")
	for name, p := range map[string]Place{
		"nothing":          {},
		"only a cwd":       {Cwd: g.project},
		"cwd is gone":      {Cwd: filepath.Join(g.project, "gone"), AgentDir: filepath.Join(g.base, "no agent"), Home: filepath.Join(g.base, "no home")},
		"cwd is a file":    {Cwd: filepath.Join(g.project, "AGENTS.md")},
		"no agent, a home": {Cwd: g.project, Home: g.home},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := texts(g, p)
			if p.Cwd == "" {
				expect(t, "found", found)
			} else {
				expect(t, "found", found, "proj")
			}
		})
	}
}
