package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate writes a pair for localhost and returns the roots that trust it.
func certificate(t *testing.T, dir, name string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, file+".new"), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, file+".new"), filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}

// TestTLS: the page, the API and a stream over TLS, in HTTP/1.1 and HTTP/2; old
// versions are refused, the cookie is for TLS only, a renewed pair is taken without a
// restart, and a broken one is not.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	first := certificate(t, dir, "first")
	w := newWorld(t, slowTalk(t))
	log := slog.New(slog.NewTextHandler(w.logs, nil))
	cfg, err := Certificate(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), log)
	if err != nil {
		t.Fatal(err)
	}
	w.server.cfg.TLS = cfg
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ctx, ln) }()
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	w.http.URL = "https://" + ln.Addr().String()
	trust := func(roots *x509.CertPool, h2 bool) *http.Transport {
		w.client.CloseIdleConnections()
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: h2}
		w.client.Transport = tr
		return tr
	}
	for _, h2 := range []bool{false, true} {
		trust(first, h2)
		id := w.create(`[]`)
		tb := w.open(id, "", "")
		w.say(id, "hello")
		if frames := tb.ended(1); said(frames) == "" || tb.res.ProtoMajor == 2 != h2 {
			t.Errorf("over HTTP/%d the turn says %q", tb.res.ProtoMajor, said(frames))
		}
		tb.close()
		link := w.send(w.ask("GET", "/?token="+testToken).with("Authorization", ""))
		if link.status != 303 || !strings.Contains(link.header.Get("Set-Cookie"), "Secure") {
			t.Errorf("the link gives %d and the cookie %q", link.status, link.header.Get("Set-Cookie"))
		}
		if a := w.send(w.ask("GET", "/api/sessions").with("Origin", w.http.URL)); a.status != 200 {
			t.Errorf("our own page: %d", a.status)
		}
	}
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12} {
		c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{RootCAs: first, MinVersion: tls.VersionTLS10, MaxVersion: version})
		if err == nil {
			c.Close()
			t.Errorf("version %x is spoken", version)
		}
	}
	name := func() string {
		c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	second := certificate(t, dir, "second")
	w.until("the renewed certificate is in use", func() bool { return name() == "second" })
	trust(second, true)
	w.do(200, "GET", "/api/bootstrap")
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("half a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "second" {
		t.Errorf("with a broken key %q is in use", got)
	}
	if !strings.Contains(w.logs.String(), "the old one goes on") {
		t.Error("nobody is told of the broken pair")
	}
	if _, err := Certificate(filepath.Join(dir, "none"), filepath.Join(dir, "key.pem"), nil); err == nil {
		t.Error("a file that is not there is taken")
	}
	if _, err := Certificate(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), nil); err == nil {
		t.Error("a pair that does not go together is taken")
	}
}
