package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/piweb-go/piweb"
)

// pictures admits the files of --image, before anything is recorded or sent: a
// person who names a picture wants it seen, so one that cannot be stops the prompt.
func (a *app) pictures(ctx context.Context, s *piweb.Session, files []string) ([]*piweb.Picture, error) {
	if len(files) == 0 {
		return nil, nil
	}
	e, err := s.Equipment(ctx)
	if err != nil {
		return nil, err
	}
	if !e.Model.Images {
		return nil, usage("%s takes no pictures; name a model that does with --model, or leave --image out (a model of your own takes them if its \"input\" in models.json has \"image\")", e.Model)
	}
	var out []*piweb.Picture
	for _, name := range files {
		p, err := admitFile(ctx, s, name)
		if err != nil {
			return nil, fmt.Errorf("--image %s: %w; nothing was sent", name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func admitFile(ctx context.Context, s *piweb.Session, name string) (*piweb.Picture, error) {
	// Looked at before it is opened: opening a pipe would wait for its writer.
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	return s.AdmitFrom(ctx, f, info.Size())
}
