package completion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// FileKind is the kind that a bare path behind an @ is of.
const FileKind = "file"

const (
	// MaxResolved is how many different tokens of one message are resolved; the
	// rest stays as it was typed.
	MaxResolved = 256
	// ResolveTime is how long all tokens of a message may take together.
	ResolveTime = 30 * time.Second
)

// Found is a token that was resolved.
type Found struct {
	Kind  string
	ID    string // in the provider's own spelling
	Lines Lines
}

// Resolved is a message whose tokens were replaced.
type Resolved struct {
	Text  string
	Found []Found // in order, each once
}

// Resolve replaces the tokens of a person's own text by what their providers make
// of them, from left to right. What was put in is not looked at again; what means
// nothing, or fails, stays as it was typed. Code blocks are left alone.
func (r *Registry) Resolve(ctx context.Context, s Scope, text string) Resolved {
	ctx, cancel := context.WithTimeout(ctx, ResolveTime)
	defer cancel()
	job := resolver{ctx: ctx, scope: s, byKind: map[string]Provider{}, known: map[Found]*Resolution{}}
	for _, p := range r.list() {
		if job.byKind[p.Kind()] == nil {
			job.byKind[p.Kind()] = p.Provider
		}
	}
	var out strings.Builder
	at := 0
	for _, f := range append(fences(text), span{len(text), len(text)}) {
		job.run(text[:f.from], at, &out)
		out.WriteString(text[f.from:f.to])
		at = f.to
	}
	return Resolved{out.String(), job.found}
}

type resolver struct {
	ctx    context.Context
	scope  Scope
	byKind map[string]Provider
	known  map[Found]*Resolution // nil where it means nothing
	found  []Found
}

// run writes text[from:] with its tokens replaced.
func (j *resolver) run(text string, from int, out *strings.Builder) {
	done := from
	for at := from; ; {
		t, ok := Next(text, at)
		if !ok {
			break
		}
		end, put := j.token(t)
		if end == 0 {
			at = t.End
			if t.Quoted {
				at = t.Start + 1 // what looked like a quoted name may hold tokens
			}
			continue
		}
		out.WriteString(text[done:t.Start])
		out.WriteString(put)
		at, done = end, end
	}
	out.WriteString(text[done:])
}

// token resolves a token; end is where the text goes on, 0 where it means nothing.
func (j *resolver) token(t Token) (end int, put string) {
	kind := t.Kind
	if kind == "" {
		kind = FileKind
	}
	p := j.byKind[kind]
	if p == nil {
		return 0, ""
	}
	for _, t := range t.trimmed() {
		res := j.resolve(p, Found{kind, t.ID, t.Lines})
		if res == nil {
			continue
		}
		f := Found{kind, res.ID, res.Lines}
		if f.ID == "" {
			f.ID = t.ID
		}
		if !slices.Contains(j.found, f) {
			j.found = append(j.found, f)
		}
		return t.End, res.Text
	}
	return 0, ""
}

// resolve asks a provider, once for each id.
func (j *resolver) resolve(p Provider, f Found) *Resolution {
	if res, ok := j.known[f]; ok {
		return res
	}
	if len(j.known) >= MaxResolved || j.ctx.Err() != nil {
		return nil
	}
	res, ok, err := judge(j.ctx, p, Ref{j.scope, f.Kind, f.ID, f.Lines})
	if !ok || err != nil {
		j.known[f] = nil
		return nil
	}
	j.known[f] = &res
	return &res
}

// judge calls a provider. One that panics knows nothing.
func judge(ctx context.Context, p Provider, ref Ref) (res Resolution, ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			ok, err = false, fmt.Errorf("it panicked: %v", v)
		}
	}()
	return p.Resolve(ctx, ref)
}
