package chatonly_test

import (
	"fmt"

	"github.com/piweb-go/piweb/chatonly"
	"github.com/piweb-go/piweb/resource"
)

func ExamplePrompt() {
	files := []resource.ContextFile{{Text: "Answer briefly.\n"}, {Text: "This project is in Go."}}
	fmt.Printf("%q\n", chatonly.Prompt(files))
	fmt.Printf("%q\n", chatonly.Prompt(nil))
	// Output:
	// "Answer briefly.\n\n\nThis project is in Go."
	// ""
}
