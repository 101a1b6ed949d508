package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite" // also registers the driver
)

// busyTime is how long one statement waits for another process, where [Patience] says
// nothing else.
const busyTime = 5 * time.Second

// writeTries is how often a whole write is tried while the database is locked.
const writeTries = 3

// readers is how many questions are answered at once.
const readers = 4

// The result codes of SQLite that say that somebody else is writing.
const (
	codeBusy   = 5
	codeLocked = 6
)

// ErrNewer says that a database was written by a newer version of the program.
var ErrNewer = errors.New("the database was made by a newer version of piweb")

// ErrLocked says that another program has kept the database locked for too long. What
// was to be written was not.
var ErrLocked = errors.New("another program keeps the database locked")

// Option changes how a database is opened.
type Option func(*DB)

// Patience is how long one statement waits for another process; a write is tried a few
// times. 0 leaves it as it is.
func Patience(d time.Duration) Option {
	return func(db *DB) {
		if d > 0 {
			db.patience = d
		}
	}
}

// Migration brings a database from one version to the next. It runs in a
// transaction, together with the step of the version.
type Migration func(ctx context.Context, tx *sql.Tx) error

// Script is a migration of SQL statements.
func Script(statements string) Migration {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statements)
		return err
	}
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	read, write *sql.DB
	path        string
	patience    time.Duration
	scrub       bool
}

// Scrub overwrites what is deleted, so that its words are not left in the file. It
// costs a write of every page that something is deleted from. FTS5 tables have a switch
// of their own for their index: 'secure-delete'.
func Scrub() Option { return func(db *DB) { db.scrub = true } }

// Settle writes all that was done into the file itself, and empties the log beside it,
// as far as nobody reads there now.
func (db *DB) Settle(ctx context.Context) error {
	var busy, log, done int
	return db.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done)
}

// Open opens the database at path, makes it where there is none (readable by its
// owner only), and runs the migrations that it has not had. The version is kept in
// user_version. Two processes may open one file at once.
func Open(ctx context.Context, path string, steps []Migration, options ...Option) (*DB, error) {
	fail := func(err error) (*DB, error) { return nil, fmt.Errorf("open database %s: %w", path, err) }
	path, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(err)
	}
	// The files that SQLite puts beside it take their mode from this one.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fail(err)
	}
	f.Close()
	db := &DB{path: path, patience: busyTime}
	for _, o := range options {
		o(db)
	}
	if db.write, err = sql.Open("sqlite", db.source(true)); err != nil {
		return fail(err)
	}
	db.write.SetMaxOpenConns(1)
	if db.read, err = sql.Open("sqlite", db.source(false)); err != nil {
		db.write.Close()
		return fail(err)
	}
	db.read.SetMaxOpenConns(readers)
	if err := db.migrate(ctx, steps); err != nil {
		db.Close()
		return fail(err)
	}
	return db, nil
}

// source is the path as the driver takes it. A path may have any sign in it.
func (db *DB) source(write bool) string {
	slashed := filepath.ToSlash(db.path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", db.patience.Milliseconds()), "journal_mode(wal)", "synchronous(full)", "foreign_keys(1)",
	}}
	if write {
		q.Set("_txlock", "immediate")
		if db.scrub {
			q.Add("_pragma", "secure_delete(1)")
		}
	} else {
		q.Add("_pragma", "query_only(1)")
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: q.Encode()}).String()
}

func (db *DB) migrate(ctx context.Context, steps []Migration) error {
	return db.Write(ctx, func(tx *sql.Tx) error {
		var at int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&at); err != nil {
			return err
		}
		if at > len(steps) {
			return fmt.Errorf("%w (its version is %d, this one knows %d); update piweb", ErrNewer, at, len(steps))
		}
		for i, step := range steps[at:] {
			if err := step(ctx, tx); err != nil {
				return fmt.Errorf("migration to version %d: %w", at+i+1, err)
			}
		}
		if at == len(steps) {
			return nil
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(steps)))
		return err
	})
}

// Path is where the database lies.
func (db *DB) Path() string { return db.path }

// Read answers questions, several at once. It refuses to change anything.
func (db *DB) Read() *sql.DB { return db.read }

// Write makes one change: do gets a transaction that is kept if it returns nil, and
// undone else. Where another process keeps the database locked, the whole of do is
// run again a few times; it must not keep anything from a run that failed.
func (db *DB) Write(ctx context.Context, do func(tx *sql.Tx) error) error {
	var err error
	for range writeTries {
		if err = db.once(ctx, do); !Busy(err) || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("%w: close the other program, or try again in a moment (%w)", ErrLocked, err)
}

func (db *DB) once(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Busy tells whether an error says that somebody else keeps the database locked.
func Busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == codeBusy || e.Code()&0xff == codeLocked)
}

// Check looks whether the database is whole. It looks with fresh eyes: a connection
// that has seen an index before it was rebuilt takes the new one for damaged.
func (db *DB) Check(ctx context.Context) error {
	fresh, err := sql.Open("sqlite", db.source(false))
	if err != nil {
		return err
	}
	defer fresh.Close()
	var said string
	if err := fresh.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("the database %s is damaged: %s", db.path, said)
	}
	return nil
}

// Close closes the database.
func (db *DB) Close() error { return errors.Join(db.read.Close(), db.write.Close()) }
