package probe

import (
	"fmt"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
)

// Where in a function's code the breakpoints go, and whether they can.

// Kinds of places and what the target does there; the same numbers are in package
// kernel/observe/probe.
const (
	Entry = iota
	Return
	Tail
)

const (
	actStep = iota
	actPushBP
	actRet
	actJump
)

// A Place is an instruction at which a breakpoint goes.
type Place struct {
	Addr   uint64
	Kind   int // Entry, Return, or Tail: a jump to another function
	action int
	arg    int32
	first  byte
	length int
}

// body is a function's code, decoded.
type body struct {
	start uint64
	bytes []byte
	insts []inst
	at    map[uint64]int // address to the index in insts
}

type inst struct {
	code.Inst
	addr uint64
}

// decode decodes a function. Behind its code may be filling, of INT3.
func decode(start uint64, b []byte) (*body, error) {
	f := &body{start: start, bytes: b, at: make(map[uint64]int)}
	for off := 0; off < len(b); {
		i := code.Decode(b[off:])
		if i.Op == code.Bad {
			return nil, fmt.Errorf("its code cannot be decoded at +%#x", off)
		}
		f.at[start+uint64(off)] = len(f.insts)
		f.insts = append(f.insts, inst{i, start + uint64(off)})
		off += i.Len
	}
	if len(f.insts) == 0 || f.insts[0].Op == code.Break {
		return nil, fmt.Errorf("it has no code")
	}
	return f, nil
}

func (f *body) holds(addr uint64) bool { return addr-f.start < uint64(len(f.bytes)) }

// places finds the breakpoints. grows reports whether an address is that of a function
// which makes the stack larger: after a call of that a Go function begins again. asm says
// that the function is written in assembly.
func (f *body) places(asm bool, grows func(addr uint64) bool) ([]Place, error) {
	targets := make(map[uint64]bool)
	restart := -1
	for k := range f.insts {
		i := &f.insts[k]
		if !i.Direct() {
			continue
		}
		to := i.Target(i.addr)
		switch {
		case i.Op == code.Call && grows(to):
			restart = k
		case i.Op == code.Branch && !f.holds(to):
			return nil, fmt.Errorf("a conditional jump leaves it at +%#x", i.addr-f.start)
		case i.Op != code.Call && f.holds(to):
			if _, ok := f.at[to]; !ok {
				return nil, fmt.Errorf("a jump leads into the middle of an instruction at +%#x", i.addr-f.start)
			}
			targets[to] = true
		}
	}
	entry := 0
	if restart >= 0 {
		if entry = f.behindCheck(restart); entry < 0 {
			return nil, fmt.Errorf("its check of the stack is not understood")
		}
	}
	first := &f.insts[entry]
	if targets[first.addr] {
		return nil, fmt.Errorf("a loop begins at its first instruction")
	}
	if f.privileged(first) {
		return nil, fmt.Errorf("its first instruction cannot be stepped over")
	}
	places := []Place{f.place(first, Entry)}
	for k := range f.insts {
		i := &f.insts[k]
		kind := -1
		switch {
		case i.Op == code.Return:
			if b := f.bytes[i.addr-f.start]; b != 0xc3 && b != 0xc2 {
				return nil, fmt.Errorf("it leaves by another return than RET at +%#x", i.addr-f.start)
			}
			kind = Return
		case i.Op == code.Jump && !f.holds(i.Target(i.addr)):
			kind = Tail
		case i.Op == code.JumpIndirect && asm:
			return nil, fmt.Errorf("a jump leads nobody knows where at +%#x", i.addr-f.start)
		case i.Op == code.JumpIndirect:
			kind = Tail // the compiler has others for switches
		}
		if kind >= 0 && i.addr == first.addr {
			return nil, fmt.Errorf("it has a single instruction")
		}
		if kind >= 0 {
			places = append(places, f.place(i, kind))
		}
	}
	return places, nil
}

// behindCheck returns the index of the instruction behind a Go function's check of its
// stack, given the call that makes that larger: behind the last branch of the beginning
// that leads there. It returns -1 if there is none.
func (f *body) behindCheck(grow int) int {
	const most = 40 // instructions of the check, and on the way to the call
	leads := func(to uint64) bool {
		k, ok := f.at[to]
		for n := 0; ok && n < most && k < len(f.insts); n++ {
			if k == grow {
				return true
			}
			if op := f.insts[k].Op; op != code.Other && op != code.Nop {
				return false
			}
			k++
		}
		return false
	}
	found := -1
	for k := 0; k < min(most, len(f.insts)); k++ {
		switch i := &f.insts[k]; i.Op {
		case code.Other, code.Nop:
		case code.Branch:
			if !leads(i.Target(i.addr)) {
				return found
			}
			found = k + 1
		default:
			return found
		}
	}
	return found
}

// place describes the breakpoint at an instruction.
func (f *body) place(i *inst, kind int) Place {
	b := f.bytes[i.addr-f.start:][:i.Len]
	p := Place{Addr: i.addr, Kind: kind, first: b[0], length: i.Len}
	switch {
	case b[0] == 0x55:
		p.action = actPushBP
	case b[0] == 0xc3:
		p.action = actRet
	case i.Op == code.Jump:
		p.action, p.arg = actJump, int32(i.Rel)
	}
	return p
}

// privileged reports whether an instruction cannot be run with the trap flag set and
// interrupts off: it looks at these flags, changes them, or enters the kernel.
func (f *body) privileged(i *inst) bool {
	b := f.bytes[i.addr-f.start:][:i.Len]
	for len(b) > 1 && (b[0] == 0x66 || b[0] == 0xf2 || b[0] == 0xf3 || b[0]&0xf0 == 0x40) {
		b = b[1:]
	}
	switch b[0] {
	case 0x9c, 0x9d, 0xcc, 0xcd, 0xcf, 0xf1, 0xf4, 0xfa, 0xfb, 0x8e, 0x17:
		return true // PUSHF, POPF, INT3, INT, IRET, INT1, HLT, CLI, STI, MOV to SS, POP SS
	case 0x0f:
		return len(b) > 1 && (b[1] == 0x01 || b[1] == 0x05 || b[1] == 0x07 || b[1] == 0x0b ||
			b[1] == 0x34 || b[1] == 0x35)
	}
	return false
}
