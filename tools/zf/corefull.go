package main

// A full core: of a machine that zf run has booted, of one behind a QEMU's monitor or a gdb
// stub, or of a dump. It appears under its name when it is whole, and not before.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/core"
	"github.com/zeroframe/zeroframe/tools/memory"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// zstdSuffix is the end of the name of a core that is to be compressed.
const zstdSuffix = ".zst"

// fullCore is a full core that is to be made.
type fullCore struct {
	streams
	path, elf   string
	sym         *symbol.File
	force, zstd bool
}

// memoryProgress returns what says on a terminal how much of the memory is copied.
func memoryProgress(line *progressLine) func(n, of uint64) {
	began, last := time.Now(), time.Time{}
	return func(n, of uint64) {
		now := time.Now()
		if now.Sub(began) < progressAfter || now.Sub(last) < progressAfter/3 || of == 0 {
			return
		}
		const width = 40
		bar := int(min(n, of) * width / of)
		last = now
		line.set(fmt.Sprintf("reading memory [%s%s] %d of %d MiB", strings.Repeat("=", bar), strings.Repeat(" ", width-bar), n>>20, of>>20))
	}
}

// write makes the core and says so.
func (c *fullCore) write(from memory.Source) error {
	began, line := time.Now(), progressLine{w: c.stderr}
	o := core.FullOptions{Path: c.elf, Symbols: c.sym, Force: c.force}
	if isTerminal(c.stderr) {
		o.Done = memoryProgress(&line)
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
	case c.zstd:
		c.say("look at it with: zstd -d %s, then dlv core %s %s", c.path, c.elf, strings.TrimSuffix(c.path, zstdSuffix))
	default:
		c.say("look at it with: dlv core %s %s, or gdb %[1]s %[2]s", c.elf, c.path)
		c.sayWaits(info.Reason)
	}
	return nil
}

// file writes the file, beside its place, and puts it there. size is what it takes on the disk.
func (c *fullCore) file(from memory.Source, o core.FullOptions) (info core.FullInfo, size uint64, err error) {
	if fi, err := os.Stat(c.path); err == nil && !fi.Mode().IsRegular() {
		return info, 0, fmt.Errorf("%s is no file: a core is written at many places", c.path)
	}
	write := func(to *os.File) (err error) {
		info, err = core.WriteFull(to, from, o)
		size = info.Used
		return err
	}
	packed := func(to *os.File) error {
		plain, err := os.CreateTemp(filepath.Dir(c.path), "."+filepath.Base(c.path)+".*")
		if err != nil {
			return err
		}
		defer os.Remove(plain.Name())
		defer plain.Close()
		if err = write(plain); err == nil {
			size, err = compress(to, plain)
		}
		return err
	}
	if c.zstd {
		err = replaceFile(c.path, 0o600, packed) // it may hold secrets
	} else {
		err = replaceFile(c.path, 0o600, write)
	}
	return info, size, err
}

// compress writes what is in a file, compressed, to another one.
func compress(to, from *os.File) (size uint64, err error) {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	// Each piece is a frame of its own, which the format allows: that takes little memory,
	// and pieces of zeros, most of the file, are all the same frame.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	defer z.Close()
	piece, zero := make([]byte, 1<<20), make([]byte, 1<<20)
	zeros := z.EncodeAll(zero, nil)
	var frame []byte
	for {
		n, err := io.ReadFull(from, piece)
		if err == io.EOF {
			break
		}
		if err != nil && err != io.ErrUnexpectedEOF {
			return 0, err
		}
		out := zeros
		if !bytes.Equal(piece[:n], zero) {
			frame = z.EncodeAll(piece[:n], frame[:0])
			out = frame
		}
		if _, err := to.Write(out); err != nil {
			return 0, err
		}
	}
	fi, err := to.Stat()
	if err != nil {
		return 0, err
	}
	return uint64(fi.Size()), nil
}

// explain says what an error means, in one sentence.
func (c *fullCore) explain(err error) error {
	if errors.Is(err, core.ErrBuild) {
		return fmt.Errorf("%w than %s; give the ELF file that it booted", err, c.elf)
	}
	return fullDisk(c.path, err)
}

// fullDisk says what it means if a file could not be written for want of room.
func fullDisk(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%s: no space left on the disk; give -o FILE on another one", path)
	case errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("%s: the file system takes no file of that size; give -o FILE on another one", path)
	}
	return err
}

// ofVM makes the core of a machine that zf run has booted.
func (c *fullCore) ofVM(vm *qemu.VM) error { return c.ofDump(vm.Memory()) }

// ofDump makes the core of a dump that QEMU writes.
func (c *fullCore) ofDump(r *qemu.MemoryDump, err error) error {
	return withDump(r, err, func(d *memory.Dump) error { return c.write(d) })
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
	if err != nil && !errors.As(err, &of) && (errors.Is(err, memory.ErrDump) || errors.Is(err, memory.ErrCut) || errors.Is(err, core.ErrNoTables) || errors.Is(err, memory.ErrTables)) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// errNoDeath is what becomes of a core of a machine that was not there any more, or has not died.
var errNoDeath = errors.New("no core: the machine has ended by itself, without a death that left it there")

// keepCore has the core of a machine made when that dies. An image that was built for this run
// alone is kept beside it: without it a core says nothing.
func (m *machine) keepCore(sym *symbol.File) {
	m.cored = errNoDeath
	m.qemu.Died = func(vm *qemu.VM) {
		elf := m.coreELF
		if m.built {
			elf = m.core + ".elf"
			if m.cored = copyFile(elf, m.coreELF); m.cored != nil {
				return
			}
		}
		c := &fullCore{streams: m.streams, path: m.core, elf: elf, sym: sym, force: m.force, zstd: filepath.Ext(m.core) == zstdSuffix}
		m.cored = c.ofVM(vm)
	}
}

// copyFile copies a file.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return replaceFile(to, 0o666, func(out *os.File) error { _, err := io.Copy(out, in); return err })
}
