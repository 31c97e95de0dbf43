package gotest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

// Parse reads a command line as go test does: flags before and after the packages, behind
// them flags and arguments of the test's own, and -args, which leaves all that follows to
// the test. known are the flags of the command; flags that it does not know go to the test
// if they stand behind the packages, and are an error before, where they are mistyped.
//
// It returns the packages as they were given; none means the package of the current folder.
// The error is [flag.ErrHelp] for -h.
func (f *Flags) Parse(known *flag.FlagSet, args []string) (packages []string, err error) {
	if args, err = Enter(known, args); err != nil {
		return nil, err
	}
	if err := f.fromEnvironment(known); err != nil {
		return nil, err
	}
	f.Defaults = len(f.Binary)
	mayBeValue := false // the word behind a flag of the test's own
	for ended := false; len(args) > 0; {
		arg := args[0]
		args = args[1:]
		wasFlag := mayBeValue
		mayBeValue = false
		name, value, hasValue := cutFlag(arg)
		switch {
		case name == "" && arg == "--":
			f.rest(append([]string{arg}, args...))
			return packages, nil
		case name == "" && !ended:
			packages = append(packages, arg)
			ended = len(args) > 0 && strings.HasPrefix(args[0], "-")
			continue
		case name == "" && wasFlag:
			f.rest([]string{arg})
			continue
		case name == "":
			f.rest(append([]string{arg}, args...))
			return packages, nil
		case name == "args":
			f.rest(args)
			return packages, nil
		case name == "h" || name == "help":
			if packages != nil { // the test's own
				f.rest([]string{arg})
				continue
			}
			return nil, flag.ErrHelp
		}
		fl := known.Lookup(name)
		if short, ok := strings.CutPrefix(name, "test."); ok && fl == nil {
			if known := known.Lookup(short); known != nil {
				fl = known
			}
		}
		if fl == nil {
			if packages == nil {
				return nil, fmt.Errorf(
					"flag provided but not defined: -%s; a flag of the test's own stands behind the package or -args", name)
			}
			f.rest([]string{arg})
			mayBeValue = !hasValue
			continue
		}
		if b, ok := fl.Value.(interface{ IsBoolFlag() bool }); !hasValue && ok && b.IsBoolFlag() {
			value, hasValue = "true", true
		}
		if !hasValue {
			if len(args) == 0 {
				return nil, fmt.Errorf("flag needs an argument: -%s", name)
			}
			value, args = args[0], args[1:]
		}
		if err := known.Set(fl.Name, value); err != nil {
			if v, ok := fl.Value.(*goFlag); ok && v.r.use == refused {
				return nil, fmt.Errorf("-%s cannot work here: %v", name, err)
			}
			return nil, fmt.Errorf("invalid value %q for flag -%s: %v", value, name, err)
		}
	}
	return packages, nil
}

// Enter changes to the folder that the go command's flag -C names, if a command knows that flag
// and its arguments begin with it, and returns the other arguments. Context: host.
func Enter(known *flag.FlagSet, args []string) (rest []string, err error) {
	fl := known.Lookup("C")
	if fl == nil || len(args) == 0 {
		return args, nil
	}
	name, dir, hasValue := cutFlag(args[0])
	if _, ours := fl.Value.(*goFlag); !ours || name != "C" {
		return args, nil
	}
	if rest = args[1:]; !hasValue {
		if len(rest) == 0 {
			return nil, errors.New("flag needs an argument: -C")
		}
		dir, rest = rest[0], rest[1:]
	}
	if err := os.Chdir(dir); err != nil {
		return nil, fmt.Errorf("-C: %w", err)
	}
	return rest, nil
}

// rest takes what is the test's own.
func (f *Flags) rest(args []string) {
	if len(args) > 0 {
		f.Binary, f.mixed = append(f.Binary, args...), true
	}
}

// cutFlag parts -NAME, --NAME and -NAME=VALUE; name is "" for what is no flag.
func cutFlag(arg string) (name, value string, hasValue bool) {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return "", "", false
	}
	name = strings.TrimPrefix(name, "-")
	return strings.Cut(name, "=")
}

// fromEnvironment takes the flags for tests out of GOFLAGS. Those for builds are the go
// command's own.
func (f *Flags) fromEnvironment(known *flag.FlagSet) error {
	for word := range strings.FieldsSeq(os.Getenv("GOFLAGS")) {
		name, value, hasValue := cutFlag(word)
		if !hasValue {
			value = "true"
		}
		for i := range rows {
			if r := &rows[i]; r.name == name && (r.use == binary || r.use == file || r.use == own) {
				if err := known.Set(name, value); err != nil {
					return fmt.Errorf("GOFLAGS: invalid value %q for flag -%s: %v", value, name, err)
				}
			}
		}
	}
	return nil
}
