package foreign

// Addresses and names of a line -> what they are in the images.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// hit resolves an address and keeps it if it is one of a program's code: of the
// first that has it.
func (x *Reader) hit(h Hit) bool {
	if x.find(h) {
		return true
	}
	x.early(h)
	return false
}

// most is how many addresses a line may have. Some have those of a whole report.
func (x *Reader) most() int {
	if x.ips.listed {
		return maxIPS
	}
	return maxHits
}

// find is hit for an address that is not kept if it is in no image.
func (x *Reader) find(h Hit) bool {
	x.lookForOffset()
	return len(x.layout.maps) > 0 && !h.linked && x.mapped(h) ||
		slices.ContainsFunc(x.programs(), func(p *program) bool { return x.hitIn(p, h) })
}

// hitIn does so with one program.
func (x *Reader) hitIn(p *program, h Hit) bool {
	if len(x.hits) >= x.most() {
		return false
	}
	if !h.linked {
		h.Addr -= p.bias
	}
	if p.thumb {
		h.Addr &^= 1
	}
	if !h.linked && !p.inText(h.Addr, h.ret) {
		return false
	}
	x.lookAhead()
	if h.ret && (h.list && slices.Contains(x.pcs, h.Addr) || h.name != "" && h.off == 0 &&
		p.noCall(h.Addr)) {
		h.ret = false
	}
	calls := p.lookup(h.Addr, h.ret)
	if len(calls) == 0 {
		return false
	}
	isNamed := func() bool { return calls[len(calls)-1].Function == h.name }
	switch {
	case h.name == "" || h.ret && h.off == 0 || isNamed():
	case h.ret:
		// The end of one function is the entry of the next, where a return address would
		// have a call before it. The trace has named the one that it means.
		if calls = slices.Clone(p.lookup(h.Addr-1, false)); len(calls) == 0 {
			calls = []lookup.Call{{}}
		}
		for i := range calls {
			calls[i].Offset = h.off
		}
		calls[len(calls)-1].Function = h.name
	default: // the address has other names too, or none: behind a function's end
		calls = slices.Clone(calls)
		calls[len(calls)-1].Function, calls[len(calls)-1].Offset = h.name, h.off
	}
	if functionAfter(h.name) != "" {
		// It is of no line, though a line table may count it to the function before.
		calls = []lookup.Call{{Function: h.name, Offset: h.off}}
	}
	if h.Calls = calls; x.opt.Demangle {
		h.Calls = inSource(calls)
	}
	x.hits = append(x.hits, h)
	return true
}

func (p *program) lookup(addr uint64, ret bool) []lookup.Call {
	calls := p.ahead.Lookup(p.sym, addr, ret)
	return calls[max(len(calls)-lookup.MaxCalls, 0):]
}

// functions returns the functions called name that are of the size, as the trace
// counts it (0: it does not say), and have the offset: those of the first program
// that has one. If there are others of the name only, it says so.
func (x *Reader) functions(in []*program, name string,
	off, size uint64) (*program, []lookup.Named) {
	var other uint64 // the size of one that does not fit
	for _, p := range in {
		all := p.called(name)
		if fit := x.fitting(p, all, off, size); len(fit) > 0 {
			return p, fit
		}
		if len(all) > 0 && other == 0 {
			other = max(all[0].Span, all[0].Size)
		}
	}
	if other != 0 && size != 0 {
		x.lack.differ(fmt.Sprintf("its function %s has %#x bytes, and that of the ELF file %#x",
			terminal.Clean(name), size, other))
	}
	return nil, nil
}

// fitting returns those of the functions that are of the size and have the offset: of those that
// fit in several ways, the ones that fit best.
func (x *Reader) fitting(p *program, all []lookup.Named, off, size uint64) (fit []lookup.Named) {
	const (
		byName = 1 + iota
		bySize
		bySpan
	)
	best := byName
	if size != 0 && !x.opt.Force {
		best = bySize
	}
	for _, n := range all {
		how := byName
		switch {
		case off > max(n.Span, n.Size): // the call at the very end of a function returns behind it
			continue
		case size == 0:
		case size == n.Span:
			how = bySpan
		case size == n.Size, p.module != "" && n.Last && size > n.Span:
			how = bySize // what follows a module's section in memory, the file does not tell
		}
		if how > best {
			best, fit = how, nil
		}
		if how == best {
			fit = append(fit, n)
		}
	}
	return fit
}

