//go:build !lean

package main

// `zf handles` shows a snapshot of what a target has open, `zf leaks` compares two, and
// `zf run -handles` keeps them. The kernel sends one when it ends, and when it is asked.

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tools/format/handle"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const handlesText = `Handles shows what a program had open at a time, and from where each of it was
opened: page frames, mappings, file descriptors, threads, timers, waits for a
futex, and kinds of the program's own (package
kernel/observe/handle). What was closed twice has three stacks: that of the
open, of the first close and of the second.

The kernel logs what the option record= names, and nothing without it:

  zf run -append record=fds,maps -handles out prog
  zf handles out
  zf handles -key fd:7 out

record= is a list of pages, maps, fds, threads, timers, futexes, user and all.
record.ring=BYTES is the size of the ring of the latest events (65536),
record.open=N how many things may be open (4096, and all of RAM with pages),
depot=BYTES the room for stacks (262144).

A snapshot leaves when the program exits, when it dies, when it calls
handle.Dump, and with the monitor's command handles. FILE is what zf run
-handles has written, a record of -records, or the log of a serial port with
records in it: then the last one counts. Names come from the file or from -e.`

const leaksText = `Leaks compares two snapshots (zf help handles) and shows the stacks that have
more open in AFTER than in BEFORE, the largest growth first: by bytes, where
there are bytes, and by number. Snapshots of two runs, and of two builds, can be
compared: functions and lines count, not addresses, if there are names.

Heap profiles of Go are taken too (zf run -memprofile, runtime/pprof), two of
them.

  zf run -append record=all -handles out prog
  zf leaks out.1 out.2

