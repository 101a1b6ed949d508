package piweb

import (
	"io"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/artifact"
)

// outputs keeps whole outputs of tools in the folder beside the session's file.
type outputs struct {
	*artifact.Store
	sixel bool // pictures for terminals are kept with the text
}

func (h *host) keepOutputs(sessionFile string) agent.Outputs {
	return outputs{artifact.New(sessionFile, artifact.Options{}), artifact.SixelWanted(h.lookup)}
}

// Sink takes the output of one call.
func (o outputs) Sink(tool string) io.WriteCloser {
	return o.Store.Sink(tool, artifact.SinkOptions{Sixel: o.sixel})
}

// Save keeps a whole text.
func (o outputs) Save(tool, text string) (path, name string, err error) {
	kept, err := o.Store.Save(tool, text)
	return kept.Path, kept.URL(), err
}
