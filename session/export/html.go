package export

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io"

	"github.com/piweb-go/piweb/session"
)

//go:embed page.css
var style string

//go:embed page.html
var page string

// templates are the three pieces of the page: what comes before the conversation,
// one entry, and what comes after.
var templates = template.Must(template.New("page").Funcs(template.FuncMap{
	"picture": func(p part) template.URL { return template.URL("data:" + p.Mime + ";base64," + p.Data) }, // both were checked by sniff
}).Parse(page))

// policy forbids the page everything but its own style and the pictures in it.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

var errAll = errors.New("export: only JSONL can hold all branches")

// HTML writes the branch as one page that needs no other file, no script and no
// network. While something may be a secret that would go out, it is a *DoubtError
// and nothing is written, unless it is forced: the session is read twice for it.
func HTML(w io.Writer, s *session.Session, o Options) (Report, error) {
	if o.All {
		return Report{}, errAll
	}
	if !o.Force {
		look := newExporter(s, o, true)
		if err := look.html(io.Discard); err != nil {
			return look.report, err
		}
		if open := look.report.open(); len(open) > 0 {
			return look.report, &DoubtError{Path: s.Path(), Findings: open}
		}
	}
	x := newExporter(s, o, true)
	err := x.html(w)
	return x.report, err
}

func (x *exporter) html(w io.Writer) error {
	a, err := x.about()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := templates.ExecuteTemplate(out, "begin", map[string]any{"Policy": policy(), "Style": template.CSS(style), "About": a}); err != nil {
		return err
	}
	images := 0
	err = x.each(func(v *view) error {
		for i, p := range v.Parts {
			if p.Kind != "image" {
				continue
			}
			if images += len(p.Data); len(p.Data) > MaxImage || images > MaxImages {
				images -= len(p.Data)
				v.Parts[i] = part{Kind: "note", Text: p.Title + ", too large for this page"}
			}
		}
		return templates.ExecuteTemplate(out, "entry", v)
	})
	if err != nil {
		return err
	}
	if err := templates.ExecuteTemplate(out, "end", a); err != nil {
		return err
	}
	return out.Flush()
}
