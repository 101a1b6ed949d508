package wire_test

import (
	"fmt"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/server/wire"
	"github.com/piweb-go/piweb/wrapper"
)

// A translator is fed with the events of a session and answers with frames.
func ExampleTranslator() {
	tr := wire.NewTranslator(wire.Options{Now: func() time.Time { return time.UnixMilli(1000) }})
	for i, e := range []agent.Event{
		{Type: agent.AgentStart},
		{Type: agent.MessageEvent, Update: &agent.Update{Type: "text_delta", Delta: "Good day."}},
		{Type: agent.AgentEnd},
		{Type: wrapper.PromptDone},
	} {
		for _, f := range tr.Translate(wrapper.Event{Seq: uint64(i + 1), Event: e}) {
			data, err := message.Marshal(f)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%s %s\n", f.Kind(), data)
		}
	}
	// Output:
	// control {"kind":"control","protocolVersion":"0.1.0","payload":{"control":"session-state","snapshot":{"lifecycle":"ready","busy":true,"turn":{"startedAt":1000}}}}
	// uiMessageChunk {"kind":"uiMessageChunk","protocolVersion":"0.1.0","chunk":{"type":"start"}}
	// uiMessageChunk {"kind":"uiMessageChunk","protocolVersion":"0.1.0","chunk":{"type":"text-start","id":"p1"}}
	// uiMessageChunk {"kind":"uiMessageChunk","protocolVersion":"0.1.0","chunk":{"type":"text-delta","id":"p1","delta":"Good day."}}
	// uiMessageChunk {"kind":"uiMessageChunk","protocolVersion":"0.1.0","chunk":{"type":"text-end","id":"p1"}}
	// control {"kind":"control","protocolVersion":"0.1.0","payload":{"control":"session-state","snapshot":{"lifecycle":"ready","busy":false}}}
	// uiMessageChunk {"kind":"uiMessageChunk","protocolVersion":"0.1.0","chunk":{"type":"finish"}}
}
