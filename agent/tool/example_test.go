package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
)

func ExampleBuiltin() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	tools := map[string]tool.Tool{}
	for _, t := range tool.Builtin(tool.Options{}) {
		tools[t.Declaration().Name] = t
	}
	for _, call := range []struct{ name, args string }{
		{"write", `{"path":"notes/a.txt","content":"one\ntwo\n"}`},
		{"edit", `{"path":"notes/a.txt","edits":[{"oldText":"two","newText":"2"}]}`},
		{"read", `{"path":"notes/a.txt"}`},
		{"read", `{"path":"notes/b.txt","offset":"first"}`},
	} {
		result, err := tools[call.name].Run(context.Background(), &tool.Call{
			Name: call.name, Arguments: json.RawMessage(call.args), CWD: dir,
		})
		fmt.Printf("%s %v %v\n%s\n", call.name, result.IsError, err, result.Content.PlainText())
	}
	// Output:
	// write false <nil>
	// Wrote 8 bytes to notes/a.txt, a new file.
	// edit false <nil>
	// Made 1 replacement in notes/a.txt.
	// read false <nil>
	// one
	// 2
	//
	// read true <nil>
	// The arguments of read do not fit: offset: expected number, got string. Correct them and call read again.
}

// A tool of someone else: its arguments are coerced, then checked.
func ExampleCheck() {
	decl := message.ToolDeclaration{
		Name:       "weather",
		Parameters: json.RawMessage(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"days":{"type":"integer"}}}`),
	}
	args := tool.Coerce(decl, json.RawMessage(`{"days":"3"}`))
	fmt.Println(string(args))
	fmt.Println(tool.Check(decl, args))
	// Output:
	// {"days":3}
	// The arguments of weather do not fit: city is missing, expected string. Correct them and call weather again.
}
