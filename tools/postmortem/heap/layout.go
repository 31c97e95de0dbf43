package heap

// The runtime's structures are read by the names of their fields. Where a Go version lacks one,
// that is an error which names it.

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// layout is what the ELF file says.
type layout struct {
	data      *dwarf.Data
	types     map[string]dwarf.Offset // by name
	runtime   map[uint64]dwarf.Offset // by what DW_AT_go_runtime_type says
	variables map[string]dwarf.Offset // name -> its type
	functions map[string]dwarf.Offset // name -> its entry
	symbols   []symbolAt              // data objects, by address
	at        map[string]symbolAt
	cache     map[dwarf.Offset]godwarf.Type
	bias      uint64
}

// symbolAt is a variable in memory.
type symbolAt struct {
	name       string
	addr, size uint64
}

func readLayout(path string, bias uint64) (*layout, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	l := &layout{
		types: map[string]dwarf.Offset{}, runtime: map[uint64]dwarf.Offset{},
		variables: map[string]dwarf.Offset{},
		functions: map[string]dwarf.Offset{}, at: map[string]symbolAt{},
		cache: map[dwarf.Offset]godwarf.Type{}, bias: bias,
	}
	if l.data, err = f.DWARF(); err != nil {
		return nil, fmt.Errorf("%s: its debug information: %w", path, err)
	}
	syms, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; build without -ldflags=-s", path, err)
	}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Size > 0 { // not what marks a section's end
			v := symbolAt{s.Name, s.Value + bias, s.Size}
			l.symbols = append(l.symbols, v)
			l.at[s.Name] = v
		}
	}
	slices.SortFunc(l.symbols, func(a, b symbolAt) int {
		return cmp.Compare(a.addr, b.addr)
	})
	if err := l.readEntries(); err != nil {
		return nil, fmt.Errorf("%s: its debug information: %w", path, err)
	}
	if len(l.types) == 0 {
		return nil, fmt.Errorf("%s has no debug information of types; build without -ldflags=-w", path)
	}
	return l, nil
}

// readEntries notes where the entries of types, variables and functions are.
func (l *layout) readEntries() error {
	r := l.data.Reader()
	for {
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		if e.Tag == dwarf.TagCompileUnit {
			continue
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if off, ok := e.Val(godwarf.AttrGoRuntimeType).(uint64); ok {
			l.runtime[off] = e.Offset
		}
		switch e.Tag {
		case dwarf.TagVariable:
			if t, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
				l.variables[name] = t
			}
		case dwarf.TagSubprogram:
			if name != "" {
				l.functions[name] = e.Offset
			}
		default:
			// A struct comes twice under a name, itself and its typedef, which comes first.
			if _, ok := l.types[name]; !ok && name != "" {
				l.types[name] = e.Offset
			}
		}
		if e.Children {
			r.SkipChildren()
		}
	}
}

// typeAt returns the type whose entry is at off.
func (l *layout) typeAt(off dwarf.Offset) godwarf.Type {
	t, err := godwarf.ReadType(l.data, 0, off, l.cache)
	if err != nil {
		return nil
	}
	return t
}

// named returns the type of a name; nil if there is none.
func (l *layout) named(name string) godwarf.Type {
	off, ok := l.types[name]
	if !ok {
		return nil
	}
	return l.typeAt(off)
}

// record is one structure in memory, read as a whole.
type record struct {
	t    godwarf.Type
	addr uint64
	b    []byte
	err  error // the first
}

// record reads the structure of a type at an address.
func (h *Heap) record(t godwarf.Type, addr uint64) *record {
	r := &record{t: t, addr: addr}
	if t == nil {
		r.err = fmt.Errorf("the debug information lacks a type of the runtime's")
		return r
	}
	if n := t.Size(); n < 0 || n > 1<<20 {
		r.err = fmt.Errorf("the runtime's %v has %d bytes", t, n)
		return r
	}
	r.b = make([]byte, t.Size())
	r.err = h.read(r.b, addr)
	return r
}

// word is an integer field, of any size; 0 behind an error.
func (r *record) word(path string) uint64 {
	if r.err != nil {
		return 0
	}
	off, t, err := inspect.Field(r.t, path)
	if err != nil {
		r.err = err
		return 0
	}
	var b [8]byte
	n := min(uint64(t.Size()), 8) // of a struct the first word
	if off+n > uint64(len(r.b)) {
		r.err = fmt.Errorf("the runtime's %v: field %s lies outside", r.t, path)
		return 0
	}
	copy(b[:n], r.b[off:])
	return binary.LittleEndian.Uint64(b[:])
}

// pointersOf reads the slice of pointers that is a field of a record, or the record itself: so many
// things of a kind, most at most.
func (h *Heap) pointersOf(r *record, path, kind string, most uint64) (all []uint64, err error) {
	if r.err != nil {
		return nil, r.err
	}
	off := uint64(0)
	if path != "" {
		if off, _, err = inspect.Field(r.t, path); err != nil {
			return nil, err
		}
	}
	if off+16 > uint64(len(r.b)) {
		return nil, fmt.Errorf("the runtime's %v has no %s", r.t, kind)
	}
	at, n := binary.LittleEndian.Uint64(r.b[off:]), binary.LittleEndian.Uint64(r.b[off+8:])
	if n > most {
		return nil, fmt.Errorf("the core is corrupt: the runtime has %d %s", n, kind)
	}
	b := make([]byte, 8*n)
	if err := h.read(b, at); err != nil {
		return nil, err
	}
	all = make([]uint64, n)
	_, err = binary.Decode(b, binary.LittleEndian, all)
	return all, err
}

// has reports whether there is such a field.
func (r *record) has(path string) bool {
	_, _, err := inspect.Field(r.t, path)
	return err == nil
}

// variable reads a package variable's structure.
func (h *Heap) variable(name string) *record {
	s, ok := h.at[name]
	t, ok2 := h.variables[name]
	if !ok || !ok2 {
		return &record{err: fmt.Errorf("the ELF file has no variable %s", name)}
	}
	return h.record(h.typeAt(t), s.addr)
}

// errNoMemory is the error of memory that is not in the core.
var errNoMemory = errors.New("the core has no memory")

// read reads memory, all of it or with an error.
func (h *Heap) read(b []byte, addr uint64) error {
	n, err := h.mem.ReadMemory(b, addr)
	if err == nil && n < len(b) {
		err = fmt.Errorf("%d bytes of %d", n, len(b))
	}
	if err != nil {
		return fmt.Errorf("%w at %#x: %w", errNoMemory, addr, err)
	}
	return nil
}

// readPages reads memory by pages. One that is not there was never touched, and is zero: a
// machine of ours has no page before the first access. Without any page it is an error.
func (h *Heap) readPages(b []byte, addr uint64) error {
	err := h.read(b, addr)
	if err == nil || len(b) == 0 {
		return nil
	}
	some := false
	for off := uint64(0); off < uint64(len(b)); {
		n := min(memoryPage-(addr+off)%memoryPage, uint64(len(b))-off)
		if h.read(b[off:off+n], addr+off) == nil {
			some = true
		} else {
			clear(b[off : off+n])
		}
		off += n
	}
	if !some {
		return err
	}
	return nil
}

// memoryPage is the size of a page of the machine's; the heap's are larger.
const memoryPage = 4096

// load reads a word.
func (h *Heap) load(addr uint64) (uint64, error) {
	var b [8]byte
	err := h.read(b[:], addr)
	return binary.LittleEndian.Uint64(b[:]), err
}
