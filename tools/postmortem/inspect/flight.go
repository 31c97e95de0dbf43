package inspect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"golang.org/x/exp/trace"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// The flight recorder of the dead program (runtime/trace.FlightRecorder): what it would have
// written.
//
// The recorder has whole generations of the trace, each of about a second, and batches of the one
// that goes on. The rest of that one is in the runtime: batches that nobody has fetched
// (runtime.trace.full), those that are being filled (of each m, and of the strings), and the
// stacks, which a generation has at its end only. The runtime would write them then; it is dead, so
// this is done here, as it would (GOROOT/src/runtime/trace*.go).

// ErrNoFlight says that the program had no flight recorder.
var ErrNoFlight = errors.New(
	"the program has no flight recorder: trace.NewFlightRecorder of package runtime/trace makes one, and its Start begins it")

// Flight is what there was in a flight recorder.
type Flight struct {
	// Generations is how many there are, with the one that the program died in.
	Generations int
	// Without says why that one is left out; empty if it is there.
	Without string
}

const (
	maxGenerations = 1 << 12
	maxBatches     = 1 << 14
	maxBatchSize   = 64 << 10
	maxStackNodes  = 1 << 20
	maxMs          = 1 << 14
	lengthBytes    = 10 // of a batch, in its header
)

// WriteFlight writes what the program's flight recorder has. at returns the calls at a return
// address. Host.
func (p *Program) WriteFlight(w io.Writer, at func(pc uint64) []lookup.Call) (f Flight, err error) {
	defer guard(&err)
	r := flightReader{p: p, at: at}
	out, open, err := r.read(&f)
	if err != nil {
		return f, err
	}
	if f.Without == "" {
		all := slices.Concat(out, open)
		if err := checkTrace(all); err == nil {
			f.Generations++
			out = all
		} else {
			f.Without = fmt.Sprintf("Go's reader does not take it: %v", err)
		}
	}
	if f.Generations == 0 {
		return f, fmt.Errorf(
			"the flight recorder has no whole generation of its trace, and the one that the program died in is lost: %s", f.Without)
	}
	_, err = w.Write(out)
	return f, err
}

// checkTrace has Go's reader read a trace.
func checkTrace(b []byte) error {
	r, err := trace.NewReader(bytes.NewReader(b))
	for err == nil {
		_, err = r.ReadEvent()
	}
	if err == io.EOF {
		return nil
	}
	text, _, _ := bytes.Cut([]byte(err.Error()), []byte("\n"))
	return errors.New(string(text))
}

// flightReader reads the dead program's memory by the types that its debug information has.
type flightReader struct {
	p   *Program
	at  func(pc uint64) []lookup.Call
	got uint64 // bytes of memory that were read
}

// maxFlight bounds what is read: the core's words may lead to the same bytes again and again.
const maxFlight = 1 << 30

// spot is a variable, or a part of one.
type spot struct {
	addr uint64
	typ  godwarf.Type
}

// lost is an error of the reader, which is a panic until read returns it.
type lost struct{ error }

func (r *flightReader) fail(format string, args ...any) { panic(lost{fmt.Errorf(format, args...)}) }

// caught makes an error of such a panic.
func caught(err *error) {
	switch l := recover().(type) {
	case nil:
	case lost:
		*err = l.error
	default:
		panic(l)
	}
}

// read returns the header and the whole generations, which it counts, and the one that the program
// died in.
func (r *flightReader) read(f *Flight) (out, open []byte, err error) {
	defer caught(&err)
	v, err := r.p.global(`"runtime/trace".tracing`, 0)
	if err != nil {
		return nil, nil, ErrNoFlight
	}
	tracing := spot{v.Addr, v.RealType}
	of := r.follow(r.field(tracing, "flightRecorder"))
	if of.addr == 0 {
		return nil, nil, ErrNoFlight
	}
	recorder := r.follow(r.field(of, "r"))
	out = r.bytes(r.field(recorder, "header").addr, 16)
	ring := r.field(recorder, "ring")
	gens, n := r.slice(ring, maxGenerations)
	lastGen := uint64(0)
	for i := range n {
		g := spot{gens.addr + i*uint64(gens.typ.Size()), gens.typ}
		lastGen = r.word(r.field(g, "gen"))
		for _, b := range r.batches(r.field(g, "batches")) {
			out = append(out, b...)
		}
		f.Generations++
	}
	active := r.field(recorder, "active")
	switch current, err := r.p.global("runtime.trace", 0); {
	case err != nil:
		f.Without = "the runtime's own state of the trace is not in the debug information"
	case string(out[:16]) != traceHeader:
		f.Without = "the program's Go has another version of the format, which zf only knows whole: " +
			string(bytes.TrimRight(out[:16], "\x00"))
	default:
		var missing error
		open, missing = r.openGeneration(spot{current.Addr, current.RealType}, active, lastGen)
		if missing != nil {
			f.Without = missing.Error()
		}
	}
	return out, open, nil
}

