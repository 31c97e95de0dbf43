package code

// Function starts in a file without symbols. The code is decoded from end to end,
// and what it says of itself is gathered:
//
//	certain   the entry point, the starts of .eh_frame, direct calls
//	likely    Go's stack check at a place that nothing runs into
//	          (CMPQ SP, 16(R14))
//	possible  the first instruction behind the end of a function
//
// Where a function ends is the question that remains: behind a RET or a JMP comes
// either the next function or code of this one that is jumped to. So within what
// lies between two starts that are certain, the end is where nothing runs on and
// no jump from before leads beyond. What follows that end is a function if it has
// the looks of one: filling before it, an alignment, a prologue, or its address
// somewhere in the data. The entries of a switch's table lead into a function,
// never to its start.

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// Input is what Find looks at.
type Input struct {
	// Text is the code in which functions are looked for. Stubs that a linker
	// makes (.plt) do not belong there.
	Text []Segment
	// Data is what may hold addresses of functions and tables of jumps.
	Data []Segment
	// EHFrame is the section .eh_frame, if there is one.
	EHFrame Segment
	// Starts are addresses that are known to be functions: the entry point, what
	// relocations and dynamic symbols name. Those outside of Text are ignored.
	Starts []uint64
}

// Find returns the functions in the code, sorted, with names like
// func_2797c0, of the address in hexadecimal. The filling behind a function is
// not a part of it. Time and memory are in proportion to the input.
func Find(in *Input) []Func {
	m := NewImage(in.Text, nil)
	f := finder{in: in, frames: frameRanges(in.EHFrame)}
	for i := range m.segs {
		f.parts = append(f.parts, newPart(m.segs[i]))
	}
	for _, a := range in.Starts {
		f.mark(a, certain)
	}
	f.described()
	for _, p := range f.parts {
		f.gather(p)
	}
	for _, p := range f.parts {
		p.style()
	}
	f.tables()
	f.pointers()
	for _, p := range f.parts {
		p.prologues()
		p.distant()
	}
	funcs := f.split()
	for range maxRounds {
		// Where a call does not return, a function may end that has been
		// taken for a part of the one before it.
		if !f.endless(funcs) {
			break
		}
		funcs = f.split()
	}
	for i := range funcs {
		funcs[i].Name = fmt.Sprintf("func_%x", funcs[i].Start)
	}
	return funcs
}

// maxRounds bounds the search for functions that do not return.
const maxRounds = 4

// split finds the functions of all parts.
func (f *finder) split() []Func {
	var funcs []Func
	for _, p := range f.parts {
		funcs = append(funcs, p.split()...)
	}
	return funcs
}

// described marks what .eh_frame says.
func (f *finder) described() {
	behind := uint64(0) // what has been marked lies before
	for i := range f.frames {
		fr := &f.frames[i]
		f.mark(fr.Start, certain)
		p, off := f.part(fr.Start)
		if p == nil {
			continue
		}
		end := min(fr.End-p.Addr, uint64(len(p.Bytes)))
		for n := max(uint64(off)+1, behind-min(behind, p.Addr)); n < end; n++ {
			p.marks[n] |= framed
		}
		behind = max(behind, p.Addr+end)
	}
}

// endless finds out which functions never return, by their lack of any way out,
// and marks the calls of them. It reports whether there are more than before.
func (f *finder) endless(funcs []Func) (more bool) {
	ends := map[uint64]bool{}
	k := 0
	var p *part
	for i := range funcs {
		fn := &funcs[i]
		q, off := f.part(fn.Start)
		if q != p {
			p, k = q, 0
		}
		for k < len(p.insts) && int(p.insts[k].off) < off {
			k++
		}
		if last := p.endlessFrom(k, fn); last {
			ends[fn.Start] = true
		}
	}
	for _, p := range f.parts {
		for k := range p.insts {
			i := &p.insts[k]
			if i.op == Call && !i.last && ends[p.Addr+uint64(i.target())] {
				i.last, more = true, true
			}
		}
	}
	return more
}

