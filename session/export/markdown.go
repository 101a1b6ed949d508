package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/piweb-go/piweb/session"
)

// Markdown writes the branch as Markdown. What somebody wrote stands in quotes,
// and what a tool gave in code blocks, so that no text can pass for a part of the
// document.
func Markdown(w io.Writer, s *session.Session, o Options) (Report, error) {
	x := newExporter(s, o, true)
	if o.All {
		return x.report, errAll
	}
	a, err := x.about()
	if err != nil {
		return x.report, err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(out, "# %s\n\n", inline(a.Title))
	for _, line := range [][2]string{{"created", a.Created}, {"folder", a.Folder}, {"session", a.ID}, {"exported", a.Exported}} {
		if line[1] != "" {
			fmt.Fprintf(out, "- %s: %s\n", line[0], inline(line[1]))
		}
	}
	if err := x.each(func(v *view) error { return v.markdown(out) }); err != nil {
		return x.report, err
	}
	if a.Redacted {
		fmt.Fprintf(out, "\n---\n\nSecrets that the exporter knows were replaced. Nobody looked into pictures.\n")
	}
	return x.report, out.Flush()
}

func (v *view) markdown(w *bufio.Writer) error {
	level := "##"
	if v.Kind == "note" {
		level = "######"
	}
	fmt.Fprintf(w, "\n%s %s\n", level, inline(v.Title))
	if v.Time != "" && v.Kind != "note" {
		fmt.Fprintf(w, "\n*%s*\n", v.Time)
	}
	for _, p := range v.Parts {
		switch p.Kind {
		case "text":
			fmt.Fprintf(w, "\n> %s\n", strings.ReplaceAll(strings.TrimRight(p.Text, "\n"), "\n", "\n> "))
		case "fold":
			fmt.Fprintf(w, "\n%s:\n\n%s", inline(p.Title), fenced(p.Text))
		case "fields":
			fmt.Fprintf(w, "\n**%s**\n", inline(p.Title))
			for _, f := range p.Field {
				fmt.Fprintf(w, "\n%s:\n\n%s", inline(f.Name), fenced(f.Text))
			}
		case "error":
			fmt.Fprintf(w, "\n**error:**\n\n%s", fenced(p.Text))
		case "image":
			fmt.Fprintf(w, "\n*%s*\n", inline(p.Title))
		default:
			fmt.Fprintf(w, "\n*%s*\n", inline(p.Text))
		}
	}
	_, err := w.Write(nil)
	return err
}

// inline makes one line of a text and keeps it from being markup.
func inline(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "#", `\#`, "[", `\[`, "]", `\]`, "!", `\!`, "|", `\|`).Replace(s)
}

// fenced is a code block whose fence is longer than any in the text.
func fenced(s string) string {
	fence, run := 3, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		fence = max(fence, run+1)
	}
	ticks := strings.Repeat("`", fence)
	return ticks + "\n" + strings.TrimRight(s, "\n") + "\n" + ticks + "\n"
}
