package account

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/signed"
)

// CookieSecret is what signs the cookies of browsers, so that they stay signed in
// when the server is started again. It is made where there is none, and lies in
// piweb-data/cookies, for its owner alone. Without that file every browser is signed
// out. Where there is no agent directory yet, nothing is written for it: the secret
// ends with the program.
func CookieSecret(agentDir string) (string, error) {
	if _, err := os.Stat(agentDir); errors.Is(err, fs.ErrNotExist) {
		return rand.Text() + rand.Text(), nil
	}
	dir := filepath.Join(agentDir, "piweb-data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return signed.Secret(durable.OS{}, filepath.Join(dir, "cookies"))
}
