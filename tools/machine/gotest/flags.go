package gotest

// Each flag of go test and go build has a row that says what becomes of it, so that none is
// forgotten, and none that cannot work is passed over in silence.

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// use is what becomes of a flag.
type use int

const (
	binary  use = iota // the test binary gets it, as -test.NAME
	file               // likewise; its value names a file that comes back to the host
	build              // go list and go test -c get it
	compile            // go test -c alone gets it
	own                // the command itself heeds it
	refused            // it cannot work; help says why
)

// The types of values, beside text.
type kind int

const (
	text kind = iota
	yesNo
	number
	duration
	verbosity // yesNo, or test2json
)

type row struct {
	name  string
	use   use
	kind  kind
	cache bool // a result with this flag may come out of the cache
	help  string
}

// rows has the flags of `go help testflag`, `go help test` and `go help build` but for those few
// that tools/zf defines itself, such as -cpuprofile and -tags. Never written.
var rows = []row{
	{"artifacts", binary, yesNo, false, "keep what tests write to T.ArtifactDir, below -outputdir"},
	{"bench", binary, text, false, "run the benchmarks that match `REGEXP`"},
	{"benchmem", binary, yesNo, false, "say what benchmarks allocate"},
	{"benchtime", binary, text, true, "run each benchmark for `TIME`, or Nx times"},
	{"blockprofile", file, text, false, "write a profile of blocked goroutines to `FILE`"},
	{"blockprofilerate", binary, number, false, "one event in `N` nanoseconds of blocking is in it"},
	{"count", binary, number, false, "run each test `N` times"},
	{"cpu", binary, text, true,
		"run the tests with each of these values of GOMAXPROCS, such as `1,2,4`"},
	{"failfast", binary, yesNo, true, "run no more tests after one failed"},
	{"fullpath", binary, yesNo, true, "show full file names in failures"},
	{"list", binary, text, true, "list the tests that match `REGEXP`, and run none"},
	{"memprofilerate", binary, number, false, "one allocation in `N` bytes is in the heap profile"},
	{"mutexprofile", file, text, false, "write a profile of contended mutexes to `FILE`"},
	{"mutexprofilefraction", binary, number, false, "one in `N` stacks is in it"},
	{"outputdir", binary, text, true,
		"write profiles and the like to `DIR` (default: the current folder)"},
	{"parallel", binary, number, true,
		"run at most `N` parallel tests of a package at once\n(default: the machine's processors)"},
	{"run", binary, text, true, "run the tests that match `REGEXP`"},
	{"short", binary, yesNo, true, "tell long tests to be short"},
	{"shuffle", binary, text, false, "run the tests in a random order: on, off or a `SEED`"},
	{"skip", binary, text, true, "do not run the tests that match `REGEXP`"},
	{"timeout", binary, duration, true,
		"end a package's tests after `TIME`; 0 means never (default 10m)"},
	{"trace", file, text, false, "write an execution trace to `FILE`, for go tool trace"},
	{"v", binary, verbosity, true, "show all that is printed, as it comes"},

	{"cover", compile, yesNo, true, "say how much of the code was run"},
	{"covermode", compile, text, true, "how that is counted: set, count or atomic (`MODE`)"},
	{"coverpkg", compile, text, true,
		"of which packages (`PATTERNS`; default: the one that is tested)"},
	{"coverprofile", own, text, true, "write what was run to `FILE`, for go tool cover"},
	{"vet", compile, text, true, "do go vet's checks of `LIST` as it builds (default off)"},

	{"c", own, yesNo, false, "build the image of the tests, PKG.test.elf, and do not boot it"},
	{"o", own, text, false, "write that image to `FILE`, or into a folder"},
	{"json", own, yesNo, true, "print events, one JSON object a line: go doc test2json"},

	{"a", build, yesNo, true, "build anew what has been built already"},
	{"asmflags", build, text, true, "go build's -asmflags"},
	{"C", own, text, true, "change to `DIR` before all else; it comes first"},
	{"buildvcs", build, text, true, "go build's -buildvcs"},
	{"mod", build, text, true, "go build's -mod: readonly, vendor or mod (`MODE`)"},
	{"modcacherw", build, yesNo, true, "go build's -modcacherw"},
	{"modfile", build, text, true, "go build's -modfile"},
	{"overlay", build, text, true, "go build's -overlay"},
	{"p", own, number, true,
		"build and test `N` packages at a time (default: this host's processors)"},
	{"pgo", build, text, true, "go build's -pgo"},
	{"trimpath", build, yesNo, true, "go build's -trimpath"},
	{"work", compile, yesNo, true, "go build's -work"},
	{"x", compile, yesNo, true, "print the commands that build"},

	{"asan", refused, yesNo, false, "it needs cgo and the C compiler's runtime; leave it out"},
	{"compiler", refused, text, false, "an image is built by Go's own compiler; leave it out"},
	{"exec", refused, text, false, "zf test itself runs the test binary, in a machine; leave it out"},
	{"fuzz", refused, text, false, fuzzElsewhere},
	{"fuzzminimizetime", refused, text, false, fuzzElsewhere},
	{"fuzztime", refused, text, false, fuzzElsewhere},
	{"gccgoflags", refused, text, false, "an image is built by Go's own compiler; leave it out"},
	{"installsuffix", refused, text, false,
		"an image is built into a folder of its own; leave it out"},
	{"linkshared", refused, yesNo, false, "an image has no shared libraries; leave it out"},
	{"msan", refused, yesNo, false, "it needs cgo and the C compiler's runtime; leave it out"},
	{"n", refused, yesNo, false, "it builds nothing that could boot; leave it out"},
	{"pkgdir", refused, text, false, "an image is built into a folder of its own; leave it out"},
	{"race", refused, yesNo, false,
		"the race detector needs cgo and a C library for an operating system; " +
			"`go test -race` finds races in the same code"},
	{"toolexec", refused, text, false, "zf adds the kernel by it; leave it out"},
}

