package server

import (
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound what one client may use. A field that is zero takes its default; a
// negative one is no limit.
type Limits struct {
	UserRate     float64 // requests of one user in a second; 0 for 100
	UserBurst    int     // how many more at once; 0 for 2000
	AddressRate  float64 // requests of one address in a second; 0 for 200
	AddressBurst int     // 0 for 4000
	FailedRate   float64 // requests of one address in a second that let nobody in; 0 for 1
	FailedBurst  int     // 0 for 60
	UserStreams  int     // streams that one user of the users file may have open; 0 for 64
}

func (l Limits) withDefaults() Limits {
	or := func(v *float64, to float64) {
		if *v == 0 {
			*v = to
		}
	}
	n := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	or(&l.UserRate, 100)
	n(&l.UserBurst, 2000)
	or(&l.AddressRate, 200)
	n(&l.AddressBurst, 4000)
	or(&l.FailedRate, 1)
	n(&l.FailedBurst, 60)
	n(&l.UserStreams, 64)
	return l
}

// maxBuckets is how many clients are remembered. Who is not is served as somebody
// new, so that a flood of addresses costs a bounded amount of memory.
const maxBuckets = 8192

// buckets count the requests of clients.
type buckets struct {
	rate  rate.Limit
	burst int

	mu  sync.Mutex
	all map[string]*bucket
}

type bucket struct {
	*rate.Limiter
	used time.Time
}

// newBuckets is nil where there is no limit.
func newBuckets(perSecond float64, burst int) *buckets {
	if perSecond < 0 || burst < 0 {
		return nil
	}
	return &buckets{rate: rate.Limit(perSecond), burst: burst, all: map[string]*bucket{}}
}

// take counts a request. Where it is one too many, it says after which time one is
// welcome again.
func (b *buckets) take(key string, now time.Time) (wait time.Duration, ok bool) {
	if b == nil {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.all[key]
	if one == nil {
		if len(b.all) >= maxBuckets {
			b.sweep(now)
		}
		one = &bucket{Limiter: rate.NewLimiter(b.rate, b.burst)}
		b.all[key] = one
	}
	one.used = now
	res := one.ReserveN(now, 1)
	if !res.OK() {
		return time.Minute, false
	}
	if wait = res.DelayFrom(now); wait > 0 {
		res.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// sweep forgets who could begin anew anyway, and where that is not enough, whoever
// comes first.
func (b *buckets) sweep(now time.Time) {
	full := time.Duration(float64(b.burst) / float64(b.rate) * float64(time.Second))
	for key, one := range b.all {
		if now.Sub(one.used) >= full {
			delete(b.all, key)
		}
	}
	for key := range b.all {
		if len(b.all) < maxBuckets {
			return
		}
		delete(b.all, key)
	}
}

// tooMany is the refusal of a request that comes too soon.
func tooMany(text string, wait time.Duration) *problem {
	p := refuse(http.StatusTooManyRequests, "RATE_LIMITED", text)
	p.retry = max(1, int(math.Ceil(wait.Seconds())))
	return p
}

// retryAfter writes the header that says when to come again.
func retryAfter(h http.Header, seconds int) {
	if seconds > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
}

// address is where a request comes from. What a header says about it is believed
// only of a proxy that is known, and only the last station that is none.
func (s *Server) address(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	addr = addr.Unmap()
	if !s.isProxy(addr) {
		return addr
	}
	stations := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(stations) - 1; i >= 0; i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(stations[i]))
		if err != nil {
			break
		}
		if addr = next.Unmap(); !s.isProxy(addr) {
			break
		}
	}
	return addr
}

func (s *Server) isProxy(addr netip.Addr) bool {
	for _, p := range s.cfg.Proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// addressKey is under which name an address is counted: of IPv6 one customer has a
// whole network.
func addressKey(addr netip.Addr) string {
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// secure tells whether the browser came over TLS, to us or to a proxy that is known.
func (s *Server) secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && s.isProxy(addr.Unmap()) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// seats count what users have open.
type seats struct {
	mu  sync.Mutex
	had map[string]int
}

// take takes a seat of at most limit; the person at the machine has no limit of its
// own. leave must be called once where ok.
func (c *seats) take(p who, limit int) (leave func(), ok bool) {
	if p.name == "" || limit < 0 {
		return func() {}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.had[p.name] >= limit {
		return nil, false
	}
	if c.had == nil {
		c.had = map[string]int{}
	}
	c.had[p.name]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.had[p.name]--; c.had[p.name] == 0 {
			delete(c.had, p.name)
		}
	}, true
}
