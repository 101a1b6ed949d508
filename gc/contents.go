package gc

import (
	"context"
	"path/filepath"

	"github.com/piweb-go/piweb/blob"
)

// Contents are blobs by their hash, as a store.
type Contents struct{ *blob.Contents }

// List lists the blobs.
func (c Contents) List(ctx context.Context) ([]Item, error) {
	var items []Item
	for b, err := range c.Contents.List(ctx) {
		if err != nil {
			return nil, err
		}
		items = append(items, Item{Key: blobKey(b.Ref.Hash()), Label: "blob " + b.Ref.Hash()[:12] + "…", Size: b.Info.Size, Modified: b.Info.ModTime})
	}
	return items, nil
}

// Remove removes a blob with its sidecars. A put that finds it there touches it; one
// that comes later writes it anew.
func (c Contents) Remove(ctx context.Context, item Item) (bool, error) {
	hash := string(item.Key[len("blob:"):])
	ref, err := blob.ParseHash(hash)
	if err != nil {
		return false, err
	}
	gone, err := removeUntouched(filepath.Join(c.Root(), hash), item.Modified)
	if err != nil || !gone {
		return gone, err
	}
	return true, c.DeleteSidecars(ctx, ref)
}
