package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client has as many connections as there are streams.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func (s *server) ask(ctx context.Context, method, path, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

// create makes a session without tools, so that nothing but talking happens.
func (s *server) create(ctx context.Context) (string, error) {
	body, _ := json.Marshal(map[string]any{"source": s.cwd, "tools": []string{}})
	var made struct {
		ID string `json:"sessionId"`
	}
	err := s.ask(ctx, "POST", "/api/sessions", string(body), &made)
	return made.ID, err
}

// lastAnswer is what the session's file says that the model said last.
func (s *server) lastAnswer(ctx context.Context, id string) (string, error) {
	var got struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := s.ask(ctx, "GET", "/api/sessions/"+id+"/messages", "", &got); err != nil {
		return "", err
	}
	for i := len(got.Messages) - 1; i >= 0; i-- {
		if m := got.Messages[i]; m.Role == "assistant" {
			var blocks []struct{ Text string }
			if err := json.Unmarshal(m.Content, &blocks); err != nil {
				return "", err
			}
			var text strings.Builder
			for _, b := range blocks {
				text.WriteString(b.Text)
			}
			return text.String(), nil
		}
	}
	return "", nil
}

// worker has one session: it asks it and listens to it.
type worker struct {
	srv   *server
	id    string
	check *check
	tally *tally
	stay  time.Duration
}

// drive stays on the stream of the session, and sends the next prompt when a turn has
// ended.
func (w *worker) drive(ctx context.Context, ready chan<- struct{}) {
	opened := false
	open := func() {
		if !opened {
			opened = true
			close(ready)
		}
	}
	defer open()
	turns := 0
	say := func() {
		turns++
		body, _ := json.Marshal(map[string]string{"message": fmt.Sprintf("Prompt %d of session %s.", turns, w.id)})
		w.tally.failed(ctx, w.srv.ask(ctx, "POST", "/api/sessions/"+w.id+"/messages", string(body), nil))
	}
	f := &follower{truth: true, check: w.check}
	f.ended = func(text string) {
		if turns%10 == 1 { // not each time: the file is read for it
			kept, err := w.srv.lastAnswer(ctx, w.id)
			if w.tally.failed(ctx, err); err == nil {
				w.tally.compareText(text, kept)
			}
		}
		say()
	}
	w.listen(ctx, f, func() { open(); say() })
}

// comeAndGo follows the session, hangs up after a while, mostly in the middle of a
// turn, and comes back.
func (w *worker) comeAndGo(ctx context.Context) {
	f := &follower{check: w.check}
	for ctx.Err() == nil {
		stay, cancel := context.WithTimeout(ctx, time.Duration((0.5+rand.Float64())*float64(w.stay)))
		w.listen(stay, f, nil)
		cancel()
		if ctx.Err() == nil {
			w.tally.came()
		}
	}
}

// listen opens the stream and gives the follower what comes, until ctx ends.
func (w *worker) listen(ctx context.Context, f *follower, opened func()) {
	req, err := http.NewRequestWithContext(ctx, "GET", w.srv.base+"/api/sessions/"+w.id+"/stream", nil)
	if err != nil {
		w.tally.failed(ctx, err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+w.srv.token)
	if f.last > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(f.last, 10))
	}
	res, err := client.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(res.Body)
		err = fmt.Errorf("stream: %d %s", res.StatusCode, data)
		res.Body.Close()
	}
	if err != nil {
		w.tally.failed(ctx, err)
		return
	}
	defer res.Body.Close()
	w.tally.open(1)
	defer w.tally.open(-1)
	if opened != nil {
		opened()
	}
	if err := read(res.Body, f.frame); err != nil {
		w.tally.failed(ctx, err)
	}
}

// read splits a stream into frames. A frame that is not whole, because somebody hung
// up, is none.
func read(from io.Reader, frame func(id int64, data []byte)) error {
	r := bufio.NewReader(from)
	var id int64
	var data []byte
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return err
		}
		switch key, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": ")); {
		case len(line) == 1:
			if data != nil {
				frame(id, data)
			}
			data = nil
		case string(key) == "id":
			id, _ = strconv.ParseInt(string(value), 10, 64)
		case string(key) == "data":
			data = value
		}
	}
}

var seed = maphash.MakeSeed()

// follower is what one stream has of the turn that runs, over all its connections.
type follower struct {
	truth bool // it stays, and says what there was
	check *check
	ended func(text string)

	last   int64 // id of the last frame
	inTurn bool
	turn   []mark
	text   strings.Builder
}

// mark is a chunk: its id and its content.
type mark struct {
	id   int64
	hash uint64
}

func (f *follower) frame(id int64, data []byte) {
	if id <= f.last {
		f.check.tally.wrong("an id does not grow: %d after %d", id, f.last)
	}
	f.last = id
	var got struct {
		Chunk *struct {
			Type  string `json:"type"`
			Delta string `json:"delta"`
			Error string `json:"errorText"`
		} `json:"chunk"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		f.check.tally.wrong("a frame is no JSON: %v", err)
		return
	}
	f.check.tally.count(len(data))
	if got.Chunk == nil {
		return
	}
	m := mark{id, maphash.Bytes(seed, data)}
	switch got.Chunk.Type {
	case "start":
		if f.inTurn {
			f.check.tally.missed() // it ended while nobody was here: the history has it
		}
		f.inTurn, f.turn = true, nil
		f.text.Reset()
	case "error":
		f.check.tally.wrong("a turn says: %s", got.Chunk.Error)
	case "text-delta":
		f.text.WriteString(got.Chunk.Delta)
	}
	if !f.inTurn {
		f.check.tally.wrong("a %s of no turn", got.Chunk.Type)
		return
	}
	f.turn = append(f.turn, m)
	if got.Chunk.Type != "finish" && got.Chunk.Type != "abort" {
		return
	}
	f.inTurn = false
	f.check.turnOf(f.truth, f.turn)
	f.turn = nil
	if f.ended != nil {
		f.ended(f.text.String())
	}
}
