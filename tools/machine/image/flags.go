package image

// A program is built with the flags that its user gives, in GOFLAGS or on the command line. The
// kernel's own packages are not: they are always compiled as in a plain build. Their code runs
// on small stacks of proven depth, and on some of them before the stack check knows which one it
// is on, so it relies on the compiler's inlining (-l, -N); and it may call nothing of the runtime,
// as code with checks of pointers (-d=checkptr) does. Code that would bear any flag would need
// larger stacks, and a pragma on each function, in every build.
//
// The go command lets the last pattern that matches a package decide, so that patterns which
// name the kernel's packages come last. Coverage has no such patterns, but a list of packages,
// from which the kernel's are left out.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/machine/gotest"
)

// ErrFlag is returned for a flag of the go command, perhaps in GOFLAGS, that an image cannot
// be built with.
var ErrFlag = errors.New("impossible build flag")

// refusedFlags are those that GOFLAGS may have; gotest.Refused has the reasons. Never written.
var refusedFlags = []string{"race", "msan", "asan", "linkshared", "n", "toolexec", "compiler"}

// refusedLink are flags of the linker, with the values that do no harm. Never written.
var refusedLink = []struct {
	name, harmless, why string
}{
	{"linkmode", "internal auto", "the C linker makes programs for an operating system"},
	{"buildmode", "exe", "an image is linked with -buildmode=exe"},
	{"H", "linux", "an image is linked for linux, whose system calls the kernel speaks"},
	{"R", "0x1000 4096", "an image is laid out in pages of 4 KiB"},
	{"D", "-1", "the linker places the data of an image after its text"},
	{"randlayout", "0", "the kernel knows its own code by its place in the text"},
}

// splitFlags splits a list of words as the go command does (cmd/internal/quoted): quotes around
// a word hold it together, and there are no escapes.
func splitFlags(s string) (words []string) {
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := strings.IndexAny(s, " \t\r\n")
		if s[0] == '"' || s[0] == '\'' {
			if end = strings.IndexByte(s[1:], s[0]); end >= 0 {
				words, s = append(words, s[1:1+end]), s[end+2:]
				continue
			}
		}
		if end < 0 {
			end = len(s)
		}
		words, s = append(words, s[:end]), s[end:]
	}
	return words
}

// joinFlags is the reverse of splitFlags; a word with both kinds of quotes is an error.
func joinFlags(words []string) (string, error) {
	words = slices.Clone(words)
	for i, w := range words {
		switch {
		case w != "" && !strings.ContainsAny(w, " \t\r\n'\""):
		case !strings.Contains(w, "'"):
			words[i] = "'" + w + "'"
		case !strings.Contains(w, `"`):
			words[i] = `"` + w + `"`
		default:
			return "", fmt.Errorf("%s has both kinds of quotes in it", w)
		}
	}
	return strings.Join(words, " "), nil
}

// values returns what a flag of the go command is given, in GOFLAGS first, then on the command
// line; "true" where it has no value.
func (o *BuildOptions) values(name string) (values []string) {
	own := slices.Concat(o.Flags, o.TestFlags)
	switch name {
	case "gcflags":
		own = []string{"-gcflags=" + o.GCFlags}
	case "ldflags":
		own = []string{"-ldflags=" + o.LDFlags}
	}
	for _, word := range slices.Concat(o.goflags, own) {
		word = strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
		if n, v, given := strings.Cut(word, "="); n == name && (given || word == name) {
			if !given {
				v = "true"
			}
			if v = strings.TrimSpace(v); v != "" {
				values = append(values, v)
			}
		}
	}
	return values
}

