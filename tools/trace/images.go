package trace

// Several images in one stream: a kernel and its modules, a loader and what it
// loads. A trace is resolved with the one that it comes from, which its build ID
// tells; traces of others say which module a frame is in, or only a name or an
// address, which one of the images has.
//
// The images may come late, since opening them takes time and text need not wait
// for it. They are waited for when the first trace is there.

import (
	"fmt"
	"strings"
)

// Images are what the traces of a stream are resolved with.
type Images struct {
	// Given are the images, in the order in which they are tried.
	Given []Resolver
	// Find returns an image that is not among them: of a build ID in lower-case
	// hexadecimal (or of its beginning, with PartMark behind it), or of a Linux module by the name that Linux gives it; nil if
	// there is none. The other argument is empty. A nil Find finds nothing.
	Find func(build, module string) Resolver
	// Bias is how far above its addresses the first image runs in foreign traces;
	// nil: as the stream tells.
	Bias *uint64
}

// images returns the images of the stream, and waits for them if they are late.
// What has been found in the stream so far is out before.
func (f *Filter) images() *Images {
	if f.imgs != nil {
		return f.imgs
	}
	if f.opt.Images != nil {
		f.send()
		f.imgs = f.opt.Images()
	} else if f.opt.Symbols != nil {
		f.imgs = &Images{Given: []Resolver{f.opt.Symbols}, Bias: f.opt.Bias}
	}
	if f.imgs == nil {
		f.imgs = &Images{}
	}
	return f.imgs
}

// none reports whether there is nothing to resolve with.
func (im *Images) none() bool { return len(im.Given) == 0 && im.Find == nil }

// find returns the image of a build or a module that is not among the given ones.
func (im *Images) find(build, module string) Resolver {
	if im.Find == nil {
		return nil
	}
	return im.Find(build, module)
}

// build returns the image that has the build ID, or nil.
func (im *Images) build(id string) Resolver {
	if id == "" {
		return nil
	}
	for _, sym := range im.Given {
		if sym.BuildID() == id {
			return sym
		}
	}
	return im.find(id, "")
}

// of returns the image that the trace comes from. If it is none of them, why says
// what to tell the user; sym is then the one to take all the same, or nil.
func (im *Images) of(t *Trace) (sym Resolver, why string) {
	for _, sym := range im.Given {
		if why := wrongBuild(t, sym); why == "" {
			return sym, ""
		}
	}
	if !t.partBuild {
		if sym := im.build(t.BuildID); sym != nil {
			return sym, ""
		}
	} else if sym := im.find(t.BuildID+PartMark, ""); sym != nil && wrongBuild(t, sym) == "" {
		return sym, ""
	}
	switch len(im.Given) {
	case 0:
		return nil, fmt.Sprintf("the trace comes from %s, which is in none of the folders given: not resolved", cameFrom(t))
	case 1:
		return im.Given[0], wrongBuild(t, im.Given[0])
	}
	var all []string
	for _, sym := range im.Given {
		is := "no build ID"
		if id := sym.BuildID(); id != "" {
			is = "build " + clean(id)
		}
		all = append(all, fmt.Sprintf("zf:   %s: %s\n", clean(fileName(sym)), is))
	}
	return im.Given[0], fmt.Sprintf("the trace comes from %s, but the ELF files are\n%s"+
		"zf: so it is not resolved; give the ELF file that was running too", cameFrom(t), strings.Join(all, ""))
}

// fileName returns the name of an image's file.
func fileName(sym Resolver) string {
	if m, ok := sym.(interface{ Name() string }); ok {
		return m.Name()
	}
	return "an image"
}

// A program is an image as the readers of foreign traces see it.
type program struct {
	sym    Resolver
	names  Named  // nil if the image knows no names
	module string // of Linux, which it is; "" if it is none
	thumb  bool   // bit 0 of an address is no part of it
	bias   uint64
	fixed  bool // the user gave the bias

	ahead answers     // looked up ahead
	asked *[]question // of a copy that only notes what it is asked
}

func newProgram(sym Resolver) *program {
	p := &program{sym: sym}
	p.names, _ = sym.(Named)
	if m, ok := sym.(interface{ Arch() string }); ok {
		p.thumb = m.Arch() == "arm"
	}
	if m, ok := sym.(interface{ Name() string }); ok {
		p.module = ModuleName(m.Name())
	}
	return p
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

// maxFound bounds the images that a stream makes us look for.
const maxFound = 4096

// load gets the images, when the first line asks for them.
func (x *foreign) load() {
	if x.images != nil {
		return
	}
	x.images = x.get()
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
func (x *foreign) programs() []*program {
	x.load()
	return x.base
}

// kernel returns the images that may be a kernel.
func (x *foreign) kernel() []*program {
	if all := x.programs(); len(all) > 0 && all[0].module == "" {
		return all
	}
	return nil
}

// moduleOf returns the image of a Linux module, or nil.
func (x *foreign) moduleOf(name string) *program {
	x.load()
	name = strings.ReplaceAll(name, "-", "_")
	for _, p := range x.given {
		if p.module == name {
			return p
		}
	}
	return x.look("", name)
}

// buildOf returns the image of a build ID, or nil.
func (x *foreign) buildOf(id string) *program {
	x.load()
	for _, p := range x.given {
		if id != "" && p.sym.BuildID() == id {
			return p
		}
	}
	if id == "" {
		return nil
	}
	return x.look(id, "")
}

// look asks once for an image that was not given.
func (x *foreign) look(build, module string) *program {
	key := build + " " + module
	p, asked := x.found[key]
	if !asked && len(x.found) < maxFound {
		if sym := x.images.find(build, module); sym != nil {
			p = newProgram(sym)
		}
		x.found[key] = p
	}
	return p
}
