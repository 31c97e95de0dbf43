package main

// The output styles of LLVM's tools: as text, and as JSON with the keys that they have. Both tell
// columns, which addr2line does not.
//
// Source: llvm-symbolizer(1), "OUTPUT STYLE", and what llvm-symbolizer 22 prints; a test compares.

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// An answer is what is known of one question.
type answer struct {
	module string
	addr   uint64 // as it was asked
	name   string // instead of an address
	f      addrSymbols
	frames []lookup.Call
	more   []symbol.Detail // of the frames
}

// answerOf looks an address up.
func (opt *addrOptions) answerOf(f addrSymbols, module string, addr, pc uint64) answer {
	a := answer{module: module, addr: addr, f: f}
	if f != nil {
		a.frames = f.Lookup(pc, false)
		a.more = detailsOf(f, pc, a.frames)
		// Where the function begins the symbol table knows, too.
		if n := len(a.frames) - 1; n >= 0 && a.frames[n].Function != "" && !a.more[n].HasStart {
			a.more[n].Start, a.more[n].HasStart = pc-a.frames[n].Offset, true
		}
	}
	return a
}

// detailsOf returns the details of frames, one for each.
func detailsOf(f addrSymbols, pc uint64, frames []lookup.Call) []symbol.Detail {
	more := make([]symbol.Detail, len(frames))
	if file, ok := f.(*symbol.File); ok {
		// Go's own tables may know other calls than the debug information.
		if known := file.Details(pc, false); len(known) == len(frames) {
			copy(more, known)
		}
	}
	return more
}

// shown returns the frames that are printed, with the function that stands for each.
func (opt *addrOptions) shown(a *answer) []lookup.Call {
	if opt.inlines || len(a.frames) < 2 {
		return a.frames
	}
	// Without inlined calls there is the line, and the function that has the instruction.
	only := a.frames[0]
	last := len(a.frames) - 1
	only.Function = a.frames[last].Function
	if a.more[0].Column == 0 {
		a.more[0].Column = a.more[last].Column
	}
	column, disc := a.more[0].Column, a.more[0].Discriminator
	a.more[0] = a.more[last]
	a.more[0].Column, a.more[0].Discriminator = column, disc
	return []lookup.Call{only}
}

// nameOf returns the name of a frame's function as it is printed, or "". more may be nil.
func (opt *addrOptions) nameOf(fr *lookup.Call, more *symbol.Detail) string {
	name := fr.Function
	if opt.style == styleLLVM || opt.style == styleJSON {
		name, _, _ = strings.Cut(name, "@") // the version of a symbol
	}
	switch {
	case opt.short && more != nil && more.Name != "":
		return more.Name
	case opt.demangle:
		return opt.demangled(name)
	}
	return name
}

// demangled returns a name as in the source, in the form that the output style has: GNU's tools
// part two closing brackets.
func (opt *addrOptions) demangled(name string) string {
	if opt.style == styleLLVM || opt.style == styleJSON {
		return foreign.Demangle(name, foreign.LLVMStyle)
	}
	return foreign.Demangle(name)
}

// fileOf returns the name of a frame's file as it is printed, or "". more may be nil.
func (opt *addrOptions) fileOf(file string, more *symbol.Detail) string {
	switch {
	case opt.basenames:
		return file[strings.LastIndexByte(file, '/')+1:]
	case opt.relative && more != nil && more.CompDir != "":
		return strings.TrimPrefix(file, strings.TrimSuffix(more.CompDir, "/")+"/")
	}
	return file
}

func orUnknown(s string) string {
	if s == "" {
		return "??"
	}
	return s
}

// styled prints an answer in one of LLVM's styles.
func (a *answering) styled(r *answer) {
	if a.opt.style == styleJSON {
		a.emit(a.opt.jsonOf(r))
		return
	}
	opt, w := a.opt, a.out
	if opt.addresses && r.name == "" {
		w.WriteString(hexOf(r.addr) + opt.after(": "))
	}
	frames := opt.framesOf(r)
	if len(frames) == 0 {
		frames = append(frames, &jsonFrame{})
	}
	for i, fr := range frames {
		if i > 0 && opt.pretty {
			w.WriteString(" (inlined by) ")
		}
		if opt.functions {
			w.WriteString(orUnknown(fr.FunctionName) + opt.after(" at "))
		}
		if opt.verbose {
			fr.verbose(w)
			continue
		}
		fmt.Fprintf(w, "%s:%d:%d\n", orUnknown(fr.FileName), fr.Line, fr.Column)
		opt.view.source(w, &fr.call)
	}
	w.WriteByte('\n')
}

