// Package google speaks the Gemini wire of Google, under the API name
// "google-generative-ai".
//
// It turns an [agent.Request] into one streaming request and the events back
// into deltas. The head goes out as exactly the bytes of the request, as the
// system instruction; an empty head sends no such field, no tools send no field
// about tools. Signatures of thoughts, texts and calls go back to the model that
// gave them, byte for byte.
//
// The maker's SDK is not used, unlike in the sibling packages. It decodes the
// arguments of a call into maps and floats, so that their order and the spelling
// of their numbers are lost both ways; it reads keys, addresses and projects from
// the environment with no switch against it; its errors print the key; and it
// links Google's cloud authentication. The wire that is left is small.
package google