// endlessFrom reports whether the function, which begins with the instruction at
// index k, has no way out: no RET, no jump to elsewhere, nothing behind its end.
func (p *part) endlessFrom(k int, fn *Func) bool {
	lo, hi := int(fn.Start-p.Addr), int(fn.End-p.Addr)
	var last *inst
	for ; k < len(p.insts) && int(p.insts[k].off) < hi; k++ {
		i := &p.insts[k]
		switch i.op {
		case Return, JumpIndirect, JumpTable, Bad:
			return false
		case Jump, Branch:
			if to := i.target(); to < lo || to >= hi {
				return false
			}
		}
		if !i.fills() {
			last = i
		}
	}
	// What follows a call at the very end is never reached, if the code is
	// that of a compiler.
	return last != nil && (last.ends() || last.op == Call)
}

// What is known of an address.
const (
	first    = 1 << iota // of an instruction
	certain              // of a function
	called               // by a direct call
	taken                // its address is somewhere
	inner                // in a table of jumps
	branched             // by a conditional jump
	framed               // by .eh_frame in a function, not its first
)

// part is one segment, decoded.
type part struct {
	Segment
	marks  []uint8 // for each byte
	insts  []inst
	breaks bool // the filling between functions is INT3, as a rule
	loose  bool // functions are not aligned, as a rule
}

// inst is an instruction in little room: there are a million.
type inst struct {
	off  int32
	rel  int32
	len  uint8
	op   Op
	last bool // a call that does not return
}

func (i *inst) target() int { return int(i.off) + int(i.len) + int(i.rel) }

// ends reports whether nothing runs on behind the instruction.
func (i *inst) ends() bool { return i.last || i.op.Ends() }

// fills reports whether the instruction may be filling.
func (i *inst) fills() bool { return i.op == Nop || i.op == Break }

// maxPart is how much of one segment is looked at: offsets have 32 bits.
const maxPart = 1 << 30

func newPart(s Segment) *part {
	s.Bytes = s.Bytes[:min(len(s.Bytes), maxPart)]
	return &part{Segment: s, marks: make([]uint8, len(s.Bytes)),
		insts: make([]inst, 0, len(s.Bytes)/4)}
}

type finder struct {
	in     *Input
	parts  []*part
	frames []Func // ranges of .eh_frame
	bases  []uint64
	index  []uint64 // tables that an instruction with a scaled index reads
}

// part returns the part that has the address and the offset in it.
func (f *finder) part(addr uint64) (*part, int) {
	i := sort.Search(len(f.parts), func(i int) bool { return f.parts[i].Addr > addr }) - 1
	if i < 0 || addr-f.parts[i].Addr >= uint64(len(f.parts[i].Bytes)) {
		return nil, 0
	}
	return f.parts[i], int(addr - f.parts[i].Addr)
}

func (f *finder) mark(addr uint64, flags uint8) {
	if p, off := f.part(addr); p != nil {
		p.marks[off] |= flags
	}
}

