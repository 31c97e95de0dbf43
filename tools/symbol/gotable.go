// A Go program's own pc tables are the best source there is for Go code: they
// are what the runtime prints its traces from, they survive -ldflags=-s, and a
// look-up reads a few hundred bytes. The rules by which inlined calls are
// unfolded here are those of runtime.CallersFrames, so that a trace resolved on
// the host reads as if the runtime had printed it, but for one: the function that
// holds the instruction is always the last frame, even if it is a wrapper.
//
// Sources: runtime/symtab.go (CallersFrames, moduledata), runtime/symtabinl.go
// (inlinedCall), runtime/traceback.go (names, elided wrappers) of Go 1.26.

package symbol

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tracer"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A goTable is .gopclntab and what is needed to read it.
type goTable struct {
	tracer.PCTable
	*lazyTable
	addr   uint64 // where the table lies in memory
	module moduleData
	print  func(name string) string // a function's name as this program's runtime prints it

	inlOnce sync.Once // for module.gofunc

	wrapOnce sync.Once
	wrapper  byte // FuncID of wrapper functions
}

// moduleData holds the fields of runtime.firstmoduledata that are of use.
type moduleData struct {
	text, gofunc uint64 // 0 if not found
}

func (f *File) goTable() *goTable {
	f.goOnce.Do(func() { f.goTab, f.goErr = f.readGoTable() })
	return f.goTab
}

func (f *File) readGoTable() (*goTable, error) {
	s := f.FirstSection(".gopclntab", ".data.rel.ro.gopclntab")
	if s == nil {
		return nil, nil
	}
	lazy, err := f.newLazyTable(s)
	if err != nil {
		return nil, err
	}
	g := &goTable{lazyTable: lazy, addr: s.Addr, print: f.namePrinter()}
	const header = 72
	g.need(0, header)
	if len(g.tab) >= 4 && f.Order.Uint32(g.tab) != 0xfffffff1 || f.Order != binary.LittleEndian {
		return nil, errors.New("the Go pc table is of a version or byte order that is not known here")
	}
	var ok bool
	if g.PCTable, ok = tracer.ParsePCTable(g.tab, 0); !ok {
		return nil, errors.New("the Go pc table is damaged")
	}
	g.module = f.readModuleData(g)
	text, ok := f.textStart(g)
	if !ok {
		return nil, errors.New("the start of the Go text is not to be found")
	}
	g.PCTable, _ = tracer.ParsePCTable(g.tab, uintptr(text))
	return g, nil
}

// textStart finds the address of runtime.text. Until Go 1.25 it is in the
// table's header. From then on it is in the module data and in the symbol table;
// without either, the start of .text is right unless a C linker put something
// before Go's code.
func (f *File) textStart(g *goTable) (uint64, bool) {
	if text := f.Order.Uint64(g.tab[24:]); text != 0 {
		return text, true
	}
	if g.module.text != 0 {
		return g.module.text, true
	}
	if text, _, ok := f.exactSymbol([]byte("runtime.text")); ok {
		return text, true
	}
	if s := f.FirstSection(".text"); s != nil {
		return s.Addr, true
	}
	return 0, false
}

// Offsets in runtime.moduledata. They have been the same from Go 1.20 to 1.26;
// readModuleData believes none of them without a check.
const (
	mdPCHeader  = 0
	mdFuncNames = 8
	mdText      = 176
	mdGofunc    = 320
	mdSearchEnd = 448 // gofunc is looked for up to here, should it have moved
	mdSize      = mdSearchEnd
)

// readModuleData finds the module data by its first two words, the addresses of
// the pc table and of the function names in it. From Go 1.26 on it has a section
// of its own.
func (f *File) readModuleData(g *goTable) (m moduleData) {
	names := f.Order.Uint64(g.tab[32:])
	want := make([]byte, 16)
	f.Order.PutUint64(want, g.addr)
	f.Order.PutUint64(want[8:], g.addr+names)
	for _, name := range []string{".go.module", ".noptrdata", ".data"} {
		s := f.FirstSection(name)
		if s == nil {
			continue
		}
		b, err := f.Data(s)
		if err != nil {
			continue
		}
		at := bytes.Index(b, want)
		if at < 0 || len(b)-at < mdSize {
			continue
		}
		b = b[at:]
		word := func(off int) uint64 { return f.Order.Uint64(b[off:]) }
		if text := word(mdText); f.IsText(text) {
			m.text = text
		}
		m.gofunc = f.findGofunc(g, word)
		return m
	}
	return m
}

