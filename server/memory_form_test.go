package server

import (
	"strings"
	"testing"
)

// TestResourceFieldsBehindTheFile: a form may have its fields behind the file, as many
// clients send them. They count as those in front of it do: a file that is meant for
// one app is not kept for another.
func TestResourceFieldsBehindTheFile(t *testing.T) {
	const head, end = "--x\r\nContent-Disposition: form-data; name=", "--x--\r\n"
	field := func(name, value string) string { return head + `"` + name + "\"\r\n\r\n" + value + "\r\n" }
	file := head + `"file"; filename="plan.png"` + "\r\nContent-Type: image/png\r\n\r\nPNG\r\n"
	w := newWorld(t, slowTalk(t))
	send := func(parts ...string) answer {
		return w.send(w.ask("POST", "/resources", strings.Join(parts, "")).with("Content-Type", "multipart/form-data; boundary=x"))
	}
	for _, c := range []struct {
		name string
		send []string
	}{
		{"in front of it", []string{field("app_id", "front"), field("project_id", "p"), field("description", "my life"), file, end}},
		{"behind it", []string{file, field("app_id", "behind"), field("project_id", "p"), field("description", "my life"), end}},
		{"on both sides", []string{field("app_id", "both"), file, field("project_id", "p"), field("description", "my life"), end}},
	} {
		got := send(c.send...)
		if got.status != 200 || got.str("app_id") == "default" || got.str("project_id") != "p" || got.str("description") != "my life" || got.json["duplicate"] != false {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
	}
	for _, c := range []struct {
		name   string
		status int
		code   string
		send   []string
	}{
		{"a bad app", 422, "INVALID_INPUT", []string{file, field("app_id", "../x"), end}},
		{"a long description", 422, "INVALID_INPUT", []string{file, field("description", strings.Repeat("x", 20<<10)), end}},
		{"two files", 400, "NO_FILE", []string{file, file, end}},
		{"cut off", 400, "NO_FILE", []string{file, field("app_id", "cut")}},
		{"no end of parts", 400, "NO_FILE", []string{file, strings.Repeat(field("a", "b"), 40), end}},
	} {
		if got := send(c.send...); got.status != c.status || got.code() != c.code {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
	}
	if got := w.send(w.ask("GET", "/resources")); got.json["total"] != 0.0 {
		t.Errorf("something was kept of what was refused: %s", got.body)
	}
}
