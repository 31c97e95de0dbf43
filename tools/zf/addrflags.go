package main

// The command line of zf addr: addr2line's, letters in one word (-afip), a value
// joined or apart, long flags shortened while they are unique; those of llvm-symbolizer and
// eu-addr2line, as far as they do not contradict these; and our own, which none of them has.
// doc/addr.md has a table of them all. zf symbolizer has the same, with llvm-symbolizer's defaults.

import (
	"errors"
	"fmt"
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

// addrFlag is a row of addrFlags.
type addrFlag = struct {
	letter byte
	long   string
	arg    byte
	set    func(o *addrOptions, arg string)
}

// otherFlags are those of llvm-symbolizer and eu-addr2line.
func otherFlags() []addrFlag {
	ignore := func(*addrOptions, string) {}
	refuse := func(why string) func(*addrOptions, string) {
		return func(o *addrOptions, _ string) { o.bad = why }
	}
	inlines := func(o *addrOptions, arg string) { o.inlines = arg != "false" }
	return []addrFlag{
		// Of both, or by another name.
		{0, "print-address", 0, func(o *addrOptions, _ string) { o.addresses = true }},
		{0, "obj", 'r', func(o *addrOptions, arg string) { o.exe = arg }},
		{0, "executable", 'r', func(o *addrOptions, arg string) { o.exe = arg }},
		{0, "inlining", 'o', inlines},
		{0, "no-inlines", 0, func(o *addrOptions, _ string) { o.inlines = false }},
		{0, "no-demangle", 0, func(o *addrOptions, _ string) { o.demangle = false }},
		{0, "usage", 0, func(o *addrOptions, _ string) { o.help = true }},
		// Of llvm-symbolizer.
		{0, "output-style", 'r', func(o *addrOptions, arg string) {
			if o.style = strings.ToUpper(arg); o.style != styleGNU && o.style != styleLLVM && o.style != styleJSON {
				o.bad = "flag --output-style is GNU, LLVM or JSON, not " + strconv.Quote(arg)
			}
		}},
		{0, "adjust-vma", 'r', func(o *addrOptions, arg string) {
			var err error
			if o.adjust, err = strconv.ParseUint(arg, 0, 64); err != nil {
				o.bad = "flag --adjust-vma wants a number such as 0x1000, not " + strconv.Quote(arg)
			}
		}},
		{0, "build-id", 'r', func(o *addrOptions, arg string) { o.buildID = strings.ToLower(arg) }},
		{0, "debuginfod", 0, func(o *addrOptions, _ string) { o.debuginfod = debuginfodAuto }},
		{0, "no-debuginfod", 0, func(o *addrOptions, _ string) { o.debuginfod = debuginfodOff }},
		{0, "debug-file-directory", 'r', func(o *addrOptions, arg string) { o.debugDir = arg }},
		{0, "fallback-debug-path", 'r', func(o *addrOptions, arg string) { o.debugDir = arg }},
		{0, "print-source-context-lines", 'r', func(o *addrOptions, arg string) {
			if err := o.setOwnFlag("-context", arg); err != nil {
				o.bad = err.Error()
			}
		}},
		{0, "relativenames", 0, func(o *addrOptions, _ string) { o.relative = true }},
		{0, "verbose", 0, func(o *addrOptions, _ string) { o.verbose = true }},
		{0, "cache-size", 'r', ignore},
		{0, "color", 'o', ignore},
		{0, "default-arch", 'r', ignore},
		{0, "dia", 0, ignore},
		{0, "disable-gsym", 0, ignore},
		{0, "dsym-hint", 'r', ignore},
		{0, "no-untag-addresses", 0, ignore},
		{0, "untag-addresses", 'o', ignore},
		{0, "relative-address", 0, ignore},
		{0, "use-symbol-table", 'o', ignore},
		{0, "dwp", 'r', refuse("flag --dwp: a .dwp file is looked for beside the program, as PROGRAM.dwp; put it there")},
		{0, "filter-markup", 0, refuse("flag --filter-markup: `zf symbolize` resolves markup")},
		{0, "gsym-file-directory", 'r', refuse("flag --gsym-file-directory: -e names a GSYM file")},
		{0, "skip-line-zero", 0, refuse("flag --skip-line-zero: lines are as the compiler wrote them")},
		// Of eu-addr2line.
		{0, "pid", 'r', func(o *addrOptions, arg string) {
			var err error
			if o.pid, err = strconv.Atoi(arg); err != nil || o.pid <= 0 {
				o.bad = "flag -pid wants the number of a process, not " + strconv.Quote(arg)
			}
		}},
		{0, "core", 'r', func(o *addrOptions, arg string) { o.core = arg }},
		{'M', "linux-process-map", 'r', func(o *addrOptions, arg string) { o.maps = arg }},
		{0, "debuginfo-path", 'r', func(o *addrOptions, arg string) { o.debugDir = arg }},
		{'A', "absolute", 0, func(o *addrOptions, _ string) { o.relative = false }},
		{0, "relative", 0, func(o *addrOptions, _ string) { o.relative = true }},
		{'S', "symbols", 0, func(o *addrOptions, _ string) { o.symbols = true }},
		{'x', "symbols-sections", 0, func(o *addrOptions, _ string) { o.symbols, o.symbolSections = true, true }},
		{'F', "flags", 0, refuse("flag --flags: what a line table says beyond lines is not kept; eu-addr2line -F prints it")},
		{'k', "kernel", 0, refuse("flag --kernel: name the kernel's vmlinux by -e, and by --adjust-vma where it runs")},
		{'K', "offline-kernel", 'o', refuse("flag --offline-kernel: name the kernel's vmlinux, or a module, by -e")},
	}
}

// parseAddrArgs parses args as getopt_long does: letters may be joined, long
// names cut short, and flags may stand after addresses, up to "--".
func parseAddrArgs(args []string) (o addrOptions, addrs []string, err error) {
	o.exe, o.index = defaultExe, indexAuto
	return o.parse(args)
}

// parse parses args into o.
func (o addrOptions) parse(args []string) (_ addrOptions, addrs []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return o, append(addrs, args...), o.check()
		case o.llvm && strings.HasPrefix(arg, "-f="):
			err = o.setFunctions(arg[len("-f="):])
		case o.llvm && isLong(arg): // which LLVM's tools take with one dash too
			args, err = o.parseLong(strings.TrimLeft(arg, "-"), args)
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

// isOwnFlag reports whether arg is a flag that addr2line has not. Those are spelt with
// one dash, as in all commands of zf: --base is short for --basenames.
func isOwnFlag(arg string) bool {
	switch name, _, _ := strings.Cut(arg, "="); name {
	case "-map", "-base", "-index", "-debuginfod", "-pid", "-core", "-context", "-source", "-links":
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
	case "-debuginfod":
		o.debuginfod = value
	case "-pid", "-core":
		_, err := o.parseLong(name[1:]+"="+value, nil)
		return err
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
	var other []addrFlag
	for i := range len(letters) {
		if strings.IndexByte("AFKMSkx", letters[i]) >= 0 {
			other = otherFlags()
			break
		}
	}
next:
	for i := 0; i < len(letters); i++ {
		for n := range len(addrFlags) + len(other) {
			var f addrFlag
			if n < len(addrFlags) {
				f = addrFlags[n]
			} else {
				f = other[n-len(addrFlags)]
			}
			if f.letter != letters[i] {
				continue
			}
			if f.arg == 'r' && o.llvm && f.letter != 'e' && f.letter != 'j' {
				break // llvm-symbolizer has no others with a value
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
	// addr2line's come first: what is short for one of them stays so.
	f, err := findLong(addrFlags, name)
	if err == nil && f == nil {
		f, err = findLong(otherFlags(), name)
	}
	if err == nil && f == nil {
		err = fmt.Errorf("unknown flag --%s", name)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case f.long == "functions" && hasArg:
		return args, o.setFunctions(arg)
	case f.long == "demangle" && arg == "false":
		o.demangle = false
		return args, nil
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

// isLong reports whether arg is a long flag, spelt out, with one dash or two.
func isLong(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	if len(name) < 2 || arg[0] != '-' || isOwnFlag(arg) && name != "debuginfod" {
		return false
	}
	for _, flags := range [][]addrFlag{addrFlags, otherFlags()} {
		for i := range flags {
			if flags[i].long == name {
				return true
			}
		}
	}
	return false
}

// setFunctions sets which names of functions are printed.
func (o *addrOptions) setFunctions(names string) error {
	o.functions, o.names = names != "none", ""
	switch names {
	case "none", "linkage":
	case shortNames:
		o.names = shortNames
	default:
		return fmt.Errorf("flag --functions takes no argument, or none, short or linkage, not %q", names)
	}
	return nil
}
