package foreign

// Where the modules of a process lie, and which files they are. Reports of programs name
// a file with each frame, or their log has lines that say what is mapped where:
//
//	55d0c1135000-55d0c1136000 r-xp 00001000 08:01 1234   /usr/bin/app      /proc/PID/maps
//	PERF_RECORD_MMAP2 1/1: [0x55d0c1135000(0x1000) @ 0x1000 ...]: r-xp /usr/bin/app
//	0x55d0c1134000 - 0x55d0c1139fff  app  ???  (main)                      minidump_stackwalk
//	0x100000000 - 0x100003fff a.out (*) <...> /Users/x/a.out               macOS
//	Found module /usr/bin/app with build-id: 69368789aeae                  systemd
//
// Which of the images a module is, its build ID tells; without one, the name of the file.
//
// Where a program is moved to (PIE) and nothing says so, one frame with a name tells: what
// is loaded elsewhere moves by pages, so that in a function shorter than a page there is
// one place for the address.

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// maxDemangled bounds the names that are looked through for one of the source.
const maxDemangled = 1 << 20

// A base says what an offset in a module counts from.
type base uint8

const (
	noBase   base = iota // there is no offset
	fromZero             // the address in the ELF file: what was added when it was loaded is off
	fromHead             // the beginning of the first page that is loaded
	fromFile             // the beginning of the file
	fromText             // that of the mapping of its code
)

// A mapping is a part of memory, and the file that is there.
type mapping struct {
	start, size uint64
	off         uint64 // what start is, by base
	base        base
	file        string
}

type layoutState struct {
	maps   []mapping
	builds map[string]string // by the file's name
	again  bool              // addresses that have passed are looked up again
}

// linkedAt returns the address in the ELF file of an offset in the module. The size is that
// of the mapping, for fromText; 0: not known.
func (p *program) linkedAt(at uint64, from base, size uint64) (addr uint64, ok bool) {
	texts := 0
	for _, s := range p.segments() {
		switch start := s.Offset &^ (pageSize - 1); {
		case from == fromFile && s.Exec && at-start < s.Offset-start+s.Size:
			return at - s.Offset + s.Addr, true
		case from == fromText && s.Exec && (size == 0 ||
			(s.Addr%pageSize+s.Size+pageSize-1)&^(pageSize-1) == size):
			addr = at + s.Addr&^(pageSize-1)
			texts++
		}
	}
	switch from {
	case fromZero:
		return at, true
	case fromHead:
		return p.head() + at, true
	}
	return addr, texts == 1
}

// head is where the first page that is loaded is linked to.
func (p *program) head() (low uint64) {
	for i, s := range p.segments() {
		if page := s.Addr &^ (pageSize - 1); i == 0 || page < low {
			low = page
		}
	}
	return low
}

// segments returns what of the file is loaded.
func (p *program) segments() []lookup.Segment {
	if m, ok := p.sym.(interface{ Loaded() []lookup.Segment }); ok && !p.placed {
		p.loaded, p.placed = m.Loaded(), true
	}
	return p.loaded
}

// withoutEnding takes the first of the endings off a name that has it.
func withoutEnding(name string, endings ...string) string {
	for _, end := range endings {
		if stem, ok := strings.CutSuffix(name, end); ok {
			return stem
		}
	}
	return name
}

// fileBase is the name of a file in another system's path, without what a copy of its
// debug information adds.
func fileBase(file string) string {
	file = strings.TrimSuffix(file, " (deleted)")
	file = file[strings.LastIndexAny(file, `/\!`)+1:]
	return strings.TrimSuffix(strings.TrimSuffix(file, ".debug"), ".dbg")
}

// isFileOf reports whether an image of the name base may be a module of the other: Windows and
// UEFI leave out what says which kind of file it is.
func isFileOf(image, module string) bool {
	stem := func(s string) string {
		return withoutEnding(s, ".exe", ".dll", ".efi", ".sys",
			".pdb", ".elf")
	}
	return image == module || image != "" && stem(image) == stem(module)
}

// moduleFile returns the image of a module that a report names, or nil: that of its build
// ID, or else that of its name.
func (x *Reader) moduleFile(file, build string) *program {
	x.load()
	name := fileBase(file)
	if build == "" {
		build = x.layout.builds[name]
	}
	build = strings.ToLower(build)
	if p := x.buildOf(build); p != nil || name == "" {
		return p
	}
	if strings.HasPrefix(name, "[kernel") || strings.HasPrefix(name, "[guest.kernel") ||
		name == "vmlinux" {
		for _, p := range x.kernel() {
			return p
		}
		return nil
	}
	if mod := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"); mod != name {
		return x.moduleOf(mod) // of Linux, as perf has it
	}
	p := x.look("file "+file, func(p *program) bool { return isFileOf(p.file, name) },
		func() lookup.Resolver {
			if x.images.File == nil {
				return nil
			}
			return x.images.File(file)
		})
	if p == nil && x.opt.Force && len(x.given) == 1 && !strings.Contains(name, ".so") {
		p = x.given[0]
	}
	if p == nil || build == "" || x.opt.Force || p.isOf(build) {
		return p
	}
	x.otherBuild(name, p, build, fileOfBuild(name, build))
	return nil
}

