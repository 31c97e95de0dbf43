package why

import (
	"context"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/machine/replay"
	"github.com/zeroframe/zeroframe/tools/symbol"
	zfdwarf "github.com/zeroframe/zeroframe/tools/symbol/dwarf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// Why answers for one recording. Not for several goroutines at once.
type Why struct {
	// Progress is told what is being done; nil: nobody.
	Progress func(string)
	// Begins is how many instructions the machine had run where the recording begins, of which the
	// earlier part was not kept; 0: it has the whole run.
	Begins uint64
	// Replays is how many replays have been needed.
	Replays int

	ctx    context.Context // of the question that is asked
	launch replay.Launch
	file   *symbol.File
	insts  map[uint64]x86asm.Inst
	at     *machine // the latest one that was stepped
	stands uint64   // how many instructions it has run
	next   *machine // a follower that may stand where the next path begins; nil: there is none

	memmove, memclr uint64
	fields          map[string]int64 // offsets of the runtime's fields in bytes
	vars            []variable
	constants       [2]uint64 // where the image's read-only data begins and ends
	image           *elf.File
	sources         *source.Finder
	deaths          []event
	errors          map[uint64]string // types that are errors; nil: not read yet
	dwarf           *dwarf.Data
	structs         map[string]dwarf.Offset // by their names
	owners          lookup.Owners
}

// variable is a package's variable.
type variable struct {
	name       string
	addr, size uint64
}

// loaded returns what the bytes of a place are as the image is loaded.
func (w *Why) loaded(p place) (value uint64, ok bool) {
	for _, s := range w.image.Progs {
		off := p.addr - s.Vaddr
		if s.Type != elf.PT_LOAD || p.addr < s.Vaddr || p.size > 8 || off+p.size > s.Filesz {
			continue
		}
		var b [8]byte
		_, err := s.ReadAt(b[:p.size], int64(off))
		return binary.LittleEndian.Uint64(b[:]), err == nil
	}
	return 0, false
}

// loadedAs reports whether the bytes of a place have this value as the image is loaded.
func (w *Why) loadedAs(p place, value uint64) bool {
	v, ok := w.loaded(p)
	return ok && v == value
}

// New makes one for the recording that launch replays, of the image that is the ELF file at path,
// opened as file. Errors are the file's.
func New(launch replay.Launch, path string, file *symbol.File) (*Why, error) {
	w := &Why{launch: launch, file: file, insts: map[uint64]x86asm.Inst{}, fields: map[string]int64{},
		structs: map[string]dwarf.Offset{},
		sources: source.New("", nil)}
	w.memmove, w.memclr = w.entry("runtime.memmove"), w.entry("runtime.memclrNoHeapPointers")
	if c := file.Lookup(w.entry("runtime.gopanic"), false); len(c) > 0 {
		w.owners.Learn(&c[0])
	}
	e, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	w.image = e
	fail := func(format string, a ...any) (*Why, error) {
		e.Close()
		return nil, fmt.Errorf("%s: "+format+"build it without -ldflags=-w", append([]any{path}, a...)...)
	}
	if s := e.Section(".rodata"); s != nil {
		w.constants = [2]uint64{s.Addr, s.Addr + s.Size}
	}
	symbols, _ := e.Symbols()
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Size > 0 {
			w.vars = append(w.vars, variable{s.Name, s.Value, s.Size})
		}
	}
	if err := zfdwarf.CheckTypes(path); err != nil {
		e.Close()
		return nil, err
	}
	d, err := e.DWARF()
	if err != nil {
		return fail("%w; ", err)
	}
	w.dwarf = d
	w.readFields()
	for _, need := range []string{"runtime.g.goid", "runtime.g.sigpc", "runtime.hchan.closed"} {
		if _, ok := w.fields[need]; !ok {
			return fail("its DWARF does not tell of %s: ", need)
		}
	}
	return w, nil
}

// wanted are the structures whose fields are read.
var wanted = map[string]bool{
	"runtime.g": true, "runtime.hchan": true, "runtime.notifyList": true, "runtime.timer": true,
	"internal/sync.Mutex": true, "sync.RWMutex": true,
	"sync.Once": true, "sync.WaitGroup": true, "sync.Cond": true, "internal/runtime/maps.Map": true,
	"internal/abi.MapType": true,
}

