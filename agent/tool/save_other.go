//go:build !unix

package tool

import (
	"io/fs"
	"os"
)

// hasOtherNames is false where the system does not tell cheaply.
func hasOtherNames(fs.FileInfo) bool { return false }

// keepOwner leaves the owner to the folder's rules.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
