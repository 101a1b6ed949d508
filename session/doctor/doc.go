// Package doctor says what is wrong with a session file: for piweb, for pi, for
// every reader; what each of them would lose, hang on or hide; and what to do. It
// can write a repaired copy beside the file.
//
// # Checking
//
// [Check] reads a file and never changes it. It reports everything that package
// session notices on opening and on building the context, and what pi 1.6.0 does
// with the same bytes, which session does not need to know. A finding has a
// [Severity]: a loss is data that some reader does not get, or would destroy; a
// warning hides or hinders; a note is worth knowing. Memory is bounded by the
// largest record and by [MaxContext]; a file over [MaxFile] is not read, and what
// is no regular file is not opened.
//
// A whole folder is checked by the command line:
//
//	piweb doctor DIR
//	piweb doctor DIR --json
//
// It reads every .jsonl file below DIR, prints what it finds and a line of counts,
// and ends with 1 if any file loses data for some reader. As a test of this package,
// over folders of your own ($PIWEB_CORPUS, a list like $PATH), also with a repair of
// every file in a copy:
//
//	PIWEB_CORPUS=~/.pi/agent/sessions go test ./session/doctor -run Corpus -v
//
// # Repairing
//
// [Repair] writes NAME.repaired.jsonl beside NAME.jsonl and never over anything. In
// the copy every record stands on a line of its own, every id is there once, every
// parent exists, no walk comes back to where it was, and the header is the first
// line. Readable records keep their bytes apart from ids and parents. What is no
// record (fragments, lone values, second headers) goes to NAME.repaired.torn, byte
// for byte, so that copy and side file together hold all that the file held. The
// copy gives piweb the same context as the file did; where piweb did not open the
// file, the one that it would have given without the flaw in front.
//
// # What may be touched here
//
// Nothing but those two new files. The rules of reading belong to package session,
// and those of writing entries anew to package export.
//
// Source of the rules: pi 1.6.0, "Opening: exact behaviour on odd files", "Listing"
// and "User-reported issues"; the reports of lost sessions in public trackers.
package doctor
