package config

import (
	"path/filepath"
	"testing"
)

func TestAgentDir(t *testing.T) {
	home, cwd := filepath.FromSlash("/home/me"), filepath.FromSlash("/src/p")
	for _, c := range []struct {
		name, value string
		set         bool
		want        string
	}{
		{"unset", "", false, "/home/me/.pi/agent"},
		{"empty counts as unset", "", true, "/home/me/.pi/agent"},
		{"absolute", "/etc/pi", true, "/etc/pi"},
		{"tilde", "~", true, "/home/me"},
		{"tilde and path", "~/x y/日本", true, "/home/me/x y/日本"},
		{"another user's tilde is a name", "~bob/x", true, "/src/p/~bob/x"},
		{"tilde inside", "/a/~/b", true, "/a/~/b"},
		{"relative", "conf", true, "/src/p/conf"},
		{"dots and slashes", "/a//b/../c/", true, "/a/c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := Env{Home: home, Cwd: cwd, Lookup: func(n string) (string, bool) { return c.value, c.set && n == EnvAgentDir }}
			if got := env.AgentDir(); got != filepath.FromSlash(c.want) {
				t.Errorf("AgentDir() = %q, want %q", got, c.want)
			}
		})
	}
}

func TestSessionRootPrecedence(t *testing.T) {
	for _, c := range []struct {
		name, flag, env, user, project string
		trust                          bool
		want                           string // "" for the default
		source                         string
	}{
		{"default", "", "", "", "", true, "", "default"},
		{"user's setting", "", "", "~/s1", "", true, "HOME/s1", "user"},
		{"project's setting over the user's", "", "", "~/s1", "rel/s2", true, "CWD/rel/s2", "project"},
		{"project's setting before trust", "", "", "~/s1", "rel/s2", false, "CWD/rel/s2", "project"},
		{"variable over settings", "", "~/s3", "~/s1", "s2", true, "HOME/s3", EnvSessionDir},
		{"flag over all", "s4", "~/s3", "~/s1", "s2", true, "CWD/s4", "--session-dir"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			h.set(EnvSessionDir, c.env)
			sources := map[string]string{"default": "default"}
			if c.user != "" {
				sources["user"] = h.write("settings.json", `{"sessionDir":"`+c.user+`"}`)
			}
			if c.project != "" {
				sources["project"] = h.project(".pi/settings.json", `{"sessionDir":"`+c.project+`","defaultModel":"evil"}`)
			}
			cfg := Load(h.env(), Options{SessionDir: c.flag, Trust: &c.trust})
			want := filepath.Join(h.agent(), "sessions")
			switch {
			case len(c.want) > 5 && c.want[:5] == "HOME/":
				want = filepath.Join(h.dir, c.want[5:])
			case len(c.want) > 4 && c.want[:4] == "CWD/":
				want = filepath.Join(h.cwd, filepath.FromSlash(c.want[4:]))
			}
			source := c.source
			if s, ok := sources[source]; ok {
				source = s
			}
			if got := cfg.Sessions; got.Dir != want || got.Custom != (c.want != "") || got.Source != source {
				t.Errorf("Sessions = %+v, want %q from %q", got, want, source)
			}
			if !c.trust && cfg.Settings.DefaultModel != "" {
				t.Error("another setting of an untrusted project came through")
			}
		})
	}
}
