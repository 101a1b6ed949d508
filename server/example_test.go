package server_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing/fstest"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/server"
)

// A runtime is served on a free port of the loopback interface until its context
// ends.
func Example() {
	home, err := os.MkdirTemp("", "piweb-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	rt, err := piweb.New(piweb.Config{Home: home, AgentDir: home, Providers: model.Registry{offline.API: offline.New}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close()
	s, err := server.New(server.Config{Runtime: rt, Token: "secret", Page: fstest.MapFS{"index.html": {Data: []byte("hello")}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, token := range []string{"wrong", "secret"} {
		req, _ := http.NewRequest("GET", "http://"+ln.Addr().String()+"/api/sessions", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		res.Body.Close()
		fmt.Println(token, res.StatusCode)
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// wrong 401
	// secret 200
	// <nil>
}