// readFields reads where the structures are, and the offsets of the fields of some.
func (w *Why) readFields() {
	for r := w.dwarf.Reader(); ; {
		e, err := r.Next()
		if e == nil || err != nil {
			break
		}
		if e.Tag == dwarf.TagCompileUnit {
			continue
		}
		if name, ok := e.Val(dwarf.AttrName).(string); ok && e.Tag == dwarf.TagStructType {
			w.structs[name] = e.Offset
		}
		r.SkipChildren()
	}
	for name := range w.structs {
		if wanted[name] || strings.HasSuffix(name, "/arch/amd64.TrapFrame") ||
			strings.HasSuffix(name, "/kernel/thread.Thread") {
			for _, f := range w.members(name) {
				w.fields[name[strings.LastIndexByte(name, '/')+1:]+"."+f.Name] = f.ByteOffset
			}
		}
	}
}

// members returns the fields of a structure by its name, none if there is none.
func (w *Why) members(name string) []*dwarf.StructField {
	if off, ok := w.structs[name]; ok {
		t, _ := w.dwarf.Type(off)
		if s, ok := t.(*dwarf.StructType); ok {
			return s.Field
		}
	}
	return nil
}

// Close ends the machine that is left, and closes the image.
func (w *Why) Close() {
	w.image.Close()
	w.drop()
	if w.at != nil {
		w.at.End()
		w.at = nil
	}
}

func (w *Why) say(format string, args ...any) {
	if w.Progress != nil {
		w.Progress(fmt.Sprintf(format, args...))
	}
}

// entry is where a function begins, 0 if there is none.
func (w *Why) entry(name string) uint64 {
	if all := w.file.Named(name); len(all) > 0 {
		return all[0].Start
	}
	return 0
}

// A Hop is one instruction on the way of a value.
type Hop struct {
	Count     uint64 `json:"instructions"` // that were run before it
	PC        uint64 `json:"pc"`
	Goroutine int64  `json:"goroutine,omitempty"` // 0: none, or not known
	// Function, File, Line and Source are those of the program's own code: where the instruction is in
	// the runtime or in the kernel, By is its function, and they are of what called it. Own is false
	// where no such code is known.
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Source   string `json:"source,omitempty"`
	By       string `json:"by,omitempty"`
	Own      bool   `json:"own"`
	// How the instruction made the value: "copied", "computed", "constant", "input", "unknown";
	// "deleted", and a map has not had the key since; "never", and nobody has put the key in, or has
	// written the word; "error": it has made that; or "device", and there was none: a device has
	// written it, which Function names. What it was made of is then the buffer's address. Place is
	// what it wrote, as it was asked for, and Value what. Store is set for a write to memory by a
	// pointer.
	How   string `json:"how"`
	Place string `json:"place"`
	Value uint64 `json:"value"`
	Store bool   `json:"store,omitempty"`
	// Whole is the number of which Value is the lower part, 0 if it is all of it.
	Whole uint64 `json:"whole,omitempty"`
	// Alternatives is what a computed value is made of, too.
	Alternatives []string `json:"alternatives,omitempty"`

	sp      uint64 // the stack pointer at the program's own code
	outside bool   // the kernel has done it: the program has read the value by a system call
	turned  bool   // it has only turned the bytes round, or said how a comparison came out
	passing bool   // it has computed it as ever: what it was computed of is to blame
	to      place  // what Place names
	heals   verdict
}

// own reports whether a call is in the program's own code: not in the standard library, nor in the
// kernel.
func (w *Why) own(c *lookup.Call) bool {
	return c.File != "" && w.owners.Of(c) >= lookup.Module
}

// inKernel reports whether a call is in the kernel.
func inKernel(c lookup.Call) bool {
	return strings.HasPrefix(c.Function, "github.com/zeroframe/zeroframe/")
}

// hop says where path[i] is.
func (w *Why) hop(path []entry, i int) Hop {
	h := Hop{Count: path[i].count, PC: path[i].pc}
	calls := w.file.Lookup(h.PC, false)
	for k := i; ; {
		if c, ok := w.ownCall(calls); ok {
			w.place(&h, &c)
			h.Own = true
			h.Goroutine = w.goidOf(path[k].gpr[14]) // Go's internal ABI
			h.sp = path[k].gpr[rsp]
			break
		}
		h.outside = h.outside || slices.ContainsFunc(calls, inKernel)
		if h.By == "" && len(calls) > 0 {
			h.By = calls[len(calls)-1].Function
		}
		if call, ok := callerOf(path, k); ok {
			k, calls = call, w.file.Lookup(path[call].pc, false)
		} else if back, ok := returnOf(path, k); ok { // it was called before the path begins
			k, calls = back, w.file.Lookup(path[back].pc, true)
		} else {
			w.fromStack(&h, path)
			break
		}
	}
	return h
}

