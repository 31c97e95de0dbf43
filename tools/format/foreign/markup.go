package foreign

// The symbolizer markup of LLVM and Fuchsia, of any sender but Zeroframe's own,
// whose lines the parser has. Its contextual elements say which module lies where,
// and by build ID which module it is. Source: LLVM, "Symbolizer Markup Format". A
// code location is a return address with :ra and exact with :pc; with neither, a
// frame of a backtrace counts as a return address and a pc as exact.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// Limits of what is kept of the layout of memory.
const (
	maxModules = 1024
	maxMaps    = 8192
)

type markupModule struct{ name, build string }

type markupState struct {
	modules map[string]markupModule
	maps    []mapping
}

var element = lookup.Regexp(`\{\{\{(?:(reset)|module:([^:{}]*):([^:{}]*):elf:([^:{}]*)[^{}]*|` +
	`mmap:([^:{}]*):([^:{}]*):load:([^:{}]*):[^:{}]*:([^:{}]*)[^{}]*|(?:bt:[^:{}]*|(pc)):([^:{}]*)(?::(ra|pc))?|symbol:([^:{}]*))\}\}\}`)

// readMarkup reads the elements of a line.
func (x *Reader) readMarkup(line string) string {
	if !strings.Contains(line, "{{{") {
		return ""
	}
	found := element().FindAllStringSubmatch(line, maxHits)
	presented := 0
	for _, m := range found {
		if m[10] != "" || m[12] != "" {
			presented++
		}
	}
	for _, m := range found {
		h := Hit{Label: m[0]}
		if presented == 1 {
			h.Label = ""
		}
		switch {
		case m[1] != "":
			x.markup = markupState{}
		case m[12] != "":
			if p, all := x.functions(x.programs(), m[12], 0, 0); len(all) == 1 {
				h.Addr, h.linked = all[0].Start, true
				x.hitIn(p, h)
			}
		case m[10] != "":
			var ok bool
			h.Addr, ok = hexNumber(m[10])
			if h.ret = m[11] == "ra" || m[11] == "" && m[9] == ""; ok {
				x.location(h, m[9] == "")
			}
		case strings.HasPrefix(m[0], "{{{module"):
			if x.markup.modules == nil {
				x.markup.modules = make(map[string]markupModule)
			}
			if len(x.markup.modules) < maxModules {
				x.markup.modules[m[2]] = markupModule{m[3], strings.ToLower(m[4])}
			}
		default:
			s := spot{file: m[7]}
			s.set("start", m[5])
			s.set("size", m[6])
			s.set("at", m[8])
			if len(x.markup.maps) < maxMaps {
				x.markup.maps = append(x.markup.maps, mapping{s.start, s.size, s.at, fromZero, s.file})
			}
		}
	}
	if x.begins = strings.Contains(line, "{{{bt:0:"); len(found) == 0 {
		return ""
	}
	return FormatMarkup
}

// location adds a code location, if it is in a module that one of the images is. That of a frame is
// in the trace anyhow.
func (x *Reader) location(h Hit, frame bool) {
	found, known := false, true
	pos := h.Addr
	if h.ret {
		pos-- // a call may be the last of its segment
	}
	i := slices.IndexFunc(x.markup.maps, func(m mapping) bool { return pos-m.start < m.size })
	if i >= 0 {
		m := &x.markup.maps[i]
		mod := x.markup.modules[m.file]
		if p := x.markupImage(mod); p != nil {
			h.Addr, h.linked = h.Addr-m.start+m.off, true
			found = x.hitIn(p, h)
		} else if h.module = mod.name; frame {
			x.lack.want(fileOfBuild(mod.name, mod.build))
		} else {
			x.say(fmt.Sprintf("addresses in the module %q, build %s, stay as they are: %s",
				terminal.Clean(mod.name), terminal.Clean(wire.OrDash(mod.build)), x.others()))
		}
	} else if known = len(x.markup.maps) == 0; known {
		found = x.hit(h) // an emitter that is linked where it runs need not say so
	}
	if frame && known && !found {
		x.quote(h)
	}
}

// markupImage returns the image of a module, or nil.
func (x *Reader) markupImage(mod markupModule) *program {
	if p := x.buildOf(mod.build); p != nil {
		return p
	}
	if len(x.given) == 1 && (x.opt.Force && len(x.markup.modules) == 1 ||
		mod.build == x.given[0].sym.BuildID()) {
		return x.given[0]
	}
	return nil
}

// others says of which builds the images are, none of which was wanted.
func (x *Reader) others() string {
	var all []string
	for _, p := range x.given {
		all = append(all, terminal.Clean(wire.OrDash(p.sym.BuildID())))
	}
	switch len(all) {
	case 0:
		return "no ELF file is of that build"
	case 1:
		return "the ELF file is of build " + all[0]
	}
	return "the ELF files are of builds " + strings.Join(all, ", ")
}
