package main

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tracer"
)

// The stack images of early.random: noise, a chain of calls and traps in it, and damage.

// noise fills the images.
func (m *image) noise() {
	for r := range regionGone {
		kind := m.dice.n(3)
		for i := range uintptr(regionWords) {
			v := uintptr(0)
			switch kind {
			case 1:
				v = m.value()
			case 2:
				v = uintptr(tracer.Signature)
			}
			poke(regions[r]+i*8, v)
		}
	}
	for r := range regions {
		for i := range certain.decides[r] {
			certain.decides[r][i] = decidesNothing
		}
	}
}

func poke(a, v uintptr) { *(*uintptr)(arch.Pointer(a)) = v }

// value rolls a word.
func (m *image) value() uintptr {
	x := m.dice.roll()
	n := uintptr(x >> 8)
	word := regions[x>>4%numRegions] + n%regionWords*8
	text := m.w.TextLo + n%(m.w.TextHi-m.w.TextLo)
	switch x % 14 {
	case 0, 1:
		return 0
	case 2, 3, 4, 5:
		return word
	case 6:
		return word + 4
	case 7, 8:
		return text
	case 9:
		f := &m.w.Marks[n%uintptr(len(m.w.Marks))]
		return f.Lo + n>>8%(f.Hi-f.Lo+1) + 1
	case 10:
		return tracer.TrapMark
	case 11:
		s := &m.w.Stacks[n%11]
		return s.Lo - 8 + n>>8%3*8 // the guard page, and the stack's own first words
	case 12:
		return 1<<63 | n<<3
	}
	return uintptr(x)
}

// function rolls a return address in functions for which no walk has a rule.
func (m *image) function() uintptr { return arch.EntryOf(randomA) + 1 + uintptr(m.dice.n(400)) }

func (m *image) add(kind tracer.Kind, addr uintptr) int {
	i := certain.n
	certain.kind[i], certain.addr[i] = kind, addr
	certain.n++
	return i
}

// take returns the address of the next word after a gap, and moves past it.
func (m *image) take(gap int) uintptr {
	m.at += gap + 1
	return regions[m.region] + uintptr(m.at-1)*8
}

// keep writes a word that decides something.
func (m *image) keep(a, v uintptr, decides int) {
	poke(a, v)
	for r := range regions {
		if i := a - regions[r]; r != regionGone && i < regionWords*8 {
			certain.decides[r][i/8] = int32(decides)
		}
	}
}

func (m *image) link(fp uintptr) {
	if m.fpAt == 0 {
		m.fp = fp
		return
	}
	m.keep(m.fpAt, fp, 2*m.fpOf+1)
}

// record makes the record of the last frame, whose caller is at ra.
func (m *image) record(gap int, ra uintptr) {
	a := m.take(gap)
	m.take(0)
	m.link(a)
	m.fpAt, m.fpOf = a, m.add(tracer.RA, ra)
	m.keep(a+8, ra, 2*m.fpOf)
}

// site begins at a call in callSite: RSP is then siteFrame bytes below its record.
func (m *image) site(i int) (sp uintptr) {
	sp = regions[m.region] + uintptr(m.at)*8
	m.fpOf = i
	m.record(siteFrame/8, m.function())
	return sp
}

func (m *image) enter() bool {
	for range 8 {
		r := m.dice.n(regionBelow + 1)
		stack := min(r, regionBelow-1) // two of them are in one stack
		if m.been&(1<<uint(stack)) == 0 {
			m.been |= 1 << uint(stack)
			m.region, m.at = r, m.dice.n(8)
			return true
		}
	}
	return false
}

// chain makes a chain of calls and traps. For a trace it begins at breakHere, which has
// no frame.
func (m *image) chain(traced bool) {
	certain.n, certain.damage, certain.end = 0, decidesNothing, tracer.EndZero
	m.enter()
	m.begin(traced)
	for {
		for n := m.dice.n(5); n > 0 && m.at < 40; n-- {
			m.record(m.dice.n(4), m.function())
		}
		if m.region == regionBelow && m.at > 40 || m.at > 30 || m.dice.n(3) == 0 || !m.trap() {
			break
		}
	}
	if m.region == regionBelow {
		// On into the missing page.
		m.link(regions[regionGone] + 64)
		certain.damage = min(certain.damage, int32(2*certain.n))
		return
	}
	if exit := m.exit(); exit != 0 && m.dice.n(4) == 0 {
		m.record(m.dice.n(4), exit)
		m.link(0)
		certain.end = tracer.EndGoexit
		return
	}
	top := regions[m.region] + (regionWords-2)*8
	m.link(top)
	m.keep(top, 0, 2*certain.n)
	m.keep(top+8, 0, 2*certain.n)
}