// openGeneration returns the generation that the program died in, or why it cannot be had: what is
// damaged in it leaves the whole ones as they are.
func (r *flightReader) openGeneration(state, active spot,
	before uint64) (out []byte, err error) {
	defer caught(&err)
	gen := r.word(r.field(state, "gen"))
	begun := r.word(r.field(active, "gen"))
	if begun != 0 && begun != gen || before != 0 && gen != before+1 {
		return nil, errors.New("the machine died while the runtime began a new generation")
	}
	taken := r.batches(r.field(active, "batches"))
	for _, b := range taken {
		out = append(out, b...)
	}
	// The batch that the recorder's goroutine works at may be among those already.
	if b := r.filled(r.follow(r.field(state, "reading"))); b != nil && belongs(b, gen) &&
		(len(taken) == 0 || !bytes.Equal(taken[len(taken)-1], b)) {
		out = append(out, b...)
	}
	full := r.element(r.field(state, "full"), gen%2)
	n := 0
	for b := r.follow(r.field(full, "head")); b.addr != 0; b = r.follow(r.field(b, "link")) {
		if n++; n > maxBatches {
			r.fail("the runtime's queue of trace batches has no end")
		}
		out = append(out, r.filled(b)...)
	}
	for _, list := range [...][2]string{{"runtime.allm", "alllink"},
		{"runtime.sched.freem", "freelink"}} {
		v, err := r.p.global(list[0], 0)
		if err != nil {
			return nil, errors.New("the runtime's threads are not in the debug information")
		}
		n := 0
		for m := r.follow(spot{v.Addr, v.RealType}); m.addr != 0; m = r.follow(r.field(m, list[1])) {
			if n++; n > maxMs {
				r.fail("the runtime's list of threads has no end")
			}
			bufs := r.element(r.field(m, "trace.buf"), gen%2)
			out = append(out, r.cut(r.follow(r.element(bufs, 0)))...)
		}
	}
	texts := r.element(r.field(state, "stringTab"), gen%2)
	out = append(out, r.cut(r.follow(r.field(texts, "buf")))...)
	tables := newTraceTables(r.word(r.field(texts, "tab.seq")))
	r.stacks(tables, r.element(r.field(state, "stackTab"), gen%2))
	out = tables.AppendTo(out, gen, firstTime(out))
	return append(out, evEndGeneration), nil
}

// belongs reports whether a batch is of the generation.
func belongs(b []byte, gen uint64) bool {
	if len(b) == 0 || b[0] != evBatch {
		return false
	}
	n, size := binary.Uvarint(b[1:])
	return size > 0 && n == gen
}

// firstTime returns the time of the first batch.
func firstTime(b []byte) uint64 {
	if len(b) == 0 || b[0] != evBatch {
		return 1
	}
	b = b[1:]
	v := uint64(0)
	for range 3 { // generation, thread, time
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return 1
		}
		v, b = n, b[size:]
	}
	return v
}

// filled returns a batch whose length the runtime has written.
func (r *flightReader) filled(buf spot) []byte {
	if buf.addr == 0 {
		return nil
	}
	n := r.word(r.field(buf, "pos"))
	if n > maxBatchSize {
		r.fail("a batch of the trace has %d bytes", n)
	}
	return r.bytes(r.field(buf, "arr").addr, n)
}

// cut returns a batch that was being filled, up to its last whole event.
func (r *flightReader) cut(buf spot) []byte {
	b := r.filled(buf)
	if b == nil {
		return nil
	}
	at := r.word(r.field(buf, "lenPos"))
	if at > maxBatchSize || at+lengthBytes > uint64(len(b)) {
		return nil // it has died while it wrote the header
	}
	data := wholeEvents(b[at+lengthBytes:])
	if len(data) == 0 {
		return nil
	}
	b = binary.AppendUvarint(b[:at], uint64(len(data)))
	return append(b, data...)
}

