package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// handler answers a request; an error is turned into an answer by the table. args
// are the decoded values of the route's parameters.
type handler func(w http.ResponseWriter, r *http.Request, args map[string]string) error

// route is a method and a path below /api. A segment that begins with ':' is a
// parameter.
//
// http.ServeMux is not used for these, because it cleans paths: ".." would leave
// the segment that a client put it in, and "//" would be answered by a redirect.
// Here a path is its segments, each decoded by itself, and an id is never more
// than one of them.
type route struct {
	method   string
	segments []string
	handle   handler
	sends    bool // it starts or changes something, so it is refused while the server ends
	uploads  bool // it takes the body of an upload, and not JSON
	access   access
}

// access says for whom a route is. The test of the route table wants every route
// without a session in its path to say so.
type access string

const (
	ofSession access = ""         // for those who see the session that the path names
	personal  access = "personal" // everybody gets an own answer
	shared    access = "shared"   // everybody gets the same; nothing of a session is in it
	forAdmins access = "admins"   // it holds for everybody, or shows everybody's
)

// pattern names the route in figures.
func (r route) pattern() string { return strings.Join(r.segments, "/") }

type router struct{ routes []route }

func (rt *router) add(method, path string, h handler) {
	rt.routes = append(rt.routes, route{method: method, segments: segments(path), handle: h, sends: method != http.MethodGet})
}

// takesUploads marks the route that was added last.
func (rt *router) takesUploads() { rt.routes[len(rt.routes)-1].uploads = true }

// is says for whom the route is that was added last.
func (rt *router) is(a access) { rt.routes[len(rt.routes)-1].access = a }

// segments splits a path. Empty ones are dropped, as the client's own server does.
func segments(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

// find picks the route of a request. HEAD is answered like GET. In two routes
// that both fit, literal segments are listed first and win.
func (rt *router) find(method, escaped string) (route, map[string]string, *problem) {
	parts := segments(escaped)
	for i, p := range parts {
		decoded, err := url.PathUnescape(p)
		if err != nil {
			return route{}, nil, refuse(http.StatusBadRequest, "BAD_PATH", "The address has a broken percent-encoding.")
		}
		parts[i] = decoded
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allowed []string
	for _, r := range rt.routes {
		args, ok := r.match(parts)
		if !ok {
			continue
		}
		if r.method == method {
			return r, args, nil
		}
		allowed = append(allowed, r.method)
		if r.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if len(allowed) == 0 {
		return route{}, nil, notFound("There is nothing at this address.")
	}
	slices.Sort(allowed)
	p := refuse(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This address does not take "+method+".")
	p.allow = strings.Join(slices.Compact(allowed), ", ")
	return route{}, nil, p
}

// reserved are words of the client's API that stand where ids stand. A session
// that has one as its id is reached by its longer id.
var reserved = map[string]bool{"delete": true, "rename": true, "favorites": true}

func (r route) match(parts []string) (map[string]string, bool) {
	if len(parts) != len(r.segments) {
		return nil, false
	}
	var args map[string]string
	for i, s := range r.segments {
		switch {
		case strings.HasPrefix(s, ":"):
			if reserved[parts[i]] {
				return nil, false
			}
			if args == nil {
				args = map[string]string{}
			}
			args[s[1:]] = parts[i]
		case s != parts[i]:
			return nil, false
		}
	}
	return args, true
}
