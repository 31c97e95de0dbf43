package main

// How traces are shown: the source around a frame, links of the terminal, and the
// forms that have the traces alone.

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// linksVariable names what -links says when it is not given.
const linksVariable = "ZF_LINKS"

// viewFlags say how traces are shown.
type viewFlags struct {
	context int
	remaps  []source.Remap
	links   string // WHEN or a template

	template string // of links; "": none
	dir      string // the current one
	sources  *source.Finder
}

// flags declares the flags.
func (v *viewFlags) flags(set *flag.FlagSet) {
	addFlags(set, []option{
		{v.setContext, "context",
			"show `N` lines of source before and behind each frame's line, if\nthe file is here"},
		{remapping(&v.remaps), "source",
			"where source files are: `OLD=NEW` says that what the ELF file has\nunder the path OLD is here under NEW; may be repeated, the longest\nOLD counts; an empty one takes paths that are not absolute"},
		{&v.links, "links",
			"links of the terminal on files: `WHEN` is auto (a terminal with\ncolours), always, never, or a template of what they open, such as\n'vscode://file{path}:{line}' (default: $" + linksVariable + ", or auto)"},
	})
}

// setContext takes the value of -context.
func (v *viewFlags) setContext(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > source.MaxContext {
		return fmt.Errorf("a number of lines from 0 to %d is wanted", source.MaxContext)
	}
	v.context = n
	return nil
}

// remapping returns what adds the value of a flag to where source files are.
func remapping(to *[]source.Remap) func(string) error {
	return func(s string) error {
		r, err := source.ParseRemap(s)
		if err == nil {
			*to = append(*to, r)
		}
		return err
	}
}

// prepare makes ready to show. terminal says that the output is a terminal that gets colours.
func (v *viewFlags) prepare(terminal bool) error {
	template, when := source.FileLinks, "auto"
	for _, s := range []struct{ from, what string }{{"$" + linksVariable, os.Getenv(linksVariable)},
		{"-links", v.links}} {
		switch s.what {
		case "":
		case "auto", "always", "never":
			when = s.what
		default:
			if err := source.CheckLinks(s.what); err != nil {
				return fmt.Errorf("%s is auto, always, never or a template, not %q: %w", s.from, s.what, err)
			}
			template = s.what
		}
	}
	if when == "always" || when == "auto" && terminal {
		v.template = template
	}
	var err error
	v.dir, err = os.Getwd()
	v.sources = source.New(v.dir, v.remaps)
	return err
}

// apply sets what the flags say. terminal says that the output is a terminal that
// gets colours.
func (v *viewFlags) apply(opt *trace.Options, terminal bool) (err error) {
	err = v.prepare(terminal)
	opt.Dir, opt.Links, opt.Context, opt.Sources = v.dir, v.template, v.context, v.sources
	return err
}

// link returns a frame's file as it is shown.
func (v *viewFlags) link(fr *lookup.Call, shown string) string {
	if v.template == "" || fr.File == "" {
		return shown
	}
	return v.sources.Link(v.template, fr.File, fr.Line, shown)
}

// source shows the lines around a frame's.
func (v *viewFlags) source(w io.StringWriter, fr *lookup.Call) {
	if v.context > 0 && fr.File != "" && fr.Line != 0 {
		for _, line := range v.sources.Context(fr.File, fr.Line, v.context) {
			w.WriteString("        " + line + "\n")
		}
	}
}

// formats are the arguments of -format.
var formats = []string{"text", "k", "json", "markdown"}

// formatList is formats in a sentence.
func formatList() string {
	return strings.Join(formats[:len(formats)-1], ", ") + " or " + formats[len(formats)-1]
}

// alone makes the filter write the traces alone, in a format, and returns where the
// text goes: nowhere then.
func (v *viewFlags) alone(format string, stdout io.Writer, opt *trace.Options) (text io.Writer) {
	switch format {
	case "json":
		opt.JSON = stdout
	case "k":
		opt.OnTrace = func(t *wire.Trace) {
			if len(t.Frames) > 0 {
				stdout.Write(render.K(t))
			}
		}
	case "markdown":
		md := render.Markdown{Dir: opt.Dir, Context: opt.Context, Sources: opt.Sources}
		opt.OnTrace = func(t *wire.Trace) {
			if len(t.Frames) > 0 || t.Reason != "" {
				stdout.Write(md.Trace(t))
			}
		}
	default:
		return stdout
	}
	return nil
}
