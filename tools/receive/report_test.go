package receive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/fleet"
	"github.com/zeroframe/zeroframe/tools/receive/otlp"
	"github.com/zeroframe/zeroframe/tracer"
)

// TestOrder: the arrivals of a machine are shown in the order in which they came, whatever the
// others do, none is left out, each is counted, and nothing is kept.
func TestOrder(t *testing.T) {
	im := testImage(t)
	var out bytes.Buffer
	exported := 0
	r := NewReporter(t.Context(), ReportOptions{Out: &out, JSON: true, Export: func(*otlp.Crash) bool {
		exported++
		return exported <= 10
	}})
	const machines, each = 20, 15
	for i := range machines * each {
		form := tracer.Text
		if i%3 == 0 {
			form = tracer.Compact
		}
		r.Trace(&Arrival{
			Machine: fmt.Sprint(i % machines), Addr: netip.AddrPortFrom(alice.Addr(), uint16(i%machines)), Time: t0,
			Boot: 1, Seq: uint32(1 + i/machines), Bytes: im.Target(form).Trace(tracer.KindFault, "x", fleet.Deep(3)),
		})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	next, counts := map[string]uint32{}, map[uint64]bool{}
	for line := range strings.Lines(out.String()) {
		var tr received
		if err := json.Unmarshal([]byte(line), &tr); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if next[tr.Host]++; tr.Sequence != next[tr.Host] {
			t.Fatalf("trace %d of machine %s is shown; want %d", tr.Sequence, tr.Host, next[tr.Host])
		}
		counts[tr.Count] = true
	}
	if len(next) != machines || len(counts) != machines*each || len(r.queues) != 0 || r.held != 0 || len(r.idle) > runtime.NumCPU() {
		t.Errorf("%d machines, %d counts, %d queues and %d bytes left", len(next), len(counts), len(r.queues), r.held)
	}
	if s := r.Stats(); s.Traces != machines*each || s.Unexported != machines*each-10 {
		t.Errorf("%+v", s)
	}
}

// TestRecent: the latest are known, and the number of all is bounded.
func TestRecent(t *testing.T) {
	r := recent[int, int]{n: 10}
	for i := range 1000 {
		r.put(i, i)
		if _, ok := r.get(0); !ok {
			t.Fatalf("what is used all the time is forgotten after %d", i)
		}
		for j := max(0, i-8); j <= i; j++ {
			if r.young[j] != j && r.old[j] != j {
				t.Fatalf("%d is forgotten after %d", j, i)
			}
		}
		if n := len(r.young) + len(r.old); n > 20 {
			t.Fatalf("%d are kept", n)
		}
	}
}