// stacks adds the runtime's stacks to tables.
func (r *flightReader) stacks(tables *traceTables, tab spot) {
	node := r.typeOf("runtime.traceMapNode")
	todo := []uint64{r.word(r.field(tab, "tab.root"))}
	for n := 0; len(todo) > 0; n++ {
		addr := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if addr == 0 {
			continue
		}
		if n > maxStackNodes {
			r.fail("the runtime's table of stacks has no end")
		}
		at := spot{addr, node}
		data, size := r.slice(r.field(at, "data"), maxBatchSize)
		pcs := make([]uint64, size/8)
		binary.Decode(r.bytes(data.addr, size&^7), binary.LittleEndian, pcs)
		if len(pcs) > 0 {
			tables.putStack(r.word(r.field(at, "id")), r.frames(pcs))
		}
		children := r.field(at, "children")
		for i := range uint64(4) {
			todo = append(todo, r.word(r.element(children, i)))
		}
	}
}

// frames returns the frames of a stack as the runtime keeps it: how many of the innermost calls do
// not belong to it, or that each word is a call; return addresses.
func (r *flightReader) frames(pcs []uint64) (frames []traceFrame) {
	skip, single := pcs[0], pcs[0] == 1<<64-1
	if single {
		skip = 0
	}
	for _, pc := range pcs[1:] {
		calls := r.at(pc)
		if len(calls) == 0 {
			calls = []lookup.Call{{Function: fmt.Sprintf("%#x", pc)}}
		}
		if single {
			calls = calls[:1]
		}
		for _, c := range calls {
			if skip > 0 {
				skip--
				continue
			}
			frames = append(frames, traceFrame{Call: c, PC: pc})
		}
	}
	const most = 128 // as in Go
	return frames[:min(len(frames), most)]
}

// typeOf returns a type of the program by its name.
func (r *flightReader) typeOf(name string) godwarf.Type {
	v, err := r.p.global("(*"+name+")(0)", 0)
	if err != nil {
		r.fail("the debug information has no %s: %v", name, err)
	}
	pointer, ok := v.RealType.(*godwarf.PtrType)
	if !ok {
		r.fail("%s is no type", name)
	}
	return pointer.Type
}

// field returns a field of a struct, or of an embedded one, by a path.
func (r *flightReader) field(p spot, path string) spot {
	off, t, err := Field(p.typ, path)
	if err != nil {
		panic(lost{err})
	}
	return spot{p.addr + off, t}
}

// element returns an element of an array.
func (r *flightReader) element(p spot, i uint64) spot {
	a, ok := Plain(p.typ).(*godwarf.ArrayType)
	if !ok || i >= uint64(a.Count) {
		r.fail("%v has no element %d", p.typ, i)
	}
	return spot{p.addr + i*uint64(a.Type.Size()), a.Type}
}

// follow returns what a pointer points to, with address 0 if it is nil.
func (r *flightReader) follow(p spot) spot {
	t, ok := Plain(p.typ).(*godwarf.PtrType)
	if !ok {
		r.fail("%v is no pointer", p.typ)
	}
	return spot{r.word(p), t.Type}
}

// slice returns a slice's first element, and how many there are.
func (r *flightReader) slice(p spot, most uint64) (first spot, n uint64) {
	s, ok := Plain(p.typ).(*godwarf.SliceType)
	if !ok {
		r.fail("%v is no slice", p.typ)
	}
	n = r.word(spot{p.addr + 8, nil})
	if n > most {
		r.fail("a %v has %d elements: the core is damaged", p.typ, n)
	}
	return spot{r.word(p), s.ElemType}, n
}

// batches returns the elements of a [][]byte.
func (r *flightReader) batches(p spot) (all [][]byte) {
	first, n := r.slice(p, maxBatches)
	for i := range n {
		b, size := r.slice(spot{first.addr + i*uint64(first.typ.Size()), first.typ}, 2*maxBatchSize)
		all = append(all, r.bytes(b.addr, size))
	}
	return all
}

// word returns the word at a place; it may be one in a struct of its own, as those of package
// atomic are.
func (r *flightReader) word(p spot) uint64 {
	if s, ok := Plain(p.typ).(*godwarf.StructType); ok && len(s.Field) > 0 {
		p.addr += uint64(s.Field[len(s.Field)-1].ByteOffset)
	}
	return binary.LittleEndian.Uint64(r.bytes(p.addr, 8))
}

func (r *flightReader) bytes(addr, n uint64) []byte {
	if r.got += n; r.got > maxFlight {
		r.fail("the flight recorder has more than %d MiB: the core is damaged", maxFlight>>20)
	}
	b := make([]byte, n)
	if n == 0 {
		return b
	}
	if _, err := r.p.target.Memory().ReadMemory(b, addr); err != nil {
		r.fail("the core does not have %d bytes at %#x, which the flight recorder uses: %v", n, addr, err)
	}
	return b
}
