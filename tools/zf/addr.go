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
// What is asked first, Go's tables or DWARF, says tools/symbol/sources.go.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

func runAddr(c *call) error {
	return answerAddresses(c, addrOptions{exe: defaultExe})
}

// addrVersion is what --version prints: addr2line's version too is the last word of such a line.
const addrVersion = "zf addr (Zeroframe) %s\n"

// answering answers addresses, for zf addr, or requests, for zf symbolizer.
type answering struct {
	*call
	opt     *addrOptions
	out     *bufio.Writer
	indexes *opening

	f    addrSymbols // what addresses are looked up in
	base uint64      // the start of the section that they are in
	// of requests, by the name that was asked for; nil if it cannot be opened
	files map[string]addrSymbols
	list  bool // together the answers are one list in JSON
	all   []*jsonAnswer
}

// answerAddresses runs zf addr, or zf symbolizer; opt are its defaults.
func answerAddresses(c *call, opt addrOptions) error {
	opt, args, err := opt.parse(c.given)
	switch {
	case err != nil:
		return c.wrong("%w", err)
	case opt.help:
		return written(io.WriteString(c.stdout, c.text))
	case opt.version && opt.llvm:
		return written(fmt.Fprintf(c.stdout, symbolizerVersion, moduleVersion()))
	case opt.version:
		return written(fmt.Fprintf(c.stdout, addrVersion, moduleVersion()))
	}
	if err := opt.view.prepare(isTerminal(c.stdout)); err != nil {
		return err
	}
	// The heap is small beside what is read: to collect it often is not worth while.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	indexes, err := newOpening(c.ctx, opt.debuginfod, &c.streams)
	if err != nil {
		return err
	}
	indexes.debugDir = opt.debugDir
	defer indexes.clean()
	a := &answering{call: c, opt: &opt, out: bufio.NewWriterSize(c.stdout, 64<<10), indexes: indexes,
		files: make(map[string]addrSymbols), list: len(args) > 0, all: []*jsonAnswer{}}
	defer a.close()
	defer indexes.finish()
	answer := a.addresses
	if opt.llvm {
		answer = a.requests
	} else if err := a.open(); err != nil {
		return err
	}
	if a.list {
		if err := answer(args); err != nil {
			return err
		}
		if opt.style == styleJSON {
			a.out.Write(opt.jsonText(a.all))
		}
		return written(0, a.out.Flush())
	}
	done := make(chan struct{})
	defer close(done)
	for in := readLines(c.stdin, done); ; {
		all, err := in.next()
		answer(all)
		if ferr := a.out.Flush(); ferr != nil {
			return written(0, ferr)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("standard input: %w", err)
		}
	}
}

// close closes the files.
func (a *answering) close() {
	for _, f := range a.files {
		if f != nil {
			f.Close()
		}
	}
}

// open opens what addresses are looked up in.
func (a *answering) open() (err error) {
	if a.f, err = a.indexes.openFor(a.opt); err != nil {
		return err
	}
	a.files[""] = a.f
	if a.opt.section == "" {
		return nil
	}
	var ok bool
	if a.base, ok = a.f.SectionStart(a.opt.section); ok {
		return nil
	}
	list := "; `readelf -S` lists them"
	if a.opt.mapFile != "" {
		list = ", as far as it says"
	}
	return fmt.Errorf("%s has no section %s%s", a.f.Name(), a.opt.section, list)
}

// addresses answers arguments, or lines of standard input. Arguments are all checked first, so
// that nothing is printed if one is wrong. Each line gets an answer whatever is in it, or a script
// that reads the answers would lose count: the first place if it stands for several.
func (a *answering) addresses(texts []string) error {
	all := make([]asked, 0, len(texts))
	for _, text := range texts {
		these, err := a.read(text, !a.list)
		switch {
		case a.list && err != nil:
			return err
		case err != nil:
			a.say("%v", err)
		}
		if !a.list && len(these) == 0 {
			these = []asked{{pc: noPlace}}
		}
		if !a.list {
			these = these[:1]
		}
		all = append(all, these...)
	}
	a.printAll(all)
	return nil
}

// An asked is one address that is asked for.
type asked struct {
	addr uint64 // as it was given
	pc   uint64 // what is looked up
}

// noPlace is the pc of a line that says no place: one that is in no file.
const noPlace = ^uint64(0)

