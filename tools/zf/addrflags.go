package main

// The command line of zf addr: addr2line's, letters in one word (-afip), a value
// joined or apart, long flags with one dash or two and shortened while they are unique;
// and our own flags, which addr2line has not.

import (
	"errors"
	"fmt"
	"strings"
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

	view *addrView // nil without the flags for it
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
	case "-map", "-base", "-index", "-debuginfod", "-context", "-source", "-links":
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
