package image

// The limits of the kernel's stacks are the bounds that package stacks proves from the
// code of the very file that is built. They go into a table of the kernel's, found by
// its symbol: kernel/stack/limits.go documents it.

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/stacks"
)

// StackTableName is the name of the kernel's table, behind the path of its package.
const StackTableName = "/stack.stackBounds"

const (
	stackTableMagic = 0x6b6361747367667a
	stackTableHead  = 2 // words before the first row
)

// provable is a stack whose bound depends on nothing but the kernel's own code. If it has none,
// the compiler has made other code of that than the kernel relies on.
const provable = "df"

// ErrKernelFlags is returned for an image whose kernel was compiled with flags that its code
// cannot be compiled with (flags.go).
var ErrKernelFlags = errors.New(
	"the kernel in the image was compiled with flags that it cannot run with")

// errKernelFlags is that error with the flags that the file says it was built with; nil for an
// image that asserts the kernel lock, in a function that is called through a variable.
func errKernelFlags(file []byte) error {
	flags := "such as -gcflags='all=-N -l' or all=-d=checkptr"
	if info, err := buildinfo.Read(bytes.NewReader(file)); err == nil {
		for _, s := range info.Settings {
			if s.Key == "-tags" && slices.Contains(strings.Split(s.Value, ","), "lockcheck") {
				return nil
			}
			if s.Key == "-gcflags" && !strings.Contains(s.Value, marker) {
				flags = "-gcflags='" + s.Value + "'"
			}
		}
	}
	return fmt.Errorf(
		"%w: %s; build it with `zf build`, which keeps such flags from the kernel's packages",
		ErrKernelFlags, flags)
}

// CheckKernelFlags returns an error that wraps [ErrKernelFlags] if the kernel in an image, perhaps
// one that another program than zf build has made, was compiled with flags that it cannot run
// with. Of an image without symbols that cannot be told. Context: host.
func CheckKernelFlags(path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := FillStackTable(file, KernelPackage+StackTableName); errors.Is(err, ErrKernelFlags) {
		return err
	}
	return nil
}

// ErrStackTable is returned when the kernel's table of stacks is not the one that this
// zf knows.
var ErrStackTable = errors.New(
	"the kernel's table of stacks is not the one that this zf fills; use the zf of the same Zeroframe version")

// FillStackTable fills the kernel's table of the bounds of its stacks in file, an image
// or what the linker wrote for one. symbol is the table's name: the path of package
// kernel and [StackTableName]. A file without it, or without symbols, is left as it is:
// the kernel then has limits that are less tight. An error wraps [ErrStackTable],
// [ErrKernelFlags] or [ErrNotELF].
func FillStackTable(file []byte, name string) error {
	_, _, table, err := tableIn(file, name)
	switch {
	case errors.Is(err, errNotInFile):
		return fmt.Errorf("%w (%w)", ErrStackTable, err)
	case errors.Is(err, elf.ErrNoSymbols) || err == nil && table == nil:
		return nil
	case err != nil:
		return err
	}
	names, _ := stacks.KernelStacks()
	word := binary.LittleEndian.Uint64
	if len(table) != 8*(stackTableHead+len(names)) || word(table) != stackTableMagic ||
		word(table[8:]) != uint64(len(names)) {
		return fmt.Errorf("%w (%d bytes)", ErrStackTable, len(table))
	}
	if word(table[8*(stackTableHead+slices.Index(names, provable)):]) != 0 { // filled already
		return nil
	}
	sym, err := symbol.NewFile(bytes.NewReader(file), int64(len(file)), "the image")
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNotELF, err)
	}
	p, err := stacks.New(sym, stacks.KernelNotes())
	if err != nil {
		return fmt.Errorf("%w: %v", ErrStackTable, err)
	}
	if why := p.Stacks()[slices.Index(names, provable)].Bound; why.Bytes == 0 {
		if err := errKernelFlags(file); err != nil {
			return err
		}
	}
	for i, s := range p.Stacks() {
		binary.LittleEndian.PutUint64(table[8*(stackTableHead+i):], s.Bound.Bytes)
	}
	return nil
}
