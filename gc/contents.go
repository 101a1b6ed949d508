package gc

import (
	"context"
	"path/filepath"

	"github.com/piweb-go/piweb/blob"
)

// Contents are blobs by their hash, as a store.
type Contents struct{ *blob.Contents }

// blobFile is the key of a blob in one folder.
func blobFile(path string) Key { return Key("blobfile:" + path) }

// List lists the blobs.
func (c Contents) List(ctx context.Context) ([]Item, error) {
	var items []Item
	for b, err := range c.Contents.List(ctx) {
		if err != nil {
			return nil, err
		}
		// Two folders may have the same blob.
		items = append(items, Item{Key: blobFile(filepath.Join(c.Root(), b.Ref.Hash())), UsedBy: []Key{blobKey(b.Ref.Hash())}, Label: "blob " + b.Ref.Hash()[:12] + "…", Size: b.Info.Size, Modified: b.Info.ModTime})
	}
	return items, nil
}

// Remove removes a blob with its sidecars. A put that finds it there touches it; one
// that comes later writes it anew.
func (c Contents) Remove(ctx context.Context, item Item) (bool, error) {
	path := string(item.Key[len(blobFile("")):])
	ref, err := blob.ParseHash(filepath.Base(path))
	if err != nil {
		return false, err
	}
	gone, err := removeUntouched(path, item.Modified)
	if err != nil || !gone {
		return gone, err
	}
	return true, c.DeleteSidecars(ctx, ref)
}
