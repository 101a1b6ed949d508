// Package anthropic speaks the Messages wire of Anthropic and of the servers that
// copy it, under the API name "anthropic-messages".
//
// It turns an [agent.Request] into one streaming request and the events back
// into deltas. The head goes out as exactly the bytes of the request, in one
// system block; an empty head sends no field "system", no tools send no field
// "tools". Thoughts go back to the model that had them, their signatures and
// redacted data byte for byte; to another model they are not sent.
//
// The maker's SDK builds and sends the request, and none of its types leaves this
// package. Its client is made without its constructor, with its environment, its
// retries and its tracing off. Its key option would send "Authorization: Bearer";
// this wire wants "x-api-key", which is set by hand.
package anthropic