// findGofunc finds the address of go:func.* among the module data's words. Until
// Go 1.25 it lies in the read-only data; from then on in the pc table's section,
// and the word after it is the end of that table, by which it can be told.
func (f *File) findGofunc(g *goTable, word func(off int) uint64) uint64 {
	end := g.addr + uint64(len(g.tab))
	for off := mdText + 8; off+16 <= mdSearchEnd; off += 8 {
		if a, b := word(off), word(off+8); g.addr < a && a <= b && b <= end {
			return a
		}
	}
	if a := word(mdGofunc); a != 0 {
		for i := range f.Sections {
			if s := &f.Sections[i]; s.Holds(a) && s.Flags&(stdelf.SHF_WRITE|stdelf.SHF_EXECINSTR) == 0 {
				return a
			}
		}
	}
	return 0
}

// A goMemory is what a reader of many answers makes once: strings, and room for frames.
type goMemory struct {
	strings map[*byte]string // by where they are in the table
	room    []lookup.Call
}

// text returns a string of the table. m may be nil.
func (m *goMemory) text(b []byte, convert func(string) string) string {
	if m == nil || len(b) == 0 {
		return convert(string(b))
	}
	if m.strings == nil || len(m.strings) >= 1<<14 {
		m.strings = map[*byte]string{}
	}
	s, ok := m.strings[&b[0]]
	if !ok {
		s = convert(string(b))
		m.strings[&b[0]] = s
	}
	return s
}

func asItIs(s string) string { return s }

// frames returns room for a few frames.
func (m *goMemory) frames() []lookup.Call {
	if m == nil {
		return nil
	}
	if cap(m.room)-len(m.room) < 16 {
		m.room = make([]lookup.Call, 0, 2048)
	}
	return m.room[len(m.room):]
}

// keep says that frames, which frames returned and lookup appended to, stay.
func (m *goMemory) keep(frames []lookup.Call) []lookup.Call {
	if n := len(m.room) + len(frames); n <= cap(m.room) && len(frames) > 0 &&
		&m.room[:n][n-1] == &frames[len(frames)-1] {
		m.room = m.room[:n]
	}
	return frames[:len(frames):len(frames)]
}

// lookup returns the frames at pc, innermost first, or nil if pc is in no Go
// function. m may be nil.
func (g *goTable) lookup(f *File, pc uint64, m *goMemory) (frames []lookup.Call, entry uint64) {
	fn, ok := g.Find(uintptr(pc))
	if !ok {
		return nil, 0
	}
	entry = uint64(fn.Entry())
	frames = m.frames()
	inner := "" // name of the frame called by the one at hand
	for depth := range lookup.MaxInlined {
		index, _ := g.pcData(fn, tracer.PCDataInlTreeIndex, pc)
		var call inlinedCall
		inlined := false
		if index >= 0 {
			call, inlined = g.inlined(f, fn, index)
		}
		var name string
		if inlined {
			name = m.text(g.NameAt(call.name), g.print)
		} else {
			name = m.text(g.name(fn), g.print)
		}
		// The runtime leaves out a wrapper that called what it wraps. The
		// physical function stays nevertheless: it is the one that offsets
		// count from and that other tools name.
		if depth == 0 || !inlined || !g.isWrapper(call.funcID) || callsPanic(inner) {
			fr := lookup.Call{Function: name, Inlined: inlined}
			if file, line, ok := g.fileLine(fn, pc); ok {
				fr.File, fr.Line = m.text(file, asItIs), int(line)
			}
			frames = append(frames, fr)
			inner = name
		}
		if !inlined {
			break
		}
		pc = entry + uint64(call.parentPC)
	}
	return frames, entry
}

// An inlinedCall is a record of an inline tree (runtime.inlinedCall).
type inlinedCall struct {
	funcID   byte
	name     int32  // offset in the pc table's names
	parentPC uint32 // offset from the function's entry to the call's position
}

// funcData returns the address of go:func.*, 0 if it is not to be found.
func (g *goTable) funcData(f *File) uint64 {
	g.inlOnce.Do(func() {
		if g.module.gofunc == 0 {
			g.module.gofunc, _, _ = f.exactSymbol([]byte("go:func.*"))
		}
	})
	return g.module.gofunc
}

