package main

// What `zf addr` shows beyond addr2line: the source around each line, and links.

import (
	"flag"
	"io"
	"os"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/source"
)

// An addrView is the flags for it, which are those of zf symbolize, and what they need.
// A nil one shows nothing.
type addrView struct {
	flags    viewFlags
	set      *flag.FlagSet // of flags
	template string        // of links
	sources  *source.Finder
}

func newAddrView() *addrView {
	v := &addrView{set: flag.NewFlagSet("", flag.ContinueOnError)}
	v.set.SetOutput(io.Discard)
	v.flags.flags(v.set)
	return v
}

// prepare makes ready to show. terminal says that the output is one.
func (v *addrView) prepare(terminal bool) (err error) {
	if v == nil {
		return nil
	}
	if v.template, err = v.flags.template(terminal); err != nil {
		return err
	}
	dir, err := os.Getwd()
	v.sources = source.New(dir, v.flags.remaps)
	return err
}

// link returns a frame's file as it is shown.
func (v *addrView) link(fr *lookup.Call, shown string) string {
	if v == nil || v.template == "" || fr.File == "" {
		return shown
	}
	return v.sources.Link(v.template, fr.File, fr.Line, shown)
}

// source shows the lines around a frame's.
func (v *addrView) source(w textWriter, fr *lookup.Call) {
	if v == nil || v.flags.context == 0 || fr.File == "" || fr.Line == 0 {
		return
	}
	for _, line := range v.sources.Context(fr.File, fr.Line, v.flags.context) {
		w.WriteString("        ")
		w.WriteString(line)
		w.WriteByte('\n')
	}
}
