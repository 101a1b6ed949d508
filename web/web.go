// Package web holds the page that piweb serves: HTML, styles and scripts, as
// they are in page/, embedded. There is no build step; the libraries that the
// page uses lie in page/vendor with their licences, and vendor.sh fetches them
// by the checksums of vendor.json.
//
// The page keeps to a strict content security policy: its only inline script is
// the import map, which a server allows by its hash. It asks for nothing outside
// its own server.
//
// What may be touched here: the files of the page. Nothing here knows sessions,
// policies or HTTP. To work on the page without a server there is
// dev/mock.mjs; check.sh checks types and behaviour.
package web

import (
	"embed"
	"io/fs"
)

//go:embed page
var page embed.FS

// FS returns the files of the page, with index.html at its root. They never
// change while the program runs.
func FS() fs.FS {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // only an invalid path fails, and this one is a constant
	}
	return files
}
