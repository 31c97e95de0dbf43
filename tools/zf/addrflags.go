package main

// The command line of zf addr: addr2line's, letters in one word (-afip), a value
// joined or apart, long flags shortened while they are unique; those of llvm-symbolizer and
// eu-addr2line, as far as they do not contradict these; and our own, which none of them has.
// doc/addr.md has a table of them all. zf symbolizer has the same, with llvm-symbolizer's defaults.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const addrUsage = `Usage: zf addr -e ELF|-map FILE [-afiCps] [ADDR...]

Addr prints the source line of each address, as addr2line does. Addresses are
hexadecimal, with or without 0x. Without any on the command line they are read
from standard input, one a line, and each is answered at once. An ADDR may also
be FUNC+OFFSET, (SECTION)+OFFSET, or FILE:LINE for all places with code of it.

Each address is taken as it is. For a return address, which is that of the
instruction after the call, give the address minus one.

Flags, which may be joined as in -afip:

  -e, --exe=FILE         the ELF file (default a.out); or a folder, a .deb or a
                         .rpm with one, or a core file
  --build-id=HEX         the file of this build, from the folder or package of
                         -e or from a debuginfod server
  -pid N                 addresses are those of a running process
  -core FILE             addresses are those of the process that left this file
  -M, --linux-process-map=FILE
                         the same with no more than a copy of its /proc/PID/maps
  -map FILE              instead of it a map file, of any kind that zf map -h
                         names: functions without lines. ADDR may be logical
                         then, as 0001:00000639, if those of the map are
  -base ADDR             where the program of -map was loaded
  -index WHEN            answer from an index of the file: auto, build or off;
                         see zf help index (default auto)
  -debuginfod WHEN       ask the servers of $DEBUGINFOD_URLS for debug
                         information that is not here: auto (if that is set) or
                         off (default auto)
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
  --adjust-vma=ADDR      the file was loaded so far above its addresses
  --output-style=STYLE   GNU (as addr2line), LLVM (as llvm-symbolizer, with
                         columns) or JSON (as llvm-symbolizer)
  -S, --symbols          print the symbol too, and how far from its start
  -x, --symbols-sections the same with its section
  --relative             print file names without the folder of the compiler
  --debuginfo-path=DIR   debug files are here, not in /usr/lib/debug
  -v, --version          print what this is
  -h, --help             print this text

