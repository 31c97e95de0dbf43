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
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/demangle"
	"github.com/zeroframe/zeroframe/tools/lazyregexp"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/terminal"
	"github.com/zeroframe/zeroframe/tools/wire"
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

// clone returns a copy that shares nothing that is written to.
func (l *layoutState) clone() layoutState {
	c := *l
	c.maps, c.builds = slices.Clip(l.maps), maps.Clone(l.builds)
	return c
}

// A spot is where a frame of a program's report is, by all that the report says.
type spot struct {
	file  string // the module; "": it does not say
	build string // its build ID, if it says so
	at    uint64 // the offset in it
	base  base

	addr    uint64 // where it was in memory
	hasAddr bool

	name string // the function; "": it does not say
	off  uint64 // in that
	hasOff,
	ret, aside bool
	list   bool   // as Hit has it
	source string // file and line, if it says so
}

// spot keeps what is at the place, or else what the report says of it.
func (x *Reader) spot(s spot) bool {
	if x.resolveSpot(&s) {
		return true
	}
	h := Hit{Addr: s.addr, ret: s.ret, aside: s.aside, list: s.list}
	if s.file != "" {
		h.module = fileBase(s.file)
	}
	if s.hasAddr {
		x.early(h)
	}
	var calls []lookup.Call
	if s.name != "" {
		calls = []lookup.Call{{Function: s.name, Offset: s.off}}
		if file, line, ok := sourceLine(s.source); ok {
			calls[0].File, calls[0].Line = file, line
		}
	}
	x.quote(h, calls...)
	return false
}

// resolveSpot looks in the module, or else where the address is.
func (x *Reader) resolveSpot(s *spot) bool {
	h := Hit{Addr: s.addr, ret: s.ret, aside: s.aside, list: s.list}
	if s.file == "" && s.build == "" {
		if s.name != "" && s.hasOff {
			if x.namedSpot(x.programs(), s) {
				return true
			}
		}
		if !s.hasAddr {
			return false
		}
		if x.find(h) {
			return true
		}
		return s.name != "" && !s.hasOff && x.learn(x.programs(), s.name, s.addr, s.ret) && x.find(h)
	}
	p := x.moduleFile(s.file, s.build)
	if p == nil {
		return false
	}
	in := []*program{p}
	if s.name != "" && s.hasOff && s.base == noBase {
		if x.namedSpot(in, s) {
			return true
		}
	}
	n := len(x.hits)
	ok := false
	if at, known := p.linkedAt(s.at, s.base, 0); known {
		if s.hasAddr && s.addr != at {
			x.moveTo(p, s.addr-at)
		}
		h.Addr, h.linked = at, true
		if p.inText(at, s.ret) {
			ok = x.hitIn(p, h)
		}
	} else if s.hasAddr {
		if ok = x.mapped(h) || x.hitIn(p, h); !ok && s.name != "" && !s.hasOff {
			ok = x.learn(in, s.name, s.addr, s.ret) && x.hitIn(p, h)
		}
	}
	for i := n; i < len(x.hits); i++ {
		x.hits[i].module = fileBase(s.file)
		x.hits[i].compare(s.source)
		x.hits[i].leaveOut(s)
	}
	return ok
}

// leaveOut marks the hit if it is no more than the report has: the function's name.
func (h *Hit) leaveOut(s *spot) {
	h.silent = s.name != "" && len(h.Calls) == 1 && h.Calls[0].Function == s.name && h.Calls[0].File == ""
}

// compare makes the hit a short one if the report has its line already.
func (h *Hit) compare(source string) {
	file, line, ok := sourceLine(source)
	if !ok || len(h.Calls) == 0 {
		return
	}
	for _, c := range h.Calls {
		if path.Base(c.File) == path.Base(file) && c.Line == line {
			h.Brief = true
			return
		}
	}
	h.Note += fmt.Sprintf(" (the trace says %s:%d)", path.Base(file), line)
}

// sourceLine reads FILE:LINE or FILE:LINE:COLUMN.
func sourceLine(s string) (file string, line int, ok bool) {
	for range 2 {
		i := strings.LastIndexByte(s, ':')
		if i <= 0 {
			break
		}
		n, digits := 0, s[i+1:]
		if digits == "" || len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
			break
		}
		for _, c := range digits {
			n = n*10 + int(c-'0')
		}
		s, line, ok = s[:i], n, true
	}
	return s, line, ok
}

