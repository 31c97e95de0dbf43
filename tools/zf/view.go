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

	"github.com/zeroframe/zeroframe/tools/render"
	"github.com/zeroframe/zeroframe/tools/source"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/wire"
)

// linksVariable names what -links says when it is not given.
const linksVariable = "ZF_LINKS"

// viewFlags say how traces are shown.
type viewFlags struct {
	context int
	remaps  []source.Remap
	links   string // WHEN or a template
}

// flags declares the flags.
func (v *viewFlags) flags(set *flag.FlagSet) {
	addFlags(set, []option{
		{func(s string) error {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 || n > source.MaxContext {
				return fmt.Errorf("a number of lines from 0 to %d is wanted", source.MaxContext)
			}
			v.context = n
			return nil
		}, "context", "show `N` lines of source before and behind each frame's line, if\nthe file is here"},
		{remapping(&v.remaps), "source", "where source files are: `OLD=NEW` says that what the ELF file has\nunder the path OLD is here under NEW; may be repeated, the longest\nOLD counts; an empty one takes paths that are not absolute"},
		{&v.links, "links", "links of the terminal on files: `WHEN` is auto (a terminal with\ncolours), always, never, or a template of what they open, such as\n'vscode://file{path}:{line}' (default: $" + linksVariable + ", or auto)"},
	})
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

// template returns the template of links: "" if there are to be none. The output is a
// terminal that gets colours if terminal is set.
func (v *viewFlags) template(terminal bool) (string, error) {
	template, when := source.FileLinks, "auto"
	for _, s := range []struct{ from, what string }{{"$" + linksVariable, os.Getenv(linksVariable)}, {"-links", v.links}} {
		switch s.what {
		case "":
		case "auto", "always", "never":
			when = s.what
		default:
			if err := source.CheckLinks(s.what); err != nil {
				return "", fmt.Errorf("%s is auto, always, never or a template, not %q: %w", s.from, s.what, err)
			}
			template = s.what
		}
	}
	if when == "always" || when == "auto" && terminal {
		return template, nil
	}
	return "", nil
}

// apply sets what the flags say. terminal says that the output is a terminal that
// gets colours.
func (v *viewFlags) apply(opt *trace.Options, terminal bool) error {
	links, err := v.template(terminal)
	if err != nil {
		return err
	}
	if opt.Dir == "" {
		if opt.Dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	opt.Links, opt.Context = links, v.context
	opt.Sources = source.New(opt.Dir, v.remaps)
	return nil
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
