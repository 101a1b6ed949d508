package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func marks(ids ...int64) (out []mark) {
	for _, id := range ids {
		out = append(out, mark{id, uint64(id)})
	}
	return out
}

// TestDifference: what the run is for is found where it is.
func TestDifference(t *testing.T) {
	want := marks(1, 2, 3, 4)
	for name, c := range map[string]struct {
		got                  []mark
		lost, doubled, other int
	}{
		"the same":        {marks(1, 2, 3, 4), 0, 0, 0},
		"one lost":        {marks(1, 2, 4), 1, 0, 0},
		"the first lost":  {marks(2, 3, 4), 1, 0, 0},
		"one twice":       {marks(1, 2, 2, 3, 4), 0, 1, 0},
		"one too many":    {marks(1, 2, 3, 4, 9), 0, 1, 0},
		"another content": {append(marks(1, 2, 3), mark{4, 99}), 0, 0, 1},
		"nothing":         {nil, 4, 0, 0},
	} {
		if lost, doubled, other := difference(want, c.got); lost != c.lost || doubled != c.doubled || other != c.other {
			t.Errorf("%s: %d lost, %d doubled, %d other", name, lost, doubled, other)
		}
	}
}

// TestFollower: a turn that is heard over two connections is one, whoever is first.
func TestFollower(t *testing.T) {
	frames := func(from int, types ...string) string {
		var b strings.Builder
		for i, kind := range types {
			fmt.Fprintf(&b, "event: x\nid: %d\ndata: {\"chunk\":{\"type\":%q,\"delta\":\"d%d\"}}\n\n", from+i, kind, from+i)
		}
		return b.String() + "event: x\nid: 99\ndata: {\"chunk\":{\"type\":\"finish\""
	}
	for _, truthFirst := range []bool{true, false} {
		ta := &tally{}
		c := newCheck(ta)
		stays, comes := &follower{check: c, truth: true}, &follower{check: c}
		hear := func(f *follower, text string) { _ = read(strings.NewReader(text), f.frame) }
		if truthFirst {
			hear(stays, frames(1, "start", "text-delta", "text-delta", "finish"))
		}
		hear(comes, frames(1, "start", "text-delta"))
		hear(comes, frames(3, "text-delta", "finish"))
		hear(stays, frames(5, "start", "finish"))
		if !truthFirst {
			*stays = follower{check: c, truth: true}
			hear(stays, frames(1, "start", "text-delta", "text-delta", "finish"))
		}
		var out bytes.Buffer
		if ok := ta.report(&out); !ok || ta.seen != 1 || ta.turns != 2 {
			t.Errorf("first %t: %s", truthFirst, out.String())
		}
		hear(comes, frames(20, "text-delta"))
		if ta.report(&out) {
			t.Error("a chunk of no turn is fine")
		}
	}
}
