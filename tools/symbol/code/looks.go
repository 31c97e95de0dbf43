package code

// What the start of a function looks like: its first instructions, what lies
// before it, how it is aligned.

import "sort"

// align is the least alignment that counts as a sign of a function: that of gcc and
// clang is 16, Go's 32.
const align = 16

func (p *part) aligned(off int) bool { return (p.Addr+uint64(off))%align == 0 }

// stackCheck reports whether Go's stack check is at the offset: the function's
// first instructions compare SP, or what SP will be, with the guard in g.
func (p *part) stackCheck(off int) bool {
	for n := 0; n < 5; n++ {
		b := p.Bytes[min(off, len(p.Bytes)):]
		if len(b) < 4 || n == 0 && b[0]&0xf8 != 0x48 { // REX.W: all of them, for 64 bits
			return false
		}
		if b[0]&0xfb == 0x49 && b[1] == 0x3b && b[2] == 0x66 && b[3] == 0x10 { // CMPQ SP or R12, 16(R14)
			return true
		}
		// LEAQ -N(SP), R12; or for huge frames MOVQ SP, R12; SUBQ N, R12; JCS
		i := Decode(b)
		switch {
		case i.code == 0x8d && i.rex == 0x4c && i.modrm>>3&7 == 4:
		case i.code == 0x89 && i.modrm == 0xe4, i.code == 0x8b && i.modrm == 0xe4:
		case i.code == 0x81 && i.modrm == 0xec && i.rex == 0x49:
		case n > 0 && i.Op == Branch:
		default:
			return false
		}
		off += i.Len
	}
	return false
}

// prologue reports whether the code at the offset looks like a function's
// first instructions.
func (p *part) prologue(off int) bool {
	b := p.Bytes[off:]
	has := func(s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }
	if has("\xf3\x0f\x1e\xfa") { // ENDBR64
		return true
	}
	if p.stackCheck(off) {
		return true
	}
	switch {
	case has("\x55\x48\x89\xe5"), has("\x55\x48\x8b\xec"): // PUSH RBP; MOV RBP, RSP
		return true
	case has("\x41\x57"), has("\x41\x56"), has("\x41\x55"), has("\x41\x54"), has("\x55"), has("\x53"):
		// PUSH
		return true
	case has("\x48\x83\xec"), has("\x48\x81\xec"): // SUB RSP, N
		return true
	}
	return false
}

// maxFill is the most instructions that fill the space between functions.
const maxFill = 64

// before says how the instruction at index k is reached from the one before:
// ends is set when it is not, call when only a call lies before it that may not
// return; padded when there is filling between.
func (p *part) before(k int) (ends, call, padded bool) {
	j := k - 1
	for ; j >= 0 && p.insts[j].fills(); j-- {
		if k-j > maxFill {
			return false, false, true
		}
		padded = true
		if p.insts[j].op == Break {
			return true, false, true
		}
	}
	if j < 0 {
		return true, false, padded
	}
	i := &p.insts[j]
	return i.ends() || i.op == Bad, i.op == Call || i.op == CallIndirect, padded
}

// style finds out how functions are laid out, from those that are called.
func (p *part) style() {
	breaks, nops, strict, loose := 0, 0, 0, 0
	for k := range p.insts {
		off := int(p.insts[k].off)
		if p.marks[off]&called == 0 || k == 0 {
			continue
		}
		if p.aligned(off) {
			strict++
		} else {
			loose++
		}
		switch p.insts[k-1].op {
		case Break:
			breaks++
		case Nop:
			nops++
		}
	}
	p.breaks, p.loose = breaks > nops, loose*4 > strict
}

// prologues finds the starts that are certain or likely.
func (p *part) prologues() {
	for k := range p.insts {
		off := int(p.insts[k].off)
		m := &p.marks[off]
		if *m&certain != 0 {
			continue
		}
		if *m&framed != 0 {
			continue
		}
		isCalled := *m&called != 0
		isTaken := *m&taken != 0 && *m&(inner|branched) == 0 && (p.aligned(off) || p.loose)
		if !isCalled && !isTaken && !p.stackCheck(off) {
			continue
		}
		ends, call, padded := p.before(k)
		switch {
		case isCalled:
			// A call may lead into the middle of a function (Go's duffzero),
			// but not to where nothing runs on.
			if ends || call || padded && p.aligned(off) {
				*m |= certain
			}
		case isTaken:
			if (ends || call) && (padded || p.loose) {
				*m |= certain
			}
		case ends:
			*m |= certain
		}
	}
}

// distant finds the parts of functions that a compiler has put far from the rest
// (gcc's .cold): a jump leads there past the start of another function, and
// nothing runs into them.
func (p *part) distant() {
	var starts []int
	for off, m := range p.marks {
		if m&certain != 0 {
			starts = append(starts, off)
		}
	}
	region := func(off int) int { return sort.SearchInts(starts, off+1) }
	for k := range p.insts {
		i := &p.insts[k]
		if i.op != Branch && i.op != Jump {
			continue
		}
		to := i.target()
		if to < 0 || to >= len(p.marks) || p.marks[to]&(first|certain|inner|framed) != first ||
			region(to) == region(int(i.off)) {
			continue
		}
		at := sort.Search(len(p.insts), func(k int) bool { return int(p.insts[k].off) >= to })
		if ends, call, _ := p.before(at); ends || call {
			p.marks[to] |= certain
		}
	}
}
