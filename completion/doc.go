// Package completion offers what a person may mean while they type, and turns
// what they chose into what the model reads.
//
// A person types a trigger, such as @, and some letters. The [Registry] asks every
// [Provider] of that trigger at once, each for a bounded time, and merges what they
// offer. What was chosen stands in the message as a token, such as @file:src/app.go
// or @file:"a b.txt" ([Next] has the grammar, [Format] writes it). When the message
// is sent, [Registry.Resolve] replaces tokens by what their providers make of them,
// from left to right; what no provider knows stays as it was typed.
//
// What may be touched here: triggers, dispatch, merging, tokens. What not: what a
// provider offers or how it checks a name; packages completion/files and
// completion/sources hold those of piweb, and a program adds its own with
// [Registry.Add]. Only a person's own text is ever resolved: templates, skills and
// the output of tools never come here, and code blocks in a message are left alone.
//
// Nothing here trusts an id: it is somebody's text until its provider has judged it.
package completion
