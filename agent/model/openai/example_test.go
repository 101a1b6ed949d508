package openai_test

import (
	"context"
	"fmt"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/message"
)

func ExampleNew() {
	server := modeltest.Start(modeltest.Text("Good morning."), modeltest.Options{})
	defer server.Close()

	m, err := openai.New(server.Spec())
	if err != nil {
		fmt.Println(err)
		return
	}
	req := agent.Request{
		Head:     []byte("You are polite.\n"),
		Messages: []message.Message{&message.User{Content: message.Content{message.Text("Hello")}}},
	}
	for delta, err := range m.Stream(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch d := delta.(type) {
		case agent.TextDelta:
			fmt.Print(d.Text)
		case agent.Stop:
			fmt.Printf(" [%s]\n", d.Reason)
		}
	}
	last, _ := server.Last()
	head, _ := modeltest.Head(last.Body)
	fmt.Printf("%q\n", head)
	// Output:
	// Good morning. [stop]
	// "You are polite.\n"
}