// emit writes an answer in JSON, or adds it to the list of all.
func (a *answering) emit(j *jsonAnswer) {
	if a.list {
		a.all = append(a.all, j)
		return
	}
	a.out.Write(a.opt.jsonText(j))
}

// verbose prints a frame as --verbose has it.
func (fr *jsonFrame) verbose(w textWriter) {
	fmt.Fprintf(w, "  Filename: %s\n", orUnknown(fr.FileName))
	if fr.StartLine != 0 {
		fmt.Fprintf(w, "  Function start filename: %s\n  Function start line: %d\n",
			orUnknown(fr.StartFileName), fr.StartLine)
	}
	if fr.StartAddress != "" {
		fmt.Fprintf(w, "  Function start address: %s\n", fr.StartAddress)
	}
	fmt.Fprintf(w, "  Line: %d\n  Column: %d\n", fr.Line, fr.Column)
	if fr.Discriminator != 0 {
		fmt.Fprintf(w, "  Discriminator: %d\n", fr.Discriminator)
	}
}

// A jsonFrame is a frame as it is shown: its keys are in the order of LLVM's.
type jsonFrame struct {
	Column        int
	Discriminator int
	FileName      string
	FunctionName  string
	Line          int
	StartAddress  string
	StartFileName string
	StartLine     int

	call lookup.Call
}

// A jsonAnswer has an answer's.
type jsonAnswer struct {
	Address    string        `json:",omitempty"`
	Data       *jsonData     `json:",omitempty"`
	Error      *jsonError    `json:",omitempty"`
	Frame      *[]jsonLocal  `json:",omitempty"`
	Loc        *[]*jsonFrame `json:",omitempty"`
	ModuleName string
	SymName    string        `json:",omitempty"`
	Symbol     *[]*jsonFrame `json:",omitempty"`
}

type jsonError struct{ Message string }

type jsonData struct{ Name, Size, Start string }

type jsonLocal struct {
	DeclFile     string
	DeclLine     int
	FrameOffset  any // a number, or "" if it is not known
	FunctionName string
	Name         string
	Size         string
	TagOffset    string
}

// framesOf returns the frames of an answer as they are shown.
func (opt *addrOptions) framesOf(a *answer) []*jsonFrame {
	frames := []*jsonFrame{}
	for i, fr := range opt.shown(a) {
		more := &a.more[i]
		j := &jsonFrame{
			Column: more.Column, Discriminator: more.Discriminator, FileName: opt.fileOf(fr.File, more),
			Line:          fr.Line,
			StartFileName: opt.fileOf(more.StartFile, more), StartLine: more.StartLine, call: fr,
		}
		if opt.functions {
			j.FunctionName = opt.nameOf(&fr, more)
		}
		if more.HasStart {
			j.StartAddress = hexOf(more.Start)
		}
		frames = append(frames, j)
	}
	return frames
}

// jsonOf returns an answer for JSON.
func (opt *addrOptions) jsonOf(a *answer) *jsonAnswer {
	frames := opt.framesOf(a)
	if a.name != "" {
		return &jsonAnswer{ModuleName: a.module, SymName: a.name, Loc: &frames}
	}
	if len(frames) == 0 {
		frames = append(frames, &jsonFrame{})
	}
	return &jsonAnswer{ModuleName: a.module, Address: hexOf(a.addr), Symbol: &frames}
}

func hexOf(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// jsonText returns a value as LLVM writes it: with -p one key a line.
func (opt *addrOptions) jsonText(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if opt.pretty {
		e.SetIndent("", "  ")
	}
	if e.Encode(v) != nil {
		return nil // there is nothing in it that could not be written
	}
	return []byte(b.String())
}
