package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/spf13/cobra"
)

//go:embed demo
var demoProject embed.FS

// demoSession is one of the sessions that the demo makes.
type demoSession struct {
	name    string
	tools   *[]string
	prompts []string
	clear   bool // take the choice back before the last prompt
}

func demoSessions() []demoSession {
	pinned, none := []string{"read", "ls"}, []string{}
	return []demoSession{
		{name: "nothing chosen: the settings decide", prompts: []string{"read README.md", "run `ls`"}},
		{name: "pinned: it may read and list, nothing else", tools: &pinned, prompts: []string{"read README.md", "run `go version`"}},
		{name: "taken back: it was pinned once", tools: &pinned, prompts: []string{"list .", "read greet.go"}, clear: true},
		{name: "Chat Only: no tools, and only AGENTS.md as prompt", tools: &none, prompts: []string{"what may you do here?", "read README.md"}},
	}
}

func (a *app) demo(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
	dir := "piweb-demo"
	if len(args) > 0 {
		dir = args[0]
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	made, err := makeDemos(cmd.Context(), rt, dir)
	if err != nil {
		return err
	}
	if a.json {
		ids := []string{}
		for _, s := range made {
			ids = append(ids, s.ID())
		}
		return a.printJSON(map[string]any{"cwd": dir, "sessions": ids})
	}
	a.printf("The project is in %s.\n\n", dir)
	var last string
	for i, s := range made {
		last = shortID(s.ID())
		a.printf("  %s  %s\n", last, demoSessions()[i].name)
	}
	a.printf("\nThey are made with the offline model, which is no real model. Try:\n\n")
	a.printf("  piweb sessions list\n  piweb explain %s\n  piweb run --session %s \"read greet.go\"\n  piweb tools %s --set read\n", last, last, last)
	return nil
}

// makeDemos writes the project into a new folder and makes its sessions.
func makeDemos(ctx context.Context, rt *piweb.Runtime, dir string) ([]*piweb.Session, error) {
	if err := writeProject(dir); err != nil {
		return nil, err
	}
	var made []*piweb.Session
	for _, d := range demoSessions() {
		s, err := makeDemo(ctx, rt, dir, d)
		if err != nil {
			return made, fmt.Errorf("make the session %q: %w", d.name, err)
		}
		made = append(made, s)
	}
	return made, nil
}

var errDemoThere = errors.New("the folder exists already and was left alone")

// writeProject copies the demo project into a new folder.
func writeProject(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s: %w; name another folder: piweb sessions demo DIR", dir, errDemoThere)
		}
		return fmt.Errorf("make the demo project: %w", err)
	}
	project, err := fs.Sub(demoProject, "demo")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, project); err != nil {
		return fmt.Errorf("make the demo project: %w", err)
	}
	// A file of this name in our own tree would be taken for a Go package.
	return os.Rename(filepath.Join(dir, "greet.go.txt"), filepath.Join(dir, "greet.go"))
}

func makeDemo(ctx context.Context, rt *piweb.Runtime, dir string, d demoSession) (s *piweb.Session, err error) {
	s, err = rt.Create(ctx, dir, piweb.OpenOptions{Tools: d.tools, Model: piweb.OfflineModel})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rt.Release(s)) }()
	if err := s.SetName(ctx, d.name); err != nil {
		return nil, err
	}
	for i, text := range d.prompts {
		if d.clear && i == len(d.prompts)-1 {
			if _, err := s.SetTools(ctx, toolselect.Clear()); err != nil {
				return nil, err
			}
		}
		turn, err := s.Prompt(ctx, piweb.Input{Text: text})
		if err != nil {
			return nil, err
		}
		if err := turn.Wait(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}
