package main

// `zf addr` takes addr2line's place: the same flags and the same form of output,
// so that scripts and editors need not know which one they run. What it says of C
// is addr2line's answer byte for byte. Go code it resolves with Go's own tables,
// as the runtime does: there a line, or the calls that are inlined at an address,
// can differ from what DWARF says, while the function that holds the address has
// the symbol table's name. It also differs where addr2line guesses: an argument
// that is no address, and a file that has nothing to resolve with, are errors
// here and not "??:0". The debug information of object files is not read.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

const addrUsage = `Usage: zf addr -e ELF [-afiCps] [ADDR...]

Addr prints the source line of each address, as addr2line does. Addresses are
hexadecimal, with or without 0x. Without any on the command line they are read
from standard input, one a line, and each is answered at once.

Each address is taken as it is. For a return address, which is that of the
instruction after the call, give the address minus one.

Flags, which may be joined as in -afip:

  -e, --exe=FILE         the ELF file (default a.out)
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

// addrOptions are the flags of zf addr.
type addrOptions struct {
	exe, section                                               string
	addresses, functions, inlines, pretty, basenames, demangle bool
	help, version                                              bool
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
	// All are checked first, so that nothing is printed if one is wrong.
	pcs := make([]uint64, len(addrs))
	for i, s := range addrs {
		n, rest := scanAddress(s)
		if rest == s || rest != "" {
			fmt.Fprintf(stderr, "zf addr: %q is not a hexadecimal address\n", s)
			return exitUsage
		}
		pcs[i] = n
	}
	f, err := symbol.Open(opt.exe)
	if err != nil {
		fmt.Fprintf(stderr, "zf addr: %v; -e names the ELF file to resolve with\n", err)
		return exitUsage
	}
	defer f.Close()
	if err := f.CanResolve(); err != nil {
		fmt.Fprintf(stderr, "zf addr: %v; -e must name the file as it was linked, before it was stripped\n", err)
		return exitUsage
	}
	if f.HasUnlinkedDWARF() {
		fmt.Fprintf(stderr, "zf addr: note: %s is an object file, whose DWARF is not read before it is linked; names come from the symbol table, without lines\n", opt.exe)
	}
	var base uint64
	if opt.section != "" {
		var ok bool
		if base, ok = f.SectionStart(opt.section); !ok {
			fmt.Fprintf(stderr, "zf addr: %s has no section %s; `readelf -S` lists them\n", opt.exe, opt.section)
			return exitUsage
		}
	}
	out := bufio.NewWriter(stdout)
	for _, pc := range pcs {
		opt.print(out, f, base+pc)
	}
	if len(pcs) == 0 {
		return opt.answer(out, f, base, stdin, stderr)
	}
	return written(out.Flush(), stderr)
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
func (opt *addrOptions) answer(out *bufio.Writer, f *symbol.File, base uint64, stdin io.Reader, stderr io.Writer) int {
	in := bufio.NewReader(stdin)
	for {
		line, more, err := in.ReadLine()
		text := string(line)
		for more && err == nil { // an address is not longer than the buffer
			_, more, err = in.ReadLine()
		}
		switch {
		case errors.Is(err, io.EOF) && len(text) == 0:
			return exitOK
		case err != nil && !errors.Is(err, io.EOF):
			fmt.Fprintf(stderr, "zf addr: standard input: %v\n", err)
			return exitUsage
		}
		pc, rest := scanAddress(text)
		if rest == text {
			fmt.Fprintf(stderr, "zf addr: %.40q is not a hexadecimal address\n", text)
		}
		opt.print(out, f, base+pc)
		if err := out.Flush(); err != nil {
			return written(err, stderr)
		}
	}
}

// print prints what is known of pc. The forms are those of translate_addresses
// in binutils/addr2line.c.
func (opt *addrOptions) print(w io.Writer, f *symbol.File, pc uint64) {
	if opt.addresses {
		end := "\n"
		if opt.pretty {
			end = ": "
		}
		fmt.Fprintf(w, "0x%0*x%s", 2*f.AddressSize(), pc, end)
	}
	frames := f.Lookup(pc, false)
	if opt.functions {
		f.FullNames(pc, frames)
	}
	// addr2line counts what follows a function as the function's.
	if len(frames) == 0 && f.IsText(pc) {
		if fr, ok := f.Preceding(pc); ok {
			frames = append(frames, fr)
		}
	} else if len(frames) == 1 && frames[0].Function == "" {
		fr, _ := f.Preceding(pc)
		frames[0].Function = fr.Function
	}
	if len(frames) == 0 {
		switch {
		case opt.functions && opt.pretty:
			io.WriteString(w, "?? ")
		case opt.functions:
			io.WriteString(w, "??\n")
		}
		io.WriteString(w, "??:0\n")
		return
	}
	for i := range frames {
		fr := &frames[i]
		if i > 0 && !opt.inlines {
			break
		}
		if i > 0 && opt.pretty {
			io.WriteString(w, " (inlined by) ")
		}
		if opt.functions {
			end := "\n"
			if opt.pretty {
				end = " at "
			}
			io.WriteString(w, opt.function(fr)+end)
		}
		io.WriteString(w, opt.position(fr, frames[0].Discriminator)+"\n")
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
func (opt *addrOptions) position(fr *symbol.Frame, discriminator int) string {
	file := fr.File
	if opt.basenames {
		file = file[strings.LastIndexByte(file, '/')+1:]
	}
	if file == "" {
		file = "??"
	}
	switch {
	case fr.Line == 0:
		return file + ":?"
	case discriminator != 0:
		return fmt.Sprintf("%s:%d (discriminator %d)", file, fr.Line, discriminator)
	}
	return fmt.Sprintf("%s:%d", file, fr.Line)
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
	o.exe = "a.out"
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return o, append(addrs, args...), nil
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
	return o, addrs, nil
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
