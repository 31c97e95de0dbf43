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
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/tools/demangle"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

func runAddr(c *call) error {
	return answerAddresses(c, addrOptions{exe: defaultExe, index: indexAuto})
}

// addrVersion is what --version prints: addr2line's version too is the last word of such a line.
const addrVersion = "zf addr (Zeroframe) %s\n"

// answering answers addresses, for zf addr, or requests, for zf symbolizer.
type answering struct {
	*call
	opt     *addrOptions
	out     *bufio.Writer
	indexes *indexing

	f     addrSymbols            // what addresses are looked up in
	base  uint64                 // the start of the section that they are in
	files map[string]addrSymbols // of requests, by the name that was asked for; nil if it cannot be opened
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
	indexes, err := newIndexing(opt.index, &c.streams)
	if err != nil {
		return err
	}
	indexes.debugDir = opt.debugDir
	defer indexes.clean()
	if err := indexes.askServers(c.ctx, opt.debuginfod); err != nil {
		return err
	}
	a := &answering{call: c, opt: &opt, out: bufio.NewWriterSize(c.stdout, 64<<10), indexes: indexes, files: make(map[string]addrSymbols)}
	defer a.close()
	defer indexes.finish()
	arguments, lines := a.arguments, a.lines
	if opt.llvm {
		arguments, lines = a.requests, a.requestLines
	} else if err := a.open(); err != nil {
		return err
	}
	if len(args) > 0 {
		if err := arguments(args); err != nil {
			return err
		}
		return written(0, a.out.Flush())
	}
	done := make(chan struct{})
	defer close(done)
	for in := readLines(c.stdin, done); ; {
		all, err := in.next()
		lines(all)
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
	if a.f, err = a.opt.open(a.indexes, &a.streams); err != nil {
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

// arguments answers the arguments. All are checked first, so that nothing is printed if one is
// wrong.
func (a *answering) arguments(args []string) error {
	var all []asked
	for _, s := range args {
		these, err := a.opt.read(a.f, s)
		if err != nil {
			return err
		}
		all = append(all, these...)
	}
	for i := range all {
		if !all[i].sure {
			all[i].pc += a.base - a.opt.adjust
		}
	}
	a.opt.printAll(a.out, a.f, all, true)
	return nil
}

// lines answers lines of standard input. Each gets an answer whatever is in it, or a script that
// reads the answers would lose count.
func (a *answering) lines(lines []string) {
	all := make([]asked, 0, len(lines))
	for _, text := range lines {
		q, err := a.opt.readLine(a.f, a.base, text)
		if err != nil {
			a.say("%v", err)
		}
		all = append(all, q)
	}
	a.opt.printAll(a.out, a.f, all, false)
}

// An asked is one address that is asked for.
type asked struct {
	addr uint64 // as it was given
	pc   uint64 // what is looked up
	sure bool   // pc is one of the file: neither in a section nor moved
}

// read returns the addresses that an argument stands for.
func (opt *addrOptions) read(f addrSymbols, s string) ([]asked, error) {
	n, rest := scan(f, s)
	if rest != s && rest == "" {
		return []asked{{addr: n, pc: n}}, nil
	}
	found, err := places(f, s)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%q is not a hexadecimal address%s; want one such as 27f5a0 or 0x27f5a0", s, orName(f))
	}
	all := make([]asked, len(found))
	for i, pc := range found {
		all[i] = asked{addr: pc + opt.adjust, pc: pc, sure: true}
	}
	return all, nil
}

// orName says what else could have been given.
func orName(f addrSymbols) string {
	if _, ok := f.(namer); ok {
		return ", nor a name in the file, with or without an offset"
	}
	return ""
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

// noPlace is the pc of a line that says no place: one that is in no file.
const noPlace = ^uint64(0)

// readLine returns what a line of stdin asks for, the first place if it is several, for there is
// one answer a line. A name may begin with the digits a to f: what follows the digits of an
// address is neither a part of a name nor an offset. Other text is passed over, as addr2line does.
func (opt *addrOptions) readLine(f addrSymbols, base uint64, text string) (asked, error) {
	n, rest := scan(f, text)
	if rest != "" {
		found, err := places(f, text)
		switch {
		case len(found) > 0:
			return asked{addr: found[0] + opt.adjust, pc: found[0], sure: true}, nil
		case err != nil:
			return asked{pc: noPlace}, err
		case text == ",": // by which perf finds the end of an answer
			return asked{pc: noPlace}, nil
		case rest == text, rest[0] == '+', rest[0] == '_', rest[0] == '.', rest[0] == '$', rest[0]|0x20 >= 'g' && rest[0]|0x20 <= 'z':
			return asked{pc: noPlace}, fmt.Errorf("%.40q is not a hexadecimal address%s", text, orName(f))
		}
	}
	return asked{addr: n, pc: base + n - opt.adjust}, nil
}

// printAll prints what is known of all of these. Those that come together are looked
// up together. Together they are one list in JSON if they were arguments.
func (opt *addrOptions) printAll(out *bufio.Writer, f addrSymbols, all []asked, arguments bool) {
	if opt.style == styleLLVM || opt.style == styleJSON {
		opt.printStyled(out, f, all, arguments)
		return
	}
	file, ok := f.(*symbol.File)
	if !ok {
		for _, a := range all {
			opt.print(out, f, a, f.Lookup(a.pc, false))
		}
		return
	}
	if len(all) > 1<<16 {
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
		opt.printAnswers(out, f, some, answers)
	}
}

// printStyled prints in one of LLVM's styles.
func (opt *addrOptions) printStyled(out *bufio.Writer, f addrSymbols, all []asked, arguments bool) {
	list := []*jsonAnswer{}
	for _, q := range all {
		a := opt.answerOf(f, f.Name(), q.addr, q.pc)
		switch {
		case opt.style == styleLLVM:
			opt.printLLVM(out, &a)
		case arguments:
			list = append(list, opt.jsonOf(&a))
		default:
			out.Write(opt.jsonText(opt.jsonOf(&a)))
		}
	}
	if arguments && opt.style == styleJSON {
		out.Write(opt.jsonText(list))
	}
}

// printAnswers prints many answers; the processors share the work.
func (opt *addrOptions) printAnswers(out *bufio.Writer, f addrSymbols, all []asked, answers [][]lookup.Call) {
	const block = 4096
	blocks := (len(all) + block - 1) / block
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
			for i := n * block; i < min((n+1)*block, len(all)); i++ {
				opt.print(&text, f, all[i], answers[i])
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
	io.Writer
	io.StringWriter
	io.ByteWriter
}

// print prints what is known of pc. The forms are those of translate_addresses
// in binutils/addr2line.c.
func (opt *addrOptions) print(w textWriter, f addrSymbols, a asked, frames []lookup.Call) {
	pc := a.pc
	var more []symbol.Detail
	if opt.relative || opt.names == shortNames {
		more = detailsOf(f, pc, frames)
	}
	opt.address(w, f, a)
	if len(frames) == 0 {
		switch {
		case opt.functions && opt.pretty:
			w.WriteString(dataName(f, pc, "?? ", " at "))
		case opt.functions:
			w.WriteString(dataName(f, pc, "??\n", "\n"))
		}
		opt.symbol(w, f, pc, frames)
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
			if more != nil && opt.names == shortNames {
				w.WriteString(orUnknown(opt.nameOf(fr, &more[i])))
			} else {
				w.WriteString(opt.function(fr))
			}
			if opt.pretty {
				w.WriteString(" at ")
			} else {
				w.WriteByte('\n')
			}
		}
		if i == 0 {
			opt.symbol(w, f, pc, frames)
		}
		if more != nil {
			relative := *fr
			relative.File = opt.fileOf(fr.File, &more[i])
			opt.position(w, &relative, frames[0].Discriminator)
		} else {
			opt.position(w, fr, frames[0].Discriminator)
		}
		w.WriteByte('\n')
		opt.view.source(w, fr)
	}
}

// address prints the address that was asked for, if it is wanted.
func (opt *addrOptions) address(w textWriter, f addrSymbols, a asked) {
	if !opt.addresses {
		return
	}
	shown := a.pc
	if opt.adjust != 0 || a.pc == noPlace {
		shown = a.addr
	}
	w.WriteString("0x")
	for shift := 8 * f.AddressSize(); shift > 0; {
		shift -= 4
		w.WriteByte("0123456789abcdef"[shown>>shift&15])
	}
	if opt.pretty {
		w.WriteString(": ")
	} else {
		w.WriteByte('\n')
	}
}

// variableAt returns the variable at pc and the offset in it, "" if there is none.
func variableAt(f addrSymbols, pc uint64) (name string, offset uint64) {
	if file, ok := f.(interface {
		Variable(addr uint64) (name string, offset uint64, ok bool)
	}); ok {
		name, offset, _ = file.Variable(pc)
	}
	return name, offset
}

// dataName returns the variable at pc with the offset in it, which no function has, and the
// words behind it; or those for none.
func dataName(f addrSymbols, pc uint64, none, behind string) string {
	if name, offset := variableAt(f, pc); name != "" {
		return fmt.Sprintf("%s+%#x%s", name, offset, behind)
	}
	return none
}

// symbol prints the symbol that an address is in and how far, and the section, as eu-addr2line
// does with -S and -x.
func (opt *addrOptions) symbol(w textWriter, f addrSymbols, pc uint64, frames []lookup.Call) {
	if !opt.symbols {
		return
	}
	name, offset := "", uint64(0)
	if n := len(frames); n > 0 {
		name, offset = opt.function(&frames[n-1]), frames[n-1].Offset
	} else {
		name, offset = variableAt(f, pc)
	}
	name = orUnknown(name)
	if offset != 0 {
		name += "+" + hexOf(offset)
	}
	if opt.symbolSections {
		if s, ok := f.(interface {
			Section(addr uint64) (name string, start uint64, ok bool)
		}); ok {
			if section, _, ok := s.Section(pc); ok {
				name += " (" + section + ")"
			}
		}
	}
	if opt.pretty {
		w.WriteString(name + " ")
		return
	}
	w.WriteString(name + "\n")
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
