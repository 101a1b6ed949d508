// Package openai speaks the two wires of OpenAI: chat completions, which many
// servers copy, under the API name "openai-completions" ([New]), and Responses
// under "openai-responses" ([NewResponses]).
//
// It turns an [agent.Request] into one streaming request and the events back
// into deltas. What it may not do is add: the head goes out as exactly the bytes
// of the request, in one message in front of all others; an empty head sends no
// such message; without tools no field speaks of tools. The few words of its own
// that a provider can see stand in the folder prose and take the place of
// something that cannot be sent.
//
// The maker's SDK builds and sends the request, and none of its types leaves
// this package. Its client is made without its constructor, because that one
// reads OPENAI_* variables, and its events are taken before its typed stream
// looks at them, because that one takes "error": null for an error. Its retries
// are off: package agent retries, after it has applied the policy again. Nothing
// here reads the environment, not even for a proxy; a proxy comes with the
// [model.Spec.Client].
//
// Errors are [agent.RequestError] with the provider's words. Keys, header values
// and credentials of the base URL are cut out of them before anyone sees them.
//
// The shape of a request follows spec/pi.md §8, the defaults for known hosts are
// those that pi applies.
package openai