// gather decodes a part and notes what its instructions refer to.
func (f *finder) gather(p *part) {
	zeros := 0
	// The latest address that an LEA has put into each register, and where.
	var lea [16]struct {
		to uint64
		at int
	}
	for n := 0; n < len(p.Bytes); {
		i := Decode(p.Bytes[n:])
		for d := 1; d < i.Len; d++ {
			if p.marks[n+d]&certain != 0 { // so this is none
				i = Inst{Op: Bad, Len: d}
			}
		}
		k := inst{off: int32(n), rel: int32(i.Rel), len: uint8(i.Len), op: i.Op}
		if i.Op == Other && i.Len == 2 && p.Bytes[n]|p.Bytes[n+1] == 0 {
			// Zeros: ADD AL, (RAX) in theory.
			if zeros++; zeros > 1 {
				k.op = Break
				if zeros == 2 {
					p.insts[len(p.insts)-1].op = Break
				}
			}
		} else {
			zeros = 0
		}
		p.marks[n] |= first
		p.insts = append(p.insts, k)
		pc := p.Addr + uint64(n)
		next := pc + uint64(i.Len)
		end := p.Bytes[n:min(n+i.Len, len(p.Bytes))]
		switch {
		case i.Op == Call && i.Rel != 0:
			f.mark(i.Target(pc), called)
		case i.Op == Branch:
			f.mark(i.Target(pc), branched)
		case i.code == 0x8d && i.Memory: // LEA disp(RIP)
			a := next + uint64(int64(i.Disp))
			f.mark(a, taken)
			f.bases = append(f.bases, a)
			l := &lea[i.modrm>>3&7|i.rex&4<<1]
			l.to, l.at = a, n
		case i.code == 0x68, i.code == 0xc7 && i.Len >= 6, i.code&^7 == 0xb8 && i.Len >= 5 && i.Len <= 7:
			// PUSH, MOV of a constant: an address if the code is below 2 GiB.
			f.mark(uint64(binary.LittleEndian.Uint32(end[len(end)-4:])), taken)
		case i.Op == JumpTable:
			if i.Len >= 7 {
				f.index = append(f.index, uint64(int64(int32(binary.LittleEndian.Uint32(end[len(end)-4:])))))
			} else if l := &lea[i.sib&7|i.rex&1<<3]; n-l.at <= 2*maxInst {
				f.index = append(f.index, l.to)
			}
		}
		n += i.Len
	}
}

// data returns the bytes from the address on.
func (f *finder) data(addr uint64) []byte {
	for i := range f.in.Data {
		if s := &f.in.Data[i]; addr-s.Addr < uint64(len(s.Bytes)) {
			return s.Bytes[addr-s.Addr:]
		}
	}
	return nil
}

// tables marks what the tables of jumps lead to. A switch has four cases at least
// when a compiler makes a table of it. What lies behind a table's end may be the
// next table; that is known by the address that some instruction takes of it.
func (f *finder) tables() {
	slices.Sort(f.index)
	slices.Sort(f.bases)
	f.index, f.bases = slices.Compact(f.index), slices.Compact(f.bases)
	for _, list := range []struct {
		bases []uint64
		size  uint64
	}{{f.index, 8}, {f.bases, 4}} {
		for k, base := range list.bases {
			limit := ^uint64(0)
			if k+1 < len(list.bases) {
				limit = list.bases[k+1]
			}
			f.table(base, limit, list.size)
		}
	}
}

// table marks the targets of a table: of 8-byte addresses, or of 4-byte distances
// from its start. Without enough of them it is no table.
func (f *finder) table(base, limit, size uint64) {
	b := f.data(base)
	var near *part
	n := uint64(0)
	target := func(i uint64) (*part, int) {
		if size == 8 {
			return f.part(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return f.part(base + uint64(int64(int32(binary.LittleEndian.Uint32(b[4*i:])))))
	}
	for ; (n+1)*size <= uint64(len(b)) && base+n*size < limit; n++ {
		p, off := target(n)
		if p == nil || p.marks[off]&first == 0 || near != nil && p != near {
			break
		}
		near = p
	}
	if n < 3 {
		return
	}
	for i := range n {
		p, off := target(i)
		p.marks[off] |= inner
	}
}

// pointers marks the code whose address is a word of the data. A run of such
// words that lead to all kinds of places is a table of jumps.
func (f *finder) pointers() {
	for _, s := range f.in.Data {
		at := int(-s.Addr & 7)
		run, odd := 0, 0
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(s.Bytes[at:]) }
		for ; ; at += 8 {
			var p *part
			off := 0
			if at+8 <= len(s.Bytes) {
				p, off = f.part(word(at))
			}
			if p != nil {
				if run++; !p.loose && !p.aligned(off) {
					odd++
				}
				continue
			}
			flags := uint8(taken)
			if run >= 4 && odd*4 >= run {
				flags = inner
			}
			for ; run > 0; run-- {
				f.mark(word(at-8*run), flags)
			}
			odd = 0
			if at+8 > len(s.Bytes) {
				break
			}
		}
	}
}