// fuzzElsewhere is why no fuzz test is fuzzed on a machine.
const fuzzElsewhere = "`go test -fuzz` finds inputs on this host; zf test runs those in testdata/fuzz"

// Flags is what a command line says of the flags of go test and go build.
type Flags struct {
	// Binary is for the test binary, in the order given: flags as -test.NAME=VALUE, then
	// the test's own flags and arguments.
	Binary []string
	// Defaults is how many of Binary, the first, come from GOFLAGS.
	Defaults int
	// Build is for go list and go test -c, Compile for go test -c alone.
	Build, Compile []string

	values map[string]string
	mixed  bool // arguments of the test's own, or flags of another kind than these
}

// Register adds the flags to a set, but for those that it has already.
func (f *Flags) Register(fs *flag.FlagSet) {
	f.values = make(map[string]string)
	for i := range rows {
		if r := &rows[i]; fs.Lookup(r.name) == nil {
			fs.Var(&goFlag{f, r, nil}, r.name, r.help)
		}
	}
}

// RegisterBuild adds those of the flags to a set that are go build's, but for what it has
// already. What is given of them is appended to flags, as go list and go build take it.
func RegisterBuild(fs *flag.FlagSet, flags *[]string) {
	f := &Flags{values: make(map[string]string)}
	for i := range rows {
		r := &rows[i]
		more := r.name == "C" || strings.HasPrefix(r.name, "cover") && r.use == compile
		if (more || r.use == build || r.use == refused && r.name != "exec" && r.help != fuzzElsewhere) &&
			fs.Lookup(r.name) == nil {
			fs.Var(&goFlag{f, r, flags}, r.name, r.help)
		}
	}
}

// Refused says why no image can be built with a flag of the go command, and what to do, or "".
func Refused(name string) string {
	for i := range rows {
		if rows[i].name == name && rows[i].use == refused {
			return rows[i].help
		}
	}
	return ""
}

// PrintDefaults prints the flags of a set for which want says so; ours are those of go test
// and go build. Refused ones are never printed.
func PrintDefaults(fs *flag.FlagSet, want func(ours bool) bool) {
	part := flag.NewFlagSet("", flag.ContinueOnError)
	part.SetOutput(fs.Output())
	fs.VisitAll(func(fl *flag.Flag) {
		g, ours := fl.Value.(*goFlag)
		if want(ours) && (!ours || g.r.use != refused) {
			part.Var(fl.Value, fl.Name, fl.Usage)
			part.Lookup(fl.Name).DefValue = fl.DefValue
		}
	})
	part.PrintDefaults()
}

// CPU takes the value of -cpu if it is go test's, a list of values of GOMAXPROCS. Others, which
// name a processor of the machine, are the caller's.
func (f *Flags) CPU(s string) bool {
	for n := range strings.SplitSeq(s, ",") {
		if i, err := strconv.Atoi(n); err != nil || i < 1 {
			return false
		}
	}
	f.values["cpu"] = s
	f.Binary = append(f.Binary, "-test.cpu="+s)
	return true
}

// Value returns the value of a flag, "" if it was not given.
func (f *Flags) Value(name string) string { return f.values[name] }

