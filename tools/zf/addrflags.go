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
                         .rpm with one
  --build-id=HEX         the file of this build, from the folder or package of
                         -e or from a debuginfod server
  -map FILE              instead of it a map file, of any kind that zf map -h
                         names: functions without lines. ADDR may be logical
                         then, as 0001:00000639, if those of the map are
  -base ADDR             where the program of -map was loaded
  -index WHEN            does nothing: it is taken for the sake of older scripts
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

	style, buildID, debugDir string
	short                    bool // functions have short names, not those they are linked by
	adjust                   uint64
	symbols, symbolSections  bool
	verbose, relative        bool
	llvm                     bool // numbers and errors are as llvm-symbolizer's

	view *viewFlags
}

// Output styles, as LLVM names them.
const (
	styleGNU  = "GNU"
	styleLLVM = "LLVM"
	styleJSON = "JSON"
)

// An addrFlag is a row of a table of flags. The package flag cannot be used: it knows no joined
// letters.
type addrFlag struct {
	// names are letters and long names. One that ends in = takes a value, one that ends in ? may
	// have one.
	names string
	// to is what the flag sets: a *bool, a *string, or a function of the value. A string says why
	// the flag is refused; nil is for one that only steers parts that zf has not.
	to any
}

// switches returns what sets a flag that is on or off, unless its value is false.
func switches(to *bool, on bool) func(string) error {
	return func(s string) error { *to = on && s != "false"; return nil }
}

// processes is why the flags of eu-addr2line about a process are refused.
const processes = "put the process's /proc/PID/maps in front of the addresses, for zf symbolize -e FILE"

// tables returns the flags: addr2line's; those of llvm-symbolizer and eu-addr2line; and our own,
// which are spelt with one dash, as in all commands of zf: --base is short for --basenames.
func (o *addrOptions) tables() (gnu, others, own []addrFlag) {
	debuginfod := func(mode string) func(string) error {
		return func(string) error { o.debuginfod = mode; return nil }
	}
	gnu = []addrFlag{
		{"a addresses", &o.addresses},
		{"b= target=", nil}, // a BFD target; only ELF is read
		{"e= exe=", &o.exe},
		{"f? functions?", o.setFunctions},
		{"i inlines", &o.inlines},
		{"j= section=", &o.section},
		{"p pretty-print", &o.pretty},
		{"s basenames", &o.basenames},
		{"C? demangle?", switches(&o.demangle, true)},
		{"R recurse-limit r no-recurse-limit", nil}, // of addr2line's demangler
		{"v V version", &o.version},
		{"h H help", &o.help},
	}
	others = []addrFlag{
		{"print-address", &o.addresses},
		{"obj= executable=", &o.exe},
		{"inlining?", switches(&o.inlines, true)},
		{"no-inlines", switches(&o.inlines, false)},
		{"no-demangle", switches(&o.demangle, false)},
		{"usage", &o.help},
		{"output-style=", o.setStyle},
		{"adjust-vma=", o.setAdjust},
		{"build-id=", func(s string) error { o.buildID = strings.ToLower(s); return nil }},
		{"debuginfod", debuginfod(debuginfodAuto)},
		{"no-debuginfod", debuginfod(debuginfodOff)},
		{"debug-file-directory= fallback-debug-path= debuginfo-path=", &o.debugDir},
		{"print-source-context-lines=", o.view.setContext},
		{"relativenames relative", &o.relative},
		{"A absolute", switches(&o.relative, false)},
		{"verbose", &o.verbose},
		{"S symbols", &o.symbols},
		{"x symbols-sections", func(string) error {
			o.symbols, o.symbolSections = true,
				true
			return nil
		}},
		{"cache-size= color? default-arch= dia disable-gsym dsym-hint= no-untag-addresses untag-addresses? relative-address use-symbol-table?", nil},
		{"dwp=", ".dwo and .dwp files are not read; build without -gsplit-dwarf"},
		{"filter-markup", "`zf symbolize` resolves markup"},
		{"gsym-file-directory=", "GSYM files are not read; -e names the ELF file that one was made of"},
		{"skip-line-zero", "lines are as the compiler wrote them"},
		{"pid= core= M= linux-process-map=", processes},
		{"F flags", "what a line table says beyond lines is not kept; eu-addr2line -F prints it"},
		{"k kernel", "name the kernel's vmlinux by -e, and by --adjust-vma where it runs"},
		{"K? offline-kernel?", "name the kernel's vmlinux, or a module, by -e"},
	}
	own = []addrFlag{
		{"map=", &o.mapFile}, {"base=", &o.base}, {"index=", &o.index}, {"debuginfod=", &o.debuginfod},
		{"context=", o.view.setContext}, {"source=", remapping(&o.view.remaps)},
		{"links=", &o.view.links},
		{"pid= core=", processes},
	}
	return gnu, others, own
}

