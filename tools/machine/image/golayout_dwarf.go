package image

// The linker describes types, variables and constants of package runtime in DWARF.
// A build waits for this file, so it reads the compile units of package runtime
// only, and of those only up to the last thing that is wanted: the linker puts the
// types of the whole program there too, behind the runtime's constants and
// variables. The sections about line numbers, ranges and locations, most of the
// DWARF, are not even decompressed.

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// goLayout returns the items that a file's DWARF and its symbols tell, by their
// names. An error says why there are none.
func goLayout(f *elf.File, symbols []elf.Symbol) (map[string]uint64, error) {
	w := &goWalk{
		structs: make(map[string]dwarf.Offset), vars: make(map[string]dwarf.Offset),
		consts: make(map[string]uint64), found: make(map[string]uint64),
	}
	for _, item := range goItems {
		switch kind, name, _ := strings.Cut(item, " "); kind {
		case "field":
			s, _ := splitField(name)
			w.structs[s] = 0
		case "const":
			w.consts[name] = GoUnknown
		default:
			w.vars[name] = 0
		}
	}
	w.want = len(w.structs) + len(w.vars) + len(w.consts)
	if err := w.open(f); err != nil {
		return nil, err
	}
	if err := w.units(); err != nil {
		return nil, fmt.Errorf(
			"its DWARF cannot be read (%w); build with a version of Go that this zf was tested with, "+
				testedGo, err)
	}
	addrs := make(map[string]uint64)
	for _, s := range symbols {
		if _, ok := w.vars[s.Name]; ok {
			addrs[s.Name] = s.Value
		}
	}
	for _, item := range goItems {
		if v, ok := w.item(item, addrs); ok {
			w.found[item] = v
		}
	}
	return w.found, nil
}

// goWalk looks for what is wanted. The keys of its maps are there from the start;
// an offset is 0, which is no entry's, and a constant unknown until it is found.
type goWalk struct {
	dwarf   *dwarf.Data
	info    []byte
	structs map[string]dwarf.Offset // of a struct type
	vars    map[string]dwarf.Offset // of a variable's type
	consts  map[string]uint64
	want    int // how many are not found yet
	found   map[string]uint64
}

// open opens the DWARF of a file.
func (w *goWalk) open(f *elf.File) error {
	sections := make(map[string][]byte)
	for _, name := range []string{".debug_abbrev", ".debug_info", ".debug_str", ".debug_line_str",
		".debug_str_offsets", ".debug_addr"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		b, err := s.Data() // decompressed
		if err != nil {
			return fmt.Errorf("its DWARF cannot be read: section %s: %w", name, err)
		}
		sections[name] = b
	}
	w.info = sections[".debug_info"]
	if len(w.info) == 0 {
		return errors.New("it has no DWARF; build without -ldflags=-w")
	}
	d, err := dwarf.New(sections[".debug_abbrev"], nil, nil, w.info, nil, nil, nil,
		sections[".debug_str"])
	if err != nil {
		return fmt.Errorf("its DWARF cannot be read: %w", err)
	}
	for _, name := range []string{".debug_line_str", ".debug_str_offsets", ".debug_addr"} {
		if err := d.AddSection(name, sections[name]); err != nil {
			return fmt.Errorf("its DWARF cannot be read: section %s: %w", name, err)
		}
	}
	w.dwarf = d
	return nil
}

// units looks through the compile units of package runtime. The DWARF library
// cannot skip a unit, other than by reading all of it, so the headers are read
// here (DWARF 5, section 7.5.1; DWARF 4, 7.5.1.1).
func (w *goWalk) units() error {
	r := w.dwarf.Reader()
	for at := 0; w.want > 0 && len(w.info)-at >= 12; {
		size := int(binary.LittleEndian.Uint32(w.info[at:]))
		if size >= 0xfffffff0 {
			return errors.New("64-bit DWARF, which Go does not make")
		}
		head := 11
		if binary.LittleEndian.Uint16(w.info[at+4:]) >= 5 {
			head = 12
		}
		if size > len(w.info)-at-4 || size+4 <= head {
			return fmt.Errorf("the compile unit at %#x is cut off", at)
		}
		r.Seek(dwarf.Offset(at + head))
		cu, err := r.Next()
		if err != nil {
			return err
		}
		if cu != nil && cu.Tag == dwarf.TagCompileUnit && cu.Children &&
			cu.Val(dwarf.AttrName) == "runtime" {
			if err := w.unit(r); err != nil {
				return err
			}
		}
		at += 4 + size
	}
	return nil
}

