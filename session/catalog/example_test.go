package catalog_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/session/catalog"
)

func ExampleCatalogue_Search() {
	root, err := os.MkdirTemp("", "sessions")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	text := `{"type":"session","version":3,"id":"s1","cwd":"/w"}
{"type":"message","id":"m1","parentId":null,"message":{"role":"user","content":"What became of the Café?"}}
`
	if err := os.WriteFile(filepath.Join(root, "t_s1.jsonl"), []byte(text), 0o600); err != nil {
		panic(err)
	}

	c := catalog.Open(root, filepath.Join(root, "cache"), catalog.Options{})
	page, err := c.List(context.Background(), catalog.Filter{CWD: "/w", Limit: 50})
	fmt.Println(page.Total, page.Infos[0].First, err)
	for hit, err := range c.Search(context.Background(), catalog.Query{Words: []string{"CAFÉ"}}) {
		if err != nil {
			fmt.Println(err)
			break
		}
		span := hit.Spans[0]
		fmt.Println(hit.Session.ID, hit.Entry, hit.Line, hit.Snippet[span[0]:span[1]])
	}
	// Output:
	// 1 What became of the Café? <nil>
	// s1 m1 2 Café
}
