package gc

import (
	"context"
	"strings"
)

// Texts is a root of texts, such as what a database keeps: whatever is referred to in
// one of them is in use.
type Texts func(ctx context.Context) ([]string, error)

// Mark reads the texts.
func (t Texts) Mark(ctx context.Context, mark func(Key)) error {
	list, err := t(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := markText(ctx, strings.NewReader(s), mark); err != nil {
			return err
		}
	}
	return nil
}
