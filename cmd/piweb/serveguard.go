package main

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/server"
	"github.com/spf13/cobra"
)

// serveGuard is what `serve` takes about who may come in, and how.
type serveGuard struct {
	cert, key string
	plain     bool
	proxies   []string
	grace     time.Duration
	limits    server.Limits
	streams   int
}

func (g *serveGuard) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&g.cert, "tls-cert", "", "certificate in a PEM file; a renewed one is taken without a restart")
	fl.StringVar(&g.key, "tls-key", "", "its key in a PEM file")
	fl.BoolVar(&g.plain, "plain-http", false, "serve other machines without TLS, because a proxy in front does that")
	fl.StringSliceVar(&g.proxies, "proxy", nil, "address or network of a proxy whose X-Forwarded-For and -Proto are believed")
	fl.DurationVar(&g.grace, "grace", 0, "how long running turns may go on after a stop, before they are aborted and kept as far as they came")
	fl.Float64Var(&g.limits.UserRate, "user-rate", 100, "requests that one user may send in a second; -1 for any number")
	fl.Float64Var(&g.limits.AddressRate, "address-rate", 200, "requests that one address may send in a second; -1 for any number")
	fl.IntVar(&g.limits.UserBurst, "user-burst", 2000, "how many more of them at once")
	fl.IntVar(&g.limits.AddressBurst, "address-burst", 4000, "how many more of them at once")
	fl.Float64Var(&g.limits.FailedRate, "failed-rate", 1, "requests in a second of one address that let nobody in; -1 for any number")
	fl.IntVar(&g.limits.FailedBurst, "failed-burst", 60, "how many more of them at once")
	fl.IntVar(&g.limits.UserStreams, "user-streams", 64, "streams that one user may have open; -1 for any number")
	fl.IntVar(&g.streams, "streams", 256, "streams that may be open in all, 1 to 100000")
}

// check refuses limits that are none: a server that lets nobody ask is a mistake, and so
// is one that takes whatever comes.
func (g *serveGuard) check() error {
	for _, c := range []struct {
		flag string
		n    float64
		any  bool // whether -1 is any number
	}{
		{"--user-rate", g.limits.UserRate, true}, {"--address-rate", g.limits.AddressRate, true}, {"--failed-rate", g.limits.FailedRate, true},
		{"--user-burst", float64(g.limits.UserBurst), false}, {"--address-burst", float64(g.limits.AddressBurst), false}, {"--failed-burst", float64(g.limits.FailedBurst), false},
		{"--user-streams", float64(g.limits.UserStreams), true}, {"--streams", float64(g.streams), false},
	} {
		const most = 1e5
		switch {
		case c.any && c.n == -1:
		case c.any && !(c.n > 0 && c.n <= most):
			return usage("%s wants a number above 0, at most %d, or -1 for any number", c.flag, int(most))
		case !c.any && !(c.n >= 1 && c.n <= most):
			return usage("%s wants a number from 1 to %d", c.flag, int(most))
		}
	}
	if g.grace < 0 || g.grace > time.Hour {
		return usage("--grace wants a time from 0s to 1h")
	}
	return nil
}

// Errors of a start that would let strangers in, or let tokens out.
var (
	errNoUsers = errors.New("there are no users, so nobody could sign in from another machine; make one first: piweb users add NAME --role admin")
	errNoTLS   = errors.New("without TLS everybody on the way can read the tokens; name --tls-cert and --tls-key, or say --plain-http if a proxy in front does TLS")
)

// open listens where the flags say, and says in the configuration who may come in.
// On the loopback interface that is whoever has the printed link, and the users;
// anywhere else the users alone.
func (g *serveGuard) open(rt *piweb.Runtime, sc *server.Config, f serveFlags, portChosen bool) (net.Listener, error) {
	users := account.OpenUsers(rt.AgentDir())
	list, _, err := users.List() // what is wrong in it is told by the server
	if err != nil {
		return nil, err
	}
	sc.Users = users
	if sc.TLS, err = g.tls(sc); err != nil {
		return nil, err
	}
	for _, p := range g.proxies {
		prefix, err := network(p)
		if err != nil {
			return nil, usage("--proxy %q is no address and no network such as 10.0.0.0/8", p)
		}
		sc.Proxies = append(sc.Proxies, prefix)
	}
	sc.Grace, sc.Limits, sc.MaxStreams = g.grace, g.limits, g.streams
	sc.Secret = func() (string, error) { return account.CookieSecret(rt.AgentDir()) }
	ln, err := listenOn(f.listen, f.port, portChosen)
	if err != nil {
		return nil, err
	}
	switch {
	case loopback(ln):
		sc.Token = rand.Text()
	case len(list) == 0:
		err = fmt.Errorf("listen on %s: %w", ln.Addr(), errNoUsers)
	case sc.TLS == nil && !g.plain:
		err = fmt.Errorf("listen on %s: %w", ln.Addr(), errNoTLS)
	}
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

func (g *serveGuard) tls(sc *server.Config) (*tls.Config, error) {
	switch {
	case g.cert == "" && g.key == "":
		return nil, nil
	case g.cert == "" || g.key == "":
		return nil, usage("--tls-cert and --tls-key go together")
	}
	return server.Certificate(g.cert, g.key, sc.Log)
}

// network is an address or a network.
func network(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// loopback tells whether only this machine reaches a listener.
func loopback(ln net.Listener) bool {
	tcp, ok := ln.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// listenOn takes the loopback interface where no address was named. A port that was
// asked for must be had; the default one gives way to any free one.
func listenOn(address string, port int, chosen bool) (net.Listener, error) {
	if address != "" {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
		return ln, nil
	}
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && !chosen {
		ln, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("listen on port %d: %w; choose another one with --port, or 0 for any", port, err)
	}
	return ln, nil
}

// linkOf is where the page is; it holds the token where there is one.
func linkOf(ln net.Listener, sc server.Config, hosts []string) string {
	u := url.URL{Scheme: "http", Host: ln.Addr().String(), Path: "/"}
	if sc.TLS != nil {
		u.Scheme = "https"
	}
	tcp, ok := ln.Addr().(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() && len(hosts) > 0 {
		u.Host = hosts[0]
		if _, _, err := net.SplitHostPort(hosts[0]); err != nil {
			u.Host = net.JoinHostPort(hosts[0], strconv.Itoa(tcp.Port))
		}
	}
	if sc.Token != "" {
		u.RawQuery = "token=" + sc.Token
	}
	return u.String()
}
