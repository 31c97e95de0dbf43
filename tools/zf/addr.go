package main

// `zf addr` takes addr2line's place: the same flags and the same form of output,
// so that scripts and editors need not know which one they run. What it says of C
// is addr2line's answer byte for byte. Go code it resolves with Go's own tables,
// as the runtime does: there a line, or the calls that are inlined at an address,
// can differ from what DWARF says, while the function that holds the address has
// the symbol table's name. It also differs where addr2line guesses: an argument
// that is no address, and a file that has nothing to resolve with, are errors
// here and not "??:0", and in padding between functions, which addr2line counts to
// the one before it: here it belongs to none, as in LLVM's tools.

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

	"github.com/ianlancetaylor/demangle"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

const addrUsage = `Usage: zf addr -e ELF|-map FILE [-afiCps] [ADDR...]

Addr prints the source line of each address, as addr2line does. Addresses are
hexadecimal, with or without 0x. Without any on the command line they are read
from standard input, one a line, and each is answered at once.

Each address is taken as it is. For a return address, which is that of the
instruction after the call, give the address minus one.

Flags, which may be joined as in -afip:

  -e, --exe=FILE         the ELF file (default a.out)
  -map FILE              instead of it a map file, of any kind that zf map -h
                         names: functions without lines. ADDR may be logical
                         then, as 0001:00000639, if those of the map are
  -base ADDR             where the program of -map was loaded
  -index WHEN            answer from an index of the file: auto, build or off;
                         see zf help index (default auto)
  -context N             show N lines of source around each line, if the file
                         is here
  -source OLD=NEW        source files that the ELF file has under OLD are under
                         NEW here; may be repeated
  -links WHEN            make file names links of the terminal: auto (if it is
                         one), always, never or a template; zf help symbolize
                         says more of these three
  -a, --addresses        print the address first
  -f, --functions        print the function's name
  -i, --inlines          print the calls around an inlined one too
  -p, --pretty-print     print all of an address on one line
  -s, --basenames        print file names without directories
  -C, --demangle         print C++ and Rust names as in the source
  -j, --section=NAME     addresses are offsets into this section
  -v, --version          print what this is
  -h, --help             print this text

Example: zf addr -afip -e hello.elf 0x27f5a0
`

// defaultExe is the file that is looked in when -e names none.
const defaultExe = "a.out"

// addrOptions are the flags of zf addr.
type addrOptions struct {
	exe, section, mapFile, base, index                         string
	addresses, functions, inlines, pretty, basenames, demangle bool
	help, version                                              bool

	view *addrView // nil without the flags for it
}

