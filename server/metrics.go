package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/wrapper"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metricsPath is where figures are.
const metricsPath = "/metrics"

// metrics are figures of a server in the text format of Prometheus. They count. No
// name of a session, a user, a folder or a model is a label, and none may become one:
// whoever reads figures need not be allowed to read anything else.
type metrics struct {
	registry     *prometheus.Registry
	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	unauthorized prometheus.Counter
	slow         prometheus.Counter
	gaps         prometheus.Counter
	opened       prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry:     prometheus.NewRegistry(),
		requests:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "piweb_requests_total", Help: "Requests that were answered, by route, method and status."}, []string{"route", "method", "status"}),
		seconds:      prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "piweb_request_seconds", Help: "How long answers took, streams left out.", Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60}}, []string{"method"}),
		unauthorized: prometheus.NewCounter(prometheus.CounterOpts{Name: "piweb_unauthorized_total", Help: "Requests that let nobody in."}),
		slow:         prometheus.NewCounter(prometheus.CounterOpts{Name: "piweb_streams_cut_total", Help: "Streams that were cut because their reader was too slow."}),
		gaps:         prometheus.NewCounter(prometheus.CounterOpts{Name: "piweb_stream_gaps_total", Help: "Streams that were told that they missed a part of a turn."}),
		opened:       prometheus.NewCounter(prometheus.CounterOpts{Name: "piweb_streams_opened_total", Help: "Streams that were opened."}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.unauthorized, m.slow, m.gaps, m.opened,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// watch adds the figures that are asked for when they are read.
func (m *metrics) watch(s *Server) {
	gauge := func(name, help string, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("piweb_streams_open", "Streams that are open.", func() float64 { return float64(s.streams.Load()) })
	gauge("piweb_sessions_live", "Sessions that are live.", func() float64 { return float64(len(s.rt.LiveSessions())) })
	gauge("piweb_sessions_running", "Sessions that answer now.", func() float64 {
		n := 0
		for _, ls := range s.rt.LiveSessions() {
			if state, _ := ls.State(); state == wrapper.Running {
				n++
			}
		}
		return float64(n)
	})
	if s.cfg.Users != nil {
		gauge("piweb_users", "Users of the users file.", func() float64 { list, _, _ := s.cfg.Users.List(); return float64(len(list)) })
		gauge("piweb_users_problems", "Lines of the users file that are not understood; 1 where it was not read at all.", func() float64 {
			_, problems, err := s.cfg.Users.List()
			if err != nil {
				return 1
			}
			return float64(len(problems))
		})
	}
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "piweb_info", Help: "The version that runs; always 1."}, []string{"version"})
	info.WithLabelValues(s.cfg.Version).Set(1)
	m.registry.MustRegister(info)
}

// methods are those that figures tell apart; a client may send any word as one.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true}

// answered counts an answer. route is the pattern of the route, "" where there was
// none; a path would be a label without end, and could name somebody's session.
func (m *metrics) answered(method, route string, status int, took time.Duration) {
	if !methods[method] {
		method = "other"
	}
	if route == "" {
		route = "none"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	if route != streamRoute {
		m.seconds.WithLabelValues(method).Observe(took.Seconds())
	}
}

const streamRoute = "sessions/:id/stream"

// serveMetrics answers administrators, and users whose role it is.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request, p who) {
	switch {
	case changes(r):
		bad := refuse(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "Figures can only be read.")
		bad.allow = "GET, HEAD"
		s.fail(w, r, bad)
	case !p.admin() && p.role != account.Metrics:
		s.fail(w, r, refuse(http.StatusForbidden, "FORBIDDEN", "Figures are for administrators and for users with the role metrics: piweb users add NAME --role metrics."))
	default:
		w.Header().Set("Cache-Control", "no-store")
		promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
	}
}
