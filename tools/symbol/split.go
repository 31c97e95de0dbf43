// Debug information may lie in a file of its own, which the stripped one names by
// its build ID or by name and checksum (.gnu_debuglink). It is looked for where gdb
// and elfutils do.
//
// Source: GDB manual, "Debugging Information in Separate Files".

package symbol

import (
	stdelf "debug/elf"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// companion returns the file with this one's debug information, or nil.
func (f *File) companion() *File {
	f.splitOnce.Do(func() {
		for _, find := range []func() *File{f.findCompanion, f.storedCompanion, f.miniCompanion} {
			if f.split = find(); f.split != nil {
				break
			}
		}
		if f.split != nil {
			f.split.Elsewhere, f.split.DebugDir = f.Elsewhere, f.DebugDir
			// What it says of itself it would have to look for no further.
			f.split.splitOnce.Do(func() {})
		}
	})
	return f.split
}

func (f *File) findCompanion() *File {
	if !f.OnDisk() {
		return nil // not a file on this machine
	}
	id := f.BuildID()
	if len(id) > 2 {
		path := filepath.Join(f.DebugFolder(), ".build-id", id[:2], id[2:]+".debug")
		if c := f.openCompanion(path); c != nil {
			if c.BuildID() == id {
				return c
			}
			c.Close()
		}
	}
	s := f.FirstSection(".gnu_debuglink")
	if s == nil {
		return nil
	}
	b, err := f.Data(s)
	if err != nil {
		return nil
	}
	link := string(elf.CString(b, 0))
	at := (uint64(len(link)) + 4) &^ 3
	if link == "" || link != filepath.Base(link) || at+4 > uint64(len(b)) {
		return nil
	}
	want := f.Order.Uint32(b[at:])
	real, err := filepath.EvalSymlinks(f.Name())
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil
	}
	dir := filepath.Dir(real)
	for _, path := range []string{filepath.Join(dir, link), filepath.Join(dir, ".debug", link),
		filepath.Join(f.DebugFolder(), dir, link)} {
		c := f.openCompanion(path)
		if c == nil {
			continue
		}
		// The build ID says the same as the checksum and costs nothing.
		if other := c.BuildID(); id != "" && other != "" && other == id || (id == "" || other == "") &&
			checksum(path) == want {
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
	} else if b, err := os.Stat(f.Name()); err == nil && os.SameFile(a, b) {
		return nil
	}
	c, err := Open(path)
	if err != nil {
		return nil
	}
	if c.Machine != f.Machine || c.Class != f.Class ||
		c.FirstSection(".debug_info", ".zdebug_info") == nil && !c.HasSection(stdelf.SHT_SYMTAB) {
		c.Close()
		return nil
	}
	c.ShareDescriptors(f.File)
	return c
}

// checksum returns the CRC-32 of a file, as .gnu_debuglink has it.
func checksum(path string) uint32 {
	fd, _, err := elf.OpenRegular(path)
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