Exit status: 0 nothing has grown; 1 something has; 2 wrong usage.`

// snapshotFlags are those of both commands.
type snapshotFlags struct {
	elf    string
	kinds  string
	stacks int
	frames int
}

func (f *snapshotFlags) flags(fs *flag.FlagSet, does, of string) {
	f.stacks, f.frames = 10, 16
	addFlags(fs, []option{
		{&f.elf, "e", "the `ELF` file of the image, for names"},
		{&f.kinds, "kinds", does + " these `KINDS` alone, such as fds,maps"},
		{&f.stacks, "n", "show `N` " + of + "; 0: all"},
		{&f.frames, "frames", "show `N` frames of a stack; 0: all"},
	})
}

// options returns what a report tells.
func (f *snapshotFlags) options() handle.Options {
	o := handle.Options{Stacks: f.stacks, Frames: f.frames}
	o.Dir, _ = os.Getwd() // without it, paths are absolute
	if f.kinds != "" {
		o.Kinds = strings.Split(f.kinds, ",")
	}
	return o
}

// runHandles runs `zf handles`.
func runHandles(c *call) error {
	var f snapshotFlags
	var key string
	var asJSON bool
	f.flags(c.FlagSet, "show", "stacks of a kind, or events of a key")
	if err := c.parse([]option{
		{&key, "key", "show one `KIND:KEY` alone, such as fd:7, and its last events"},
		{&asJSON, "json", "write all of the snapshot as a JSON object"},
	}); err != nil {
		return err
	}
	if c.NArg() != 1 {
		return errors.New("want one FILE; `zf handles -h` says more")
	}
	s, err := openSnapshot(c.Arg(0), f.elf)
	if err != nil {
		return err
	}
	o := f.options()
	var kinds []string
	for _, k := range s.Kinds {
		kinds = append(kinds, k.Name)
	}
	if err := checkKinds(o.Kinds, kinds); err != nil {
		return err
	}
	switch {
	case asJSON:
		return s.JSON(c.stdout)
	case key != "":
		k, err := s.ParseKey(key)
		if err != nil {
			return err
		}
		return s.About(c.stdout, k, f.stacks, o)
	}
	return s.Handles(c.stdout, o)
}

// runLeaks runs `zf leaks`.
func runLeaks(c *call) error {
	var f snapshotFlags
	var byCount, shrunk, asJSON bool
	f.flags(c.FlagSet, "compare", "stacks of a kind")
	if err := c.parse([]option{
		{&byCount, "count", "the largest growth in number first, not in bytes"},
		{&shrunk, "shrunk", "show what has shrunk, too"},
		{&asJSON, "json", "write a JSON object for each stack"},
	}); err != nil {
		return err
	}
	if c.NArg() != 2 {
		return errors.New("want two files, BEFORE and AFTER; `zf leaks -h` says more")
	}
	var uses [2][]handle.Use
	for i := range uses {
		var err error
		if uses[i], err = openUses(c.Arg(i), f.elf); err != nil {
			return err
		}
	}
	o := f.options()
	// though none may be open
	kinds := []string{"page", "map", "fd", "thread", "timer", "futex", "object"}
	for _, u := range slices.Concat(uses[0], uses[1]) {
		if !slices.Contains(kinds, u.Kind) {
			kinds = append(kinds, u.Kind)
		}
	}
	if err := checkKinds(o.Kinds, kinds); err != nil {
		return err
	}
	all := handle.Grown(uses[0], uses[1])
	if byCount {
		handle.ByCount(all)
	}
	var err error
	if asJSON {
		err = handle.LeaksJSON(c.stdout, all, o)
	} else {
		err = handle.Leaks(c.stdout, all, shrunk, o)
	}
	if err != nil {
		return err
	}
	for _, u := range all {
		if u.Grown() && o.Wants(u.Kind) {
			return status(exitTrace)
		}
	}
	return nil
}

// checkKinds returns an error if one of those wanted is not there.
func checkKinds(wanted, there []string) error {
	for _, w := range wanted {
		o := handle.Options{Kinds: []string{w}}
		if !slices.ContainsFunc(there, o.Wants) {
			return fmt.Errorf("-kinds: there is no %q; want of %s", w, strings.Join(there, ", "))
		}
	}
	return nil
}

// openUses reads a snapshot or a heap profile.
func openUses(path, elf string) ([]handle.Use, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if handle.IsHeap(data) {
		uses, err := handle.HeapUses(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return uses, nil
	}
	s, err := openSnapshot(path, elf)
	if err != nil {
		return nil, err
	}
	return s.Uses(), nil
}

// openSnapshot reads a snapshot from a file of its own or from a log. elf is the image for
// names, or "".
func openSnapshot(path, elf string) (*handle.Snapshot, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := handle.Read(data)
	if errors.Is(err, handle.ErrNoSnapshot) {
		if data = lastRecord(data, handle.Kind); data == nil {
			return nil, fmt.Errorf(
				"%s: %w, and no log with one in it; was record= on the kernel command line?", path, err)
		}
		s, err = handle.Read(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if elf == "" {
		return s, nil
	}
	sym, err := openSymbols(elf)
	if err != nil {
		return nil, err
	}
	defer sym.Close()
	if id := sym.BuildID(); id != s.BuildID {
		return nil, fmt.Errorf("%s: it is of build %s, and %s is build %s; -e wants the image that ran",
			path, s.BuildID, elf, id)
	}
	s.Resolve(sym)
	return s, nil
}

// lastRecord returns the data of the last record of a kind in a log, or nil.
func lastRecord(log []byte, kind string) (data []byte) {
	t := eventstream.NewText(nil, eventstream.Options{OnRecord: func(r eventstream.Record) {
		if r.Kind == kind {
			data = r.Data
		}
	}})
	io.Copy(t, bytes.NewReader(log))
	t.Close()
	return data
}

// namedSnapshot returns a snapshot with its names.
func namedSnapshot(sym *symbol.File, data []byte) ([]byte, error) {
	s, err := handle.Read(data)
	if err != nil {
		return nil, err
	}
	s.Resolve(sym)
	return s.WithNames(data)
}

// heapProfile returns a heap profile in pprof's format, nil where the runtime keeps none.
func (k *keptFiles) heapProfile(sym *symbol.File, data []byte) ([]byte, error) {
	h, err := handle.ReadHeap(data)
	if err != nil {
		return nil, err
	}
	if h.Rate == 0 {
		k.n, k.none = 0,
			"the program keeps no heap profile; run a package, or what zf build -memprofile makes"
		return nil, nil
	}
	var b bytes.Buffer
	k.asOf = h.AsOf()
	err = h.Profile(sym, filepath.Base(sym.Name())).Write(&b)
	return b.Bytes(), err
}
