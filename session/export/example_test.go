package export_test

import (
	"fmt"

	"github.com/piweb-go/piweb/session/export"
)

// Secrets become marks; what they were is told by rule and place only.
func ExampleRedactor() {
	text, found := export.Redactor{}.Redact("cd /home/alice && DB_PASSWORD=hunter2 make")
	fmt.Println(text)
	for _, m := range found {
		fmt.Println(m.Rule, m.Secret())
	}
	// Output:
	// cd ~ && DB_PASSWORD=[redacted:named-secret] make
	// home false
	// named-secret true
}
