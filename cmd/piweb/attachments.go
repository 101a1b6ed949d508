package main

import (
	"context"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/config"
)

// halfUpload is how old something must be to be left over from an upload that never
// ended.
const halfUpload = time.Hour

// attachmentOrigins are the pages of other addresses that may fetch attachments.
func attachmentOrigins(rt *piweb.Runtime) []string {
	own, _ := config.ReadOwn(rt.AgentDir()) // what is broken there is said elsewhere
	return own.Attachments.Origins
}

// tidyAttachments takes away what uploads that never ended have left, beside
// serving. The channel closes when it is done. A store that is set up wrongly is
// said, and the rest works.
func (a *app) tidyAttachments(ctx context.Context, rt *piweb.Runtime) <-chan struct{} {
	done := make(chan struct{})
	if !rt.HasAttachments() { // nothing is made by looking
		close(done)
		return done
	}
	store, err := rt.Attachments()
	if err != nil {
		a.notef("Attachments do not work: %v\n", err)
	}
	if err != nil || store == nil {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		_, _ = store.Collect(ctx, halfUpload) // tried again at the next start
	}()
	return done
}
