package otlp

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// endpoint is an OTLP collector as the protocol describes it, which can be told to fail.
type endpoint struct {
	mu      sync.Mutex
	records map[string]int // by log.record.uid, how often
	last    *logs.ResourceLogs
	fail    func(n int, ids []string) int // status for request n; 0: take it, -1: take it and break off
	n       int
	other   func(http.ResponseWriter) // the answer in place of a 501
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if in, err = gzip.NewReader(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	body, err := io.ReadAll(in)
	var req collogs.ExportLogsServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &req)
	}
	if err != nil || r.URL.Path != "/v1/logs" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	var ids []string
	for _, rl := range req.ResourceLogs {
		for _, sl := range rl.ScopeLogs {
			for _, lr := range sl.LogRecords {
				ids = append(ids, attributeOf(lr, "log.record.uid"))
			}
		}
		e.last = rl
	}
	status := 0
	if e.fail != nil {
		status = e.fail(e.n, ids)
	}
	if status == http.StatusNotImplemented && e.other != nil {
		e.other(w)
		return
	}
	if status > 0 {
		http.Error(w, "no", status)
		return
	}
	for _, id := range ids {
		e.records[id]++
	}
	if status < 0 { // it was taken, and nobody hears of it
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	answer, _ := proto.Marshal(&collogs.ExportLogsServiceResponse{})
	w.Write(answer)
}

func attributeOf(lr *logs.LogRecord, key string) string {
	for _, kv := range lr.Attributes {
		if kv.Key == key {
			return kv.Value.GetStringValue()
		}
	}
	return ""
}

func (e *endpoint) counts() (distinct, most int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.records {
		most = max(most, n)
	}
	return len(e.records), most
}

// serve starts the endpoint.
func serve(t *testing.T, fail func(int, []string) int) (*endpoint, string) {
	e := &endpoint{records: make(map[string]int), fail: fail}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	return e, s.URL
}

func someCrashes(from, to int) (list []*Crash) {
	for i := from; i < to; i++ {
		functions := []string{fmt.Sprintf("main.f%d", i%7), "main.main"}
		list = append(list, &Crash{
			ID: fmt.Sprintf("%032x", i), Fingerprint: Fingerprint("panic", functions), Kind: "panic", Type: "panic", Reason: "it broke",
			Host: fmt.Sprintf("rack%d", i%3), Address: "10.0.0.7:6665", BuildID: "c0ffee", Time: time.Now(), Functions: functions,
			Stack: "main.f(...)\n\tmain.go:1 +0x1\n", Thread: 3, Fatal: true,
		})
	}
	return list
}

// put queues crashes.
func put(t *testing.T, e *Exporter, list []*Crash) {
	t.Helper()
	for _, c := range list {
		if !e.Put(c) {
			t.Fatal("there is no room for a crash")
		}
	}
}

func exporter(t *testing.T, url string) *Exporter {
	t.Helper()
	e, err := New(t.Context(), url, func(m string) { t.Log(m) })
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// export sends crashes.
func export(t *testing.T, url string, list []*Crash) Stats {
	t.Helper()
	e := exporter(t, url)
	put(t, e, list)
	e.Close()
	e.Run(t.Context(), t.Context())
	return e.Stats()
}

func TestExport(t *testing.T) {
	e, url := serve(t, nil)
	if st := export(t, url, someCrashes(0, 200)); st != (Stats{Exported: 200}) {
		t.Errorf("%+v", st)
	}
	if n, most := e.counts(); n != 200 || most != 1 {
		t.Errorf("%d records, one %d times; want 200, each once", n, most)
	}
	text := e.last.String()
	for _, want := range []string{"service.name", "host.name", "rack", "host.ip", "10.0.0.7", "exception.type", "exception.message",
		"it broke", "exception.stacktrace", "main.go:1", "process.executable.build_id.gnu", "c0ffee", "zeroframe.fingerprint", "thread.id",
		"SEVERITY_NUMBER_FATAL", "panic in main.f"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the record:\n%s", want, text)
		}
	}
}

// TestNoRoom: what waits for the collector is bounded.
func TestNoRoom(t *testing.T) {
	e := exporter(t, "http://127.0.0.1:1")
	put(t, e, someCrashes(0, maxWaiting))
	if e.Put(someCrashes(0, 1)[0]) || e.Stats().Waiting != maxWaiting {
		t.Errorf("%+v; want %d, and no more", e.Stats(), maxWaiting)
	}
}

// The collector is away at first, then it fails in each way that passes.
func TestCollectorComesAndGoes(t *testing.T) {
	e := exporter(t, "http://127.0.0.1:1")
	put(t, e, someCrashes(0, 100))
	e.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var running sync.WaitGroup
	running.Go(func() { e.Run(ctx, ctx) })
	await.Poll(t, "a failure", func() bool { return e.Stats().Failures > 0 })
	end()
	running.Wait()
	if st := e.Stats(); st.Waiting != 100 {
		t.Errorf("%+v; want that all 100 wait", st)
	}
	end2, url := serve(t, func(n int, _ []string) int {
		return map[int]int{1: 503, 2: 500, 3: 401}[n]
	})
	if st := export(t, url, someCrashes(0, 100)); st != (Stats{Exported: 100, Failures: 3}) {
		t.Errorf("%+v, want 100 exported after 3 failures", st)
	}
	if n, most := end2.counts(); n != 100 || most != 1 {
		t.Errorf("%d records, one %d times; want 100, each once", n, most)
	}
}

// When the answer is lost, what was sent comes again with the same log.record.uid.
func TestLostAnswer(t *testing.T) {
	e, url := serve(t, func(n int, _ []string) int {
		if n == 1 {
			return -1
		}
		return 0
	})
	export(t, url, someCrashes(0, 10))
	if n, most := e.counts(); n != 10 || most != 2 {
		t.Errorf("%d different records, at most %d times; want 10, one of them twice", n, most)
	}
}

// A crash that the collector will never take does not hold up the others.
func TestRefused(t *testing.T) {
	bad := fmt.Sprintf("%032x", 77)
	e, url := serve(t, func(_ int, ids []string) int {
		if ids[0] == bad {
			return 400
		}
		return 0
	})
	if st := export(t, url, someCrashes(0, 150)); st != (Stats{Exported: 149, Refused: 1}) {
		t.Errorf("%+v, want 149 exported and 1 refused", st)
	}
	if n, most := e.counts(); n != 149 || most != 1 {
		t.Errorf("%d records, one %d times; want 149, each once", n, most)
	}
}

func TestCheckURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://a:4318": "http://a:4318/v1/logs", "https://a/": "https://a/v1/logs", "http://a/x/logs": "http://a/x/logs",
		"localhost:4318": "", "grpc://a": "", "": "", "http://": "", "::": "",
	} {
		u, err := CheckURL(in)
		if (err == nil) != (want != "") || err == nil && u.String() != want {
			t.Errorf("CheckURL(%q) = %v, %v; want %q", in, u, err, want)
		}
	}
}
