package main

// `zf symbolizer` takes llvm-symbolizer's place: its flags, its output and its protocol on
// standard input, by which sanitizers, Chromium's and LLVM's scripts ask. zf does so, too, when it
// is called by a name that begins with llvm-symbolizer, as the sanitizers want it, and takes
// addr2line's place under that name: a link is all that it takes.
//
// Sources: llvm-symbolizer(1); LLVM, compiler-rt/lib/sanitizer_common/
// sanitizer_symbolizer_libcdep.cpp, ChooseExternalSymbolizer (the names).

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

const symbolizerUsage = `Usage: zf symbolizer [flags] [ADDR...]

Symbolizer prints functions, files, lines and columns as llvm-symbolizer does,
and takes its flags and its requests: each line of standard input is one, and
its answer ends with an empty line.

  [CODE] FILE ADDR       functions, inlined ones first, and lines
  DATA FILE ADDR         the variable: its name, its address and its size
  FRAME FILE ADDR        the variables of the function's frame

Without FILE if -e names it. FILE may be in quotes, FILE:NAME, or BUILDID:HEX.
ADDR is decimal, or hexadecimal with 0x, or FUNC+OFFSET.

A link to zf called llvm-symbolizer-zf (any name that begins so) does the same,
for those who choose a symbolizer by its name. Sanitizers do:

  ln -s $(which zf) llvm-symbolizer-zf
  ASAN_SYMBOLIZER_PATH=$PWD/llvm-symbolizer-zf ./program

A link called addr2line is ` + "`zf addr`" + `. The flags are those of zf addr, with other
defaults: --output-style=LLVM, --functions=linkage, --demangle and --inlines;
--no-demangle, --no-inlines and --functions=none turn them off.

Example: echo "CODE ./a.out 0x1139" | zf symbolizer
`

// calledAs returns the arguments of zf if it was called by another program's name.
func calledAs(path string, args []string) []string {
	switch name := strings.TrimSuffix(filepath.Base(path), ".exe"); {
	case strings.HasPrefix(name, "llvm-symbolizer"), name == "zf-symbolizer":
		return append([]string{"symbolizer"}, args...)
	case name == "addr2line", strings.HasSuffix(name, "-addr2line"):
		return append([]string{"addr"}, args...)
	}
	return args
}

func runSymbolizer(c *call) error {
	return answerAddresses(c, addrOptions{
		llvm: true, style: styleLLVM, functions: true, demangle: true, inlines: true,
	})
}

// symbolizerVersion is what --version prints: scripts look for the words LLVM and version.
const symbolizerVersion = "llvm-symbolizer\nLLVM version 22 (zf symbolizer, Zeroframe %s)\n"

// requests answers requests, the arguments or lines of standard input.
func (a *answering) requests(lines []string) error {
	for _, line := range lines {
		r, err := parseRequest(line, a.opt.exe)
		var f addrSymbols
		if err == nil {
			f, err = a.file(&r)
		} else if strings.TrimSpace(line) != "" {
			a.say("%q: %v", line, err)
		}
		switch {
		case a.opt.style == styleJSON:
			a.emit(a.json(&r, f, err))
		case r.kind == "DATA" && r.name == "":
			a.data(&r, f)
		case r.kind == "FRAME" && r.name == "":
			a.frame(&r, f)
		default:
			for _, x := range a.answers(&r, f) {
				if a.opt.style == styleGNU {
					a.opt.print(a.out, f, asked{addr: x.addr, pc: x.addr - a.opt.adjust}, x.frames)
				} else {
					a.styled(&x)
				}
			}
		}
	}
	return nil
}

// A request is one line.
type request struct {
	kind        string // CODE, DATA or FRAME
	file, build string
	addr        uint64
	name        string // of a function, instead of an address alone
	offset      uint64 // from the name
}

// parseRequest reads a line. given is the file of the flags, or "".
func parseRequest(line, given string) (r request, err error) {
	r = request{kind: "CODE", file: given}
	rest := strings.TrimSpace(line)
	for _, kind := range []string{"CODE ", "DATA ", "FRAME "} {
		if after, ok := strings.CutPrefix(rest, kind); ok {
			r.kind, rest = strings.TrimSpace(kind), strings.TrimLeft(after, " \t")
			break
		}
	}
	prefix := ""
	for _, p := range []string{"FILE:", "BUILDID:"} {
		if after, ok := strings.CutPrefix(rest, p); ok {
			prefix, rest = p, strings.TrimLeft(after, " \t")
		}
	}
	if given == "" || prefix != "" {
		if given != "" {
			return r, errors.New("the flags name the file already")
		}
		var name string
		if name, rest = firstWord(rest); name == "" {
			return r, errors.New("no input filename has been specified")
		}
		if r.file = name; prefix == "BUILDID:" {
			r.file, r.build = "", strings.ToLower(name)
		}
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return r, errors.New("no module offset has been specified")
	}
	if r.addr, err = strconv.ParseUint(rest, 0, 64); err == nil {
		return r, nil
	}
	r.name, r.offset = nameAndOffset(rest)
	return r, nil
}

// firstWord returns the first word of s, which may be in quotes, and what is behind it.
func firstWord(s string) (word, rest string) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if i := strings.IndexByte(s[1:], s[0]); i >= 0 {
			return s[1 : 1+i], s[2+i:]
		}
	}
	word, rest, _ = strings.Cut(s, " ")
	return word, rest
}

