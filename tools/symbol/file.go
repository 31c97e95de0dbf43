// A File is an ELF file with what has been read of it: each source of answers when a
// look-up needs it first.

package symbol

import (
	stdelf "debug/elf"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/tools/symbol/argument"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/dwarf"
	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// ErrNoSymbols is wrapped by the error of [File.CanResolve] for a file that has
// nothing to resolve an address with.
var ErrNoSymbols = errors.New("no symbols: no Go pc table, no DWARF, no symbol table")

// A File is an open ELF file. Its methods may be called from several goroutines
// at once. Context: host.
type File struct {
	*elf.File

	goOnce sync.Once
	goTab  *goTable
	goErr  error // why goTab is nil; nil if there is no table

	symOnce sync.Once
	syms    *symbolTable
	names   nameIndex

	varOnce  sync.Once
	vars     []dataSymbol
	varNames []byte

	dwarfOnce sync.Once
	dwarf     *dwarf.Data
	dwarfErr  error
	dwarfRead atomic.Bool // so that both can be read without asking for them

	splitOnce sync.Once
	split     *File // with the debug information, if this file has none
	around    *File // of a file within .gnu_debugdata: the one that has the section

	stores   *openStores // nil: none is asked
	storeErr atomic.Pointer[error]

	scans atomic.Int32 // passes over the symbol table
	strs  *elf.Pages   // of names found by such passes
	strMu sync.Mutex

	asked atomic.Bool // something was looked up in DWARF

	argOnce sync.Once
	argErr  atomic.Pointer[error] // why there are none
	args    *argument.Image

	codeOnce sync.Once
	code     *code.Image
	found    []code.Func // functions of a stripped file, sorted
}

// ErrNotELF is wrapped by the errors of Open and NewFile for a file that is no
// ELF file at all.
var ErrNotELF = elf.ErrNotELF

// Open opens the ELF file at path, which may be compressed by xz, zstd or gzip, as the
// modules of Linux are. Its errors name the file and the cause. Context: host.
func Open(path string) (*File, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	return &File{File: f}, nil
}

// NewFile reads the headers of the ELF file of size bytes in r. The name is used
// in errors. r must stay readable as long as the File is used. Context: host.
func NewFile(r io.ReaderAt, size int64, name string) (*File, error) {
	f, err := elf.NewFile(r, size, name)
	if err != nil {
		return nil, err
	}
	return &File{File: f}, nil
}

// Close closes what Open opened. Context: host.
func (f *File) Close() error {
	f.splitOnce.Do(func() {}) // it is not looked for any more
	f.dwarfOnce.Do(func() {})
	f.dwarf.Close()
	if f.split != nil {
		f.split.Close()
	}
	return f.File.Close()
}

// CanResolve returns nil if the file has anything to resolve addresses with,
// otherwise an error that wraps [ErrNoSymbols] and says what is missing.
// Context: host.
func (f *File) CanResolve() error {
	// The symbols come last: they cost most.
	if f.goTable() != nil || f.dwarfData() != nil || len(f.symbols().funcs) > 0 {
		return nil
	}
	causes := []error{f.goErr, f.dwarfErr, nil}
	if wrong := f.storeErr.Load(); wrong != nil {
		causes[2] = *wrong
	}
	for _, cause := range causes {
		if cause != nil {
			return fmt.Errorf("%s: %w (%v)", f.Name(), ErrNoSymbols, cause)
		}
	}
	return fmt.Errorf("%s: %w (stripped?)", f.Name(), ErrNoSymbols)
}

func (f *File) dwarfData() *dwarf.Data {
	f.dwarfOnce.Do(func() {
		f.dwarf, f.dwarfErr = f.readDWARF()
		f.dwarfRead.Store(true)
	})
	return f.dwarf
}

// HasUnlinkedDWARF reports whether the file is an object file whose debug
// information is not used, because its addresses are not filled in before the
// linker does it, and the relocations of its machine are not known here.
// Context: host.
func (f *File) HasUnlinkedDWARF() bool {
	return f.Type == stdelf.ET_REL && !f.CanRelocate() &&
		f.FirstSection(".debug_info", ".zdebug_info") != nil
}

// debugFile returns the file that has the debug information, this one or its separate debug
// file, or nil.
func (f *File) debugFile() *File {
	if f.FirstSection(".debug_info", ".zdebug_info") == nil {
		return f.companion()
	}
	return f
}

func (f *File) readDWARF() (*dwarf.Data, error) {
	c := f.debugFile()
	if c == nil {
		return nil, nil
	}
	if c != f {
		return c.dwarfData(), c.dwarfErr
	}
	if f.HasUnlinkedDWARF() {
		return nil, errors.New("an object file, its DWARF is not linked yet")
	}
	return dwarf.Open(f.File)
}

// Incomplete returns what the answers so far lack, since debug information is damaged or
// not there, with the file that would help; or nil. It reads nothing. Context: host.
func (f *File) Incomplete() error {
	if wrong := f.storeErr.Load(); wrong != nil {
		return fmt.Errorf("%s: %w", f.Name(), *wrong)
	}
	if wrong := f.argErr.Load(); wrong != nil {
		return *wrong
	}
	if !f.dwarfRead.Load() {
		return nil
	}
	of := f
	if f.FirstSection(".debug_info", ".zdebug_info") == nil && f.split != nil {
		of = f.split
	}
	if f.dwarfErr != nil && !f.HasUnlinkedDWARF() {
		return fmt.Errorf(
			"%s: lines and inlined calls are missing: %w; it helps to have that file as it was built",
			of.Name(), f.dwarfErr)
	}
	if f.dwarf != nil {
		if lost := f.dwarf.Lost(); lost != "" {
			return fmt.Errorf("%s: %s", of.Name(), lost)
		}
	}
	return nil
}
