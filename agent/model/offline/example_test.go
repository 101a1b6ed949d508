package offline_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/message"
)

func ExampleForms() {
	for _, f := range offline.Forms()[:3] {
		fmt.Printf("%-14s such as: %s\n", f.Usage, f.Example)
	}
	// Output:
	// read FILE      such as: read go.mod
	// list [FOLDER]  such as: list src
	// ls [FOLDER]    such as: ls src
}

func ExampleFromScript() {
	script := `{"steps": [{"text": "Half past nine."}]}`
	m, err := offline.FromScript(strings.NewReader(script), agent.ModelInfo{Provider: "scripted"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask := agent.Request{Messages: []message.Message{
		&message.User{Content: message.Content{message.Text("What time is it?")}},
	}}
	for delta := range m.Stream(context.Background(), ask) {
		if d, ok := delta.(agent.TextDelta); ok {
			fmt.Print(d.Text)
		}
	}
	// Output: Half past nine.
}
