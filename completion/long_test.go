package completion

import (
	"strings"
	"testing"
	"time"
)

// TestLongTexts: what somebody pastes may be long, without a blank, and full of what
// could begin a token. The time that it takes grows with its length and not with the
// square of it: the second way takes hours here.
func TestLongTexts(t *testing.T) {
	const size = 4 << 20
	for name, text := range map[string]string{
		"triggers without a blank": strings.Repeat("(@", size/2),
		"kinds without a blank":    strings.Repeat("{$a:1},", size/7),
		"quotes that do not end":   strings.Repeat("(@'a(@\"b\n", size/9),
		"a letter with many marks": "a" + strings.Repeat("\u0301", size/2) + "@file:x",
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan []Token, 1)
			go func() { done <- Parse(text) }()
			select {
			case found := <-done:
				if strings.HasPrefix(text, "a") && len(found) > 0 {
					t.Errorf("%+v: a letter stands in front of it", found)
				}
			case <-time.After(time.Minute):
				t.Fatal("it is not done after a minute")
			}
		})
	}
}
