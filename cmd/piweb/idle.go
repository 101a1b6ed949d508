package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultIdle closes a live session that nobody used; its file stays.
	defaultIdle = 10 * time.Minute
	idleEnv     = "PI_WEB_IDLE_TIMEOUT_MS"
)

// idleTimeout reads how long a live session may be unused: a whole number of
// milliseconds up to 2147483647, 0 for ever. Blank is the default; so is anything
// else, with a warning ("" for none).
func idleTimeout(lookup func(string) (string, bool)) (d time.Duration, warning string) {
	text, _ := lookup(idleEnv)
	text = strings.TrimSpace(text)
	if text == "" {
		return defaultIdle, ""
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > math.MaxInt32 {
		return defaultIdle, fmt.Sprintf("$%s is %q, which is no number of milliseconds from 0 to %d; unused sessions are closed after %s",
			idleEnv, text, math.MaxInt32, defaultIdle)
	}
	return time.Duration(ms) * time.Millisecond, ""
}

// idle is idleTimeout of this process; a warning is told once, at the start.
func (a *app) idle() time.Duration {
	d, warning := idleTimeout(os.LookupEnv)
	if warning != "" {
		a.notef("note: %s\n", warning)
	}
	return d
}
