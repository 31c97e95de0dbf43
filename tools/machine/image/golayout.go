package image

// The kernel reads goroutines out of the runtime's memory. Where the runtime keeps
// what in them differs between Go versions, so it is taken from the DWARF of the
// very file that is built, and written into a table of the kernel's: initialized
// data, found by its symbol, of fixed size. kernel/goinfo/items.go documents it.
//
import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// GoTableName is the name of the kernel's table, behind the path of its package.
const GoTableName = "/goinfo.table"

const (
	goTableMagic   = 0x6f666e696f67667a
	goTableVersion = 5
	goTableHead    = 2 // words before the first item

	// GoUnknown is the value of an item that is not known.
	GoUnknown = ^uint64(0)
)

// goItems are the items of the table, in its order. kernel/goinfo has the same
// list, and a test there compares the two.
var goItems = strings.Split(`field runtime.g.stack.lo
field runtime.g.stack.hi
field runtime.g.goid
field runtime.g.atomicstatus.value
field runtime.g.waitreason
field runtime.g.waitsince
field runtime.g.sched.sp
field runtime.g.sched.pc
field runtime.g.sched.bp
field runtime.g.syscallsp
field runtime.g.syscallpc
field runtime.g.syscallbp
field runtime.g.m
field runtime.g.lockedm
field runtime.g.gopc
field runtime.g.startpc
field runtime.g.parentGoid
field runtime.g.waiting
field runtime.sudog.elem
field runtime.sudog.waitlink
field runtime.sudog.c
field runtime.hchan.sendq
field runtime.hchan.timer
field runtime.timer.when
field runtime.moduledata.data
field runtime.moduledata.edata
field runtime.moduledata.bss
field runtime.moduledata.ebss
field runtime.m.curg
field runtime.m.procid
word runtime.allgptr
word runtime.allglen
strings runtime.waitReasonStrings
len runtime.waitReasonStrings
strings runtime.gStatusStrings
len runtime.gStatusStrings
word runtime.maxstacksize
word runtime.maxstackceiling
const runtime._Grunning
const runtime._Gsyscall
const runtime._Gwaiting
const runtime._Gdead
const runtime._Gscan
word runtime.mbuckets
word runtime.MemProfileRate
field runtime.bucket.allnext
field runtime.bucket.size
field runtime.bucket.nstk
field runtime.memRecord.active.allocs
field runtime.memRecord.active`, "\n")

// GoItems returns the names of the items of the kernel's table, in its order.
func GoItems() []string { return slices.Clone(goItems) }

// GoTable reads the kernel's table of the Go runtime's layout: what is where, by the names of
// [GoItems]. What is not known is left out. An error wraps [ErrGoTable]. Host.
func GoTable(table []byte) (map[string]uint64, error) {
	if err := checkGoTable(table); err != nil {
		return nil, err
	}
	m := make(map[string]uint64)
	for i, name := range goItems {
		v := binary.LittleEndian.Uint64(table[8*(goTableHead+i):])
		if v != 0 && v != GoUnknown {
			m[name] = v
		}
	}
	return m, nil
}

// checkGoTable reports whether this is the table that is known here.
func checkGoTable(table []byte) error {
	word := binary.LittleEndian.Uint64
	if len(table) != 8*(goTableHead+len(goItems)) || word(table) != goTableMagic ||
		word(table[8:]) != goTableVersion {
		return fmt.Errorf("%w (%d bytes)", ErrGoTable, len(table))
	}
	return nil
}

// ErrGoTable is returned when the kernel's table of the Go runtime's layout is not
// the one that this zf knows.
var ErrGoTable = errors.New(
	"the kernel's table of the Go runtime's layout is not the one that this zf fills; use the zf of the same Zeroframe version")

// FillGoTable fills the kernel's table of the Go runtime's layout in file, an
// image or what the linker wrote for one. symbol is the table's name: the path of
// package kernel and [GoTableName]. A file without it is left as it is.
//
// What cannot be found stays unknown, and notes say so, one a line of text: it is no
// error, since the image boots without. An error wraps [ErrGoTable] or [ErrNotELF].
func FillGoTable(file []byte, symbol string) (notes []string, err error) {
	f, symbols, table, err := tableIn(file, symbol)
	switch {
	case errors.Is(err, elf.ErrNoSymbols):
		// Without a symbol table there is no DWARF either, so nothing is lost.
		return []string{noGoroutines + "it has no symbol table; build without -ldflags=-s"}, nil
	case errors.Is(err, errNotInFile):
		return nil, fmt.Errorf("%w (%w)", ErrGoTable, err)
	case err != nil || table == nil:
		return nil, err
	}
	if err := checkGoTable(table); err != nil {
		return nil, err
	}
	found, err := goLayout(f, symbols)
	if err != nil {
		return []string{noGoroutines + err.Error()}, nil
	}
	for i, name := range goItems {
		v, ok := found[name]
		if !ok {
			v = GoUnknown
			notes = append(notes, missing(name))
		}
		binary.LittleEndian.PutUint64(table[8*(goTableHead+i):], v)
	}
	if len(notes) > 0 {
		version := "unknown version of Go"
		if b, err := buildinfo.Read(bytes.NewReader(file)); err == nil {
			version = b.GoVersion
		}
		for i, n := range notes {
			notes[i] = "the Go runtime (" + version + ") is not one that this zf knows: " + n
		}
		notes = append(notes,
			"so traces and lists of goroutines may be cut short; build with a version of Go that this zf was tested with, "+
				testedGo+", or use a newer zf")
	}
	return notes, nil
}

// missing says what an item is that was not found.
func missing(item string) string {
	kind, name, _ := strings.Cut(item, " ")
	switch kind {
	case "field":
		s, path := splitField(name)
		return s + " has no field " + path
	case "const":
		return "there is no constant " + name
	}
	return "there is no variable " + name + " of the kind expected"
}

// testedGo are the versions of Go that `make test-toolchains` uses.
const testedGo = "1.25 to 1.27"

// noGoroutines begins the note about an image whose table stays empty.
const noGoroutines = "traces of goroutines will be cut short, and the image will not be able to list them: "

var errNotInFile = errors.New("it is not in the file")

// tableIn finds the symbol of one of the kernel's tables in an ELF file. It returns the symbols of
// the file, and the bytes of it that are the table: nil if there is none. An error wraps
// [ErrNotELF], [elf.ErrNoSymbols] or errNotInFile.
func tableIn(file []byte, name string) (f *elf.File, all []elf.Symbol, table []byte, err error) {
	if f, err = elf.NewFile(bytes.NewReader(file)); err == nil {
		all, err = f.Symbols()
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%w: %w", ErrNotELF, err)
	}
	i := slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 {
		return f, all, nil, nil
	}
	s := &all[i]
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value-p.Vaddr <= p.Filesz &&
			s.Size <= p.Filesz-(s.Value-p.Vaddr) {
			off := p.Off + s.Value - p.Vaddr
			if off+s.Size <= uint64(len(file)) && off+s.Size >= off {
				return f, all, file[off : off+s.Size], nil
			}
		}
	}
	return nil, nil, nil, errNotInFile
}