func runAddr(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	opt, addrs, err := parseAddrArgs(args)
	if err != nil {
		fmt.Fprintf(stderr, "zf addr: %v; `zf addr -h` lists the flags\n", err)
		return exitUsage
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
		fmt.Fprintf(stderr, "zf addr: %v\n", err)
		return exitUsage
	}
	// The heap is small beside what is read: to collect it often is not worth while.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	indexes, err := newIndexing(opt.index, "zf addr", stderr)
	if err != nil {
		fmt.Fprintf(stderr, "zf addr: %v\n", err)
		return exitUsage
	}
	f, err := opt.open(indexes, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "zf addr: %v\n", err)
		return exitUsage
	}
	defer f.Close()
	defer indexes.finish()
	// All are checked first, so that nothing is printed if one is wrong.
	pcs := make([]uint64, len(addrs))
	for i, s := range addrs {
		n, rest := scan(f, s)
		if rest == s || rest != "" {
			fmt.Fprintf(stderr, "zf addr: %q is not a hexadecimal address\n", s)
			return exitUsage
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
			fmt.Fprintf(stderr, "zf addr: %s has no section %s%s\n", f.Name(), opt.section, list)
			return exitUsage
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
	Lookup(addr uint64, ret bool) []symbol.Frame
	Preceding(addr uint64) (symbol.Frame, bool)
	IsText(addr uint64) bool
	SectionStart(name string) (uint64, bool)
}

// open opens the ELF file or the map.
func (opt *addrOptions) open(indexes *indexing, stderr io.Writer) (addrSymbols, error) {
	if opt.mapFile != "" {
		return openMap(opt.mapFile, opt.base)
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
	if addr, ok := m.File().Logical(n, off); ok {
		return addr, after
	}
	return n, rest
}

// written returns the exit status after err came of writing the answers: a script
// must not take a part of them for all.
func written(err error, stderr io.Writer) int {
	if err != nil {
		fmt.Fprintf(stderr, "zf addr: standard output: %v\n", err)
		return exitUsage
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
			fmt.Fprintf(stderr, "zf addr: standard input: %v\n", err)
			return exitUsage
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
func (opt *addrOptions) printAnswers(out *bufio.Writer, f addrSymbols, pcs []uint64, answers [][]symbol.Frame) {
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
func (opt *addrOptions) print(w textWriter, f addrSymbols, pc uint64, frames []symbol.Frame) {
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
			w.WriteString("?? ")
		case opt.functions:
			w.WriteString("??\n")
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

func (opt *addrOptions) function(fr *symbol.Frame) string {
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
func (opt *addrOptions) position(w textWriter, fr *symbol.Frame, discriminator int) {
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
	switch {
	case '0' <= b && b <= '9':
		return int(b - '0')
	case 'a' <= b && b <= 'f':
		return int(b-'a') + 10
	case 'A' <= b && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}

// addrFlags is addr2line's flags. The package flag cannot be used: it knows no
// joined letters. The flags that only steer parts addr2line has are taken and
// ignored.
var addrFlags = []struct {
	letter byte
	long   string
	arg    byte // 'r' required, 'o' optional and only after "=", 0 none
	set    func(o *addrOptions, arg string)
}{
	{'a', "addresses", 0, func(o *addrOptions, _ string) { o.addresses = true }},
	{'b', "target", 'r', func(o *addrOptions, _ string) {}}, // a BFD target; only ELF is read
	{'e', "exe", 'r', func(o *addrOptions, arg string) { o.exe = arg }},
	{'f', "functions", 0, func(o *addrOptions, _ string) { o.functions = true }},
	{'i', "inlines", 0, func(o *addrOptions, _ string) { o.inlines = true }},
	{'j', "section", 'r', func(o *addrOptions, arg string) { o.section = arg }},
	{'p', "pretty-print", 0, func(o *addrOptions, _ string) { o.pretty = true }},
	{'s', "basenames", 0, func(o *addrOptions, _ string) { o.basenames = true }},
	{'C', "demangle", 'o', func(o *addrOptions, _ string) { o.demangle = true }},
	{'R', "recurse-limit", 0, func(o *addrOptions, _ string) {}}, // of addr2line's demangler
	{'r', "no-recurse-limit", 0, func(o *addrOptions, _ string) {}},
	{'v', "version", 0, func(o *addrOptions, _ string) { o.version = true }},
	{'V', "version", 0, func(o *addrOptions, _ string) { o.version = true }},
	{'h', "help", 0, func(o *addrOptions, _ string) { o.help = true }},
	{'H', "help", 0, func(o *addrOptions, _ string) { o.help = true }},
}

// parseAddrArgs parses args as getopt_long does: letters may be joined, long
// names cut short, and flags may stand after addresses, up to "--".
func parseAddrArgs(args []string) (o addrOptions, addrs []string, err error) {
	o.exe, o.index = defaultExe, indexAuto
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return o, append(addrs, args...), o.check()
		case isOwnFlag(arg):
			name, value, has := strings.Cut(arg, "=")
			if !has {
				if len(args) == 0 {
					return o, nil, fmt.Errorf("flag %s needs an argument", name)
				}
				value, args = args[0], args[1:]
			}
			err = o.setOwnFlag(name, value)
		case strings.HasPrefix(arg, "--"):
			args, err = o.parseLong(arg[2:], args)
		case len(arg) > 1 && arg[0] == '-':
			args, err = o.parseLetters(arg[1:], args)
		default:
			addrs = append(addrs, arg)
		}
		if err != nil {
			return o, nil, err
		}
	}
	return o, addrs, o.check()
}

// check says which flags do not go together.
func (o *addrOptions) check() error {
	switch {
	case o.mapFile != "" && o.exe != defaultExe:
		return errors.New("-e and -map: give one of them")
	case o.mapFile == "" && o.base != "":
		return errors.New("-base is for -map")
	}
	return nil
}

// isOwnFlag reports whether arg is a flag that addr2line has not. Those are spelt with
// one dash, as in all commands of zf: --base is short for --basenames.
func isOwnFlag(arg string) bool {
	switch name, _, _ := strings.Cut(arg, "="); name {
	case "-map", "-base", "-index", "-context", "-source", "-links":
		return true
	}
	return false
}

// setOwnFlag sets such a flag.
func (o *addrOptions) setOwnFlag(name, value string) error {
	switch name {
	case "-map":
		o.mapFile = value
	case "-base":
		o.base = value
	case "-index":
		o.index = value
	default:
		if o.view == nil {
			o.view = newAddrView()
		}
		if err := o.view.set.Set(name[1:], value); err != nil {
			return fmt.Errorf("flag %s: %w", name, err)
		}
	}
	return nil
}

// parseLetters parses joined letters; the last may take the next of args. It
// returns what is left of args.
func (o *addrOptions) parseLetters(letters string, args []string) ([]string, error) {
next:
	for i := 0; i < len(letters); i++ {
		for _, f := range addrFlags {
			if f.letter != letters[i] {
				continue
			}
			if f.arg != 'r' {
				f.set(o, "")
				continue next
			}
			if rest := letters[i+1:]; rest != "" {
				f.set(o, rest)
				return args, nil
			}
			if len(args) == 0 {
				return nil, fmt.Errorf("flag -%c needs an argument", f.letter)
			}
			f.set(o, args[0])
			return args[1:], nil
		}
		return nil, fmt.Errorf("unknown flag -%c", letters[i])
	}
	return args, nil
}

// parseLong parses one long flag without its dashes. It returns what is left of
// args.
func (o *addrOptions) parseLong(flag string, args []string) ([]string, error) {
	name, arg, hasArg := strings.Cut(flag, "=")
	found := -1
	for i, f := range addrFlags {
		if f.long == name {
			found = i
			break
		}
		if name != "" && strings.HasPrefix(f.long, name) {
			if found >= 0 && addrFlags[found].long != f.long {
				return nil, fmt.Errorf("flag --%s could be --%s or --%s", name, addrFlags[found].long, f.long)
			}
			found = i
		}
	}
	if found < 0 {
		return nil, fmt.Errorf("unknown flag --%s", name)
	}
	f := addrFlags[found]
	switch {
	case f.arg == 0 && hasArg:
		return nil, fmt.Errorf("flag --%s takes no argument", f.long)
	case f.arg == 'r' && !hasArg:
		if len(args) == 0 {
			return nil, fmt.Errorf("flag --%s needs an argument", f.long)
		}
		arg, args = args[0], args[1:]
	}
	f.set(o, arg)
	return args, nil
}
