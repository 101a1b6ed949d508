// Package attachment lets files travel from a browser to a tool and back by
// reference: the bytes stand in a store, everything else carries an id.
//
// # What an attachment is
//
// An [ID] with 128 random bits, the bytes, and a [Descriptor] that says to which
// session they belong. The layout is that of pi-web, and both programs may use one
// folder: "<id>" has the bytes, "<id>.meta.json" their type and size, and
// "<id>.att.json" the descriptor. The descriptor is written last and deleted
// first, so an attachment exists exactly while it has one, and a process that dies
// in between leaves nothing that anybody can see.
//
// # Who may use one
//
// The session that the descriptor names, and those that a grant in the store
// names ([Store.Grant]): a fork, a subagent that was handed files. Nothing else
// gives a right: not the id, not a line in a session file, not a name. Every way
// to the bytes goes through [Scope], which is the store as one session sees it;
// the one exception is a signed address, which [Links] makes and checks.
//
// # What may be touched here
//
// Names are for display and never become paths. Markers are built and read in one
// place ([Marker], [FindMarkers]). A tool's arguments are judged before a call
// ([Scope.Judge]), its result is freed of base64 after it ([Scope.Strip]). How a
// picture is bounded belongs to media, HTTP to the server, and the gates' places
// to the agent.
//
// Source of the rules: pi-web, "Attachments" and "Attachment bridge".
package attachment
