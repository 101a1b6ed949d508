// Package export writes a session for other eyes: as JSONL that pi and piweb
// open, as Markdown, and as one HTML page that needs nothing but itself.
//
// # What goes out
//
// The current branch, the branch of a chosen entry, or (JSONL) all branches. An
// export is made entry by entry: memory is bounded by the largest entry, not by
// the session. JSONL keeps every entry byte for byte, apart from the parent that
// it is chained to; its header keeps the session's id and gets a new time, as in
// pi. HTML and Markdown show what people said and what tools did. They leave out
// what only programs read: the data of custom entries, the details of tool
// results, the signatures of providers.
//
// The page of HTML asks for nothing: no script, no font, no link to follow, a
// policy in its head that forbids all of it. Pictures are shown only where their
// bytes stand in the file, and only small ones ([MaxImage], [MaxImages]).
//
// # Secrets
//
// HTML and Markdown are for sharing, so [Redactor] takes out what its rules know
// as a secret; the list is in its documentation. What looks like a secret and is
// explained by no rule is a doubt. HTML is not written at all while there is a
// doubt: the error is a [DoubtError], which says where, never what. The caller
// decides: force it, or let doubts be taken out too. JSONL is for going on with
// the session, so nothing is changed there unless it is asked for, and the report
// says what was seen. Nobody can promise that a text holds no secret: the rules
// see tokens and names, not meaning, and they do not see into pictures.
//
// # What may be touched here
//
// The package reads sessions and writes to the writer, or the new file, that it
// is given. It never changes a session. [Plan] is also the way in which package
// doctor writes a repaired copy.
//
// Source of the rules: pi 1.6.0, "Fork, clone, new, import, export" for JSONL;
// the reports of shared transcripts with credentials in them for redaction.
package export
