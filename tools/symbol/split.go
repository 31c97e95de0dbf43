// Debug information may lie in a file of its own, which the stripped one names by
// its build ID or by name and checksum (.gnu_debuglink). It is looked for where gdb
// and elfutils do.
//
// Source: GDB manual, "Debugging Information in Separate Files".

package symbol

import (
	"debug/elf"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// debugDir is where systems keep debug files. Tests have a system of their own.
var debugDir = "/usr/lib/debug"

// companion returns the file with this one's debug information, or nil.
func (f *File) companion() *File {
	f.splitOnce.Do(func() {
		if f.split = f.findCompanion(); f.split != nil {
			// What it says of itself it would have to look for no further.
			f.split.splitOnce.Do(func() {})
		}
	})
	return f.split
}

func (f *File) findCompanion() *File {
	if f.closer == nil {
		return nil // not a file on this machine
	}
	id := f.BuildID()
	if len(id) > 2 {
		path := filepath.Join(debugDir, ".build-id", id[:2], id[2:]+".debug")
		if c := f.openCompanion(path); c != nil {
			if c.BuildID() == id {
				return c
			}
			c.Close()
		}
	}
	s := f.section(".gnu_debuglink")
	if s == nil {
		return nil
	}
	b, err := f.data(s)
	if err != nil {
		return nil
	}
	link := string(cstring(b, 0))
	at := alignUp(uint64(len(link))+1, 4)
	if link == "" || link != filepath.Base(link) || at+4 > uint64(len(b)) {
		return nil
	}
	want := f.order.Uint32(b[at:])
	real, err := filepath.EvalSymlinks(f.name)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil
	}
	dir := filepath.Dir(real)
	for _, path := range []string{filepath.Join(dir, link), filepath.Join(dir, ".debug", link), filepath.Join(debugDir, dir, link)} {
		c := f.openCompanion(path)
		if c == nil {
			continue
		}
		// The build ID says the same as the checksum and costs nothing.
		if other := c.BuildID(); id != "" && other != "" && other == id || (id == "" || other == "") && checksum(path) == want {
			return c
		}
		c.Close()
	}
	return nil
}

// openCompanion opens a file that may be f's companion.
func (f *File) openCompanion(path string) *File {
	if a, err := os.Stat(path); err != nil {
		return nil
	} else if b, err := os.Stat(f.name); err == nil && os.SameFile(a, b) {
		return nil
	}
	c, err := Open(path)
	if err != nil {
		return nil
	}
	if c.machine != f.machine || c.class != f.class || c.section(".debug_info", ".zdebug_info") == nil && !c.hasSection(elf.SHT_SYMTAB) {
		c.Close()
		return nil
	}
	return c
}

func (f *File) hasSection(typ elf.SectionType) bool {
	for i := range f.sections {
		if f.sections[i].typ == typ {
			return true
		}
	}
	return false
}

// checksum returns the CRC-32 of a file, as .gnu_debuglink has it.
func checksum(path string) uint32 {
	fd, _, err := openRegular(path)
	if err != nil {
		return 0
	}
	defer fd.Close()
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, fd); err != nil {
		return 0
	}
	return sum.Sum32()
}
