package main

// `zf addr` takes addr2line's place: the same flags and the same form of output,
// so that scripts and editors need not know which one they run. What it says of C
// is addr2line's answer byte for byte. Go code it resolves with Go's own tables,
// as the runtime does: there a line, or the calls that are inlined at an address,
// can differ from what DWARF says, while the function that holds the address has
// the symbol table's name. It also differs where addr2line guesses: an argument
// that is no address, and a file that has nothing to resolve with, are errors
// here and not "??:0", and in padding between functions, which addr2line counts to
// the one before it: here it belongs to none, as in LLVM's tools. An address of data
// has no function: -f prints the variable with the offset in it (jiffies+0x4), where
// addr2line prints ??; no function's name has an offset, so that the two are told apart.
// What is asked first, the index, Go's tables or DWARF, says tools/symbol/sources.go.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ianlancetaylor/demangle"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

func runAddr(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fail := failing("zf addr", stderr)
	opt, addrs, err := parseAddrArgs(args)
	if err != nil {
		return fail("%v; `zf addr -h` lists the flags", err)
	}
	switch {
	case opt.help:
		_, err = io.WriteString(stdout, addrUsage)
		return written(err, stderr)
	case opt.version:
		// addr2line's version too is the last word of such a line.
		_, err = fmt.Fprintf(stdout, "zf addr (Zeroframe) %s\n", moduleVersion())
		return written(err, stderr)
	}
	if err := opt.view.prepare(isTerminal(stdout)); err != nil {
		return fail("%v", err)
	}
	// The heap is small beside what is read: to collect it often is not worth while.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	indexes, err := newIndexing(opt.index, "zf addr", stderr)
	if err != nil {
		return fail("%v", err)
	}
	if err := indexes.askServers(context.Background(), opt.debuginfod); err != nil {
		return fail("%v", err)
	}
	f, err := opt.open(indexes, stderr)
	if err != nil {
		return fail("%v", err)
	}
	defer f.Close()
	defer indexes.finish()
	// All are checked first, so that nothing is printed if one is wrong.
	pcs := make([]uint64, len(addrs))
	for i, s := range addrs {
		n, rest := scan(f, s)
		if rest == s || rest != "" {
			return fail("%q is not a hexadecimal address; want one such as 27f5a0 or 0x27f5a0", s)
		}
		pcs[i] = n
	}
	var base uint64
	if opt.section != "" {
		var ok bool
		if base, ok = f.SectionStart(opt.section); !ok {
			list := "; `readelf -S` lists them"
			if opt.mapFile != "" {
				list = ", as far as it says"
			}
			return fail("%s has no section %s%s", f.Name(), opt.section, list)
		}
	}
	out := bufio.NewWriterSize(stdout, 64<<10)
	if len(pcs) == 0 {
		return opt.answer(out, f, base, stdin, stderr)
	}
	for i := range pcs {
		pcs[i] += base
	}
	opt.printAll(out, f, pcs)
	return written(out.Flush(), stderr)
}

// addrSymbols is what addresses are looked up in: a *symbol.File or a *symbol.Map.
type addrSymbols interface {
	io.Closer
	Name() string
	AddressSize() int
	Lookup(addr uint64, ret bool) []lookup.Call
	Preceding(addr uint64) (lookup.Call, bool)
	IsText(addr uint64) bool
	SectionStart(name string) (uint64, bool)
}

// open opens the ELF file or the map.
func (opt *addrOptions) open(indexes *indexing, stderr io.Writer) (addrSymbols, error) {
	if opt.mapFile != "" {
		return openMap(opt.mapFile, opt.base, stderr)
	}
	f, err := indexes.open(opt.exe)
	if err != nil {
		return nil, fmt.Errorf("%w; -e names the ELF file to resolve with", err)
	}
	if err := f.CanResolve(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w; -e must name the file as it was linked, before it was stripped", err)
	}
	if f.HasUnlinkedDWARF() {
		fmt.Fprintf(stderr, "zf addr: note: %s is an object file, whose DWARF is not read before it is linked; names come from the symbol table, without lines\n", opt.exe)
	}
	return f, nil
}

// scan reads the address that s begins with, as scanAddress does. With a map that has
// segments, SEGMENT:OFFSET is one too.
func scan(f addrSymbols, s string) (n uint64, rest string) {
	n, rest = scanAddress(s)
	m, ok := f.(*symbol.Map)
	if !ok || len(rest) < 2 || rest[0] != ':' || hexDigit(rest[1]) < 0 {
		return n, rest
	}
	off, after := scanAddress(rest[1:])
	if addr, ok := m.Logical(n, off); ok {
		return addr, after
	}
	return n, rest
}

// written returns the exit status after err came of writing the answers: a script
// must not take a part of them for all.
func written(err error, stderr io.Writer) int {
	if err != nil {
		return failing("zf addr", stderr)("standard output: %v", err)
	}
	return exitOK
}

// moduleVersion returns the version zf was built from, "(devel)" if not known.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// answer answers each line of stdin. A line gets an answer whatever is in it, or
// a script that reads the answers would lose count.
func (opt *addrOptions) answer(out *bufio.Writer, f addrSymbols, base uint64, stdin io.Reader, stderr io.Writer) int {
	done := make(chan struct{})
	defer close(done)
	in := readLines(stdin, done)
	for {
		lines, err := in.next()
		pcs := make([]uint64, len(lines))
		for i, text := range lines {
			pc, rest := scan(f, text)
			if rest == text {
				fmt.Fprintf(stderr, "zf addr: %.40q is not a hexadecimal address\n", text)
			}
			pcs[i] = base + pc
		}
		opt.printAll(out, f, pcs)
		if err := out.Flush(); err != nil {
			return written(err, stderr)
		}
		switch {
		case errors.Is(err, io.EOF):
			return exitOK
		case err != nil:
			return failing("zf addr", stderr)("standard input: %v", err)
		}
	}
}