// unit looks at what a compile unit declares, r being behind the unit's own entry.
func (w *goWalk) unit(r *dwarf.Reader) error {
	for w.want > 0 {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return err
		}
		w.entry(e)
		r.SkipChildren()
	}
	return nil
}

// entry takes what is wanted.
func (w *goWalk) entry(e *dwarf.Entry) {
	name, _ := e.Val(dwarf.AttrName).(string)
	switch e.Tag {
	case dwarf.TagStructType:
		if old, ok := w.structs[name]; ok && old == 0 {
			w.structs[name] = e.Offset
			w.want--
		}
	case dwarf.TagVariable:
		typ, _ := e.Val(dwarf.AttrType).(dwarf.Offset)
		if old, ok := w.vars[name]; ok && old == 0 && typ != 0 {
			w.vars[name] = typ
			w.want--
		}
	case dwarf.TagConstant:
		v, isInt := e.Val(dwarf.AttrConstValue).(int64)
		if old, ok := w.consts[name]; ok && old == GoUnknown && isInt {
			w.consts[name] = uint64(v)
			w.want--
		}
	}
}

// item returns the value of an item, now that its entry is known.
func (w *goWalk) item(item string, addrs map[string]uint64) (v uint64, ok bool) {
	kind, name, _ := strings.Cut(item, " ")
	switch kind {
	case "field":
		s, path := splitField(name)
		return w.field(w.structs[s], path)
	case "const":
		v = w.consts[name]
		return v, v != GoUnknown
	}
	addr, hasAddr := addrs[name]
	t := w.typeAt(w.vars[name])
	if t == nil || !hasAddr {
		return 0, false
	}
	if kind == "word" {
		return addr, t.Size() == 8
	}
	// An array of strings.
	array, ok := t.(*dwarf.ArrayType)
	if !ok || array.Count <= 0 || array.Type.Size() != 16 {
		return 0, false
	}
	if kind == "len" {
		return uint64(array.Count), true
	}
	return addr, true
}

// field returns the offset and the size of a field, as the table has them. path
// leads to it through structs within the struct.
func (w *goWalk) field(at dwarf.Offset, path string) (v uint64, ok bool) {
	t := w.typeAt(at)
	var off int64
	for path != "" {
		s, isStruct := t.(*dwarf.StructType)
		if !isStruct {
			return 0, false
		}
		var name string
		name, path, _ = strings.Cut(path, ".")
		t = nil
		for _, f := range s.Field {
			if f.Name == name {
				t = bareType(f.Type)
				off += f.ByteOffset
			}
		}
	}
	// More than 8 bytes are not read in one piece, so they are not what is meant, but for
	// a struct, of which place and size are.
	most := int64(8)
	if _, isStruct := t.(*dwarf.StructType); isStruct {
		most = 1 << 16
	}
	if t == nil || off < 0 || off >= 1<<32 || t.Size() < 1 || t.Size() > most {
		return 0, false
	}
	return uint64(t.Size())<<32 | uint64(off), true
}

// typeAt returns the type whose entry is at an offset, or nil.
func (w *goWalk) typeAt(at dwarf.Offset) dwarf.Type {
	if at == 0 {
		return nil
	}
	t, err := w.dwarf.Type(at)
	if err != nil {
		return nil
	}
	return bareType(t)
}

// bareType returns what a name stands for.
func bareType(t dwarf.Type) dwarf.Type {
	for {
		d, ok := t.(*dwarf.TypedefType)
		if !ok {
			return t
		}
		t = d.Type
	}
}

// splitField splits the name of a field into that of the struct, with its package,
// and the path to the field in it.
func splitField(name string) (structName, path string) {
	pkg, rest, _ := strings.Cut(name, ".")
	structName, path, _ = strings.Cut(rest, ".")
	return pkg + "." + structName, path
}
