package media

import (
	"encoding/base64"

	"github.com/piweb-go/piweb/message"
)

// headerChars is how much of a picture's base64 is decoded to find its size: a
// thumbnail and a colour profile may stand before it.
const headerChars = 256 << 10

// Estimate tells how many tokens an image block takes with a model, and
// [UnknownTokens] where its size is not known, as that of a reference is not
// until it was sent once. No picture is decoded and no reference opened.
func (a *Admitter) Estimate(api, model string) func(message.Block) int {
	return func(b message.Block) int {
		if j, ok := a.memo.get(a.memo.key(b.Data)); ok {
			if j.refused != nil {
				return 0 // it goes out as a few words
			}
			return Tokens(api, model, j.width, j.height)
		}
		if IsRef(b.Data) {
			return UnknownTokens
		}
		text := b.Data[:min(len(b.Data), headerChars)]
		data, err := base64.StdEncoding.DecodeString(text[:len(text)/4*4])
		if err != nil {
			return UnknownTokens
		}
		cfg, err := decodeConfig(Type(data), data)
		if err != nil {
			return UnknownTokens
		}
		return Tokens(api, model, cfg.Width, cfg.Height)
	}
}
