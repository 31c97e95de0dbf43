package receive

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/qemu/fleet"
	"github.com/zeroframe/zeroframe/tracer"
)

// waitFor waits until the text matches, and returns the match.
func waitFor(t *testing.T, l *await.Log, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	return re.FindStringSubmatch(l.Until(t, re.MatchString, "%s", pattern))
}

// receiver is `zf receive` that runs.
type receiver struct {
	out, err await.Log
	stop     context.CancelFunc
	done     chan int
	conn     *net.UDPConn // a machine's
}

func start(t *testing.T, args ...string) *receiver {
	t.Helper()
	r := &receiver{done: make(chan int, 1)}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	t.Cleanup(r.stop)
	args = append([]string{"-listen", "127.0.0.1:0"}, args...)
	go func() { r.done <- run(ctx, args, strings.NewReader(""), &r.out, &r.err) }()
	to, err := net.ResolveUDPAddr("udp", waitFor(t, &r.err, `listening on (\S+)`)[1])
	if err != nil {
		t.Fatal(err)
	}
	if r.conn, err = net.DialUDP("udp", nil, to); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.conn.Close() })
	return r
}

func (r *receiver) send(t *testing.T, datagrams ...[]byte) {
	t.Helper()
	for _, d := range datagrams {
		if _, err := r.conn.Write(d); err != nil {
			t.Fatal(err)
		}
	}
}

// end interrupts it, and wants status 0.
func (r *receiver) end(t *testing.T) {
	t.Helper()
	r.stop()
	if code := <-r.done; code != 0 {
		t.Fatalf("status %d\n%s", code, r.err.String())
	}
}

func image(t *testing.T) *fleet.Image {
	t.Helper()
	im, err := fleet.Self()
	if err != nil {
		t.Fatal(err)
	}
	return im
}

func TestReceiveText(t *testing.T) {
	im := image(t)
	r := start(t, "-e", im.Path, "-name", "127.0.0.1=rack1", "-color", "always")
	target := im.Target(tracer.Text)
	r.send(t, []byte("\x1b[2Jhello\r\n"))
	r.send(t, fleet.Datagrams(im.Build, 5, 1, target.Trace(tracer.KindFault, "nil pointer dereference", fleet.Deep(3)))...)
	waitFor(t, &r.out, `rack1: zf: group ([0-9a-f]{16}): 1 time since`)
	r.send(t, fleet.Datagrams(im.Build, 5, 2, target.Trace(tracer.KindFault, "nil pointer dereference", fleet.Deep(9)))...)
	// Deeper recursion, the same group; the number of the trace sent again: no other.
	waitFor(t, &r.out, `rack1: zf: group ([0-9a-f]{16}): 2 times since`)
	r.send(t, []byte("zf1 - 0000000000000001 1 0 . 00000000\nx"), nil)
	r.end(t)
	out := r.out.String()
	for _, want := range []string{`rack1: \x1b[2Jhello` + "\n", "rack1: zf1 begin 1 fault goroutine", "fleet.Deep", "fleet.go:", "rack1: zf1 done"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "rack1: ") {
			t.Errorf("no name in front of %q", line)
		}
	}
	if !regexp.MustCompile(`1 machine, \d+ datagrams, 1 line, 2 traces\n.*2 rejected \(1 empty, 1 damaged\), 0 lost in this host`).MatchString(r.err.String()) {
		t.Errorf("summary:\n%s", r.err.String())
	}

	r = start(t, "-e", im.Path, "-json")
	target = im.Target(tracer.Text)
	r.send(t, fleet.Datagrams(im.Build, 6, 1, target.Trace(tracer.KindFault, "nil pointer dereference", fleet.Deep(4)))...)
	waitFor(t, &r.out, "\n")
	r.end(t)
	var object struct {
		Version     int
		Kind        string
		Host        string
		Time        time.Time
		Fingerprint string
		Count       int
		Boot        string
		Complete    bool
		Frames      []struct{ Function string }
	}
	if err := json.Unmarshal([]byte(r.out.String()), &object); err != nil {
		t.Fatalf("%v\n%s", err, r.out.String())
	}
	if object.Version != 1 || object.Kind != "fault" || object.Count != 1 || object.Boot != "0000000000000006" || !object.Complete ||
		object.Time.IsZero() || len(object.Frames) == 0 || !strings.Contains(object.Frames[0].Function, "fleet.Deep") {
		t.Errorf("%+v\n%s", object, r.out.String())
	}
}

// The compact form builds on what was sent before.
func TestReceiveCompact(t *testing.T) {
	im := image(t)
	r := start(t, "-e", im.Path)
	target := im.Target(tracer.Compact)
	for i := range 3 {
		b := target.Trace(tracer.KindTrace, "asked for", fleet.Deep(2+2*i))
		r.send(t, fleet.Datagrams(im.Build, 5, uint32(i+1), b)...)
	}
	waitFor(t, &r.out, `: 3 times since`)
	r.end(t)
	if n := strings.Count(r.out.String(), "fleet.go:"); n < 3 {
		t.Errorf("%d resolved frames in:\n%s", n, r.out.String())
	}
}

func TestUsage(t *testing.T) {
	for _, args := range []string{"x", "-pcap a -listen :1", "-color no", "-otlp ftp://x -pcap /dev/null", "-name x=y", "-name 10.0.0.1=a\x1bb", "-port 70000 -pcap x", "-listen nowhere"} {
		var errs bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), nil, io.Discard, &errs); code != 2 || errs.Len() == 0 {
			t.Errorf("%s: status %d, %q", args, code, errs.String())
		}
	}
	var help bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, nil, &help, io.Discard); code != 0 {
		t.Errorf("-h: status %d", code)
	}
	for line := range strings.Lines(help.String()) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "    \t", "        ")
		if len(line) > 80 {
			t.Errorf("-h has a line of %d columns: %s", len(line), line)
		}
	}
}
