package owner

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	scheme = "unix:"
	// longestSocket is the longest path that every system takes for a socket, in
	// bytes.
	longestSocket = 100
	// helloTime is how long a caller may take to say the key.
	helloTime = 5 * time.Second
	// mostTalks is how many conversations are held at once.
	mostTalks = 64
)

// ErrNobody: nobody listens at an address.
var ErrNobody = errors.New("nobody answers")

// ErrDenied: the door did not take the key.
var ErrDenied = errors.New("the key is wrong")

// hello is the first line of a conversation.
type hello struct {
	Key      string          `json:"key"`
	Question json.RawMessage `json:"question"`
}

// welcome is the first line of the answer.
type welcome struct {
	OK bool `json:"ok"`
}

// Door is where a program can be asked.
type Door struct {
	ln     net.Listener
	key    string
	own    string // a folder that goes with the door
	answer func(ctx context.Context, question json.RawMessage, c *Conn)
	ctx    context.Context
	stop   context.CancelFunc

	mu    sync.Mutex
	talks map[net.Conn]struct{}
	wg    sync.WaitGroup
}

// Listen opens a door in a folder, which is made where it is not there. answer is
// called for each question, from a goroutine of its own; the conversation ends when
// it returns.
func Listen(dir string, answer func(ctx context.Context, question json.RawMessage, c *Conn)) (*Door, error) {
	d := &Door{key: rand.Text() + rand.Text(), answer: answer, talks: map[net.Conn]struct{}{}}
	name := fmt.Sprintf("%d-%s.sock", os.Getpid(), strings.ToLower(rand.Text()[:8]))
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = onlyMine(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open a door in %s: %w", dir, err)
	}
	if len(filepath.Join(dir, name)) > longestSocket {
		if dir, err = os.MkdirTemp("", "piweb-"); err != nil { // 0700, and nobody's but ours
			return nil, fmt.Errorf("open a door: %w", err)
		}
		d.own, name = dir, "s"
	}
	d.ln, err = net.Listen("unix", filepath.Join(dir, name))
	if err == nil {
		err = os.Chmod(filepath.Join(dir, name), 0o600)
	}
	if err != nil {
		if d.ln != nil {
			_ = d.ln.Close()
		}
		d.removeOwn()
		return nil, fmt.Errorf("open a door in %s: %w", dir, err)
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.wg.Go(d.accept)
	return d, nil
}

func (d *Door) removeOwn() {
	if d.own != "" {
		_ = os.Remove(d.own)
	}
}

// Address is what Ask wants to know.
func (d *Door) Address() string { return scheme + d.ln.Addr().String() }

// Key lets in who says it.
func (d *Door) Key() string { return d.key }

// Close ends all conversations and waits for their ends.
func (d *Door) Close() error {
	d.stop()
	err := d.ln.Close()
	d.mu.Lock()
	for c := range d.talks {
		_ = c.Close()
	}
	d.mu.Unlock()
	d.wg.Wait()
	d.removeOwn()
	return err
}

func (d *Door) accept() {
	for {
		c, err := d.ln.Accept()
		if err != nil {
			if d.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors, for example
			continue
		}
		d.mu.Lock()
		full := len(d.talks) >= mostTalks || d.ctx.Err() != nil
		if !full {
			d.talks[c] = struct{}{}
		}
		d.mu.Unlock()
		if full {
			_ = c.Close()
			continue
		}
		d.wg.Go(func() { d.talk(c) })
	}
}

func (d *Door) talk(c net.Conn) {
	defer func() {
		_ = c.Close()
		d.mu.Lock()
		delete(d.talks, c)
		d.mu.Unlock()
	}()
	conn := newConn(c)
	_ = c.SetReadDeadline(time.Now().Add(helloTime))
	var h hello
	if conn.Receive(&h) != nil {
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	if subtle.ConstantTimeCompare([]byte(h.Key), []byte(d.key)) != 1 {
		_ = conn.Send(welcome{false})
		return
	}
	if conn.Send(welcome{true}) == nil {
		d.answer(d.ctx, h.Question, conn)
	}
}

// Ask begins a conversation. The caller closes it. ErrNobody means that the
// program is gone; no part of the question was answered then.
func Ask(ctx context.Context, address, key string, question any) (*Conn, error) {
	path, ok := strings.CutPrefix(address, scheme)
	if !ok || !filepath.IsAbs(path) {
		return nil, fmt.Errorf("ask at %.80q: %w: this is no address", address, ErrNobody)
	}
	if err := socketIsMine(path); err != nil {
		return nil, fmt.Errorf("ask at %s: %w: %w", path, ErrNobody, err)
	}
	raw, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("ask at %s: %w", path, err)
	}
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("ask at %s: %w: %w", path, ErrNobody, err)
	}
	conn := newConn(c)
	_ = c.SetDeadline(time.Now().Add(helloTime))
	var w welcome
	if err = conn.Send(hello{key, raw}); err == nil {
		err = conn.Receive(&w)
	}
	if err == nil && !w.OK {
		err = ErrDenied
	} else if err != nil {
		err = fmt.Errorf("%w: %w", ErrNobody, err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("ask at %s: %w", path, err)
	}
	_ = c.SetDeadline(time.Time{})
	return conn, nil
}
