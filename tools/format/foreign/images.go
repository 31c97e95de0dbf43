package foreign

// The images that a stream of foreign traces may mean.

import (
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A program is an image as the readers of foreign traces see it.
type program struct {
	sym    lookup.Resolver
	names  lookup.NameResolver // nil if the image knows no names
	module string              // of Linux, which it is; "" if it is none
	file   string              // the name of its file, as fileBase has it
	thumb  bool                // bit 0 of an address is no part of it
	sparc  bool                // what a call leaves in a register is its own address
	bias   uint64
	fixed  bool // the user gave the bias

	loaded      []lookup.Segment  // what of it is in memory, if placed is set
	placed      bool              // it has been asked
	sourceNames map[string]string // the linker's names by the source's, if asked for

	known map[string][]lookup.Named // the functions of the latest names
	ahead lookup.Answers            // what was looked up ahead
}

func newProgram(sym lookup.Resolver) *program {
	p := &program{sym: sym, known: make(map[string][]lookup.Named)}
	p.names, _ = sym.(lookup.NameResolver)
	if m, ok := sym.(interface{ Arch() string }); ok {
		p.thumb, p.sparc = m.Arch() == "arm", strings.HasPrefix(m.Arch(), "EM_SPARC")
	}
	if m, ok := sym.(interface{ Name() string }); ok {
		p.module, p.file = ModuleName(m.Name()), fileBase(m.Name())
	}
	return p
}

// noCall reports that no call ends at the address, where the function begins by which a trace has
// named a return address: it is one of no call, but where a trampoline or a callback begins. It is
// not known of modules, whose calls are not linked, and of CPUs whose code is not decoded.
func (p *program) noCall(addr uint64) bool {
	c, ok := p.sym.(interface {
		CallEnds(uint64) (call, known bool)
	})
	if !ok || p.module != "" {
		return false
	}
	call, known := c.CallEnds(addr)
	return known && !call
}

// maxKnown bounds the names whose functions are kept.
const maxKnown = 1 << 13

// called returns the functions of a name, none of an image that knows no names. A log has few of
// them, mostly.
func (p *program) called(name string) []lookup.Named {
	if p.names == nil {
		return nil
	}
	all, ok := p.known[name]
	if !ok {
		all = p.names.Named(name)
		if len(p.known) >= maxKnown {
			clear(p.known)
		}
		p.known[strings.Clone(name)] = all
	}
	return all
}

// setBias takes a bias that the stream tells.
func (p *program) setBias(bias uint64) {
	if !p.fixed && bias%pageSize == 0 {
		p.bias = bias
	}
}

// inText reports whether an address of the image, or the call before a return
// address, lies in its code.
func (p *program) inText(addr uint64, ret bool) bool {
	return p.sym.IsText(addr) || ret && p.sym.IsText(addr-1)
}

// isOf reports whether the image may be of the build: many files have no build ID.
func (p *program) isOf(build string) bool {
	id := p.sym.BuildID()
	return id == build || id == ""
}

// maxFound bounds the images that a stream makes us look for.
const maxFound = 4096

// load gets the images, when the first line asks for them.
func (x *Reader) load() {
	if x.images != nil {
		return
	}
	x.images = x.opt.Images()
	x.found = make(map[string]*program)
	for i, sym := range x.images.Given {
		p := newProgram(sym)
		if i == 0 && x.images.Bias != nil {
			p.bias, p.fixed = *x.images.Bias, true
		}
		x.given = append(x.given, p)
		if p.module == "" {
			x.base = append(x.base, p)
		}
	}
	if len(x.base) == 0 {
		x.base = x.given // modules alone: an address can only be in one of them
	}
}

// programs returns the images that addresses and names without a module may mean.
func (x *Reader) programs() []*program {
	x.load()
	return x.base
}

// kernel returns the images that may be a kernel.
func (x *Reader) kernel() []*program {
	if all := x.programs(); len(all) > 0 && all[0].module == "" {
		return all
	}
	return nil
}

// moduleOf returns the image of a Linux module, or nil.
func (x *Reader) moduleOf(name string) *program {
	x.load()
	name = strings.ReplaceAll(name, "-", "_")
	return x.look(" "+name, func(p *program) bool { return p.module == name },
		func() lookup.Resolver { return x.images.Other("", name) })
}

// buildOf returns the image of a build ID, or nil.
func (x *Reader) buildOf(id string) *program {
	x.load()
	if id == "" {
		return nil
	}
	return x.look(id, func(p *program) bool { return p.sym.BuildID() == id },
		func() lookup.Resolver { return x.images.Other(id, "") })
}

// look returns the first of the given images that is meant, or another one, for which it asks
// once.
func (x *Reader) look(key string, meant func(*program) bool,
	other func() lookup.Resolver) *program {
	if i := slices.IndexFunc(x.given, meant); i >= 0 {
		return x.given[i]
	}
	p, asked := x.found[key]
	if !asked && len(x.found) < maxFound {
		if sym := other(); sym != nil {
			p = newProgram(sym)
		}
		x.found[key] = p
	}
	return p
}
