package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"go.uber.org/goleak"

	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/blob/blobtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serverVersion is the one that .ci/run builds.
const serverVersion = "v1.8.0"

// server starts a real S3 server on a folder: $PIWEB_S3_SERVER, else versitygw from
// the PATH, else the one that .ci/run keeps in the cache folder. Without one the
// test is skipped, unless $PIWEB_S3 is "required".
func server(t *testing.T) (endpoint string) {
	t.Helper()
	path := os.Getenv("PIWEB_S3_SERVER")
	if path == "" {
		path, _ = exec.LookPath("versitygw")
	}
	if cache, err := os.UserCacheDir(); path == "" && err == nil {
		path, _ = exec.LookPath(filepath.Join(cache, "piweb-tools", "versitygw-"+serverVersion))
	}
	if path == "" {
		const reason = "the S3 store was not tested: there is no versitygw on the PATH, and $PIWEB_S3_SERVER names none; .ci/run builds it"
		if os.Getenv("PIWEB_S3") == "required" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	var said bytes.Buffer
	cmd := exec.Command(path, "--port", address, "posix", t.TempDir())
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=access", "ROOT_SECRET_KEY=secret")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			break
		}
		select {
		case <-ended:
			t.Fatalf("the S3 server ended: %s", said.String())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("the S3 server does not answer: %s", said.String())
		}
	}
	return "http://" + address
}

// bucket makes an empty bucket and a store in it.
func bucket(t *testing.T, endpoint, name string) *Store {
	t.Helper()
	s, err := New(Config{Bucket: name, Endpoint: endpoint, Prefix: "some/prefix-", PathStyle: true, AccessKey: "access", SecretKey: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.core.Client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStore runs the suite of all stores against the real server.
func TestStore(t *testing.T) {
	endpoint := server(t)
	n := 0
	blobtest.Run(t, func(t *testing.T) blob.Store {
		n++
		return bucket(t, endpoint, fmt.Sprintf("bucket-%d", n))
	})
}

// TestAttachments keeps attachments in a bucket, descriptors too, as two processes
// that share nothing else.
func TestAttachments(t *testing.T) {
	endpoint := server(t)
	bucket(t, endpoint, "files")
	vars := map[string]string{"X_KEY": "access", "X_SECRET": "secret", attachment.EnvSecret: "s",
		attachment.EnvBackends: `{"backends":[{"kind":"s3","name":"far","bucket":"files","endpoint":"` + endpoint + `","forcePathStyle":true,"accessKeyEnv":"X_KEY","secretKeyEnv":"X_SECRET"}],"write":"far","registry":{"kind":"s3","backend":"far"}}`}
	open := func() *attachment.Store {
		s, err := attachment.OpenSetup(attachment.Setup{Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, Kinds: []attachment.Kind{Kind}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, two := open(), open()
	d, err := one.Put(t.Context(), attachment.New{SessionID: "s1", Name: "n", MimeType: "text/plain"}, strings.NewReader("far away"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := two.List(t.Context(), "s1")
	if err != nil || len(list) != 1 || list[0] != d || d.Backend != "far" {
		t.Fatalf("%+v, %v", list, err)
	}
	a, err := two.For("s1").Resolve(t.Context(), d.ID.String())
	if err != nil {
		t.Fatal(err)
	}
	path, release, err := a.LocalPath(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "far away" {
		t.Errorf("%q, %v", data, err)
	}
	release()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is left: %v", err)
	}
	address, ok, err := two.Presign(t.Context(), d, time.Minute)
	if err != nil || !ok {
		t.Fatal(err)
	}
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	data, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || string(data) != "far away" {
		t.Errorf("%q, %v", data, err)
	}
	if err := two.Grant(t.Context(), "s1", "s2", d.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Check(t.Context(), "s2", d.ID); err != nil {
		t.Error(err)
	}
	if err := one.Delete(t.Context(), d.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Check(t.Context(), "s1", d.ID); !errors.Is(err, attachment.ErrUnknown) {
		t.Errorf("%v", err)
	}
}

func TestKindRefuses(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	some := func(string) (string, bool) { return "x", true }
	for name, test := range map[string]struct {
		config string
		lookup func(string) (string, bool)
		says   string
	}{
		"no variables named": {`{"bucket":"b"}`, some, "accessKeyEnv"},
		"not set":            {`{"bucket":"b","accessKeyEnv":"A","secretKeyEnv":"B"}`, none, `"A"`},
		"no bucket":          {`{"accessKeyEnv":"A","secretKeyEnv":"B"}`, some, "bucket"},
		"an odd endpoint":    {`{"bucket":"b","endpoint":"host:80/x","accessKeyEnv":"A","secretKeyEnv":"B"}`, some, "endpoint"},
		"a path":             {`{"bucket":"b","endpoint":"http://h/x","accessKeyEnv":"A","secretKeyEnv":"B"}`, some, "endpoint"},
		"the wrong type":     {`{"bucket":7}`, some, "wrong type"},
		"a token not set": {`{"bucket":"b","accessKeyEnv":"A","secretKeyEnv":"B","sessionTokenEnv":"C"}`, func(n string) (string, bool) {
			if n == "C" {
				return "", false
			}
			return "x", true
		}, "sessionTokenEnv"},
	} {
		if _, err := Kind.Open(json.RawMessage(test.config), test.lookup); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServerGone: a server that does not answer is an error, and soon.
func TestServerGone(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + ln.Addr().String()
	ln.Close()
	s, err := New(Config{Bucket: "b", Endpoint: address, PathStyle: true, AccessKey: "access", SecretKey: "very secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := s.Get(ctx, "k"); err == nil || errors.Is(err, blob.ErrNotFound) || strings.Contains(err.Error(), "very secret") {
		t.Errorf("%v", err)
	}
}
