//go:build collector

package otlp

// With the tag collector, which `make test-otlp` gives, crashes go to a real OpenTelemetry
// Collector, built from the module proxy: that takes minutes the first time.

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// buildCollector builds testdata/collector.
func buildCollector(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "collector")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = filepath.Join("testdata", "collector")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// startCollector starts it; stop ends it as an administrator does.
func startCollector(t *testing.T, program, address, file string) (stop func()) {
	t.Helper()
	cmd := exec.Command(program, address, file)
	log, err := os.Create(file + ".log")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	stop = func() {
		cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
	}
	t.Cleanup(stop)
	await.Poll(t, "the collector listens", func() bool {
		select {
		case <-ended:
			b, _ := os.ReadFile(log.Name())
			t.Fatalf("the collector does not start:\n%s", b)
		default:
		}
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return stop
}

// size returns that of the file that the collector writes, 0 while there is none.
func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// received returns what the collector has written: log records by their uid, with their
// attributes.
func received(t *testing.T, file string) map[string][]map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := make(map[string][]map[string]string)
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	type attributes []struct {
		Key   string
		Value struct {
			StringValue, IntValue string
		}
	}
	for in.Scan() {
		var logs struct {
			ResourceLogs []struct {
				Resource  struct{ Attributes attributes }
				ScopeLogs []struct {
					LogRecords []struct {
						SeverityText string
						Attributes   attributes
					}
				}
			}
		}
		if err := json.Unmarshal(in.Bytes(), &logs); err != nil {
			t.Fatalf("%v\n%s", err, in.Bytes())
		}
		for _, rl := range logs.ResourceLogs {
			for _, sl := range rl.ScopeLogs {
				for _, lr := range sl.LogRecords {
					m := map[string]string{"severity": lr.SeverityText}
					for _, list := range []attributes{rl.Resource.Attributes, lr.Attributes} {
						for _, a := range list {
							m[a.Key] = a.Value.StringValue + a.Value.IntValue
						}
					}
					id := m["log.record.uid"]
					all[id] = append(all[id], m)
				}
			}
		}
	}
	return all
}

func TestRealCollector(t *testing.T) {
	program := buildCollector(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	file := filepath.Join(t.TempDir(), "logs.json")
	e := exporter(t, "http://"+address)
	const n = 500
	want := make(map[string]*Crash)
	step := func(from, to int) {
		list := someCrashes(from, to)
		for _, c := range list {
			want[c.ID] = c
		}
		put(t, e, list)
	}
	// It goes away and comes back twice, while crashes come in and are exported.
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Run(t.Context(), t.Context())
	}()
	step(0, n/4)
	for i := range 3 {
		before := size(file)
		stop := startCollector(t, program, address, file)
		step((i+1)*n/4, (i+1)*n/4+n/8)
		await.Poll(t, "the collector has got more", func() bool { return size(file) > before })
		if i < 2 {
			stop()
		}
		step((i+1)*n/4+n/8, (i+2)*n/4)
	}
	e.Close()
	<-done
	got := received(t, file)
	for id, c := range want {
		list := got[id]
		if len(list) == 0 {
			t.Errorf("crash %s is lost", id)
			continue
		}
		m := list[0]
		if m["exception.type"] != "panic" || m["exception.message"] != c.Reason || m["exception.stacktrace"] != c.Stack ||
			m["process.executable.build_id.gnu"] != c.BuildID || m["zeroframe.fingerprint"] != c.Fingerprint ||
			m["host.name"] != c.Host || m["service.name"] != "zeroframe" || m["severity"] != "FATAL" || m["thread.id"] != "3" {
			t.Fatalf("crash %s arrived as %v", id, m)
		}
	}
	twice := 0
	for id, list := range got {
		if want[id] == nil {
			t.Errorf("nobody sent %q", id)
		}
		if len(list) > 1 {
			twice++
		}
	}
	// Only a request whose answer the collector's end has swallowed may come again.
	if twice > 2 {
		t.Errorf("%d of %d crashes came more than once", twice, len(want))
	}
	t.Logf("%d crashes, %d of them more than once (with the same log.record.uid), %+v", len(got), twice, e.Stats())
}