Example: zf addr -afip -e hello.elf 0x27f5a0
`

// defaultExe is the file that is looked in when -e names none.
const defaultExe = "a.out"

// addrOptions are the flags of zf addr.
type addrOptions struct {
	exe, section, mapFile, base, index, debuginfod             string
	addresses, functions, inlines, pretty, basenames, demangle bool
	help, version                                              bool

	style, buildID, core, maps, debugDir string
	names                                string // which names functions have: "" as linked, or shortNames
	pid                                  int
	adjust                               uint64
	symbols, symbolSections              bool
	verbose, relative                    bool
	llvm                                 bool // numbers and errors are as llvm-symbolizer's

	view *addrView // nil without the flags for it
	bad  string    // what is wrong with a flag's value
}

// Output styles, as LLVM names them.
const (
	styleGNU  = "GNU"
	styleLLVM = "LLVM"
	styleJSON = "JSON"

	shortNames = "short"
)

// addrFlag is a flag. The package flag cannot be used: it knows no joined letters.
type addrFlag struct {
	letter byte
	long   string
	// to is what it sets: a *bool, a *string, or a func(). A func(string) takes the flag's value,
	// an optional one that may be left out.
	to any
}

type optional func(arg string)

// takes reports whether the flag takes a value, and whether it has to have one.
func (f *addrFlag) takes() (value, required bool) {
	switch f.to.(type) {
	case *string, func(string):
		return true, true
	case optional:
		return true, false
	}
	return false, false
}

// set sets the flag.
func (f *addrFlag) set(value string) {
	switch to := f.to.(type) {
	case *bool:
		*to = true
	case *string:
		*to = value
	case func():
		to()
	case func(string):
		to(value)
	case optional:
		to(value)
	}
}

// Those that only steer parts addr2line or llvm-symbolizer has are taken and ignored.
func ignored()            {}
func ignoredValue(string) {}

// gnu is addr2line's flags.
func (o *addrOptions) gnu() []addrFlag {
	return []addrFlag{
		{'a', "addresses", &o.addresses},
		{'b', "target", ignoredValue}, // a BFD target; only ELF is read
		{'e', "exe", &o.exe},
		{'f', "functions", optional(o.setFunctions)},
		{'i', "inlines", &o.inlines},
		{'j', "section", &o.section},
		{'p', "pretty-print", &o.pretty},
		{'s', "basenames", &o.basenames},
		{'C', "demangle", optional(func(arg string) { o.demangle = arg != "false" })},
		{'R', "recurse-limit", ignored}, // of addr2line's demangler
		{'r', "no-recurse-limit", ignored},
		{'v', "version", &o.version},
		{'V', "version", &o.version},
		{'h', "help", &o.help},
		{'H', "help", &o.help},
	}
}

// others are the flags of llvm-symbolizer and eu-addr2line.
func (o *addrOptions) others() []addrFlag {
	refuse := func(why string) func() { return func() { o.bad = why } }
	return []addrFlag{
		// Of both, or by another name.
		{0, "print-address", &o.addresses},
		{0, "obj", &o.exe},
		{0, "executable", &o.exe},
		{0, "inlining", optional(func(arg string) { o.inlines = arg != "false" })},
		{0, "no-inlines", func() { o.inlines = false }},
		{0, "no-demangle", func() { o.demangle = false }},
		{0, "usage", &o.help},
		// Of llvm-symbolizer.
		{0, "output-style", func(arg string) {
			if o.style = strings.ToUpper(arg); o.style != styleGNU && o.style != styleLLVM && o.style != styleJSON {
				o.bad = "flag --output-style is GNU, LLVM or JSON, not " + strconv.Quote(arg)
			}
		}},
		{0, "adjust-vma", func(arg string) {
			var err error
			if o.adjust, err = strconv.ParseUint(arg, 0, 64); err != nil {
				o.bad = "flag --adjust-vma wants a number such as 0x1000, not " + strconv.Quote(arg)
			}
		}},
		{0, "build-id", func(arg string) { o.buildID = strings.ToLower(arg) }},
		{0, "debuginfod", func() { o.debuginfod = debuginfodAuto }},
		{0, "no-debuginfod", func() { o.debuginfod = debuginfodOff }},
		{0, "debug-file-directory", &o.debugDir},
		{0, "fallback-debug-path", &o.debugDir},
		{0, "print-source-context-lines", o.viewed("context")},
		{0, "relativenames", &o.relative},
		{0, "verbose", &o.verbose},
		{0, "cache-size", ignoredValue},
		{0, "color", optional(ignoredValue)},
		{0, "default-arch", ignoredValue},
		{0, "dia", ignored},
		{0, "disable-gsym", ignored},
		{0, "dsym-hint", ignoredValue},
		{0, "no-untag-addresses", ignored},
		{0, "untag-addresses", optional(ignoredValue)},
		{0, "relative-address", ignored},
		{0, "use-symbol-table", optional(ignoredValue)},
		{0, "dwp", func(string) {
			o.bad = "flag --dwp: a .dwp file is looked for beside the program, as PROGRAM.dwp; put it there"
		}},
		{0, "filter-markup", refuse("flag --filter-markup: `zf symbolize` resolves markup")},
		{0, "gsym-file-directory", func(string) { o.bad = "flag --gsym-file-directory: -e names a GSYM file" }},
		{0, "skip-line-zero", refuse("flag --skip-line-zero: lines are as the compiler wrote them")},
		// Of eu-addr2line.
		{0, "pid", o.setPID},
		{0, "core", &o.core},
		{'M', "linux-process-map", &o.maps},
		{0, "debuginfo-path", &o.debugDir},
		{'A', "absolute", func() { o.relative = false }},
		{0, "relative", &o.relative},
		{'S', "symbols", &o.symbols},
		{'x', "symbols-sections", func() { o.symbols, o.symbolSections = true, true }},
		{'F', "flags", refuse("flag --flags: what a line table says beyond lines is not kept; eu-addr2line -F prints it")},
		{'k', "kernel", refuse("flag --kernel: name the kernel's vmlinux by -e, and by --adjust-vma where it runs")},
		{'K', "offline-kernel", optional(func(string) { o.bad = "flag --offline-kernel: name the kernel's vmlinux, or a module, by -e" })},
	}
}

// own is the flags that none of them has. Those are spelt with one dash, as in all commands of
// zf: --base is short for --basenames.
func (o *addrOptions) own() []addrFlag {
	return []addrFlag{
		{0, "map", &o.mapFile}, {0, "base", &o.base}, {0, "index", &o.index}, {0, "debuginfod", &o.debuginfod},
		{0, "pid", o.setPID}, {0, "core", &o.core},
		{0, "context", o.viewed("context")}, {0, "source", o.viewed("source")}, {0, "links", o.viewed("links")},
	}
}

// setPID takes the number of a process.
func (o *addrOptions) setPID(arg string) {
	var err error
	if o.pid, err = strconv.Atoi(arg); err != nil || o.pid <= 0 {
		o.bad = "flag -pid wants the number of a process, not " + strconv.Quote(arg)
	}
}

// viewed returns what takes the value of a flag of o.view.
func (o *addrOptions) viewed(name string) func(string) {
	return func(arg string) {
		if o.view == nil {
			o.view = newAddrView()
		}
		if err := o.view.set.Set(name, arg); err != nil {
			o.bad = fmt.Sprintf("flag -%s: %v", name, err)
		}
	}
}

// parse parses args as getopt_long does: letters may be joined, long names cut short, and flags
// may stand after addresses, up to "--".
func (o addrOptions) parse(args []string) (_ addrOptions, addrs []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		own := o.isOwn(arg)
		switch {
		case arg == "--":
			return o, append(addrs, args...), o.check()
		case o.llvm && strings.HasPrefix(arg, "-f="):
			o.setFunctions(arg[len("-f="):])
		case o.llvm && o.isLong(arg, own): // which LLVM's tools take with one dash too
			args, err = parseLong("--", strings.TrimLeft(arg, "-"), args, o.gnu(), o.others())
		case own:
			args, err = parseLong("-", arg[1:], args, o.own())
		case strings.HasPrefix(arg, "--"):
			// addr2line's come first: what is short for one of them stays so.
			args, err = parseLong("--", arg[2:], args, o.gnu(), o.others())
		case len(arg) > 1 && arg[0] == '-':
			args, err = o.parseLetters(arg[1:], args)
		default:
			addrs = append(addrs, arg)
		}
		if err == nil && o.bad != "" {
			err = errors.New(o.bad)
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
	case (o.pid != 0 || o.core != "" || o.maps != "") && (o.mapFile != "" || o.section != ""):
		return errors.New("-pid, -core and -M are of a process, which has neither -map nor -j")
	case o.pid != 0 && o.core != "" || o.pid != 0 && o.maps != "" || o.core != "" && o.maps != "":
		return errors.New("-pid, -core and -M: give one of them")
	}
	return nil
}

// isOwn reports whether arg is one of the own flags.
func (o *addrOptions) isOwn(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return slices.ContainsFunc(o.own(), func(f addrFlag) bool { return "-"+f.long == name })
}

// isLong reports whether arg is a long flag, spelt out, with one dash or two.
func (o *addrOptions) isLong(arg string, own bool) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	if len(name) < 2 || arg[0] != '-' || own && name != "debuginfod" {
		return false
	}
	return slices.ContainsFunc(append(o.gnu(), o.others()...), func(f addrFlag) bool { return f.long == name })
}

// parseLetters parses joined letters; the last may take the next of args. It
// returns what is left of args.
func (o *addrOptions) parseLetters(letters string, args []string) ([]string, error) {
	flags := append(o.gnu(), o.others()...)
	for i := range len(letters) {
		n := slices.IndexFunc(flags, func(f addrFlag) bool { return f.letter == letters[i] })
		if n < 0 {
			return nil, fmt.Errorf("unknown flag -%c", letters[i])
		}
		f, rest := &flags[n], letters[i+1:]
		_, required := f.takes()
		switch {
		case !required:
			f.set("")
			continue
		case o.llvm && f.letter != 'e' && f.letter != 'j': // llvm-symbolizer has no others with a value
			return nil, fmt.Errorf("unknown flag -%c", letters[i])
		case rest == "" && len(args) == 0:
			return nil, fmt.Errorf("flag -%c needs an argument", f.letter)
		case rest == "":
			rest, args = args[0], args[1:]
		}
		f.set(rest)
		break
	}
	return args, nil
}

// parseLong parses one long flag without its dashes, of the first list that has it. It returns
// what is left of args.
func parseLong(dash, flag string, args []string, lists ...[]addrFlag) ([]string, error) {
	name, value, has := strings.Cut(flag, "=")
	var f *addrFlag
	for _, list := range lists {
		var err error
		if f, err = findLong(list, name); err != nil {
			return nil, err
		}
		if f != nil {
			break
		}
	}
	if f == nil {
		return nil, fmt.Errorf("unknown flag --%s", name)
	}
	switch takes, required := f.takes(); {
	case !takes && has:
		return nil, fmt.Errorf("flag %s%s takes no argument", dash, f.long)
	case required && !has && len(args) == 0:
		return nil, fmt.Errorf("flag %s%s needs an argument", dash, f.long)
	case required && !has:
		value, args = args[0], args[1:]
	}
	f.set(value)
	return args, nil
}

// findLong returns the flag with a long name, or with the one that name is short for; nil if
// there is none.
func findLong(flags []addrFlag, name string) (found *addrFlag, err error) {
	for i := range flags {
		f := &flags[i]
		if f.long == name {
			return f, nil
		}
		if name != "" && strings.HasPrefix(f.long, name) {
			if found != nil && found.long != f.long {
				return nil, fmt.Errorf("flag --%s could be --%s or --%s", name, found.long, f.long)
			}
			found = f
		}
	}
	return found, nil
}

// setFunctions sets which names of functions are printed.
func (o *addrOptions) setFunctions(names string) {
	o.functions, o.names = names != "none", ""
	switch names {
	case "", "none", "linkage":
	case shortNames:
		o.names = shortNames
	default:
		o.bad = fmt.Sprintf("flag --functions takes no argument, or none, short or linkage, not %q", names)
	}
}
