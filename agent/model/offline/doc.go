// Package offline is a model that needs nothing: no network, no key, no weights.
//
// It exists for a first look at piweb, for demonstrations without a provider and
// for tests. It is not a language model and every answer of it says so. The same
// request gets the same answer, byte for byte.
//
// # The echo model
//
// [New] opens it. It tells what it was given (how many messages, how long the
// system prompt, which tools) and quotes the question. Where a line of the last
// user message has one of these forms, and the tool is offered, it calls it;
// several lines become several calls of one turn. [Forms] holds the same list as
// data.
//
//	read FILE                            the tool read
//	list [FOLDER]  ·  ls [FOLDER]        the tool ls
//	run `COMMAND`                        the tool bash
//	write FILE: TEXT                     the tool write
//	replace `OLD` with `NEW` in FILE     the tool edit
//	search for `TEXT` [in FOLDER]        the tool grep
//	find `PATTERN` [in FOLDER]           the tool find
//	call TOOL {JSON}                     any tool, arguments as given
//
// Verbs are read in any case, after a bullet or a number, and after "please",
// "and" or "then". A FILE or FOLDER without blanks may stand bare; with blanks it
// stands in backticks or quotes, straight, typographic or CJK. COMMAND, OLD, NEW,
// TEXT of search and PATTERN must be quoted, so that a sentence of prose never
// runs. The text of write may also follow as a fenced code block on the next
// lines. Lines inside other fenced blocks and inside <document> elements are
// quotations, not requests. At most eight requests of one message are taken.
//
// # Scripted models
//
// [FromScript] plays answers from a file, in the format of the folder
// fixtures/scripts. Package modeltest answers from the same scripts over HTTP.
//
// Nothing here may open a file, a socket or a clock other than for a configured
// delay, and nothing may depend on the maker's SDKs.
package offline
