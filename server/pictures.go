package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/wrapper"
)

// admitPictures judges the pictures that come with a message. One that is
// refused is named by its place; nothing of the message was sent then.
func admitPictures(ctx context.Context, s *wrapper.Session, images []*form) ([]*media.Admitted, error) {
	var out []*media.Admitted
	for i, o := range images {
		field := fmt.Sprintf("images.%d.data", i)
		data, ok := media.Decode(o.str("data"))
		if !ok {
			return nil, invalid("The data of picture "+fmt.Sprint(i+1)+" is no base64.", field)
		}
		p, err := s.Admit(ctx, data)
		if refused, is := errors.AsType[*media.Error](err); is {
			return nil, invalid(fmt.Sprintf("Picture %d cannot be sent: %v.", i+1, refused), field)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
