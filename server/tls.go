package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// Certificate makes the settings of TLS from two PEM files. They are looked at by
// each handshake, so that a renewed certificate is in use at once; while a new pair
// is broken or half written, the old one goes on. Only TLS 1.3 is spoken: every
// browser of the last years does, and there is nothing to choose wrongly.
func Certificate(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	p := &pair{cert: certFile, key: keyFile, log: log}
	if log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if err := p.load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.now(), nil }}, nil
}

// pair is a certificate and its key as they were read last.
type pair struct {
	cert, key string
	log       *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	seen   [2]os.FileInfo // of what was tried last
}

func (p *pair) load() error {
	for i, name := range []string{p.cert, p.key} {
		st, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("TLS: %w; name a certificate and its key in PEM files", err)
		}
		p.seen[i] = st
	}
	c, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return fmt.Errorf("TLS: %s and %s do not go together: %w", p.cert, p.key, err)
	}
	p.loaded = &c
	return nil
}

// now is the certificate that is in use, read anew where a file changed.
func (p *pair) now() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed() {
		if err := p.load(); err != nil {
			p.log.Warn("the new TLS certificate is not used; the old one goes on", "error", err.Error())
		} else {
			p.log.Info("a new TLS certificate is in use", "file", p.cert)
		}
	}
	return p.loaded
}

func (p *pair) changed() bool {
	for i, name := range []string{p.cert, p.key} {
		st, err := os.Stat(name)
		if err != nil {
			return false // it is being replaced
		}
		if was := p.seen[i]; !os.SameFile(st, was) || st.Size() != was.Size() || !st.ModTime().Equal(was.ModTime()) {
			return true
		}
	}
	return false
}
