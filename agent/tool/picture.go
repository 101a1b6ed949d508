package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// picture answers a call that reads a picture, or what its name says is one. f is
// open and was read up to the end of start. offset and limit mean nothing here, and
// part is the rectangle to look at.
//
// What stands in the file afterwards is the picture as it was now: it is never
// read again from its path.
func (t *Read) picture(ctx context.Context, args readArgs, f *os.File, start []byte, v media.Verdict) (Result, error) {
	name := args.Path
	info, err := f.Stat()
	if err != nil {
		return Error(fmt.Sprintf("Cannot read %s: %s", name, reason(err))), nil
	}
	refuse := func(p media.Problem) Result {
		e := &media.Error{Problem: p, Size: info.Size(), Looks: v.Looks}
		return Error(media.ErrorText(e.About(name)))
	}
	switch v.Kind {
	case media.Unsupported:
		return refuse(media.BadFormat), nil
	case media.Mismatch:
		return refuse(media.NotPicture), nil
	case media.Empty:
		return refuse(media.NoContent), nil
	}
	whole := io.MultiReader(bytes.NewReader(start), f)
	var admitted *media.Admitted
	if args.Part == nil {
		admitted, err = t.opts.Pictures.AdmitFrom(ctx, whole, info.Size())
	} else {
		admitted, err = t.opts.Pictures.AdmitPart(ctx, whole, info.Size(), args.picturePart())
	}
	if err != nil {
		if ctx.Err() != nil {
			return Error(fmt.Sprintf("Reading %s was stopped before it was done.", name)), nil
		}
		if refused, ok := errors.AsType[*media.Error](err); ok {
			return Error(media.ErrorText(refused.About(name))), nil
		}
		return Error(fmt.Sprintf("Cannot read %s: %s", name, reason(err))), nil
	}
	return Result{
		Content: message.Content{message.Text(admitted.ResultText(name)), admitted.Block()},
		Details: media.Details(admitted.Attachment(name)),
	}, nil
}