// inlined reads the index'th record of a function's inline tree.
func (g *goTable) inlined(f *File, fn tracer.Func, index int32) (c inlinedCall, ok bool) {
	const size = 16
	off, ok := fn.FuncData(tracer.FuncDataInlTree)
	if !ok {
		return c, false
	}
	gofunc := g.funcData(f)
	if gofunc == 0 {
		return c, false
	}
	at := gofunc + uint64(off) + size*uint64(index)
	var b []byte
	if at >= g.addr && at-g.addr <= uint64(len(g.tab)) && uint64(len(g.tab))-(at-g.addr) >= size {
		g.need(uint32(at-g.addr), size)
		b = g.tab[at-g.addr:]
	} else if b, ok = f.BytesAt(at, size); !ok {
		return c, false
	}
	return inlinedCall{funcID: b[0], name: int32(f.Order.Uint32(b[4:])),
		parentPC: f.Order.Uint32(b[8:])}, true
}

// isWrapper reports whether id marks wrapper functions. The numbers differ from
// release to release, but wrappers have the last, and the one before it belongs to a
// function that every program has (internal/abi/symtab.go). To find that means to go
// through all names, which is left until an inlined function is something special.
func (g *goTable) isWrapper(id byte) bool {
	if id == 0 {
		return false
	}
	g.wrapOnce.Do(func() {
		g.wrapper = 23 // Go 1.25 and 1.26
		for fn := range g.funcs() {
			if string(g.name(fn)) == "runtime.systemstack_switch" {
				g.wrapper = fn.FuncID() + 1
				break
			}
		}
	})
	return id == g.wrapper
}

// callsPanic reports whether name is a function whose calling wrapper the
// runtime does show (elideWrapperCalling in runtime/traceback.go).
func callsPanic(name string) bool {
	return name == "runtime.gopanic" || name == "runtime.sigpanic" || name == "runtime.panicwrap"
}

// namePrinter returns printedBefore if the program says that an older Go has built it (the layout
// is of debug/buildinfo), else printedName.
func (f *File) namePrinter() func(string) string {
	const header, maxMinor = 32, 26
	at, _ := f.SectionStart(".go.buildinfo")
	b, _ := f.BytesAt(at, header+32)
	if len(b) > header && bytes.HasPrefix(b, []byte("\xff Go buildinf:")) {
		var minor int
		if n, _ := fmt.Sscanf(string(b[header+1:]), "go1.%d", &minor); n == 1 && minor <= maxMinor {
			return printedBefore
		}
	}
	return printedName
}

// printedName is a function's name as the runtime prints it since Go 1.27: the type arguments of
// a generic type and those of its method are "[...]" each for themselves.
func printedName(name string) string {
	name = stripABI(name)
	i := strings.IndexByte(name, '[')
	depth := 0
	for k := max(i, 0); k < len(name); k++ {
		switch name[k] {
		case '[':
			depth++
		case ']':
			if depth--; depth > 0 {
				continue
			}
			next := strings.IndexByte(name[k:], '[')
			if depth < 0 || next < 0 {
				return printedBefore(name)
			}
			return name[:i] + "[...]" + name[k+1:k+next] + printedBefore(name[k+next:])
		}
	}
	return printedBefore(name)
}

// printedBefore is printedName up to Go 1.26: all that is between the first and the last bracket
// is left out.
func printedBefore(name string) string {
	name = stripABI(name)
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j <= i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

// SPDelta returns how many bytes above SP the slot with the return address lies
// when the instruction at pc is about to run. It knows Go functions only. It
// reports false where it cannot vouch for the number: outside Go code, in
// padding, and beyond the entry of a function that loads SP with a computed
// value. Context: host.
func (f *File) SPDelta(pc uint64) (uint64, bool) {
	g := f.goTable()
	if g == nil {
		return 0, false
	}
	fn, ok := g.Find(uintptr(pc))
	if !ok {
		return 0, false
	}
	delta, ok := g.spDelta(fn, pc)
	if !ok || delta < 0 || fn.Flags()&tracer.FuncFlagSPWrite != 0 && pc != uint64(fn.Entry()) {
		return 0, false
	}
	return uint64(delta), true
}
