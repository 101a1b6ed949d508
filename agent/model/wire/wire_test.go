package wire

import (
	"net/http"
	"testing"

	"github.com/piweb-go/piweb/message"
)

func TestValidJSON(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"untouched", `{"a":"\u00e9 \\ud800 \"\n","b":[1.0]}`, ""},
		{"pair", `"\ud83c\udf0a"`, ""},
		{"upper case pair", `"\uD83C\uDF0A"`, ""},
		{"lone high", `"a\ud83cb"`, "\"a\ufffdb\""},
		{"lone low", `"\udf0a"`, "\"\ufffd\""},
		{"high, high, low", `"\ud83c\ud83c\udf0a"`, "\"\ufffd\\ud83c\\udf0a\""},
		{"low, high", `"\udf0a\ud83c"`, "\"\ufffd\ufffd\""},
		{"high before another escape", `"\ud83c\n"`, "\"\ufffd\\n\""},
		{"escaped backslash before u", `"\\\ud83c"`, "\"\\\\\ufffd\""},
		{"bytes that are not UTF-8", "\"\xff\"", "\"\ufffd\""},
		{"cut off", `"\ud8`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.in
			}
			if got := string(ValidJSON([]byte(c.in))); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// Loopback addresses never go through a proxy of the environment, so a request
// here would prove nothing.
func TestNobodyIsAskedForAProxy(t *testing.T) {
	if tr, ok := NewHTTPClient().Transport.(*http.Transport); !ok || tr.Proxy != nil {
		t.Error("the transport asks somebody for a proxy")
	}
}

func TestReason(t *testing.T) {
	for _, c := range []struct {
		end   End
		calls int
		want  message.StopReason
	}{
		{Whole, 0, message.StopEnd}, {Whole, 2, message.StopToolUse},
		{Short, 0, message.StopLength}, {Short, 1, message.StopLength},
		{Withheld, 0, message.StopEnd}, {Withheld, 1, message.StopLength},
	} {
		if got := c.end.Reason(c.calls); got != c.want {
			t.Errorf("%d with %d calls: %s, want %s", c.end, c.calls, got, c.want)
		}
	}
}
