package ignore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/internal/ignore"
)

func ExampleWalk() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		".git/HEAD": "", ".gitignore": "*.log\n/out/\n", "main.go": "", "main.log": "", "out/main": "", "doc/a.md": "",
	} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		os.WriteFile(path, []byte(text), 0o644)
	}
	err = ignore.Walk(context.Background(), dir, ignore.WalkOptions{Sorted: true}, func(e ignore.Entry) error {
		fmt.Println(e.Path, e.IsDir())
		return nil
	})
	fmt.Println(err)
	// Output:
	// .gitignore false
	// doc true
	// doc/a.md false
	// main.go false
	// <nil>
}
