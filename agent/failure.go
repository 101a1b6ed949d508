package agent

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// errCut is the failure of an answer that ended without its end.
var errCut = errors.New("the answer broke off before its end")

// Words by which providers say what a status does not. They are looked for in
// the provider's own message only.
var (
	overflowWords = regexp.MustCompile(`(?i)context[ _-]?(length|window|size)|maximum (context|prompt|input)|prompt is too long|input is too long|` +
		`too many (input )?tokens|exceeds? .{0,40}(tokens|context)|input token count|reduce the length of the|request_too_large|token limit exceeded`)
	quotaWords = regexp.MustCompile(`(?i)insufficient[_ ](quota|balance|funds|credits?)|billing|payment required|credit balance|out of credits|exceeded your current quota|usage limit`)
	finalWords = regexp.MustCompile(`(?i)invalid[_ ](request|api|argument)|invalid x-api-key|unauthori[sz]ed|forbidden|not[_ ]found|unsupported|permission`)
)

// Overflow tells whether a provider refused a request because it does not fit
// into the model's context window.
func Overflow(err error) bool {
	var refusal *RequestError
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.Status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		return false // a limit of tokens per minute is no overflow
	}
	return overflowWords.MatchString(refusal.Message)
}

// Transient tells whether the same request may go through a little later: load,
// rate limits, the network, an answer that was cut. A spent quota, a refusal of
// the request itself and an overflow are not.
func Transient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || Overflow(err) {
		return false
	}
	if errors.Is(err, errCut) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var refusal *RequestError
	if !errors.As(err, &refusal) || unreachable(err) {
		return false
	}
	if quotaWords.MatchString(refusal.Message) {
		return false
	}
	switch s := refusal.Status; {
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests:
		return true
	case s == http.StatusNotImplemented, s == http.StatusHTTPVersionNotSupported:
		return false
	case s >= 500 && s <= 599:
		return true
	case s == 0, s == http.StatusOK:
		// No answer, or an error inside one: only its words tell.
		return !finalWords.MatchString(refusal.Message)
	}
	return false
}

// unreachable tells whether an address is wrong rather than busy.
func unreachable(err error) bool {
	var (
		name    *net.DNSError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		cert    x509.CertificateInvalidError
	)
	return errors.As(err, &name) && name.IsNotFound || errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &cert)
}

// Retry says how often and after which time a failed request is sent again. The
// zero value never does.
//
// Source of the rules: pi 1.6.0, "Retry".
type Retry struct {
	Max       int           // attempts after the first
	BaseDelay time.Duration // doubled each time
	MaxDelay  time.Duration // longest wait of our own
	// MaxAsked is the longest wait that a provider may ask for. One that asks for
	// more is not asked again: nobody would wait that long without being told.
	MaxAsked time.Duration
}

// Delay tells how long to wait before attempt n, counted from 1, after a
// failure. ok is false where it is not tried again.
func (r Retry) Delay(n int, err error, now time.Time) (d time.Duration, ok bool) {
	if n > r.Max || !Transient(err) {
		return 0, false
	}
	if asked, said := askedDelay(err, now); said {
		if asked > r.MaxAsked {
			return 0, false
		}
		return asked, true
	}
	d = r.MaxDelay
	if shift := n - 1; shift < 32 && r.BaseDelay<<shift>>shift == r.BaseDelay {
		d = min(d, r.BaseDelay<<shift)
	}
	return d, true
}

// askedDelay reads the provider's Retry-After: seconds, or a date.
func askedDelay(err error, now time.Time) (time.Duration, bool) {
	var refusal *RequestError
	if !errors.As(err, &refusal) {
		return 0, false
	}
	text := strings.TrimSpace(refusal.RetryAfter)
	if text == "" {
		return 0, false
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		const most = 1e6 // seconds; more is as good as never, and would not fit
		if !(n >= 0) {
			return 0, false
		}
		return time.Duration(min(n, most) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// sleep waits, or ends with the context.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