// printAll prints what is known of all of pcs. Those that come together are looked
// up together.
func (opt *addrOptions) printAll(out *bufio.Writer, f addrSymbols, pcs []uint64) {
	file, ok := f.(*symbol.File)
	if !ok {
		for _, pc := range pcs {
			opt.print(out, f, pc, f.Lookup(pc, false))
		}
		return
	}
	for some := range slices.Chunk(pcs, 1<<17) {
		answers := file.LookupAll(some, false)
		if opt.functions {
			file.FullNamesAll(some, answers)
		}
		opt.printAnswers(out, f, some, answers)
	}
}

// printAnswers prints many answers; the processors share the work.
func (opt *addrOptions) printAnswers(out *bufio.Writer, f addrSymbols, pcs []uint64, answers [][]lookup.Call) {
	const block = 4096
	blocks := (len(pcs) + block - 1) / block
	done := make([]chan []byte, blocks)
	for i := range done {
		done[i] = make(chan []byte, 1)
	}
	var next atomic.Int32
	work := func() {
		for {
			n := int(next.Add(1)) - 1
			if n >= blocks {
				return
			}
			var text bytes.Buffer
			for i := n * block; i < min((n+1)*block, len(pcs)); i++ {
				opt.print(&text, f, pcs[i], answers[i])
			}
			done[n] <- text.Bytes()
		}
	}
	if blocks == 1 {
		work()
	} else {
		for range min(blocks, runtime.GOMAXPROCS(0)) {
			go work()
		}
	}
	for _, d := range done {
		out.Write(<-d)
	}
}

// textWriter is a *bufio.Writer or a *bytes.Buffer.
type textWriter interface {
	WriteString(s string) (int, error)
	WriteByte(b byte) error
}

// print prints what is known of pc. The forms are those of translate_addresses
// in binutils/addr2line.c.
func (opt *addrOptions) print(w textWriter, f addrSymbols, pc uint64, frames []lookup.Call) {
	if opt.addresses {
		w.WriteString("0x")
		for shift := 8 * f.AddressSize(); shift > 0; {
			shift -= 4
			w.WriteByte("0123456789abcdef"[pc>>shift&15])
		}
		if opt.pretty {
			w.WriteString(": ")
		} else {
			w.WriteByte('\n')
		}
	}
	if len(frames) == 0 {
		switch {
		case opt.functions && opt.pretty:
			w.WriteString(dataName(f, pc, "?? ", " at "))
		case opt.functions:
			w.WriteString(dataName(f, pc, "??\n", "\n"))
		}
		w.WriteString("??:0\n")
		return
	}
	for i := range frames {
		fr := &frames[i]
		if i > 0 && !opt.inlines {
			break
		}
		if i > 0 && opt.pretty {
			w.WriteString(" (inlined by) ")
		}
		if opt.functions {
			w.WriteString(opt.function(fr))
			if opt.pretty {
				w.WriteString(" at ")
			} else {
				w.WriteByte('\n')
			}
		}
		opt.position(w, fr, frames[0].Discriminator)
		w.WriteByte('\n')
		opt.view.source(w, fr)
	}
}

// dataName returns the variable at pc with the offset in it, which no function has, and the
// words behind it; or those for none.
func dataName(f addrSymbols, pc uint64, none, behind string) string {
	if file, ok := f.(*symbol.File); ok {
		if name, offset, ok := file.Variable(pc); ok {
			return fmt.Sprintf("%s+%#x%s", name, offset, behind)
		}
	}
	return none
}

func (opt *addrOptions) function(fr *lookup.Call) string {
	switch {
	case fr.Function == "":
		return "??"
	case opt.demangle:
		return demangle.Filter(fr.Function)
	}
	return fr.Function
}

// position prints file and line. Only the innermost frame has a discriminator,
// but addr2line prints it with all of them.
func (opt *addrOptions) position(w textWriter, fr *lookup.Call, discriminator int) {
	file := fr.File
	if opt.basenames {
		file = file[strings.LastIndexByte(file, '/')+1:]
	}
	if file == "" {
		file = "??"
	}
	w.WriteString(opt.view.link(fr, file))
	if fr.Line == 0 {
		w.WriteString(":?")
		return
	}
	w.WriteByte(':')
	w.WriteString(strconv.Itoa(fr.Line))
	if discriminator != 0 {
		w.WriteString(" (discriminator ")
		w.WriteString(strconv.Itoa(discriminator))
		w.WriteByte(')')
	}
}

// scanAddress reads the hexadecimal number s begins with, as strtoull does: after
// space, with or without 0x, the highest number if it is too large. rest is what
// follows it, all of s if there is no number.
func scanAddress(s string) (n uint64, rest string) {
	t := strings.TrimLeft(s, " \t\n\v\f\r")
	if len(t) > 2 && (strings.HasPrefix(t, "0x") || strings.HasPrefix(t, "0X")) && hexDigit(t[2]) >= 0 {
		t = t[2:]
	}
	i, over := 0, false
	for ; i < len(t) && hexDigit(t[i]) >= 0; i++ {
		over = over || n>>60 != 0
		n = n<<4 | uint64(hexDigit(t[i]))
	}
	switch {
	case i == 0:
		return 0, s
	case over:
		n = 1<<64 - 1
	}
	return n, t[i:]
}

func hexDigit(b byte) int {
	n := strings.IndexByte("0123456789abcdefABCDEF", b)
	if n > 15 {
		n -= len("abcdef")
	}
	return n
}
