package main

// A full core: of a machine that zf run has booted, of one behind a QEMU's monitor or a gdb
// stub, or of a dump. It appears under its name when it is whole, and not before.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/postmortem/core"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// fullCore is a full core that is to be made.
type fullCore struct {
	streams
	path, elf string
	sym       *symbol.File
	force     bool
}

// write makes the core and says so.
func (c *fullCore) write(from memory.Source) error {
	began := time.Now()
	line := progressLine{w: c.stderr, began: began}
	o := core.FullOptions{Path: c.elf, Symbols: c.sym, Force: c.force}
	if isTerminal(c.stderr) {
		o.Done = func(n, of uint64) {
			line.often(progressAfter/3, func() string {
				return fmt.Sprintf("reading memory: %d of %d MiB",
					n>>20, of>>20)
			})
		}
	}
	info, size, err := c.file(from, o)
	line.set("")
	if err != nil {
		return c.explain(err)
	}
	what := "of a machine that had not died"
	if info.Reason != "" {
		what = "of its death: " + printable(info.Reason)
	}
	stripped := errors.Is(info.Missing, core.ErrStripped)
	if stripped {
		what = "without the kernel's own account"
	}
	c.say("wrote %s: %d MiB of RAM, %d MiB in the file, %s, %.1f s, %s", c.path, info.RAM>>20,
		(size+1<<20-1)>>20, count(info.Threads, "thread"), time.Since(began).Seconds(), what)
	if info.Missing != nil {
		c.say("note: %v", info.Missing)
	}
	switch {
	case stripped:
		c.say("look at it with: gdb %s %s; Delve needs debug information", c.elf, c.path)
	default:
		c.say("look at it with: zf goroutines %s; zf print, heap, waits, dlv and gdb take it, too",
			askedBy(c.path, c.elf))
		c.sayWaits(info.Reason)
	}
	return nil
}

// file writes the file, beside its place, and puts it there. size is what it takes on the disk.
func (c *fullCore) file(from memory.Source,
	o core.FullOptions) (info core.FullInfo, size uint64, err error) {
	if fi, err := os.Stat(c.path); err == nil && !fi.Mode().IsRegular() {
		return info, 0, fmt.Errorf("%s is no file: a core is written at many places", c.path)
	}
	err = whole.File(c.path, 0o600, func(to *os.File) (err error) { // it may hold secrets
		info, err = core.WriteFull(to, from, o)
		return err
	})
	return info, info.Used, err
}

// explain says what an error means, in one sentence.
func (c *fullCore) explain(err error) error {
	if errors.Is(err, core.ErrBuild) {
		return fmt.Errorf("%w than %s; give the ELF file that it booted", err, c.elf)
	}
	return err
}

// ofVM makes the core of a machine that zf run has booted.
func (c *fullCore) ofVM(vm *qemu.VM) error { return c.ofDump(vm.Memory()) }

// ofDump makes the core of a dump that QEMU writes.
func (c *fullCore) ofDump(r *qemu.MemoryDump, err error) error {
	return withDump(r, err, func(d *memory.Dump) error { return c.write(d) })
}

// quietly makes it without a word.
func (c *fullCore) quietly(r *qemu.MemoryDump, err error) error {
	return withDump(r, err, func(d *memory.Dump) error {
		_, _, err := c.file(d, core.FullOptions{Path: c.elf, Symbols: c.sym, Force: c.force})
		return err
	})
}

// withDump has f read a dump that QEMU writes, unless there is an error already.
func withDump(r *qemu.MemoryDump, err error, f func(*memory.Dump) error) error {
	if err != nil {
		return err
	}
	defer r.Close()
	d, err := memory.OpenDump(r, -1)
	if err != nil {
		return err
	}
	d.Direct(r.Direct)
	return f(d)
}

// ofMonitor makes the core of a machine behind a monitor.
func (c *fullCore) ofMonitor(ctx context.Context, socket string) error {
	m, err := qemu.DialMonitor(ctx, socket)
	if err != nil {
		return err
	}
	defer m.Close()
	return c.ofDump(m.Memory())
}

// ofStub makes the core of a machine behind a gdb stub.
func (c *fullCore) ofStub(ctx context.Context, address string) error {
	s, err := memory.DialStub(ctx, address)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := core.StubBlocks(s, c.elf); err != nil {
		return c.explain(err)
	}
	return c.write(s)
}

// ofFile makes the core of a dump in a file.
func (c *fullCore) ofFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size := int64(-1)
	if fi, err := f.Stat(); err == nil && fi.Mode().IsRegular() {
		size = fi.Size()
	}
	d, err := memory.OpenDump(f, size)
	if err == nil {
		err = c.write(d)
	}
	var of *fs.PathError
	if err != nil && !errors.As(err, &of) && (errors.Is(err, memory.ErrDump) ||
		errors.Is(err, memory.ErrCut) || errors.Is(err, core.ErrNoTables) ||
		errors.Is(err, memory.ErrTables)) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// errNoDeath is what becomes of a core of a machine that was not there any more, or has not died.
var errNoDeath = errors.New(
	"no core: the machine has ended by itself, without a death that left it there")

// keepCore makes the core of a machine that has died, if it is wanted. An image that was built for
// this run alone is kept beside it: without it a core says nothing.
func (m *machine) keepCore(vm *qemu.VM, sym *symbol.File) {
	if m.core == "" {
		return
	}
	elf := m.elfOfCore()
	if m.built {
		if m.cored = copyFile(elf, m.coreELF); m.cored != nil {
			return
		}
	}
	c := &fullCore{streams: m.streams, path: m.core, elf: elf, sym: sym, force: m.force}
	m.cored = c.ofVM(vm)
}

// elfOfCore is the image that the core is of.
func (m *machine) elfOfCore() string {
	if m.built {
		return m.core + ".elf"
	}
	return m.coreELF
}

// besideCore returns the ELF file beside a core whose name is made of the core's, "" if there is
// none.
func besideCore(core string) string {
	for _, path := range []string{core + ".elf", strings.TrimSuffix(core, ".core") + ".elf"} {
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// askedBy is a core as the commands take it.
func askedBy(path, elf string) string {
	if found := besideCore(path); found != "" && samePath(found, elf) {
		return path
	}
	return "-e " + elf + " " + path
}

// copyFile copies a file.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return whole.File(to, 0o666, func(out *os.File) error { _, err := io.Copy(out, in); return err })
}