// namedSpot looks for a function and an offset in it.
func (x *Reader) namedSpot(in []*program, s *spot) bool {
	n := len(x.hits)
	name := s.name
	for _, p := range in {
		if p.names != nil && len(p.called(name)) == 0 {
			if linked := p.linkName(name); linked != "" {
				name = linked
				break
			}
		}
	}
	if !x.named(in, name, s.off, 0, Hit{Addr: s.addr, ret: s.ret, aside: s.aside, list: s.list}, s.hasAddr) {
		return false
	}
	for i := n; i < len(x.hits); i++ {
		if s.file != "" {
			x.hits[i].module = fileBase(s.file)
		}
		x.hits[i].compare(s.source)
		x.hits[i].leaveOut(s)
	}
	if s.hasAddr {
		x.resolvePending()
	}
	return true
}

// linkedAt returns the address in the ELF file of an offset in the module. The size is that
// of the mapping, for fromText; 0: not known.
func (p *program) linkedAt(at uint64, from base, size uint64) (uint64, bool) {
	switch from {
	case fromZero:
		return at, true
	case fromHead:
		return p.head() + at, true
	case fromFile:
		for _, s := range p.segments() {
			if start := s.Offset &^ (pageSize - 1); s.Exec && at-start < s.Offset-start+s.Size {
				return at - s.Offset + s.Addr, true
			}
		}
	case fromText:
		var text []lookup.Segment
		for _, s := range p.segments() {
			if s.Exec && (size == 0 || pages(s) == size) {
				text = append(text, s)
			}
		}
		if len(text) == 1 {
			return at + text[0].Addr&^(pageSize-1), true
		}
	}
	return 0, false
}

// pages is the size of the segment's mapping.
func pages(s lookup.Segment) uint64 {
	end := s.Addr%pageSize + s.Size
	return (end + pageSize - 1) &^ (pageSize - 1)
}

