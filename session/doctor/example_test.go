package doctor_test

import (
	"fmt"

	"github.com/piweb-go/piweb/session/doctor"
)

// A check never changes the file.
func ExampleCheck() {
	r := doctor.Check("../../fixtures/pi/duplicate-ids.jsonl")
	for _, f := range r.Findings {
		if f.Severity == doctor.Loss {
			fmt.Println(f.Kind, f.Reader, f.Line)
		}
	}
	// Output: cycle pi 4
}
