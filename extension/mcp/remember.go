package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/durable"
)

// The tools of a server are remembered, so that a session has them at its first
// prompt while the server still starts. What is remembered may be deleted at any
// time; it is written by this program and read like the words of a server.

const maxRemembered = 4 << 20

func (o Options) cacheFile(key string) string {
	if o.CacheDir == "" {
		return ""
	}
	return filepath.Join(o.CacheDir, key+".json")
}

func recall(path string) ([]*sdk.Tool, bool) {
	if path == "" {
		return nil, false
	}
	data, err := confine.ReadRegular(path, maxRemembered)
	if err != nil {
		return nil, false
	}
	var tools []*sdk.Tool
	if json.Unmarshal(data, &tools) != nil || tools == nil || len(tools) > maxTools {
		return nil, false
	}
	for _, t := range tools {
		if t == nil {
			return nil, false
		}
	}
	return tools, true
}

// remember does its best: without it only the first prompt of a session is
// poorer.
func remember(path string, tools []*sdk.Tool) {
	if path == "" {
		return
	}
	data, err := json.Marshal(tools)
	if err != nil || len(data) > maxRemembered {
		return
	}
	if old, err := confine.ReadRegular(path, maxRemembered); err == nil && string(old) == string(data) {
		return
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = durable.Save(durable.OS{}, path, data, 0o600)
	}
}