// place sets where a step is in the source.
func (w *Why) place(h *Hop, c *lookup.Call) {
	h.Function, h.File, h.Line, h.Source = c.Function, c.File, c.Line, w.source(c.File, c.Line)
}

// function names the function that has the code at an address, "" if none is known; ret says that
// it is a return address.
func (w *Why) function(addr uint64, ret bool) string {
	if c := w.file.Lookup(addr, ret); len(c) > 0 {
		return c[len(c)-1].Function
	}
	return ""
}

// fromStack looks for the program's own code in the stack of the machine, which stands at the
// path's end.
func (w *Why) fromStack(h *Hop, path []entry) {
	last := &path[len(path)-1]
	if w.at == nil || last.count-h.Count > 16 || w.stands != last.count {
		if c := w.file.Lookup(h.PC, false); len(c) > 0 {
			w.place(h, &c[0])
			h.By = ""
		}
		return
	}
	for _, ra := range w.at.stack(last, 64)[1:] {
		calls := w.file.Lookup(ra, true)
		h.outside = h.outside || slices.ContainsFunc(calls, inKernel)
		if c, ok := w.ownCall(calls); ok {
			w.place(h, &c)
			h.Own = true
			h.Goroutine = w.goid(last)
			return
		}
	}
}

func (w *Why) ownCall(calls []lookup.Call) (c lookup.Call, ok bool) {
	for i := range calls {
		if w.own(&calls[i]) {
			return calls[i], true
		}
	}
	return c, false
}

// goid returns the number of the goroutine that runs.
func (w *Why) goid(e *entry) int64 {
	if w.at == nil {
		return 0
	}
	g, _ := w.at.word(e.fs - 8)
	return w.goidOf(g)
}

// goidOf returns the number of a goroutine by its g, 0 if it is none.
func (w *Why) goidOf(g uint64) int64 {
	if w.at == nil || !pointer(g) {
		return 0
	}
	id, _ := w.at.word(g + uint64(w.fields["runtime.g.goid"]))
	if id > 1<<40 {
		return 0
	}
	return int64(id)
}

// source returns the text of a line of a source file, "" if it is not there.
func (w *Why) source(file string, line int) string {
	lines := w.sources.Lines(file, line, 0)
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[0].Text)
}

// Name names an address in a package's variable, "" if it is in none.
func (w *Why) Name(addr uint64) string {
	for _, v := range w.vars {
		if addr >= v.addr && addr < v.addr+v.size {
			if addr == v.addr {
				return v.name
			}
			return fmt.Sprintf("%s+%d", v.name, addr-v.addr)
		}
	}
	return ""
}

// loadedSo ends what is said of a variable that nothing has written.
const loadedSo = " has had this value since the image was loaded"

func (w *Why) neverWritten(p place) string {
	if w.Begins > 0 && (p.addr < w.constants[0] || p.addr >= w.constants[1]) {
		return w.earlier(p)
	}
	if n := w.Name(p.addr); n != "" {
		return n + loadedSo
	}
	if p.addr >= w.constants[0] && p.addr < w.constants[1] {
		return "it is in the image's read-only data"
	}
	return fmt.Sprintf("nothing has written %s: it is as the machine began", p)
}

// earlier says that a place was written before the recording begins.
func (w *Why) earlier(p place) string {
	return fmt.Sprintf(cannotTell+"%s was written before instruction %d, where the recording begins",
		p, w.Begins)
}

func (w *Why) constantEnd(f *effect) string {
	if f.value == 0 {
		return "the constant 0"
	}
	if n := w.Name(f.value); n != "" {
		return "the address of " + n
	}
	if c := w.file.Lookup(f.value, false); len(c) > 0 && c[0].Offset == 0 {
		return "the address of " + c[0].Function
	}
	return fmt.Sprintf("the constant %#x", f.value)
}
