// Package fleet makes what machines send, for the tests of the receiver and for its
// measurements: traces in the words of package tracer's own writer, with addresses of
// the running program, so that they can be resolved with its ELF file; cut into
// datagrams by package tracer/datagram; and log lines. Host.
package fleet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// Image is the running program.
type Image struct {
	Path  string
	Build string // build ID in hexadecimal
}

// Self returns the running program, if it has a build ID and is linked where it runs.
func Self() (*Image, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file, err := symbol.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	pc, _, _, _ := runtime.Caller(0)
	if calls := file.Lookup(uint64(pc), true); len(calls) == 0 || file.BuildID() == "" {
		return nil, errors.New("this program cannot stand for a kernel: it has no build ID, or was moved")
	}
	return &Image{path, file.BuildID()}, nil
}

// Deep returns the return addresses of depth calls, innermost first, and then those of
// the caller.
//
//go:noinline
func Deep(depth int) []uintptr {
	if depth > 1 {
		return deeper(depth - 1)
	}
	pcs := make([]uintptr, 128)
	return pcs[:runtime.Callers(1, pcs)]
}

//go:noinline
func deeper(depth int) []uintptr {
	pcs := Deep(depth)
	return pcs
}

// Target is a machine that runs the image.
type Target struct {
	build []byte
	w     tracer.Writer
	out   []byte
	seq   uint32
}

// Target returns a machine whose traces are of the form.
func (im *Image) Target(form tracer.Form) *Target {
	t := new(Target)
	var err error
	if t.build, err = hex.DecodeString(im.Build); err != nil {
		panic(err) // it came from an ELF file's note
	}
	t.w.Form = form
	t.w.Put = func(c byte) { t.out = append(t.out, c) }
	return t
}

// Next is the number of the next trace.
func (t *Target) Next() uint32 { return t.seq + 1 }

// Trace returns the machine's next trace as it is on a serial line: at the first of pcs,
// with the return addresses that follow.
func (t *Target) Trace(kind tracer.TraceKind, reason string, pcs []uintptr) []byte {
	t.out = nil
	t.seq++
	t.w.Begin(t.seq, kind, tracer.ContextGoroutine, 1, 1, t.build, 0x200000, 0x4000000)
	t.w.Reason([]byte(reason))
	fp := uintptr(0xc000100000)
	for i, pc := range pcs {
		f := tracer.Frame{Kind: tracer.RA, Addr: pc, FP: fp}
		if i == 0 {
			f.Kind, f.SP = tracer.PC, fp-64
		}
		t.w.Frame(i, &f, "boot")
		fp += 64
	}
	t.w.Stop(tracer.EndZero, 0)
	t.w.Done()
	return t.out
}

// Datagrams returns the datagrams of a trace, parity pieces included.
func Datagrams(build string, boot uint64, seq uint32, trace []byte) [][]byte {
	_, pieces, parity := datagram.Plan(len(trace))
	var all [][]byte
	for i := range pieces + parity {
		b := make([]byte, datagram.MaxPayload)
		p := datagram.Part{Build: []byte(build), Boot: boot, Seq: seq}
		all = append(all, b[:datagram.Write(b, &p, trace, i)])
	}
	return all
}

// Line returns a log line as netconsole sends it.
func Line(machine, n int) []byte {
	return fmt.Appendf(nil, "machine %d says line %d of its log, which is as long as such lines are\n",
		machine, n)
}
