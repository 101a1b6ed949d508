package main

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeUI: --ui serves a folder as the page, with the source that the environment
// names; nothing outside of it is reached, by a path or by a link.
func TestServeUI(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("PI_CODING_AGENT_DIR", filepath.Join(home, "agent"))
	t.Setenv("PI_WEB_DEFAULT_SOURCE", home)
	t.Setenv("NEXT_PUBLIC_PI_WEB_SESSIONS_MANAGE", "false")
	ui := filepath.Join(home, "dist")
	for name, text := range map[string]string{"dist/index.html": "<html>THEIR PAGE</html>", "dist/assets/app.js": "1;", "secret.txt": "SECRET"} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	linked := os.Symlink(filepath.Join(home, "secret.txt"), filepath.Join(ui, "link.txt")) == nil && os.Symlink("..", filepath.Join(ui, "up")) == nil

	if code := run(t.Context(), []string{"serve", "--port", "0", "--ui", filepath.Join(home, "agent")}, strings.NewReader(""), io.Discard, io.Discard); code != exitUsage {
		t.Errorf("a folder without a page: exit code %d", code)
	}
	ctx, stop := context.WithCancel(t.Context())
	link, wait := serveUntil(t, ctx, "--ui", ui)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	get := func(url string) (int, string) {
		t.Helper()
		res, err := browser.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(data)
	}
	if status, text := get(link); status != 200 || !strings.Contains(text, "THEIR PAGE") {
		t.Errorf("the link: %d %s", status, text)
	}
	base, _, _ := strings.Cut(link, "?")
	if status, text := get(base + "assets/app.js"); status != 200 || text != "1;" {
		t.Errorf("a script: %d %s", status, text)
	}
	status, text := get(base + "api/bootstrap")
	if status != 200 || !strings.Contains(text, `"defaultSource":`) || !strings.Contains(text, `"sessionsManage":false`) {
		t.Errorf("bootstrap: %d %s", status, text)
	}
	outside := []string{"..%2fsecret.txt", "%2e%2e/secret.txt", `..%5csecret.txt`}
	if linked {
		outside = append(outside, "link.txt", "up/secret.txt")
	}
	for _, name := range outside {
		if status, text := get(base + name); status < 400 || strings.Contains(text, "SECRET") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	browser.CloseIdleConnections()
	stop()
	wait()
}
