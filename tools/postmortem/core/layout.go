package core

// Where the kernel's variables are, and how its records are laid out: by the image's symbols and
// its debug information, so that nothing here has to be kept equal to the kernel.

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	zfdwarf "github.com/zeroframe/zeroframe/tools/symbol/dwarf"
)

// kernelPath is where the kernel's packages are.
const kernelPath = "github.com/zeroframe/zeroframe/"

// ErrStripped is returned for an image without what tells where the kernel keeps its threads.
var ErrStripped = errors.New(
	"the image has no debug information (-ldflags -w or -s): the core has the CPUs and no thread that had none")

// layout is what is known of an image.
type layout struct {
	symbols map[string]elf.Symbol
	types   map[string]*dwarf.StructType
	fpu     uint64 // where the FPU's save area is in a thread's record; 0: that is not known
}

// The records that are read.
var recordTypes = []string{"kernel/percpu.Record", "kernel/thread.Thread", "kernel/fault.Details",
	"arch/amd64.TrapFrame", "arch/amd64.CPU", areaType}

// fpuOffset is the constant that says where the FPU's save area is.
const fpuOffset = "kernel/thread.fpuOffset"

// kernelVariables returns the symbols of the kernel's variables, by their names behind kernelPath.
func kernelVariables(f *elf.File) (map[string]elf.Symbol, error) {
	all, err := f.Symbols()
	symbols := map[string]elf.Symbol{}
	for _, s := range all {
		if name, ok := strings.CutPrefix(s.Name, kernelPath); ok &&
			elf.ST_TYPE(s.Info) == elf.STT_OBJECT {
			symbols[name] = s
		}
	}
	return symbols, err
}

// readLayout reads it. The symbols are there even with an error, as far as the file has them.
func readLayout(path string, f *elf.File) (*layout, error) {
	symbols, err := kernelVariables(f)
	l := &layout{symbols: symbols, types: map[string]*dwarf.StructType{}}
	if err != nil {
		return l, ErrStripped
	}
	if err := zfdwarf.CheckTypes(path); err != nil {
		return l, err
	}
	d, err := f.DWARF()
	if err != nil {
		return l, ErrStripped
	}
	for r := d.Reader(); len(l.types) < len(recordTypes) || l.fpu == 0; {
		e, err := r.Next()
		if err != nil || e == nil && len(l.types) < len(recordTypes) {
			return l, ErrStripped
		}
		if e == nil {
			break
		}
		if e.Tag == dwarf.TagCompileUnit {
			continue
		}
		full, _ := e.Val(dwarf.AttrName).(string)
		switch name, _ := strings.CutPrefix(full, kernelPath); {
		case name == full:
		case e.Tag == dwarf.TagConstant && name == fpuOffset:
			n, _ := e.Val(dwarf.AttrConstValue).(int64)
			l.fpu = uint64(max(n, 0))
		case e.Tag == dwarf.TagStructType && slices.Contains(recordTypes, name):
			t, err := d.Type(e.Offset)
			if s, ok := t.(*dwarf.StructType); err == nil && ok {
				l.types[name] = s
			}
		}
		r.SkipChildren()
	}
	return l, nil
}

// field returns where a field is in a type, by a path such as "Frame.TLS", and its size.
func (l *layout) field(of, path string) (off, size uint64, err error) {
	var t dwarf.Type = l.types[of]
	for name := range strings.SplitSeq(path, ".") {
		for td, ok := t.(*dwarf.TypedefType); ok; td, ok = t.(*dwarf.TypedefType) {
			t = td.Type
		}
		s, ok := t.(*dwarf.StructType)
		i := -1
		if ok && s != nil {
			i = slices.IndexFunc(s.Field, func(f *dwarf.StructField) bool { return f.Name == name })
		}
		if i < 0 {
			return 0, 0,
				fmt.Errorf("the kernel of this image has no %s in its %s; take the zf that has built it", path,
					of)
		}
		off, t = off+uint64(s.Field[i].ByteOffset), s.Field[i].Type
	}
	return off, uint64(max(t.Size(), 0)), nil
}

// variables reads the kernel's variables and records. The first error stays, and all is 0 from then
// on.
type variables struct {
	*layout
	read func(p []byte, addr uint64) error // by virtual addresses
	err  error
}

// bytes reads memory.
func (r *variables) bytes(addr, size uint64) []byte {
	b := make([]byte, size)
	if r.err == nil {
		r.err = r.read(b, addr)
	}
	if r.err != nil {
		clear(b)
	}
	return b
}

// variable is the address of a variable.
func (r *variables) variable(name string) uint64 {
	s, ok := r.symbols[name]
	if !ok && r.err == nil {
		r.err = fmt.Errorf("the kernel of this image has no %s; take the zf that has built it", name)
	}
	return s.Value
}

// word reads an unsigned number of up to eight bytes.
func (r *variables) word(addr, size uint64) uint64 {
	var b [8]byte
	copy(b[:], r.bytes(addr, min(size, 8)))
	return binary.LittleEndian.Uint64(b[:])
}

// at is the address of a field of a record, and its size.
func (r *variables) at(addr uint64, of, path string) (uint64, uint64) {
	off, size, err := r.field(of, path)
	if err != nil && r.err == nil {
		r.err = err
	}
	return addr + off, size
}

// get reads a field of a record.
func (r *variables) get(addr uint64, of, path string) uint64 { return r.word(r.at(addr, of, path)) }

// try does something whose error is none of the rest's.
func (r *variables) try(f func()) (err error) {
	if r.err != nil {
		return r.err
	}
	f()
	err, r.err = r.err, nil
	return err
}
