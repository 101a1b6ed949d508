package memory

import "github.com/piweb-go/piweb/internal/sqlite"

// migrations are the steps of the database's form. A step that was released is never
// changed.
var migrations = []sqlite.Migration{
	sqlite.Script(`
CREATE TABLE user_resources (
	id TEXT PRIMARY KEY, user_id TEXT NOT NULL,
	app_id TEXT NOT NULL DEFAULT 'default', project_id TEXT NOT NULL DEFAULT 'default',
	name TEXT NOT NULL, content_type TEXT NOT NULL, description TEXT NOT NULL DEFAULT '',
	size INTEGER NOT NULL, sha256 TEXT NOT NULL,
	internal_uri TEXT NOT NULL, uri TEXT NOT NULL, status TEXT NOT NULL,
	created_at TIMESTAMP NOT NULL, deleted_at TIMESTAMP NULL
);
CREATE INDEX user_resources_owner ON user_resources (user_id, deleted_at);
CREATE UNIQUE INDEX user_resources_bytes ON user_resources (user_id, app_id, project_id, sha256);

CREATE TABLE memory_attachments (
	id TEXT PRIMARY KEY,
	user_id TEXT NOT NULL,
	app_id TEXT NOT NULL DEFAULT 'default', project_id TEXT NOT NULL DEFAULT 'default',
	session_id TEXT NOT NULL,
	resource_id TEXT NULL,
	content_type TEXT NOT NULL,
	name TEXT NOT NULL,
	internal_uri TEXT NOT NULL,
	source TEXT NOT NULL CHECK (source IN ('resource_upload', 'memory_add_uri', 'memory_add_base64')),
	sha256 TEXT NULL,
	created_at TIMESTAMP NOT NULL,
	deleted_at TIMESTAMP NULL
);
CREATE UNIQUE INDEX memory_attachments_uri ON memory_attachments (user_id, session_id, internal_uri);
CREATE INDEX memory_attachments_live ON memory_attachments (user_id, session_id, deleted_at);

CREATE TABLE memory_sessions (
	app_id TEXT NOT NULL, project_id TEXT NOT NULL, session_id TEXT NOT NULL,
	user_id TEXT NOT NULL,
	PRIMARY KEY (app_id, project_id, session_id)
) WITHOUT ROWID;

CREATE TABLE memories (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL DEFAULT '', user_id TEXT NOT NULL, app_id TEXT NOT NULL, project_id TEXT NOT NULL, session_id TEXT NOT NULL,
	at INTEGER NOT NULL, -- milliseconds
	open INTEGER NOT NULL, -- whether later messages may join it
	senders TEXT NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL,
	origin TEXT NOT NULL DEFAULT '', -- the call that it was remembered by
	words TEXT NOT NULL, plain TEXT NOT NULL
);
CREATE INDEX memories_session ON memories (user_id, app_id, project_id, session_id, n);
CREATE INDEX memories_at ON memories (user_id, at);
CREATE UNIQUE INDEX memories_id ON memories (id) WHERE id <> '';

CREATE TABLE messages (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	user_id TEXT NOT NULL, app_id TEXT NOT NULL, project_id TEXT NOT NULL, session_id TEXT NOT NULL,
	key TEXT NOT NULL, -- what makes the same message the same
	at INTEGER NOT NULL, sender_id TEXT NOT NULL, sender_name TEXT NOT NULL, role TEXT NOT NULL,
	text TEXT NOT NULL,
	memory INTEGER NULL REFERENCES memories (n) ON DELETE CASCADE
);
CREATE UNIQUE INDEX messages_key ON messages (user_id, app_id, project_id, session_id, key);
CREATE INDEX messages_memory ON messages (memory);

CREATE VIRTUAL TABLE memory_words USING fts5 (words, content='memories', content_rowid='n', tokenize='` + sqlite.Tokenizer + `');
CREATE VIRTUAL TABLE memory_inside USING fts5 (plain, content='memories', content_rowid='n', tokenize='trigram');
CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN
	INSERT INTO memory_words (rowid, words) VALUES (new.n, new.words);
	INSERT INTO memory_inside (rowid, plain) VALUES (new.n, new.plain);
END;
CREATE TRIGGER memories_gone AFTER DELETE ON memories BEGIN
	INSERT INTO memory_words (memory_words, rowid, words) VALUES ('delete', old.n, old.words);
	INSERT INTO memory_inside (memory_inside, rowid, plain) VALUES ('delete', old.n, old.plain);
END;
CREATE TRIGGER memories_changed AFTER UPDATE OF words, plain ON memories BEGIN
	INSERT INTO memory_words (memory_words, rowid, words) VALUES ('delete', old.n, old.words);
	INSERT INTO memory_inside (memory_inside, rowid, plain) VALUES ('delete', old.n, old.plain);
	INSERT INTO memory_words (rowid, words) VALUES (new.n, new.words);
	INSERT INTO memory_inside (rowid, plain) VALUES (new.n, new.plain);
END;

CREATE TABLE notes (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
`),
	// One session may have the same URI in two projects.
	sqlite.Script(`
DROP INDEX memory_attachments_uri;
CREATE UNIQUE INDEX memory_attachments_uri ON memory_attachments (user_id, session_id, internal_uri, app_id, project_id);
`),
	// What a service is to be told once it is back; a body that is NULL is a flush.
	sqlite.Script(`
CREATE TABLE memory_waiting (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	user_id TEXT NOT NULL, app_id TEXT NOT NULL, project_id TEXT NOT NULL, session_id TEXT NOT NULL,
	body BLOB NULL
);
CREATE INDEX memory_waiting_session ON memory_waiting (user_id, session_id);
`),
	// What a user has forgotten and a service keeps, which offers no way to forget.
	sqlite.Script(`
CREATE TABLE memory_hidden (
	user_id TEXT NOT NULL, app_id TEXT NOT NULL, project_id TEXT NOT NULL, id TEXT NOT NULL,
	PRIMARY KEY (user_id, app_id, project_id, id)
) WITHOUT ROWID;
`),
	// What is forgotten leaves the index at once, and not with its next tidying up.
	sqlite.Script(`
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
INSERT INTO memory_inside (memory_inside, rank) VALUES ('secure-delete', 1);
`),
}
