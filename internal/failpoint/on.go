//go:build failpoint

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

var (
	mu   sync.Mutex
	hits = map[string]int{}
)

// Here is where the program may be killed.
func Here(name string) {
	want, times, counted := strings.Cut(os.Getenv("PIWEB_FAILPOINT"), ":")
	if want != name {
		return
	}
	n := 1
	if counted {
		n, _ = strconv.Atoi(times)
	}
	mu.Lock()
	hits[name]++
	now := hits[name] == n
	mu.Unlock()
	if now {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {} // the signal is on its way
	}
}
