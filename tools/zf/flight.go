package main

// What `zf run` and `zf test` keep of a program beside its text: a profile of the CPU and
// of the heap, what it has open, counts of its functions' calls.

import (
	"cmp"
	"flag"
	"os"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/probe"
	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// flight is what the command line says of it, and what comes of it.
type flight struct {
	cpu    cpuProfile
	probes probes
	kept   keptFiles
	heap   keptFiles
	watch  watches
}

// flags adds the flags.
func (f *flight) flags(fs *flag.FlagSet) {
	f.kept = keptFiles{one: "a snapshot", many: "snapshots", show: "zf handles",
		none: "no snapshot has come; -append record=all has the kernel log"}
	f.heap = keptFiles{one: "the heap profile", many: "heap profiles", show: "go tool pprof -top",
		none: "no heap profile has come"}
	f.cpu.flags(fs)
	f.probes.flags(fs)
	f.watch.flags(fs)
	addFlags(fs, []option{
		{&f.heap.path, "memprofile",
			"write the heap profile, as of the program's end or death, to `FILE`, for\ngo tool pprof and zf leaks; those before it are FILE.1 and so on"},
		{&f.kept.path, "handles",
			"keep what the program has open, and who opened it, in `FILE`, for\nzf handles: each snapshot in FILE.1 and so on, the latest in FILE.\nThe kernel logs all (option record=all, unless -append has another)"},
	})
}

// wrong returns what is wrong with the flags, if anything is.
func (f *flight) wrong() error {
	if err := cmp.Or(f.cpu.wrong(), f.probes.wrong()); err != nil {
		return err
	}
	// Nobody wants to learn at the end of a long run that it was for nothing.
	return whole.Try(f.cpu.path, f.heap.path, f.kept.path, f.probes.json)
}

func isFolder(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// any reports whether anything is asked for.
func (f *flight) any() bool {
	return f.cpu.path != "" || f.kept.path != "" || f.heap.path != "" || len(f.probes.patterns) > 0 ||
		len(f.watch.places) > 0
}

// wantsDebugger reports whether a run needs the debugger's half before it ends.
func (f *flight) wantsDebugger(m *machine) bool {
	return m.core != "" || f.cpu.path != "" || f.heap.path != "" || f.kept.path != "" ||
		len(f.watch.places) > 0 || strings.Contains(m.append, "watch=")
}

// choose decides what is probed and adds that to the archive for the guest.
func (f *flight) choose(sym *symbol.File, a *initrd.Archive) error {
	if len(f.probes.patterns) == 0 {
		return nil
	}
	return f.probes.choose(sym, a)
}

// arm tells the kernel of m what to record, and takes its records; s is for messages.
func (f *flight) arm(m *machine, sym *symbol.File, s *streams) {
	f.armProfiles(m, sym, s)
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
func (f *flight) end(s *streams, code int) int {
	all := len(f.probes.patterns) == 0 || f.probes.end(s)
	all = f.cpu.end(s) && all
	all = f.kept.end(s) && all
	all = f.heap.end(s) && all
	if !all && code == exitOK {
		return exitUsage
	}
	return code
}
