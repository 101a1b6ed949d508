package server

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/gc"
	"github.com/piweb-go/piweb/session/doctor"
)

// What is wrong with session files, and what nothing names any more.

// diagnosis is what there is to say of a session's file.
type diagnosis struct {
	SessionID string `json:"sessionId"`
	Loses     bool   `json:"loses"` // some reader loses data
	doctor.Report
}

func diagnose(t *target) diagnosis {
	d := diagnosis{SessionID: t.wireID, Report: doctor.Check(t.pathOf())}
	d.Loses = d.Report.Loses()
	d.Findings = append([]doctor.Finding{}, d.Findings...)
	return d
}

// examineSession says what is wrong with a session's file. Nothing is changed.
func (s *Server) examineSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if t.live != nil && !t.live.Log().Persisted() {
		return refuse(http.StatusConflict, "NO_FILE", "The session has no file yet, so there is nothing to look at.")
	}
	write(w, r, http.StatusOK, diagnose(t))
	return nil
}

// doctorTime bounds a look at all files.
const doctorTime = 20 * time.Second

// examineAll looks at all session files and tells of those that are not sound.
func (s *Server) examineAll(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	all, err := s.targets(r.Context())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), doctorTime)
	defer cancel()
	answer := struct {
		Files   int         `json:"files"`   // that there are
		Checked int         `json:"checked"` // that were looked at in the time there is
		Sound   int         `json:"sound"`   // with nothing but notes
		Found   []diagnosis `json:"found"`
	}{Found: []diagnosis{}}
	for _, t := range all {
		if t.file == nil {
			continue
		}
		if answer.Files++; ctx.Err() != nil {
			continue
		}
		d := diagnose(t)
		answer.Checked++
		if worst := d.Worst(); worst == "" || worst == doctor.Note {
			answer.Sound++
			continue
		}
		answer.Found = append(answer.Found, d)
	}
	if err := r.Context().Err(); err != nil {
		return err
	}
	write(w, r, http.StatusOK, answer)
	return nil
}

// repairSession writes a repaired copy beside a session's file, which stays as it
// is. Where nothing is to repair, nothing is written.
func (s *Server) repairSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	if _, err := readForm(w, r); err != nil {
		return err
	}
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if t.live != nil && !t.live.Log().Persisted() {
		return refuse(http.StatusConflict, "NO_FILE", "The session has no file yet, so there is nothing to repair.")
	}
	path, did, err := doctor.Repair(t.pathOf())
	switch {
	case errors.Is(err, fs.ErrExist):
		return &problem{status: http.StatusConflict, code: "EXISTS", text: "There is a repaired copy already. Look at it, or move it away.", cause: err}
	case errors.Is(err, doctor.ErrCannot):
		return &problem{status: http.StatusUnprocessableEntity, code: "CANNOT_REPAIR", text: err.Error(), cause: err}
	case err != nil:
		return err
	}
	answer := struct {
		SessionID string `json:"sessionId,omitempty"` // of the copy
		doctor.Repaired
	}{Repaired: did}
	answer.Changes = append([]doctor.Change{}, did.Changes...)
	status := http.StatusOK
	if path != "" {
		status = http.StatusCreated
		if answer.SessionID, err = s.idOf(r.Context(), path, ""); err != nil {
			return err
		}
	}
	write(w, r, status, answer)
	return nil
}

// leastGrace is the shortest grace period that may be asked for, in hours: what is
// being uploaded, or was just written, is named a moment later.
const leastGrace = 1

// unusedItem is a thing that no session names.
type unusedItem struct {
	Key   string `json:"key"`
	Label string `json:"label"`
	Size  int64  `json:"size"` // bytes
	Since string `json:"since,omitempty"`
	Due   bool   `json:"due"`  // a collection would remove it
	Gone  bool   `json:"gone"` // this one did
}

// lookAtUnused says what a collection would find. Nothing is removed.
func (s *Server) lookAtUnused(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	return s.answerCollected(w, r, piweb.CollectOptions{})
}

// collect removes what has been unused for the grace period.
func (s *Server) collect(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	o := piweb.CollectOptions{Remove: true}
	if n := f.number("graceHours"); n != nil {
		if !(*n >= leastGrace && *n <= 24*365) {
			f.bad("graceHours")
		} else {
			o.Grace = time.Duration(*n * float64(time.Hour))
		}
	}
	if err := f.check(); err != nil {
		return err
	}
	return s.answerCollected(w, r, o)
}

func (s *Server) answerCollected(w http.ResponseWriter, r *http.Request, o piweb.CollectOptions) error {
	o.Now = s.cfg.Now
	c, err := s.rt.Collect(r.Context(), s.cfg.DefaultCWD, o)
	switch {
	case errors.Is(err, gc.ErrBusy):
		return &problem{status: http.StatusConflict, code: "BUSY", text: "Another collection is running. Wait until it has ended.", cause: err}
	case errors.Is(err, gc.ErrMissing):
		return &problem{status: http.StatusConflict, code: "FOLDER_MISSING", text: err.Error(), cause: err}
	case err != nil:
		return err
	}
	answer := struct {
		Folders []string     `json:"folders"` // whose sessions were read
		Skipped []string     `json:"skipped"`
		Listed  int          `json:"listed"` // things beside sessions
		Unused  []unusedItem `json:"unused"`
		Removed int          `json:"removed"`
		Freed   int64        `json:"freedBytes"`
	}{append([]string{}, c.Folders...), append([]string{}, c.Skipped...), c.Listed, []unusedItem{}, 0, c.Bytes(func(u gc.Unused) bool { return u.Gone })}
	for _, u := range c.Unused {
		answer.Unused = append(answer.Unused, unusedItem{string(u.Key), u.Label, u.Size, stamp(u.Since), u.Due, u.Gone})
		if u.Gone {
			answer.Removed++
		}
	}
	write(w, r, http.StatusOK, answer)
	return nil
}
