package main

// What `zf run` and `zf test` keep of a program beside its text: a profile of the CPU and
// of the heap, what it has open, counts of its functions' calls.

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/handle"
	"github.com/zeroframe/zeroframe/tools/initrd"
	"github.com/zeroframe/zeroframe/tools/probe"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// flight is what the command line says of it, and what comes of it.
type flight struct {
	cpu    cpuProfile
	probes probes
	kept   keptSnapshots
	heap   keptHeap
	watch  watches
}

// flags adds the flags.
func (f *flight) flags(fs *flag.FlagSet) {
	f.cpu.flags(fs)
	f.probes.flags(fs)
	f.watch.flags(fs)
	fs.StringVar(&f.heap.path, "memprofile", "", "write the heap profile, as of the program's end or death, to `FILE`, for\ngo tool pprof and zf leaks; those before it are FILE.1 and so on")
	fs.StringVar(&f.kept.path, "handles", "", "keep what the program has open, and who opened it, in `FILE`, for\nzf handles: each snapshot in FILE.1 and so on, the latest in FILE.\nThe kernel logs all (option record=all, unless -append has another)")
}

// wrong says what is wrong with the flags, or "".
func (f *flight) wrong() string {
	if w := f.cpu.wrong(); w != "" {
		return w
	}
	// Nobody wants to learn at the end of a long run that it was for nothing.
	for _, path := range []string{f.cpu.path, f.heap.path, f.kept.path} {
		if dir := filepath.Dir(path); path != "" && !isFolder(dir) {
			return fmt.Sprintf("%s: there is no folder %s; make it first", path, dir)
		}
	}
	return f.probes.wrong()
}

func isFolder(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// any reports whether anything is asked for.
func (f *flight) any() bool {
	return f.cpu.path != "" || f.kept.path != "" || f.heap.path != "" || len(f.probes.patterns) > 0 || len(f.watch.places) > 0
}

// choose decides what is probed and adds that to the archive for the guest.
func (f *flight) choose(sym *symbol.File, a *initrd.Archive) error {
	if len(f.probes.patterns) == 0 {
		return nil
	}
	return f.probes.choose(sym, a)
}

// arm tells the kernel of m what to record, and takes its records.
func (f *flight) arm(m *machine, sym *symbol.File, stderr io.Writer) {
	if o := f.cpu.option(); o != "" {
		m.options = append(m.options, o)
	}
	f.cpu.take(m.records, sym, m.command, stderr)
	if f.heap.path != "" {
		m.options = append(m.options, "memprofile=on")
		m.records.take(handle.HeapKind, func(data []byte) error { return f.heap.keep(sym, data) })
	}
	if f.kept.path != "" {
		if _, ok := lastOption(m.append, "record"); !ok {
			m.options = append(m.options, "record=all")
		}
		m.records.take(handle.Kind, func(data []byte) error { return f.kept.keep(sym, data) })
	}
	if len(f.probes.patterns) > 0 {
		m.oneCPU = true
		if _, ok := lastOption(m.append, "depot"); f.probes.stacks && !ok {
			m.options = append(m.options, probeDepot)
		}
		m.records.take(probe.Kind, func(data []byte) error { return f.probes.take(data, sym) })
	}
}

// end says what has come. It returns the command's exit status: code, or another where all
// went well but what was asked for is not there.
func (f *flight) end(m *machine, code int, stdout, stderr io.Writer) int {
	all := true
	if len(f.probes.patterns) > 0 {
		all = f.probes.end(m.command, stdout, stderr)
	}
	all = f.cpu.end(m.command, stderr) && all
	all = f.kept.end(m.command, stderr) && all
	all = f.heap.end(m.command, stderr) && all
	if !all && code == exitOK {
		return exitUsage
	}
	return code
}