// exit returns a return address in the function where goroutines end.
func (m *image) exit() uintptr {
	for i := range m.w.Marks {
		if k := &m.w.Marks[i]; k.Rule == tracer.RuleExit && k.Lo != k.Hi {
			return k.Lo + 1
		}
	}
	return 0
}

// begin begins a chain in its region.
func (m *image) begin(traced bool) {
	m.ra = callSite()
	if traced {
		m.sp = regions[m.region] + uintptr(m.at)*8
		m.fpOf = m.add(tracer.PC, breakPC())
		m.keep(m.take(0), m.ra, 2*m.add(tracer.RA, m.ra))
		m.record(m.dice.n(4), m.function())
	} else {
		m.sp = m.site(m.add(tracer.RA, m.ra))
	}
}

// long makes a chain with more frames than a trace has room for, above the missing page.
func (m *image) long(traced bool) {
	certain.n, certain.damage = 0, decidesNothing
	m.region, m.at = regionGone, arch.PageSize/8
	m.begin(traced)
	for range 40 {
		m.record(m.dice.n(4), m.function())
	}
	certain.damage = int32(2 * certain.n) // more is not compared
	fp := m.fpAt
	for range 100 {
		next := fp + 16 + uintptr(m.dice.n(4))*8
		poke(fp, next)
		poke(next+8, m.function())
		fp = next
	}
	poke(fp, 0)
}

// trap makes a trap record, for a trap on another stack.
func (m *image) trap() bool {
	rec := m.take(m.dice.n(4))
	m.at += 8
	if m.at > regionWords {
		return false
	}
	m.link(rec)
	kind, vector := tracer.PC, uintptr(m.dice.n(32))
	if m.dice.n(3) == 0 {
		kind, vector = tracer.RA, tracer.VectorCall
	}
	if !m.enter() {
		// Nothing is left: the record is read, and names no stack.
		poke(rec+8, 0)
		certain.damage = min(certain.damage, int32(2*certain.n))
		return false
	}
	pc := callSite()
	i := m.add(tracer.Trap, pc)
	m.keep(rec+8, tracer.TrapMark, 2*i)
	m.keep(rec+16, vector, 2*i)
	m.keep(rec+24, 0, 2*i)
	m.keep(rec+32, pc, 2*i)
	m.fpAt = rec
	sp := m.site(m.add(kind, pc))
	m.keep(rec+56, sp, 2*i+2)
	m.back, m.backOf = rec+56, i
	return true
}

// spoil damages what the chain depends on, except the return address at which the walk begins.
func (m *image) spoil(traced bool) {
	switch m.dice.n(6) {
	case 0:
	case 1:
		m.fp = m.value()
		certain.damage = min(certain.damage, 1)
	case 2:
		m.sp = m.value()
		certain.damage = min(certain.damage, 1)
		if traced && m.dice.n(2) == 0 {
			m.fp = m.value()
		}
	case 3:
		if m.back != 0 {
			// The interrupted code is claimed to be on one of the stacks.
			poke(m.back, regions[m.dice.n(numRegions)]+uintptr(m.dice.n(regionWords))*8)
			certain.damage = min(certain.damage, int32(2*m.backOf+2))
		}
	default:
		for range 1 + m.dice.n(4) {
			r, i := m.dice.n(regionGone), m.dice.n(regionWords)
			poke(regions[r]+uintptr(i)*8, m.value())
			certain.damage = min(certain.damage, certain.decides[r][i])
		}
	}
}

// siteFrame is the number of bytes that callSite keeps between RSP and its record.
const siteFrame = 40

// Written in assembly (random_amd64.s).

// callSite returns the return address of a call in itself.
func callSite() (ra uintptr)
func returnAddress()

// breakWith hits a breakpoint with other registers.
func breakWith(sp, fp uintptr)
func breakHere()
func breakDone()

// breakPC returns the interrupted pc of breakWith.
func breakPC() uintptr