// named adds the place off bytes into the functions called name, of which the
// trace gives the size or 0, and the address too if hasAddr: that of h, which says what else is
// known of it.
func (x *Reader) named(in []*program, name string, off, size uint64, h Hit, hasAddr bool) bool {
	addr := h.Addr
	after := functionAfter(name)
	if after != "" && off == size && off != 0 {
		name, after, off, size, h.ret = after, "", 0, 0, false
	}
	p, found := x.functions(in, name, off, size)
	if len(found) > 1 && hasAddr {
		isThere := func(n lookup.Named) bool { return n.Start+off == addr-p.bias }
		if i := slices.IndexFunc(found, isThere); i >= 0 {
			found = found[i : i+1]
		}
	}
	if len(found) == 1 && hasAddr {
		p.setBias(addr - found[0].Start - off)
	}
	added := false
	for i, n := range found[:min(len(found), maxSame)] {
		at := h
		at.Addr, at.linked, at.name, at.off = n.Start+off, true, name, off
		if after != "" && off == n.Span { // the first byte of what follows
			at.ret, at.name, at.off = false, after, 0
		}
		if len(found) > 1 {
			at.Note = fmt.Sprintf(" (or: %d of %d of this name and size)", i+1, len(found))
		}
		added = x.hitIn(p, at) || added
	}
	return added
}

// functionAfter returns the function before which Linux has room, for a tracer or a type's hash, if
// name is the symbol of that room; otherwise "". A trace names it for the address of the function
// itself, a byte before which it looks for the symbol.
// Source: Linux, tools/objtool/check.c, create_prefix_symbols; clang, -fsanitize=kcfi.
func functionAfter(name string) string {
	for _, before := range [...]string{"__pfx_", "__cfi_"} {
		if function, ok := strings.CutPrefix(name, before); ok {
			return function
		}
	}
	return ""
}

// ParseBias reads the argument of -bias: a number, or FUNCTION[+OFFSET]=ADDRESS,
// an address at which the trace's system has a function of the ELF file.
func ParseBias(s string, sym lookup.Resolver) (uint64, error) {
	where, at, pair := strings.Cut(s, "=")
	if !pair {
		digits, neg := strings.CutPrefix(s, "-")
		v, err := strconv.ParseUint(digits, 0, 64)
		switch {
		case err != nil && neg:
			return 0, fmt.Errorf("%q is no address", s)
		case err != nil:
			return 0, fmt.Errorf("%q is no address and no FUNCTION+OFFSET=ADDRESS", s)
		case neg:
			return -v, nil
		}
		return v, nil
	}
	addr, ok := hexNumber(at)
	if !ok {
		return 0, fmt.Errorf("%q is no address", at)
	}
	name, offset, _ := strings.Cut(where, "+0x")
	off, ok := hexNumber(offset)
	if !ok && offset != "" {
		return 0, fmt.Errorf("%q is no offset", offset)
	}
	names, ok := sym.(lookup.NameResolver)
	if !ok {
		return 0, fmt.Errorf("%q needs an ELF file: give the bias as a number", s)
	}
	switch found := names.Named(name); len(found) {
	case 0:
		return 0, fmt.Errorf("the ELF file has no function %q", name)
	case 1:
		return addr - found[0].Start - off, nil
	default:
		return 0, fmt.Errorf("the ELF file has %d functions %q: name another", len(found), name)
	}
}

// hexWord writes an address as Linux does.
func hexWord(addr uint64) string { return fmt.Sprintf("%016x", addr) }

// hexNumber reads a hexadecimal number, with or without 0x.
func hexNumber(s string) (uint64, bool) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	v, err := strconv.ParseUint(s, 16, 64)
	return v, err == nil
}