// setStyle sets the output style.
func (o *addrOptions) setStyle(s string) error {
	if o.style = strings.ToUpper(s); o.style != styleGNU && o.style != styleLLVM &&
		o.style != styleJSON {
		return fmt.Errorf("want GNU, LLVM or JSON, not %q", s)
	}
	return nil
}

// setAdjust sets how far above its addresses the file was loaded.
func (o *addrOptions) setAdjust(s string) (err error) {
	if o.adjust, err = strconv.ParseUint(s, 0, 64); err != nil {
		return fmt.Errorf("it wants a number such as 0x1000, not %q", s)
	}
	return nil
}

// setFunctions sets which names of functions are printed.
func (o *addrOptions) setFunctions(names string) error {
	o.functions, o.short = names != "none", names == "short"
	switch names {
	case "", "none", "linkage", "short":
		return nil
	}
	return fmt.Errorf("it takes no argument, or none, short or linkage, not %q", names)
}

// A foundFlag is a flag that was given, by one of its names.
type foundFlag struct {
	to          any
	name, takes string
}

// findFlag returns the flag that has a name, a letter or a long one, or whose long name it is
// short for; nil if there is none.
func findFlag(table []addrFlag, want string, short bool) (f *foundFlag, err error) {
	for _, row := range table {
		for word := range strings.FieldsSeq(row.names) {
			name := strings.TrimRight(word, "=?")
			this := &foundFlag{row.to, name, word[len(name):]}
			switch {
			case name == want:
				return this, nil
			case !short || want == "" || !strings.HasPrefix(name, want):
			case f != nil && f.name != name:
				err = fmt.Errorf("flag --%s could be --%s or --%s", want, f.name, name)
			default:
				f = this
			}
		}
	}
	return f, err
}

// set sets the flag, which was spelt with so many dashes.
func (f *foundFlag) set(dash, value string) (err error) {
	switch to := f.to.(type) {
	case *bool:
		*to = true
	case *string:
		*to = value
	case func(string) error:
		err = to(value)
	case string:
		err = errors.New(to)
	}
	if err != nil {
		err = fmt.Errorf("flag %s%s: %w", dash, f.name, err)
	}
	return err
}

// parse parses args as getopt_long does: letters may be joined, long names cut short, and flags
// may stand after addresses, up to "--".
func (o addrOptions) parse(args []string) (_ addrOptions, addrs []string, err error) {
	o.view = new(viewFlags)
	gnu, others, own := o.tables()
	all := append(gnu[:len(gnu):len(gnu)], others...)
	for len(args) > 0 && err == nil {
		arg, word := args[0], strings.TrimLeft(args[0], "-")
		args = args[1:]
		name, value, has := strings.Cut(word, "=")
		dash := arg[:min(2, len(arg)-len(word))]
		var f *foundFlag
		switch {
		case arg == "--":
			return o, append(addrs, args...), o.check()
		case dash == "" || arg == "-":
			addrs = append(addrs, arg)
			continue
		case dash == "--":
			// addr2line's come first: what is short for one of them stays so.
			if f, err = findFlag(gnu, name, true); f == nil {
				f, err = findFlag(others, name, true)
			}
			if f == nil {
				err = fmt.Errorf("unknown flag --%s", name)
			}
		case o.llvm && (len(name) > 1 || name == "f" && has): // LLVM's tools take one dash, too
			if f, _ = findFlag(all, name, false); f == nil {
				f, _ = findFlag(own, name, false)
			}
		default:
			f, _ = findFlag(own, name, false)
		}
		switch {
		case err != nil:
		case f == nil:
			args, err = parseLetters(all, word, args, o.llvm)
		case f.takes == "" && has:
			err = fmt.Errorf("flag %s%s takes no argument", dash, f.name)
		case f.takes == "=" && !has && len(args) == 0:
			err = fmt.Errorf("flag %s%s needs an argument", dash, f.name)
		case f.takes == "=" && !has:
			err = f.set(dash, args[0])
			args = args[1:]
		default:
			err = f.set(dash, value)
		}
	}
	if err == nil {
		err = o.check()
	}
	return o, addrs, err
}

// parseLetters parses joined letters; the last may take the next of args. It returns what is
// left of args. llvm says that those with a value are -e and -j alone, as llvm-symbolizer has it.
func parseLetters(table []addrFlag, letters string, args []string,
	llvm bool) (_ []string, err error) {
	for i := 0; i < len(letters) && err == nil; i++ {
		f, _ := findFlag(table, letters[i:i+1], false)
		value := letters[i+1:]
		switch {
		case f == nil, llvm && f.takes == "=" && f.name != "e" && f.name != "j":
			err = fmt.Errorf("unknown flag -%c", letters[i])
		case f.takes != "=":
			err = f.set("-", "")
		case value == "" && len(args) == 0:
			err = fmt.Errorf("flag -%s needs an argument", f.name)
		case value == "":
			return args[1:], f.set("-", args[0])
		default:
			return args, f.set("-", value)
		}
	}
	return args, err
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
