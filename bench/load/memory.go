package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is what the server says of itself at one moment.
type sample struct {
	at                  time.Duration
	heap, rss, cpu      float64 // bytes, bytes, seconds
	goroutines, fds     float64
	streams, run, turns int
}

// memory is how the server grew.
type memory struct{ samples []sample }

// watchMemory prints a line now and then until the run ends.
func watchMemory(ctx context.Context, s *server, t *tally, duration time.Duration) *memory {
	m := &memory{}
	tick := time.NewTicker(max(duration/24, 2*time.Second))
	defer tick.Stop()
	fmt.Println("   time     heap      RSS   goroutines  files  streams  running   turns")
	for {
		select {
		case <-ctx.Done():
			return m
		case <-tick.C:
		}
		one, err := s.figures(ctx)
		if err != nil {
			t.failed(ctx, err)
			continue
		}
		one.at, one.turns = time.Since(t.begun), t.nowTurns()
		m.samples = append(m.samples, one)
		fmt.Printf("%7s %5.1f MB %5.1f MB %12.0f %6.0f %8d %8d %7d\n", one.at.Round(time.Second), one.heap/1e6, one.rss/1e6, one.goroutines, one.fds, one.streams, one.run, one.turns)
	}
}

func (s *server) figures(ctx context.Context) (one sample, err error) {
	req, err := http.NewRequestWithContext(ctx, "GET", s.base+"/metrics", nil)
	if err != nil {
		return one, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := client.Do(req)
	if err != nil {
		return one, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(res.Body)
		return one, fmt.Errorf("metrics: %d %s", res.StatusCode, data)
	}
	values := map[string]float64{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			values[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return sample{heap: values["go_memstats_heap_inuse_bytes"], rss: values["process_resident_memory_bytes"], cpu: values["process_cpu_seconds_total"], goroutines: values["go_goroutines"],
		fds: values["process_open_fds"], streams: int(values["piweb_streams_open"]), run: int(values["piweb_sessions_running"])}, nil
}

// flat is by how much the last third may lie above the middle one.
const flat = 1.25

// report compares the middle third of the run with the last: the first is the
// warm-up.
func (m *memory) report(w io.Writer) bool {
	n := len(m.samples)
	if n < 6 {
		fmt.Fprintln(w, "the run was too short to say something of memory")
		return true
	}
	middle, last := m.samples[n/3:2*n/3], m.samples[2*n/3:]
	median := func(list []sample, of func(sample) float64) float64 {
		var all []float64
		for _, s := range list {
			all = append(all, of(s))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	heap := func(s sample) float64 { return s.heap }
	rss := func(s sample) float64 { return s.rss }
	end := m.samples[n-1]
	fmt.Fprintf(w, "memory, median of the middle third and of the last: heap %.1f and %.1f MB, resident %.1f and %.1f MB; %.2f processors used\n", median(middle, heap)/1e6, median(last, heap)/1e6,
		median(middle, rss)/1e6, median(last, rss)/1e6, (end.cpu-m.samples[0].cpu)/(end.at-m.samples[0].at).Seconds())
	ok := median(last, heap) <= flat*median(middle, heap) && median(last, rss) <= flat*median(middle, rss)
	if !ok {
		fmt.Fprintf(w, "memory grew by more than %.0f %%\n", (flat-1)*100)
	}
	return ok
}
