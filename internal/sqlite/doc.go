// Package sqlite opens the databases that piweb keeps, brings them to their present
// form, and prepares text of any script for full-text search.
//
// A [DB] has one writer and several readers: every change goes through [DB.Write],
// one at a time, so that a process never waits for itself; between processes SQLite
// locks, and waiting is bounded. What Write has returned for survives a power cut.
//
// SQLite's own tokenizers lose words of scripts that have no spaces: a word of two
// Han characters is found by neither. [Words] sets such characters apart before the
// text is indexed, and [ParseQuery] does the same to what is searched for. A query is
// data: whatever a person types, none of it reaches SQLite as query syntax.
//
// What may be touched here: how a database is opened and how text is prepared. What
// not: tables and their meaning, which are their owner's.
package sqlite