// read returns the addresses that an argument or a line stands for. A name may begin with the
// digits a to f: what follows the digits of an address in a line is neither a part of a name nor an
// offset. Other text is passed over there, as addr2line does.
func (a *answering) read(s string, line bool) (all []asked, err error) {
	n, rest := scan(a.f, s)
	number := []asked{{addr: n, pc: a.base + n - a.opt.adjust}}
	if rest == "" && (line || s != "") {
		return number, nil
	}
	found, err := places(a.f, s)
	for _, pc := range found {
		all = append(all, asked{addr: pc + a.opt.adjust, pc: pc})
	}
	switch {
	case err != nil, len(all) > 0, line && s == ",": // by which perf finds the end of an answer
		return all, err
	case line && rest != s && !strings.ContainsRune("+_.$", rune(rest[0])) &&
		(rest[0]|0x20 < 'g' || rest[0]|0x20 > 'z'):
		return number, nil
	}
	return nil, fmt.Errorf(
		"%.40q is not a hexadecimal address, nor a name in the file, with or without an offset; want one such as 27f5a0 or 0x27f5a0", s)
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

// scanAddress reads the hexadecimal number s begins with, as strtoull does: after
// space, with or without 0x, the highest number if it is too large. rest is what
// follows it, all of s if there is no number.
func scanAddress(s string) (n uint64, rest string) {
	t := strings.TrimLeft(s, " \t\n\v\f\r")
	if len(t) > 2 && (strings.HasPrefix(t, "0x") || strings.HasPrefix(t, "0X")) &&
		hexDigit(t[2]) >= 0 {
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

// places returns the addresses that s stands for, apart from a plain number, which scan reads;
// nil and no error if it is nothing of the kind.
func places(f addrSymbols, s string) ([]uint64, error) {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "("); ok { // (SECTION)+OFFSET, as eu-addr2line has it
		section, offset, ok := strings.Cut(rest, ")")
		if n, more := scanAddress(strings.TrimPrefix(offset, "+")); ok && more == "" {
			base, ok := f.SectionStart(section)
			if !ok {
				return nil, fmt.Errorf("%s has no section %s", f.Name(), section)
			}
			return []uint64{base + n}, nil
		}
		return nil, nil
	}
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		if line, err := strconv.ParseUint(s[i+1:], 10, 31); err == nil && line > 0 {
			if file, ok := f.(*symbol.File); ok {
				return linePlaces(file, s[:i], int(line))
			}
			return nil, nil
		}
	}
	if s == "" {
		return nil, nil
	}
	name, offset := nameAndOffset(s)
	var addrs []uint64
	for _, fn := range f.Named(name) {
		addrs = append(addrs, fn.Start+offset)
	}
	if file, ok := f.(*symbol.File); ok && addrs == nil {
		if start, _, ok := file.Symbol(name); ok {
			addrs = append(addrs, start+offset)
		}
	}
	return addrs, nil
}

// nameAndOffset parts NAME+OFFSET. A name may have a plus, as operator+ has: the last one counts,
// and only before a number.
func nameAndOffset(s string) (name string, offset uint64) {
	if i := strings.LastIndexByte(s, '+'); i > 0 {
		if n, err := strconv.ParseUint(s[i+1:], 0, 64); err == nil {
			return s[:i], n
		}
	}
	return s, 0
}

// linePlaces returns where the code of a line begins.
func linePlaces(f *symbol.File, file string, line int) ([]uint64, error) {
	found, before, after := f.Places(file, line)
	switch {
	case len(found) > 0:
		return found, nil
	case before == 0 && after == 0:
		return nil, fmt.Errorf("%s has no code of a file %s", f.Name(), file)
	case after == 0:
		return nil, fmt.Errorf("%s has no code of %s:%d; the last line with code is %d", f.Name(), file,
			line, before)
	}
	return nil, fmt.Errorf("%s has no code of %s:%d; the next line with code is %d", f.Name(),
		file, line, after)
}

// written returns the error of writing answers: a script must not take a part of them for all.
func written(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// moduleVersion returns the version zf was built from, "(devel)" if not known.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// printAll prints what is known of all of these. Those that come together are looked
// up together.
func (a *answering) printAll(all []asked) {
	opt := a.opt
	file, ok := a.f.(*symbol.File)
	switch {
	case opt.style == styleLLVM || opt.style == styleJSON:
		for _, q := range all {
			r := opt.answerOf(a.f, a.f.Name(), q.addr, q.pc)
			a.styled(&r)
		}
		return
	case !ok:
		for _, q := range all {
			opt.print(a.out, a.f, q, a.f.Lookup(q.pc, false))
		}
		return
	case len(all) > 1<<16:
		debug.SetGCPercent(100) // the answers are no longer small beside what is read
	}
	for some := range slices.Chunk(all, 1<<17) {
		pcs := make([]uint64, len(some))
		for i := range some {
			pcs[i] = some[i].pc
		}
		answers := file.LookupAll(pcs, false)
		if opt.functions {
			file.FullNamesAll(pcs, answers)
		}
		a.printAnswers(some, answers)
	}
}

// printAnswers prints many answers; the processors share the work.
func (a *answering) printAnswers(all []asked, answers [][]lookup.Call) {
	const block = 4096
	texts := make([]bytes.Buffer, (len(all)+block-1)/block)
	var work sync.WaitGroup
	for n := range texts {
		work.Go(func() {
			for i := n * block; i < min((n+1)*block, len(all)); i++ {
				a.opt.print(&texts[n], a.f, all[i], answers[i])
			}
		})
	}
	work.Wait()
	for n := range texts {
		texts[n].WriteTo(a.out)
	}
}

// textWriter is a *bufio.Writer or a *bytes.Buffer.
type textWriter interface {
	io.Writer
	io.StringWriter
	io.ByteWriter
}

// after returns what stands after a part of an answer: the end of the line, unless all of it is on
// one line.
func (opt *addrOptions) after(pretty string) string {
	if opt.pretty {
		return pretty
	}
	return "\n"
}

// print prints what is known of an address. The forms are those of translate_addresses
// in binutils/addr2line.c.
func (opt *addrOptions) print(w textWriter, f addrSymbols, q asked, frames []lookup.Call) {
	var more []symbol.Detail
	if opt.relative || opt.short {
		more = detailsOf(f, q.pc, frames)
	}
	if opt.addresses {
		shown := q.pc
		if opt.adjust != 0 || q.pc == noPlace {
			shown = q.addr
		}
		hex := strconv.FormatUint(shown, 16)
		w.WriteString("0x" + strings.Repeat("0", max(0,
			2*f.AddressSize()-len(hex))) + hex + opt.after(": "))
	}
	if len(frames) == 0 {
		name, offset := variableAt(f, q.pc)
		switch {
		case !opt.functions:
		case name != "": // data, which no function has: the offset tells the two apart
			w.WriteString(name + "+" + hexOf(offset) + opt.after(" at "))
		default:
			w.WriteString("??" + opt.after(" "))
		}
		opt.symbol(w, f, q.pc, frames)
		w.WriteString("??:0\n")
		return
	}
	for i := range frames {
		fr, file := &frames[i], frames[i].File
		var detail *symbol.Detail
		if more != nil {
			detail = &more[i]
		}
		if i > 0 && !opt.inlines {
			break
		}
		if i > 0 && opt.pretty {
			w.WriteString(" (inlined by) ")
		}
		if opt.functions {
			w.WriteString(orUnknown(opt.nameOf(fr, detail)) + opt.after(" at "))
		}
		if i == 0 {
			opt.symbol(w, f, q.pc, frames)
		}
		w.WriteString(opt.view.link(fr, orUnknown(opt.fileOf(file, detail))))
		// Only the innermost frame has a discriminator, but addr2line prints it with all of them.
		switch d := frames[0].Discriminator; {
		case fr.Line == 0:
			w.WriteString(":?")
		case d != 0:
			fmt.Fprintf(w, ":%d (discriminator %d)", fr.Line, d)
		default:
			w.WriteByte(':')
			w.WriteString(strconv.Itoa(fr.Line))
		}
		w.WriteByte('\n')
		opt.view.source(w, fr)
	}
}

// variableAt returns the variable at pc and the offset in it, "" if there is none.
func variableAt(f addrSymbols, pc uint64) (name string, offset uint64) {
	if file, ok := f.(*symbol.File); ok {
		name, offset, _ = file.Variable(pc)
	}
	return name, offset
}

// symbol prints the symbol that an address is in and how far, and the section, as eu-addr2line
// does with -S and -x.
func (opt *addrOptions) symbol(w textWriter, f addrSymbols, pc uint64, frames []lookup.Call) {
	if !opt.symbols {
		return
	}
	name, offset := variableAt(f, pc)
	if n := len(frames); n > 0 {
		name, offset = opt.nameOf(&frames[n-1], nil), frames[n-1].Offset
	}
	name = orUnknown(name)
	if offset != 0 {
		name += "+" + hexOf(offset)
	}
	if file, ok := f.(*symbol.File); ok && opt.symbolSections {
		if section, _, ok := file.Section(pc); ok {
			name += " (" + section + ")"
		}
	}
	w.WriteString(name + opt.after(" "))
}
