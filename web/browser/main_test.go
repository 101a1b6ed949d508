// Package browser has no code of its own. Its test drives piweb's page in a
// headless Chromium, against a real server, real session files and a provider
// that plays a script and records what it was asked.
//
//	go test ./web/browser                       needs a Chromium, see below
//	go test ./web/browser -run 'Page/reload'    one scene
//	go test ./web/browser -run 'Page/looks|Day' -shots ../../docs
//	                                            also saves the pictures of README and docs
//
// The browser is $PIWEB_CHROMIUM, else chromium, chromium-browser or
// google-chrome on the PATH. Without one the test is skipped, unless
// $PIWEB_BROWSER is "required". After a failure the artifacts of the test
// (-artifacts) have a picture of the page.
//
// What may be touched here: scenes, each with a world of its own. A scene waits
// for conditions and never for a time, and what it waits for is what a person
// would see.
package browser

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

var shots = flag.String("shots", "", "save the pictures of the README in this folder, seen from that of the package")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// findBrowser names the browser to drive.
func findBrowser(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("PIWEB_CHROMIUM"); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			t.Fatalf("$PIWEB_CHROMIUM: %v", err)
		}
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const reason = "there is no chromium, chromium-browser or google-chrome on the PATH, and $PIWEB_CHROMIUM names none"
	if os.Getenv("PIWEB_BROWSER") == "required" {
		t.Fatalf("$PIWEB_BROWSER says that the page must be tested, but %s", reason)
	}
	t.Skipf("the page was not tested in a browser: %s", reason)
	return ""
}