// otherBuild notes that the image of a file is not the one that ran.
func (x *Reader) otherBuild(file string, p *program, build, wanted string) {
	x.Mismatch = true
	x.lack.differ(fmt.Sprintf("the %s given is build %s, not %s", terminal.Clean(file),
		terminal.Clean(p.sym.BuildID()), terminal.Clean(build)))
	x.lack.want(wanted)
}

// fileOfBuild names a file that is wanted.
func fileOfBuild(name, build string) string {
	return terminal.Clean(name) + " of build " + terminal.Clean(wire.OrDash(build))
}

// mapped keeps the hit if a mapping that the log has told of holds its address.
func (x *Reader) mapped(h Hit) bool {
	pos := h.Addr
	if h.ret {
		pos--
	}
	for _, m := range slices.Backward(x.layout.maps) { // the latest counts
		if pos-m.start >= m.size {
			continue
		}
		p := x.moduleFile(m.file, "")
		if p == nil {
			return false
		}
		at, ok := p.linkedAt(pos-m.start+m.off, m.base, m.size)
		if !ok {
			return false
		}
		at += h.Addr - pos
		if h.Addr != at {
			p.setBias(h.Addr - at)
		}
		h.Addr, h.linked, h.module = at, true, fileBase(m.file)
		return p.inText(at, h.ret) && x.hitIn(p, h)
	}
	return false
}

// addMapping takes one, and what it tells of addresses that have passed.
func (x *Reader) addMapping(m mapping) {
	l := &x.layout
	if m.size == 0 {
		return
	}
	if n := len(l.maps); n >= maxMaps {
		l.maps = append([]mapping(nil), l.maps[n/2:]...)
	}
	l.maps = append(l.maps, m)
	x.resolvePending()
}

// moveTo takes the bias that a frame has told, and what it tells of addresses that have
// passed.
func (x *Reader) moveTo(p *program, bias uint64) (moved bool) {
	before := p.bias
	p.setBias(bias)
	if moved = p.bias != before; moved {
		x.resolvePending()
	}
	return moved
}

// resolvePending resolves what has come before the line that says where it is.
func (x *Reader) resolvePending() {
	l, all := &x.layout, x.offset.early
	if len(all) == 0 || l.again {
		return
	}
	l.again = true
	x.offset.early = slices.DeleteFunc(slices.Clone(all), func(h Hit) bool {
		h.Label, h.aside = hexWord(h.Addr), true // its frame is in the trace already
		h.Note += " (above)"
		return x.mapped(h) || slices.ContainsFunc(x.given, func(p *program) bool {
			return p.bias != 0 && p.module == "" && x.hitIn(p, h)
		})
	})
	l.again = false
}

// learn learns where a program was moved to from an address that the report says is in the
// function of that name.
func (x *Reader) learn(in []*program, name string, addr uint64, ret bool) bool {
	for _, p := range in {
		if p.names == nil || p.bias != 0 || p.fixed || p.inText(addr, ret) {
			continue
		}
		found := p.bySource(name)
		if len(found) != 1 {
			continue
		}
		n := found[0]
		size := n.Size
		if size == 0 {
			size = n.Span
		}
		off := (addr - n.Start) % pageSize
		if off == 0 && ret {
			off = pageSize
		}
		bias := addr - n.Start - off
		// Otherwise it is another function, or there are two such places.
		one := off < size || off == size && ret
		if one && off+pageSize > size && bias%pageSize == 0 && x.moveTo(p, bias) {
			return true
		}
	}
	return false
}

var rustHash = lookup.Regexp(`::h[0-9a-f]{16}$|\[[0-9a-f]{13,16}\]`)

// sourceName is a name as the source has it, without what compilers add.
func sourceName(name string) string { return rustHash().ReplaceAllString(name, "") }

// bySource returns the functions of a name, of the linker or else of the source. The image may
// know no names.
func (p *program) bySource(name string) []lookup.Named {
	if p.names == nil {
		return nil
	}
	all := p.called(name)
	if len(all) == 0 {
		if name = p.linkName(name); name != "" {
			all = p.called(name)
		}
	}
	return all
}

// linkName returns the linker's name of a function of C++ or Rust that the report names as
// the source does, or "" if there is none or several.
func (p *program) linkName(name string) string {
	all, ok := p.sym.(interface{ FunctionNames() iter.Seq[string] })
	if !ok {
		return ""
	}
	if p.sourceNames == nil {
		p.sourceNames = make(map[string]string)
		n := 0
		for linked := range all.FunctionNames() {
			if n++; n > maxDemangled {
				break
			}
			if !isMangled(linked) {
				continue
			}
			for _, opt := range [...][]Option{nil, {NoParams}} {
				s := sourceName(Demangle(linked, opt...))
				if had, twice := p.sourceNames[s]; twice && had != linked {
					p.sourceNames[s] = "" // several: it says nothing
					break
				}
				p.sourceNames[s] = linked
			}
		}
	}
	return p.sourceNames[sourceName(name)]
}