// noSymbols stands for a file that cannot be opened.
type noSymbols struct{ addrSymbols }

func (noSymbols) AddressSize() int { return 8 }

// noSuchFile is the error for a file that is not there.
type noSuchFile struct{ name string }

func (e noSuchFile) Error() string { return fmt.Sprintf("%q: No such file or directory", e.name) }

// file opens the file of a request, once. What goes wrong is said once.
func (s *answering) file(r *request) (addrSymbols, error) {
	name := r.file
	if r.build != "" {
		name = "BUILDID:" + r.build
	}
	if f, ok := s.files[name]; ok {
		return f, nil
	}
	opt := *s.opt
	if opt.exe = r.file; r.build != "" {
		opt.exe, opt.buildID = defaultExe, r.build
	}
	f, err := s.indexes.openFor(&opt)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) { // in the words of those who look for them
			err = noSuchFile{r.file}
		}
		s.say("%v", err)
		f = nil
	}
	s.files[name] = f
	return f, err
}

// answers returns the answers to a request for code: several if functions have the same name.
func (s *answering) answers(r *request, f addrSymbols) (all []answer) {
	if f == nil {
		return []answer{{module: r.file, addr: r.addr, name: r.name, f: noSymbols{}}}
	}
	if r.name == "" {
		return []answer{s.opt.answerOf(f, r.file, r.addr, r.addr-s.opt.adjust)}
	}
	for _, fn := range f.Named(r.name) {
		a := s.opt.answerOf(f, r.file, fn.Start+r.offset, fn.Start+r.offset)
		a.name = r.name
		all = append(all, a)
	}
	if all == nil {
		all = []answer{{module: r.file, name: r.name, f: f}}
	}
	return all
}

// variable returns the variable that a request is for.
func (s *answering) variable(r *request, f addrSymbols) (name string, start, size uint64) {
	v, ok := f.(*symbol.File)
	if !ok {
		return "", 0, 0
	}
	name, offset, ok := v.Variable(r.addr - s.opt.adjust)
	if !ok {
		return "", 0, 0
	}
	start = r.addr - s.opt.adjust - offset
	_, size, _ = v.Symbol(name)
	if s.opt.demangle {
		name = s.opt.demangled(name)
	}
	return name, start, size
}

// data answers a request for a variable.
func (s *answering) data(r *request, f addrSymbols) {
	name, start, size := s.variable(r, f)
	if s.opt.addresses {
		fmt.Fprintf(s.out, "%#x\n", r.addr)
	}
	fmt.Fprintf(s.out, "%s\n%d %d\n", orUnknown(name), start, size)
	if v, ok := f.(*symbol.File); ok && name != "" {
		if file, line, ok := v.Declared(start); ok {
			fmt.Fprintf(s.out, "%s:%d\n\n", file, line)
			return
		}
	}
	s.out.WriteString("??:?\n\n")
}

// locals returns the variables that a request is for.
func (s *answering) locals(r *request, f addrSymbols) []symbol.Local {
	if v, ok := f.(*symbol.File); ok {
		return v.Locals(r.addr - s.opt.adjust)
	}
	return nil
}

// frame answers a request for a frame.
func (s *answering) frame(r *request, f addrSymbols) {
	if s.opt.addresses {
		fmt.Fprintf(s.out, "%#x\n", r.addr)
	}
	all := s.locals(r, f)
	if len(all) == 0 {
		s.out.WriteString("??\n")
	}
	for i := range all {
		l := &all[i]
		offset, size := "??", "??"
		if l.HasOffset {
			offset = strconv.FormatInt(l.Offset, 10)
		}
		if l.HasSize {
			size = strconv.FormatUint(l.Size, 10)
		}
		fmt.Fprintf(s.out, "%s\n%s\n%s:%d\n%s %s ??\n", orUnknown(l.Function), orUnknown(l.Name),
			orUnknown(l.File), l.Line, offset, size)
	}
	s.out.WriteByte('\n')
}

// json answers a request in JSON.
func (s *answering) json(r *request, f addrSymbols, err error) *jsonAnswer {
	j := &jsonAnswer{ModuleName: r.file}
	if r.build != "" {
		j.ModuleName = r.build
	}
	if r.name != "" {
		j.SymName = r.name
	} else {
		j.Address = hexOf(r.addr)
	}
	switch {
	case err != nil:
		j.Error = &jsonError{err.Error()}
		if errors.As(err, new(noSuchFile)) {
			j.Error.Message = "No such file or directory" // the name is beside it
		}
	case r.kind == "DATA" && r.name == "":
		name, start, size := s.variable(r, f)
		j.Data = &jsonData{Name: name, Start: hexOf(start), Size: hexOf(size)}
	case r.kind == "FRAME" && r.name == "":
		list := []jsonLocal{}
		for _, l := range s.locals(r, f) {
			v := jsonLocal{DeclFile: l.File, DeclLine: l.Line, FrameOffset: "", FunctionName: l.Function,
				Name: l.Name}
			if l.HasOffset {
				v.FrameOffset = l.Offset
			}
			if l.HasSize {
				v.Size = hexOf(l.Size)
			}
			list = append(list, v)
		}
		j.Frame = &list
	default:
		all := s.answers(r, f)
		j = s.opt.jsonOf(&all[0])
		for i := range all[1:] {
			*j.Loc = append(*j.Loc, *s.opt.jsonOf(&all[1+i]).Loc...)
		}
	}
	return j
}
