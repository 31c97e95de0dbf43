package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/exp/trace"

	"github.com/zeroframe/zeroframe/qemu/coretest"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// recorded makes a core of testdata/flight, and returns what its flight recorder has.
func recorded(t *testing.T, generations string) (trace []byte, f Flight, err error) {
	t.Helper()
	d := coretest.Make(t, "testdata/flight", "-ldflags=-X main.generations="+generations)
	p, err := Open(d.Core, d.ELF, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	sym, err := symbol.Open(d.ELF)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	var b bytes.Buffer
	f, err = p.WriteFlight(&b, func(pc uint64) []lookup.Call { return sym.Lookup(pc, true) })
	return b.Bytes(), f, err
}

// TestFlight: all that the program has logged is in the trace, up to its death, in order and with
// its stack.
func TestFlight(t *testing.T) {
	for _, n := range []int{0, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b, f, err := recorded(t, fmt.Sprint(n))
			if err != nil {
				t.Fatal(err)
			}
			// WriteTo ends two generations; the machine's own clock may have ended more.
			if f.Without != "" || f.Generations < n+1 {
				t.Errorf("%d generations, without the last: %q", f.Generations, f.Without)
			}
			r, err := trace.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			marks, regions := 0, 0
			for {
				e, err := r.ReadEvent()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				switch e.Kind() {
				case trace.EventRegionBegin:
					regions++
				case trace.EventLog:
					if got, want := e.Log().Message, fmt.Sprint(marks); e.Log().Category != "mark" || got != want {
						t.Fatalf("the log says %s %s, want mark %s", e.Log().Category, got, want)
					}
					marks++
					var stack []string
					for f := range e.Stack().Frames() {
						stack = append(stack, fmt.Sprintf("%s %v", f.Func, f.Line > 0 && strings.HasSuffix(f.File, ".go")))
					}
					if got := strings.Join(stack, ", "); got != "main.logMark true, main.work true, main.main true" && got != "runtime/trace.Log true, main.logMark true, main.work true, main.main true" {
						t.Fatalf("mark %s was made by %s", e.Log().Message, got)
					}
				}
			}
			if want := 50 * (n + 1); marks != want || regions != 4*want {
				t.Errorf("the trace has %d marks and %d regions, want %d and %d", marks, regions, want, 4*want)
			}
		})
	}
}

func TestNoFlight(t *testing.T) {
	if _, _, err := recorded(t, "none"); !errors.Is(err, ErrNoFlight) {
		t.Errorf("a program whose recorder was not started: %v", err)
	}
}
