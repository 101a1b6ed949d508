// Command bench measures what session files cost, and prints it beside the bars
// that the project keeps, with the conditions, the floor in the same run, and the
// real pi where interop/run.sh has installed it:
//
//	go run ./bench
//
// It takes about a minute and half a gigabyte of temporary files. Where one
// processor does the work its time is what counts, because the clock on the wall
// tells more of who else is busy; lists and searches use all processors, and go by
// the clock.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// results are the metrics of each benchmark: by name, then by unit.
type results map[string]map[string]float64

func run() error {
	dir, err := os.MkdirTemp("", "piweb-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("conditions: %s, %s/%s, %d processors%s; page cache warm\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load())
	got := results{}
	for _, job := range [][]string{
		{"./session", "^BenchmarkStructure$", "60x"},
		{"./session", "^BenchmarkOpen$", "20x"},
		{"./session", "^BenchmarkAppend$", "3000x"},
		{"./session", "^BenchmarkOutline$", "10x"},
		{"./session/catalog", "^Benchmark(ListCPU|List1000NewProcess)$", "5x"},
		{"./session/catalog", "^BenchmarkSearch$/^FirstHitInANewProcess$", "10x"},
	} {
		if err := got.bench(dir, job[0], job[1], job[2]); err != nil {
			return err
		}
	}
	pi := realPi(dir)
	got.table(pi)
	return nil
}

// load is how busy the machine is.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return ", load " + strings.Fields(string(data))[0]
}

// bench runs benchmarks of a package and takes their figures.
func (r results) bench(dir, pkg, pattern, times string) error {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", pattern, "-benchtime", times, "-benchmem", pkg)
	cmd.Env = append(os.Environ(), "PIWEB_BENCH_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", pkg, err, out)
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(f[0], "Benchmark"), "-")
		r[name] = map[string]float64{}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				break
			}
			r[name][f[i+1]] = v
		}
	}
	return nil
}

func (r results) ms(name string) float64 { return r[name]["ns/op"] / 1e6 }

// figures of the real pi, nil where there is none.
type figures struct{ OpenCPU, ListCPU float64 }

// realPi measures pi where its packages and a Node are.
func realPi(dir string) *figures {
	cache := os.Getenv("PIWEB_INTEROP_CACHE")
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		cache = filepath.Join(base, "piweb", "interop")
	}
	found, _ := filepath.Glob(filepath.Join(cache, "*", "node_modules", "@earendil-works", "pi-coding-agent"))
	if len(found) == 0 {
		fmt.Println("the real pi is not here; interop/run.sh installs it")
		return nil
	}
	pi := found[0]
	node := filepath.Join(pi, "..", "..", "node", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	ask := func(args ...string) float64 {
		out, err := exec.Command(node, append([]string{"bench/pi.mjs", pi}, args...)...).Output()
		var v struct{ CPUMs float64 }
		if err != nil || json.Unmarshal(out, &v) != nil {
			fmt.Printf("the real pi could not be measured: %v %s\n", err, args)
			return 0
		}
		return v.CPUMs
	}
	big, _ := filepath.Glob(filepath.Join(dir, "*-128.jsonl"))
	folders, _ := filepath.Glob(filepath.Join(dir, "sessions-1000", "*"))
	f := &figures{}
	if len(big) > 0 {
		f.OpenCPU = ask("open", big[0])
	}
	for _, folder := range folders { // pi lists one project at a time
		f.ListCPU += ask("list", folder)
	}
	return f
}

func (r results) table(pi *figures) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tMEASURED\tBAR\tKEPT")
	row := func(what, measured, bar string, kept bool) {
		word := "yes"
		if !kept {
			word = "NO"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", what, measured, bar, word)
	}
	for _, text := range []string{"ascii", "cjk"} {
		index, floor := r["Structure/"+text+"/index"]["cpu-ms/128MB"], r["Structure/"+text+"/floor"]["cpu-ms/128MB"]
		row("structural index of 128 MB, "+text, fmt.Sprintf("%.1f ms, bytes.Count %.1f ms: 1/%.1f", index, floor, index/floor), "1/6 of bytes.Count", index <= 6*floor)
	}
	cpu := func(name string) float64 { return r[name]["cpu-ms"] }
	open, twice, indexed := cpu("Open/128MB"), cpu("Open/256MB"), cpu("Open/128MB_with_index")
	row("open 128 MB, last 50 entries", fmt.Sprintf("%.0f ms (read and count: %.0f ms by the clock)", open, r.ms("Open/floor")), "150 ms", open <= 150)
	row("the same with an index", fmt.Sprintf("%.1f ms", indexed), "10 ms", indexed <= 10)
	row("memory for it", fmt.Sprintf("%.0f MB", r["Open/128MB"]["RSS-MB"]), "64 MB", r["Open/128MB"]["RSS-MB"] <= 64)
	row("twice the file", fmt.Sprintf("%.2f times as long", twice/open), "2.2 times", twice <= 2.2*open)
	list, listCPU := r.ms("List1000NewProcess"), r["ListCPU"]["cpu-ms"]
	row("list 1 000 sessions, known", fmt.Sprintf("%.1f ms", list), "20 ms", list <= 20)
	hit := r.ms("Search/FirstHitInANewProcess")
	row("first hit of a search in them", fmt.Sprintf("%.1f ms", hit), "50 ms", hit <= 50)
	us := r["Append"]["cpu-us"]
	row("append 2 KB, no sync", fmt.Sprintf("%.1f µs, %.0f allocations", us, r["Append"]["allocs/op"]), "20 µs", us <= 20)
	decoded, again := r.ms("Outline/context"), r.ms("Outline/outline-again")
	row("open 32 MB and count its messages", fmt.Sprintf("%.0f ms, again %.1f ms; decoded %.0f ms: 1/%.0f", r.ms("Outline/outline-first"), again, decoded, decoded/again), "1/5, again", again*5 <= decoded)
	if pi != nil && pi.OpenCPU > 0 {
		index := r["Structure/ascii/index"]["cpu-ms/128MB"]
		row("structural index of 128 MB, ascii", fmt.Sprintf("%.0f ms, pi's open %.0f ms: 1/%.0f", index, pi.OpenCPU, pi.OpenCPU/index), "1/20 of pi's open", index*20 <= pi.OpenCPU)
		fmt.Fprintf(w, "the whole open, reading included\t%.0f ms, pi %.0f ms: 1/%.0f\t–\t\n", open, pi.OpenCPU, pi.OpenCPU/open)
	}
	if pi != nil && pi.ListCPU > 0 {
		row("list 1 000 sessions, unknown, the same", fmt.Sprintf("%.0f ms, pi %.0f ms: 1/%.0f", listCPU, pi.ListCPU, pi.ListCPU/listCPU), "1/10 of pi", listCPU*10 <= pi.ListCPU)
	}
	_ = w.Flush()
}