// head is where the first page that is loaded is linked to.
func (p *program) head() uint64 {
	low := ^uint64(0)
	for _, s := range p.segments() {
		low = min(low, s.Addr&^(pageSize-1))
	}
	if low == ^uint64(0) {
		return 0
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

// fileBase is the name of a file in another system's path, without what a copy of its
// debug information adds.
func fileBase(file string) string {
	file = strings.TrimSuffix(file, " (deleted)")
	if i := strings.LastIndexAny(file, `/\!`); i >= 0 {
		file = file[i+1:]
	}
	for _, added := range [...]string{".debug", ".dbg"} {
		file = strings.TrimSuffix(file, added)
	}
	return file
}

// isFileOf reports whether an image of the name base may be a module of the other: Windows and
// UEFI leave out what says which kind of file it is.
func isFileOf(image, module string) bool {
	if image == module {
		return true
	}
	stem := func(s string) string {
		for _, kind := range [...]string{".exe", ".dll", ".efi", ".sys", ".pdb", ".elf"} {
			if t := strings.TrimSuffix(s, kind); t != s {
				return t
			}
		}
		return s
	}
	return image != "" && stem(image) == stem(module)
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
	if p := x.buildOf(build); p != nil {
		return p
	}
	if name == "" {
		return nil
	}
	if strings.HasPrefix(name, "[kernel") || strings.HasPrefix(name, "[guest.kernel") || name == "vmlinux" {
		if all := x.kernel(); len(all) > 0 {
			return all[0]
		}
		return nil
	}
	if mod := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"); mod != name {
		return x.moduleOf(mod) // of Linux, as perf has it
	}
	var p *program
	for _, q := range x.given {
		if isFileOf(q.file, name) {
			p = q
			break
		}
	}
	if p == nil {
		p = x.lookFile(file)
	}
	if p == nil && x.opt.Force && len(x.given) == 1 && !strings.Contains(name, ".so") {
		p = x.given[0]
	}
	if p == nil || build == "" || p.sym.BuildID() == "" || p.sym.BuildID() == build || x.opt.Force {
		return p
	}
	x.Mismatch = true
	x.lack.differ(fmt.Sprintf("the %s given is build %s, not %s", terminal.Clean(name), terminal.Clean(p.sym.BuildID()), terminal.Clean(build)))
	x.lack.want(fileOfBuild(name, build))
	return nil
}

// fileOfBuild names a file that is wanted.
func fileOfBuild(name, build string) string {
	return terminal.Clean(name) + " of build " + terminal.Clean(wire.OrDash(build))
}

// lookFile asks once for the image of a file that was not given.
func (x *Reader) lookFile(file string) *program {
	key := "file " + file
	p, asked := x.found[key]
	if !asked && len(x.found) < maxFound {
		if x.images.File != nil {
			if sym := x.images.File(file); sym != nil {
				p = newProgram(sym)
			}
		}
		x.found[key] = p
	}
	return p
}

// mapped keeps the hit if a mapping that the log has told of holds its address.
func (x *Reader) mapped(h Hit) bool {
	pos := h.Addr
	if h.ret {
		pos--
	}
	for i := len(x.layout.maps) - 1; i >= 0; i-- { // the latest counts
		m := &x.layout.maps[i]
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
func (x *Reader) moveTo(p *program, bias uint64) {
	before := p.bias
	if p.setBias(bias); p.bias != before {
		x.resolvePending()
	}
}

// resolvePending resolves what has come before the line that says where it is.
func (x *Reader) resolvePending() {
	l, all := &x.layout, x.offset.early
	if len(all) == 0 || l.again {
		return
	}
	l.again = true
	var kept []Hit
	for _, h := range all {
		at := h
		at.Label, at.aside = hexWord(h.Addr), true // its frame is in the trace already
		at.Note += " (above)"
		if !x.mapped(at) && !x.inBiased(at) {
			kept = append(kept, h)
		}
	}
	x.offset.early, l.again = kept, false
}

// inBiased keeps the hit if one of the images that are known to be moved has it.
func (x *Reader) inBiased(h Hit) bool {
	for _, p := range x.given {
		if p.bias != 0 && p.module == "" && x.hitIn(p, h) {
			return true
		}
	}
	return false
}

// learn learns where a program was moved to from an address that the report says is in the
// function of that name.
func (x *Reader) learn(in []*program, name string, addr uint64, ret bool) bool {
	for _, p := range in {
		if p.names == nil || p.bias != 0 || p.fixed || p.inText(addr, ret) {
			continue
		}
		found := p.called(name)
		if len(found) == 0 {
			if linked := p.linkName(name); linked != "" {
				found = p.called(linked)
			}
		}
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
		if off > size || off == size && !ret || off+pageSize <= size {
			continue // it is another function, or there are two such places
		}
		if bias := addr - n.Start - off; bias%pageSize == 0 {
			p.setBias(bias)
			if p.bias == bias {
				x.resolvePending()
				return true
			}
		}
	}
	return false
}

// A nameLister tells the names of all functions.
type nameLister interface{ FunctionNames() iter.Seq[string] }

var rustHash = lazyregexp.New(`::h[0-9a-f]{16}$|\[[0-9a-f]{13,16}\]`)

// sourceName is a name as the source has it, without what compilers add.
func sourceName(name string) string {
	return rustHash().ReplaceAllString(name, "")
}

// knows reports whether the image has a function of the name.
func (p *program) knows(name string) bool {
	return p.names != nil && (len(p.called(name)) > 0 || p.linkName(name) != "")
}

// linkName returns the linker's name of a function of C++ or Rust that the report names as
// the source does, or "" if there is none or several.
func (p *program) linkName(name string) string {
	all, ok := p.sym.(nameLister)
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
			for _, opt := range [...][]demangle.Option{nil, {demangle.NoParams}} {
				s := sourceName(demangle.Filter(linked, opt...))
				if had, twice := p.sourceNames[s]; twice && had != linked {
					linked = "" // several: it says nothing
				}
				p.sourceNames[s] = linked
				if linked == "" {
					break
				}
			}
		}
	}
	return p.sourceNames[sourceName(name)]
}

var (
	procMap = lazyregexp.New(`^([0-9a-f]{6,16})-([0-9a-f]{6,16}) ([r-][w-][x-][ps]) ([0-9a-f]{6,16}) [0-9a-f]{2,4}:[0-9a-f]{2,4} +[0-9]+ +(\S.*)$`)
	perfMap = lazyregexp.New(`PERF_RECORD_MMAP2? .*\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+)(?: [^\]]*)?\]: ([r-][w-]?[x-]?\S*) (\S.*)$`)
	listed  = lazyregexp.New(`^0x([0-9a-fA-F]{1,16}) - +0x([0-9a-fA-F]{1,16})  ?\+?(\S.*)$`)
	// The rest of such a line: macOS's version, UUID and path, or minidump_stackwalk's version.
	listedApple  = lazyregexp.New(`^(\S.*?) .*<[0-9A-Fa-f-]{32,36}> (/.*|\?\?\?)$`)
	listedCrash  = lazyregexp.New(`^(\S.*?)  \S.*$`)
	foundModule  = lazyregexp.New(`^(?:Found module|Module) (\S+) with build-id:? ([0-9a-f]{8,64})\s*$`)
	builtModule  = lazyregexp.New(`^([0-9a-f]{40}) (/\S.*)$`)
	mappedRegion = lazyregexp.New(`^\s+0x([0-9a-f]{4,16}) +0x([0-9a-f]{4,16}) +0x([0-9a-f]+) +0x([0-9a-f]+)  ?([r-][w-][x-][ps])? +(/\S.*)$`)
)

// readLayout reads a line that says what lies where. It has no frames.
func (x *Reader) readLayout(line string) bool {
	text := strings.TrimLeft(line, " \t")
	if len(text) < 20 {
		return false
	}
	switch {
	case strings.HasPrefix(text, "0x") && strings.Contains(text, " - "):
		m := listed().FindStringSubmatch(text)
		if m == nil {
			break
		}
		start, ok1 := hexNumber(m[1])
		end, ok2 := hexNumber(m[2])
		if !ok1 || !ok2 || end < start {
			break
		}
		file := ""
		if a := listedApple().FindStringSubmatch(m[3]); a != nil {
			if file = a[1]; strings.HasPrefix(a[2], "/") {
				file = a[2]
			}
		} else if a := listedCrash().FindStringSubmatch(m[3]); a != nil {
			file = a[1]
		}
		if file == "" {
			break
		}
		x.addMapping(mapping{start: start, size: end - start + 1, base: fromHead, file: file})
		return true
	case strings.HasPrefix(text, "0x") && len(text) < len(line) && strings.Contains(text, " /"): // gdb's info proc mappings
		if m := mappedRegion().FindStringSubmatch(line); m != nil {
			x.mapLine(m[1], m[2], m[4], m[6])
			return true
		}
	case strings.IndexByte(text[:18], '-') >= 6 && (text[0] >= '0' && text[0] <= '9' || text[0] >= 'a' && text[0] <= 'f'):
		if m := procMap().FindStringSubmatch(text); m != nil {
			x.mapLine(m[1], m[2], m[4], m[5])
			return true
		}
	case strings.IndexByte(line, '@') > 0 && strings.Contains(line, "PERF_RECORD_MMAP"):
		m := perfMap().FindStringSubmatch(line)
		if m == nil {
			break
		}
		start, ok1 := hexNumber(m[1])
		size, ok2 := hexNumber(m[2])
		off, ok3 := hexNumber(m[3])
		if ok1 && ok2 && ok3 && strings.HasPrefix(m[5], "/") {
			x.addMapping(mapping{start: start, size: size, off: off, base: fromFile, file: m[5]})
		}
		return true
	case strings.HasPrefix(text, "Found module ") || strings.HasPrefix(text, "Module "):
		if m := foundModule().FindStringSubmatch(text); m != nil {
			x.ofBuild(m[1], m[2])
			return true
		}
	case len(text) > 42 && text[40] == ' ' && text[41] == '/': // perf buildid-list
		if m := builtModule().FindStringSubmatch(text); m != nil {
			x.ofBuild(m[2], m[1])
			return true
		}
	}
	return false
}

// mapLine takes a line of a list of mappings.
func (x *Reader) mapLine(first, end, offset, file string) {
	start, ok1 := hexNumber(first)
	stop, ok2 := hexNumber(end)
	off, ok3 := hexNumber(offset)
	if ok1 && ok2 && ok3 && stop > start && strings.HasPrefix(file, "/") {
		x.addMapping(mapping{start: start, size: stop - start, off: off, base: fromFile, file: file})
	}
}

// ofBuild takes the build ID of a file.
func (x *Reader) ofBuild(file, build string) {
	l := &x.layout
	if l.builds == nil {
		l.builds = make(map[string]string)
	}
	if len(l.builds) < maxModules {
		l.builds[fileBase(file)] = build
	}
}
