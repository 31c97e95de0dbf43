//go:build !lean

package main

// `zf run -cpuprofile`, and `zf profile`, which shows what it wrote.

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/format/handle"
	"github.com/zeroframe/zeroframe/tools/format/profile"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const profileText = `Profile shows a CPU profile in pprof's format, such as zf run -cpuprofile
writes, or any other that names its functions: runtime/pprof's, a heap profile.
Without flags it prints the functions in which the most time was spent.

  zf run -cpuprofile cpu.pprof hello.go
  zf profile cpu.pprof
  zf profile -svg flame.svg cpu.pprof
  zf profile -folded - cpu.pprof | flamegraph.pl > other.svg
  go tool pprof -http=: cpu.pprof

The flame graph is one file for any browser: click to zoom, "/" to search. Its
width is time; the outermost functions are at the bottom.

A profile of zf run counts running time. "[kernel] write" stands for a system
call, seen when it has ended. "f (inferred)" is a function that is not on the
stack since it has ended in a tail call; the code proves it.

With -e, FILE is a profile as the target has sent it: what zf run -records
keeps, or zf symbolize; -o then writes it in pprof's format.`

// runProfile runs `zf profile`.
func runProfile(c *call) error {
	var elf, output, folded, svg, title string
	var top int
	if err := c.parse([]option{
		{&elf, "e", "the profile is as the target sent it, of this `ELF`"},
		{&output, "o", "write it to `FILE` in pprof's format; - is standard output"},
		{&folded, "folded", "write a line for each stack, with its count, to `FILE`"},
		{&svg, "svg", "write a flame graph to `FILE`"},
		{&title, "title", "`TEXT` above the flame graph (default: the program's name)"},
		{&top, "top", "print so many functions (default 20 without -o, -folded and -svg)"},
	}); err != nil {
		return err
	}
	if c.NArg() != 1 {
		return fmt.Errorf("want one profile, got %d; `zf profile -h` says more", c.NArg())
	}
	if top < 0 {
		return fmt.Errorf("-top %d is negative", top)
	}
	data, err := readProfile(c.Arg(0), c.stdin)
	if err != nil {
		return err
	}
	var p *pprof.Profile
	if elf != "" {
		if p, err = resolveProfile(data, elf, &c.streams); err != nil {
			return err
		}
	} else if p, err = pprof.ParseData(data); err != nil {
		return fmt.Errorf("%s is no profile in pprof's format: %w; what a target has sent needs -e ELF",
			c.Arg(0), err)
	}
	if title == "" {
		title = "profile"
		if len(p.Mapping) > 0 && p.Mapping[0].File != "" {
			title = filepath.Base(p.Mapping[0].File)
		}
	}
	if top == 0 && output == "" && folded == "" && svg == "" {
		top = 20
	}
	for _, out := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{output, p.Write},
		{folded, func(w io.Writer) error { return profile.Folded(w, p) }},
		{svg, func(w io.Writer) error { return profile.SVG(w, p, title) }},
	} {
		if out.path != "" {
			if err := writeTo(out.path, c.stdout, out.write); err != nil {
				return err
			}
		}
	}
	if top > 0 {
		return profile.Top(c.stdout, p, top)
	}
	return nil
}

// readProfile reads a file, or standard input for "-".
func readProfile(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

// resolveProfile turns what the target has sent into pprof's format.
func resolveProfile(data []byte, elf string, s *streams) (*pprof.Profile, error) {
	sym, err := symbol.Open(elf)
	if err != nil {
		return nil, err
	}
	defer sym.Close()
	r, err := profile.Read(data)
	if err != nil {
		return nil, err
	}
	for _, note := range profileNotes(r) {
		s.say("%s", note)
	}
	return r.Pprof(sym)
}

// profileNotes says what is wrong with a profile that can be used.
func profileNotes(r *profile.Record) (notes []string) {
	if r.Lost > 0 {
		notes = append(notes,
			fmt.Sprintf(
				"%d of %d ticks were lost, no room for their stacks: give the kernel a larger depot=BYTES (it was %d)",
				r.Lost, r.Ticks, r.Stacks.Size))
	}
	if r.Stalled > r.Ticks/100 {
		notes = append(notes, r.StalledNote())
	}
	return notes
}

// take takes the profile out of the machine's record.
func (c *cpuProfile) take(data []byte, sym *symbol.File, s *streams) error {
	rec, err := profile.Read(data)
	if err != nil {
		return err
	}
	p, err := rec.Pprof(sym)
	if err != nil {
		return err
	}
	if err := writeTo(c.path, io.Discard, p.Write); err != nil {
		c.failed = true
		return err
	}
	c.came = true
	s.say("%d samples in %s, %.2g %% of the running time spent on them; zf profile %s",
		rec.Samples, c.path, 100*rec.Overhead(), strings.TrimPrefix(c.path, "./"))
	for _, note := range profileNotes(rec) {
		s.say("-cpuprofile: %s", note)
	}
	return nil
}

// armProfiles is arm for profiles and snapshots.
func (f *flight) armProfiles(m *machine, sym *symbol.File, s *streams) {
	if o := f.cpu.option(); o != "" {
		m.options = append(m.options, o)
		m.records.take(profile.Kind, func(data []byte) error { return f.cpu.take(data, sym, s) })
	}
	if f.heap.path != "" {
		m.options = append(m.options, "memprofile=on")
		f.heap.take(m, handle.HeapKind, func(data []byte) ([]byte, error) {
			return f.heap.heapProfile(sym, data)
		})
	}
	if f.kept.path != "" {
		if _, ok := lastOption(m.append, "record"); !ok {
			m.options = append(m.options, "record=all")
		}
		f.kept.take(m, handle.Kind, func(data []byte) ([]byte, error) { return namedSnapshot(sym, data) })
	}
}
