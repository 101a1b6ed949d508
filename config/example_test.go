package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/config"
)

func ExampleLoad() {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	agent := filepath.Join(home, ".pi", "agent")
	os.MkdirAll(agent, 0o700)
	os.WriteFile(filepath.Join(agent, "models.json"), []byte(`{
		// a server on this machine
		"providers": {"local": {
			"baseUrl": "http://127.0.0.1:8080/v1", "api": "openai-completions", "apiKey": "$LOCAL_KEY",
			"models": [{"id": "small"}]}}
	}`), 0o600)

	env := map[string]string{}
	load := func() *config.Config {
		return config.Load(config.Env{Home: home, Cwd: home, Lookup: func(name string) (string, bool) {
			value, ok := env[name]
			return value, ok
		}}, config.Options{})
	}

	model, _ := load().Models.Find("small")
	fmt.Println(model, "-", model.Unavailable)

	env["LOCAL_KEY"] = "sk-secret"
	c := load()
	model, _ = c.Models.Find("local/small")
	conn, err := c.Models.Connect(context.Background(), model)
	fmt.Println(conn.BaseURL, conn.Key, len(conn.Key.Reveal()), err)
	// Output:
	// local/small - the key of local (models.json) needs the environment variable LOCAL_KEY, not set or empty
	// http://127.0.0.1:8080/v1 [redacted] 9 <nil>
}
