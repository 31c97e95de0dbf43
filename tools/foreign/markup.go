package foreign

// The symbolizer markup of LLVM and Fuchsia, of any sender but Zeroframe's own,
// whose lines the parser has. Its contextual elements say which module lies where,
// and by build ID which module it is. Source: LLVM, "Symbolizer Markup Format". A
// code location is a return address with :ra and exact with :pc; with neither, a
// frame of a backtrace counts as a return address and a pc as exact.

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/lazyregexp"
	"github.com/zeroframe/zeroframe/tools/terminal"
	"github.com/zeroframe/zeroframe/tools/wire"
)

// Limits of what is kept of the layout of memory.
const (
	maxModules = 1024
	maxMaps    = 8192
)

type markupModule struct{ name, build string }

type markupMap struct {
	start, size, rel uint64
	module           string
}

type markupState struct {
	modules map[string]markupModule
	maps    []markupMap
}

var element = lazyregexp.New(`\{\{\{([a-z]+)((?::[^{}:]*)*)\}\}\}`)

// readMarkup reads the elements of a line.
func (x *Reader) readMarkup(line string) bool {
	if !strings.Contains(line, "{{{") {
		return false
	}
	found := element().FindAllStringSubmatch(line, maxHits)
	presented := 0
	for _, m := range found {
		if m[1] == "bt" || m[1] == "pc" || m[1] == "symbol" {
			presented++
		}
	}
	for _, m := range found {
		fields := strings.Split(m[2], ":")[1:]
		label := ""
		if presented > 1 {
			label = m[0]
		}
		switch {
		case m[1] == "reset":
			x.markup = markupState{}
		case m[1] == "module" && len(fields) >= 4 && fields[2] == "elf":
			if x.markup.modules == nil {
				x.markup.modules = make(map[string]markupModule)
			}
			if len(x.markup.modules) < maxModules {
				x.markup.modules[fields[0]] = markupModule{fields[1], strings.ToLower(fields[3])}
			}
		case m[1] == "mmap" && len(fields) >= 6 && fields[2] == "load":
			x.addMap(fields)
		case m[1] == "bt" && (len(fields) == 2 || len(fields) == 3):
			x.location(fields[1], fields[2:], true, label)
		case m[1] == "pc" && (len(fields) == 1 || len(fields) == 2):
			x.location(fields[0], fields[1:], false, label)
		case m[1] == "symbol" && len(fields) == 1:
			if p, all := x.functions(x.programs(), fields[0], 0, 0); len(all) == 1 {
				x.hitIn(p, Hit{Addr: all[0].Start, linked: true, Label: label})
			}
		}
	}
	return len(found) > 0
}

func (x *Reader) addMap(fields []string) {
	start, ok1 := hexNumber(fields[0])
	size, ok2 := hexNumber(fields[1])
	rel, ok3 := hexNumber(fields[5])
	if ok1 && ok2 && ok3 && len(x.markup.maps) < maxMaps {
		x.markup.maps = append(x.markup.maps, markupMap{start, size, rel, fields[3]})
	}
}

// location adds a code location, if it is in a module that one of the images is.
func (x *Reader) location(at string, kind []string, ret bool, label string) {
	addr, ok := hexNumber(at)
	if !ok {
		return
	}
	bt := ret // by the defaults
	if len(kind) == 1 {
		if kind[0] != "ra" && kind[0] != "pc" {
			return
		}
		ret = kind[0] == "ra"
	}
	h := Hit{Addr: addr, ret: ret, Label: label}
	quote := func() {
		if bt {
			x.quote(h)
		}
	}
	if len(x.markup.maps) == 0 {
		// An emitter that is linked where it runs need not say so.
		if !x.hit(h) {
			quote()
		}
		return
	}
	pos := addr
	if ret {
		pos-- // a call may be the last of its segment
	}
	for _, m := range x.markup.maps {
		if pos-m.start >= m.size {
			continue
		}
		mod := x.markup.modules[m.module]
		p := x.buildOf(mod.build)
		if p == nil && len(x.given) == 1 && (x.opt.Force && len(x.markup.modules) == 1 || mod.build == x.given[0].sym.BuildID()) {
			p = x.given[0]
		}
		if p == nil {
			if h.module = mod.name; bt {
				x.lack.want(terminal.Clean(mod.name) + " of build " + terminal.Clean(wire.OrDash(mod.build)))
				quote()
				return
			}
			x.say(fmt.Sprintf("addresses in the module %q, build %s, stay as they are: %s",
				terminal.Clean(mod.name), terminal.Clean(wire.OrDash(mod.build)), x.others()))
			return
		}
		h.Addr, h.linked = addr-m.start+m.rel, true
		if !x.hitIn(p, h) {
			quote()
		}
		return
	}
}

// others says of which builds the images are, none of which was wanted.
func (x *Reader) others() string {
	switch len(x.given) {
	case 0:
		return "no ELF file is of that build"
	case 1:
		return "the ELF file is of build " + terminal.Clean(wire.OrDash(x.given[0].sym.BuildID()))
	}
	var all []string
	for _, p := range x.given {
		all = append(all, terminal.Clean(wire.OrDash(p.sym.BuildID())))
	}
	return "the ELF files are of builds " + strings.Join(all, ", ")
}
