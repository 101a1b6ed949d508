package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/account"
)

// cli runs a command in this process and gives what it printed.
func cli(t *testing.T, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	if code := run(t.Context(), args, strings.NewReader(""), &out, &problems); code != 0 {
		t.Fatalf("piweb %v ends with %d: %s", args, code, problems.String())
	}
	return out.String()
}

// contents are the files below a folder with their bytes, without caches and locks.
func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel == "piweb" {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasPrefix(filepath.Base(rel), "memory.db") {
			return nil // a database that was opened is another file; what is in it is compared
		}
		data, err := os.ReadFile(path)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBackupAndRestore follows docs/operations.md: a home that was used is backed up,
// lost and restored, and everything in it is as it was: sessions and whose they are,
// attachments and their addresses, memories with their files, users and who is signed in.
func TestBackupAndRestore(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	tool(t, "tar")
	backUp, restore := documented(t, "# back up"), documented(t, "# restore, where there is no agent directory")
	home := t.TempDir()
	agent := filepath.Join(home, ".pi", "agent")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("PI_CODING_AGENT_DIR", "")
	project := filepath.Join(home, "my project 漢")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(project)
	cli(t, "run", "hello from the terminal")
	cli(t, "memory", "add", "We deploy on Thursdays 内存网关")
	token, err := account.OpenUsers(agent).Add("alice", account.Member)
	if err != nil {
		t.Fatal(err)
	}

	// alice uses the server: a session of her own, a file in it, a mark, a memory with a file.
	type view struct{ messages, favorites, memories, attachments, raw any }
	signature := regexp.MustCompile(`\?exp=[0-9]+&sig=[0-9a-f]+`) // another one each time that it is asked for
	var id, displayed string
	var cookie *http.Cookie
	serving := func(use func(ask func(method, path, kind string, body io.Reader) any, base string)) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		link, wait := serveUntil(t, ctx)
		base, _, _ := strings.Cut(link, "?")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		use(func(method, path, kind string, body io.Reader) any {
			t.Helper()
			r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base, "/")+path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			if kind != "" {
				r.Header.Set("Content-Type", kind)
			}
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			data, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode >= 400 {
				t.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, data, err)
			}
			var v any
			if json.Unmarshal(data, &v) != nil {
				return string(data)
			}
			return v
		}, base)
		stop()
		wait()
	}
	post := func(ask func(method, path, kind string, body io.Reader) any, path, body string) map[string]any {
		v, _ := ask("POST", path, "application/json", strings.NewReader(body)).(map[string]any)
		return v
	}
	look := func(ask func(method, path, kind string, body io.Reader) any) view {
		files, _ := json.Marshal(ask("GET", "/api/sessions/"+id+"/attachments", "", nil))
		return view{ask("GET", "/api/sessions/"+id+"/messages", "", nil), ask("GET", "/api/sessions/favorites", "", nil), ask("GET", "/api/memories", "", nil),
			signature.ReplaceAllString(strings.ReplaceAll(string(files), `\u0026`, "&"), ""), ask("GET", displayed, "", nil)}
	}
	var before view
	serving(func(ask func(method, path, kind string, body io.Reader) any, base string) {
		where, _ := json.Marshal(project)
		id, _ = post(ask, "/api/sessions", `{"tools":[],"source":`+string(where)+`}`)["sessionId"].(string)
		post(ask, "/api/sessions/"+id+"/messages", `{"message":"hello from alice"}`)
		for idle := false; !idle; { // the answer is in the file
			state, _ := ask("GET", "/api/sessions/"+id+"/state", "", nil).(map[string]any)
			if state, ok := state["state"].(map[string]any); ok {
				idle = state["isStreaming"] == false
			}
			time.Sleep(10 * time.Millisecond)
		}
		var form bytes.Buffer
		m := multipart.NewWriter(&form)
		part, err := m.CreateFormFile("file", "plan 漢.txt")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, "the plan")
		m.Close()
		made, _ := ask("POST", "/api/sessions/"+id+"/attachments", m.FormDataContentType(), &form).(map[string]any)
		displayed, _ = made["displayUrl"].(string)
		post(ask, "/api/sessions/favorites", `{"sessionIds":["`+id+`"]}`)
		post(ask, "/memories/add", `{"session_id":"s1","messages":[{"sender_id":"alice","role":"user","content":[{"type":"text","text":"the plan is plan.png"},{"type":"image","name":"plan.png","base64":"UE5H"}]}]}`)
		cookie = signedInAs(t, base, token)
		before = look(ask)
	})
	if displayed == "" || before.raw != "the plan" {
		t.Fatalf("%q gives %v", displayed, before.raw)
	}
	lists := [][]string{{"sessions", "list", "--json"}, {"memory", "list", "--json"}, {"users", "list", "--json"}}
	var printed []string
	for _, args := range lists {
		printed = append(printed, cli(t, args...))
	}
	kept := contents(t, agent)

	follow := func(example string) {
		t.Helper()
		cmd := exec.Command(sh, "-ec", example)
		cmd.Dir = home
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", example, err, said)
		}
	}
	follow(backUp)
	if err := os.RemoveAll(agent); err != nil {
		t.Fatal(err)
	}
	follow(restore)

	if _, err := os.Stat(filepath.Join(agent, "piweb")); err == nil {
		t.Error("caches are in the backup")
	}
	for name, text := range contents(t, agent) {
		if kept[name] != text {
			t.Errorf("%s is another file", name)
		}
		delete(kept, name)
	}
	for name := range kept {
		t.Errorf("%s is not in the backup", name)
	}
	for i, args := range lists {
		if got := cli(t, args...); got != printed[i] {
			t.Errorf("piweb %v prints\n%s\nand printed\n%s", args, got, printed[i])
		}
	}
	serving(func(ask func(method, path, kind string, body io.Reader) any, base string) {
		if after := look(ask); !reflect.DeepEqual(after, before) {
			t.Errorf("alice sees\n%+v\nand saw\n%+v", after, before)
		}
		r, _ := http.NewRequest("GET", base+"api/bootstrap", nil)
		other := signedInAs(t, base, token)
		r.AddCookie(&http.Cookie{Name: other.Name, Value: cookie.Value}) // its name has the port in it
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("the browser is not signed in any more: %d", res.StatusCode)
		}
		http.DefaultClient.CloseIdleConnections()
	})
}

// signedInAs is the cookie that a token gets.
func signedInAs(t *testing.T, base, token string) *http.Cookie {
	t.Helper()
	r, err := http.NewRequest("POST", base+"sign-in", strings.NewReader("token="+token))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", strings.TrimSuffix(base, "/"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if len(res.Cookies()) != 1 {
		t.Fatalf("sign-in: %d", res.StatusCode)
	}
	return res.Cookies()[0]
}