// Given reports whether a flag was given.
func (f *Flags) Given(name string) bool {
	_, ok := f.values[name]
	return ok
}

// On reports whether a flag that is on or off is on.
func (f *Flags) On(name string) bool {
	v := f.values[name]
	return v == "true" || v == "test2json"
}

// Duration returns the value of a flag, or usual if it was not given.
func (f *Flags) Duration(name string, usual time.Duration) time.Duration {
	if d, err := time.ParseDuration(f.values[name]); err == nil {
		return d
	}
	return usual
}

// Number returns the value of a flag, or usual if it was not given.
func (f *Flags) Number(name string, usual int) int {
	if n, err := strconv.Atoi(f.values[name]); err == nil {
		return n
	}
	return usual
}

// Cover reports whether coverage is asked for.
func (f *Flags) Cover() bool {
	return f.On("cover") || f.Given("covermode") || f.Given("coverpkg") || f.Given("coverprofile")
}

// CoverMode returns the mode that the profile's first line names.
func (f *Flags) CoverMode() string {
	if m := f.Value("covermode"); m != "" {
		return m
	}
	return "set"
}

// Files returns the flags whose files come back from one package's machine, in the order of
// their names, without that of the coverage profile.
func (f *Flags) Files() (names []string) {
	for _, r := range rows {
		if r.use == file && f.values[r.name] != "" {
			names = append(names, r.name)
		}
	}
	return names
}

// ShowsPass reports whether what a package prints is shown if its tests pass.
func (f *Flags) ShowsPass() bool {
	return f.On("v") || f.Given("list") || slices.ContainsFunc(f.Binary,
		func(a string) bool { return a == "-h" || a == "-help" || a == "--help" })
}

// Cacheable reports whether a result with these flags may be taken from the cache.
func (f *Flags) Cacheable() bool {
	for _, r := range rows {
		if _, given := f.values[r.name]; given && !r.cache {
			return false
		}
	}
	return !f.mixed
}

// goFlag is one of the flags, as package flag sees it.
type goFlag struct {
	f  *Flags
	r  *row
	to *[]string // of RegisterBuild
}

// String implements flag.Value; flags have no default that is shown.
func (v *goFlag) String() string { return "" }

// IsBoolFlag says that -NAME alone means -NAME=true.
func (v *goFlag) IsBoolFlag() bool { return v.r.kind == yesNo || v.r.kind == verbosity }

// check says what is wrong with the value of a flag that not every value of its kind fits.
func (r *row) check(s string) error {
	switch r.name {
	case "shuffle":
		if _, err := strconv.ParseInt(s, 10, 64); err != nil && s != "on" && s != "off" {
			return errors.New("want on, off, or a number to begin with")
		}
	case "covermode":
		if s != "set" && s != "count" && s != "atomic" {
			return errors.New("want set, count or atomic")
		}
	case "count", "p", "parallel":
		if n, _ := strconv.Atoi(s); n < 1 && r.name != "count" || n < 0 {
			return fmt.Errorf("want 1 or more")
		}
	}
	return nil
}

// Set implements flag.Value.
func (v *goFlag) Set(s string) error {
	r := v.r
	if r.use == refused {
		if on, err := strconv.ParseBool(s); r.kind == yesNo && err == nil && !on {
			return nil
		}
		return errors.New(r.help)
	}
	if r.name == "C" { // Enter has taken it where it may be
		return errors.New("it must be the first flag, as for the go command")
	}
	switch r.kind {
	case verbosity, yesNo:
		if r.kind == verbosity && s == "test2json" {
			break
		}
		on, err := strconv.ParseBool(s)
		if err != nil {
			return errors.New("want true or false")
		}
		s = strconv.FormatBool(on)
	case number:
		if _, err := strconv.Atoi(s); err != nil {
			return errors.New("want a number")
		}
	case duration:
		d, err := time.ParseDuration(s)
		if err != nil {
			return errors.New("want a duration such as 30s or 10m")
		}
		if d < 0 {
			return errors.New("it is negative; 0 means none")
		}
		s = d.String()
	}
	if err := r.check(s); err != nil {
		return err
	}
	v.f.values[r.name] = s
	if v.to != nil {
		*v.to = append(*v.to, "-"+r.name+"="+s)
		return nil
	}
	switch r.use {
	case binary, file:
		v.f.Binary = append(v.f.Binary, "-test."+r.name+"="+s)
	case build:
		v.f.Build = append(v.f.Build, "-"+r.name+"="+s)
	case compile:
		v.f.Compile = append(v.f.Compile, "-"+r.name+"="+s)
	}
	return nil
}