// value returns the last of values, which counts, or "".
func (o *BuildOptions) value(name string) string {
	if v := o.values(name); len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// checkFlags refuses what is known to be impossible.
func (o *BuildOptions) checkFlags() error {
	for _, name := range refusedFlags {
		if v := o.value(name); v != "" && v != "false" && v != "gc" {
			return fmt.Errorf("%w: -%s: %s (also of GOFLAGS)", ErrFlag, name, gotest.Refused(name))
		}
	}
	for _, v := range o.values("ldflags") {
		_, flags := linkerFlags(v)
		for _, f := range flags {
			for _, r := range refusedLink {
				if r.name == f.name && !slices.Contains(strings.Fields(r.harmless), f.value) {
					return fmt.Errorf("%w: -ldflags=%s: %s; leave it out (also of GOFLAGS)",
						ErrFlag, strings.Join(f.words, " "), r.why)
				}
			}
		}
	}
	mode := o.BuildMode
	if mode == "" {
		mode = o.value("buildmode")
	}
	if mode != "" && mode != "default" && mode != "exe" {
		return fmt.Errorf(
			"%w: -buildmode=%s; an image is built with -buildmode=exe, leave it out (also of GOFLAGS)",
			ErrBuildMode, mode)
	}
	return nil
}

// settleFlags finds out what the flags come to for a program.
func (o *BuildOptions) settleFlags(pkgs []listed, root *listed) (err error) {
	o.own = o.ownPackages(pkgs)
	if err := o.findProfile(root); err != nil {
		return err
	}
	if err := o.findCovered(pkgs, root); err != nil {
		return err
	}
	o.ldflags, err = o.linkFlags(root)
	return err
}

// moduleFlags returns those of Flags that say where packages come from.
func (o *BuildOptions) moduleFlags() (flags []string) {
	for _, name := range []string{"mod", "modfile", "overlay"} {
		if v := (&BuildOptions{Flags: o.Flags}).value(name); v != "" {
			flags = append(flags, "-"+name+"="+v)
		}
	}
	return flags
}

// overlay writes the file that the flag -overlay names into the folder dir, with absolute names,
// for a go command in another folder, and adds the choice of the kernel's parts. It returns "" if
// there is nothing to replace.
func (o *BuildOptions) overlay(dir string) (string, error) {
	given := o.value("overlay")
	replace, err := o.withParts(dir)
	if o.pins != nil {
		maps.Copy(replace, o.pins.replace)
	}
	if given == "" && len(replace) == 0 || err != nil {
		return "", err
	}
	var file struct{ Replace map[string]string }
	absolute := func(name string) (string, error) {
		if name == "" || filepath.IsAbs(name) { // "": the file is taken away
			return name, nil
		}
		return filepath.Abs(filepath.Join(o.Dir, name))
	}
	if given != "" {
		name, err1 := absolute(given)
		text, err2 := os.ReadFile(name)
		if err = errors.Join(err1, err2); err == nil {
			err = json.Unmarshal(text, &file)
		}
	}
	for from, to := range file.Replace {
		from, err1 := absolute(from)
		to, err2 := absolute(to)
		replace[from], err = to, errors.Join(err, err1, err2)
	}
	if err != nil {
		return "", fmt.Errorf("%w: -overlay=%s: %w", ErrLoad, given, err)
	}
	file.Replace = replace
	text, err := json.Marshal(file)
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}

// inGOFLAGS reports whether GOFLAGS has a flag.
func (o *BuildOptions) inGOFLAGS(name string) bool {
	plain := BuildOptions{goflags: o.goflags}
	return len(plain.values(name)) > 0
}

// ownPackages returns those of the program's packages, by import path, of which the kernel
// consists. A program may import parts of it alone, which are the kernel's then, too.
func (o *BuildOptions) ownPackages(pkgs []listed) (own []string) {
	imports := make(map[string][]string)
	for _, p := range pkgs {
		name, _, variant := strings.Cut(p.ImportPath, " ")
		if p.Standard || variant || p.Name == "main" {
			continue
		}
		imports[name] = p.Imports
		part, ours := strings.CutPrefix(name, modulePath+"/")
		part, _, _ = strings.Cut(part, "/")
		if ours && slices.Contains([]string{"arch", "boot", "tracer"}, part) {
			own = append(own, name)
		}
	}
	for _, path := range []string{"", NetPackage, InetPackage, HeapPackage} {
		if _, there := imports[o.KernelPackage+path]; there {
			own = append(own, o.KernelPackage+path)
		}
	}
	for i := 0; i < len(own); i++ {
		for _, name := range imports[own[i]] {
			if _, ours := imports[name]; ours && !slices.Contains(own, name) {
				own = append(own, name)
			}
		}
	}
	return own
}

// kernelFlags returns the arguments by which the packages that patterns match are compiled as
// in a plain build.
func (o *BuildOptions) kernelFlags(patterns []string) (args []string) {
	pgo := ""
	if o.profile != "" {
		pgo = "-pgoprofile=" // which takes back the one that the go command has given
	}
	for _, p := range patterns {
		if pgo != "" || len(o.values("gcflags")) > 0 {
			args = append(args, "-gcflags="+p+"="+pgo)
		}
		if len(o.values("asmflags")) > 0 {
			args = append(args, "-asmflags="+p+"=")
		}
	}
	return args
}

// covers reports whether coverage is asked for.
func (o *BuildOptions) covers() bool {
	if v := o.value("cover"); v != "" && v != "false" {
		return true
	}
	return slices.ContainsFunc([]string{"covermode", "coverpkg", "coverprofile"},
		func(name string) bool { return o.value(name) != "" })
}

// findCovered finds out which packages are covered, if coverage is asked for. The kernel's own,
// and what they share with the program, are left out.
func (o *BuildOptions) findCovered(pkgs []listed, root *listed) error {
	asked := o.value("coverpkg")
	if !o.covers() || asked == "" && o.Test { // the package that is tested
		return nil
	}
	left := append([]string{"sync/atomic", "internal/runtime/atomic"}, o.own...)
	for _, p := range pkgs {
		name, _, variant := strings.Cut(p.ImportPath, " ")
		matches := asked == "" && (p.Module != nil && p.Module.Main || name == root.ImportPath)
		for pattern := range strings.SplitSeq(asked, ",") {
			matches = matches || o.matches(pattern, &p)
		}
		switch {
		case !matches || variant || name == "unsafe" || len(p.GoFiles) == 0 ||
			strings.HasSuffix(name, ".test"):
		case slices.Contains(left, name):
			o.uncovered = true
		default:
			o.covered = append(o.covered, name)
			o.coveredStd = o.coveredStd || p.Standard
		}
	}
	if o.uncovered && len(o.covered) == 0 {
		return fmt.Errorf(
			"%w: -coverpkg=%s names packages of the kernel alone, which are never covered; name some of the program's",
			ErrFlag, asked)
	}
	return nil
}

// kernelCover returns the arguments of go list by which the packages that the kernel and the
// program share are compiled for both in the same way.
func (o *BuildOptions) kernelCover() []string {
	if !o.coveredStd {
		return []string{"-cover=false"}
	}
	return []string{"-cover", "-covermode=" + cmp.Or(o.value("covermode"), "set"), "-coverpkg=" +
		strings.Join(o.covered, ",")}
}

// matches reports whether the go command's pattern, such as ./..., matches a package.
func (o *BuildOptions) matches(pattern string, p *listed) bool {
	what := p.ImportPath
	switch {
	case pattern == "all":
		return true
	case pattern == "std" || pattern == "cmd":
		return p.Standard == (pattern == "std")
	case pattern == "." || pattern == ".." || strings.HasPrefix(pattern, "./") ||
		strings.HasPrefix(pattern, "../"):
		dir, err := filepath.Abs(filepath.Join(o.Dir, pattern))
		if err != nil {
			return false
		}
		pattern, what = filepath.ToSlash(dir), filepath.ToSlash(p.Dir)
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\.\.\.`, `.*`)
	if rest, ok := strings.CutSuffix(expr, "/.*"); ok {
		expr = rest + "(/.*)?" // net/... matches net, too
	}
	ok, err := regexp.MatchString("^"+expr+"$", what)
	return err == nil && ok
}

// findProfile finds the profile that the program is built with (PGO).
func (o *BuildOptions) findProfile(root *listed) error {
	var err error
	switch v := o.value("pgo"); v {
	case "off":
	case "", "auto":
		if file := filepath.Join(root.Dir, "default.pgo"); root.Name == "main" && isFile(file) {
			o.profile = file
		}
	default:
		if o.profile = v; !filepath.IsAbs(v) {
			o.profile, err = filepath.Abs(filepath.Join(o.Dir, v))
		}
	}
	return err
}

// linkerFlag is one of the linker's flags as it was given: a word, or two.
type linkerFlag struct {
	name, value string // "true" if there is none
	words       []string
}

// linkerFlags parts a value of -ldflags. pattern is "" if it has none.
func linkerFlags(v string) (pattern string, flags []linkerFlag) {
	if !strings.HasPrefix(v, "-") {
		pattern, v, _ = strings.Cut(v, "=")
	}
	for words := splitFlags(v); len(words) > 0; {
		n := 1
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(words[0], "-"), "-"), "=")
		if !given {
			value = "true"
			if len(words) > 1 && (name == "X" || name == "extldflags" || !strings.HasPrefix(words[1], "-")) {
				value, n = words[1], 2
			}
		}
		flags, words = append(flags, linkerFlag{name, value, words[:n]}), words[n:]
	}
	return strings.TrimSpace(pattern), flags
}

// linkFlags returns the linker's flags that the user has given, without those that leave out
// symbols or DWARF. These are what the kernel's tables are made of (golayout.go,
// stacklimits.go), so that they are left out when those are filled in.
func (o *BuildOptions) linkFlags(root *listed) (flags string, err error) {
	var last []linkerFlag
	for _, v := range o.values("ldflags") {
		if pattern, flags := linkerFlags(v); pattern == "" || o.matches(pattern, root) {
			last = flags
		}
	}
	symbols, dwarf := "", ""
	var kept []string
	for _, f := range last {
		on, err := strconv.ParseBool(f.value)
		switch {
		case err != nil:
			kept = append(kept, f.words...)
		case f.name == "s":
			symbols = strconv.FormatBool(on)
		case f.name == "w":
			dwarf = strconv.FormatBool(on)
		default:
			kept = append(kept, f.words...)
		}
	}
	o.dropSymbols = symbols == "true"
	o.dropDWARF = cmp.Or(dwarf, symbols) == "true"
	if flags, err = joinFlags(kept); err != nil {
		err = fmt.Errorf("%w: -ldflags: %w", ErrFlag, err)
	}
	return flags, err
}
