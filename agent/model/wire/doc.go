// Package wire holds what the providers' wires have in common: where a model is
// reached, how a request is watched, refusals without secrets, texts that JSON
// can carry, and the last guard before a picture goes out.
//
// Nothing here knows one wire from another or imports a maker's SDK; a provider
// that is linked brings its own SDK and no other. Nothing here reads the
// environment, not even for a proxy; a proxy comes with the [model.Spec.Client].
package wire
