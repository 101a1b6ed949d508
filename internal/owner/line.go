package owner

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// maxLine bounds one line, in bytes.
const maxLine = 64 << 20

// ErrTooLong: a line is longer than any may be.
var ErrTooLong = errors.New("the line is too long")

// Conn is a conversation. Send and Receive may be called at the same time, each by
// one goroutine.
type Conn struct {
	c net.Conn
	r *bufio.Reader

	mu sync.Mutex // of writing
}

func newConn(c net.Conn) *Conn { return &Conn{c: c, r: bufio.NewReader(c)} }

// Send writes one value.
func (c *Conn) Send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("owner: encode: %w", err)
	}
	if len(data) >= maxLine {
		return fmt.Errorf("owner: send: %w", ErrTooLong)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.c.Write(append(data, '\n'))
	return err
}

// Receive reads the next value. The end of the conversation is io.EOF.
func (c *Conn) Receive(v any) error {
	data, err := c.line(maxLine)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("owner: decode: %w", err)
	}
	return nil
}

func (c *Conn) line(limit int) ([]byte, error) {
	var all []byte
	for {
		part, err := c.r.ReadSlice('\n')
		if len(all)+len(part) > limit {
			return nil, ErrTooLong
		}
		all = append(all, part...)
		switch {
		case err == nil:
			return all, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(all) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// Close ends the conversation.
func (c *Conn) Close() error { return c.c.Close() }
