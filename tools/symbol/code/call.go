package code

// What a return address proves. The call that pushed it is the instruction that
// ends there, and a direct call says whom it called. Read backwards, machine code
// is ambiguous: the bytes of a call may be the end of a longer instruction. Read
// forwards from the start of a function it is not.

import "github.com/zeroframe/zeroframe/tracer"

// CallSite is a call instruction.
type CallSite struct {
	// At is the address of the instruction.
	At uint64
	// Target is where a direct call goes.
	Target uint64
	// Indirect is set for a call of what a register or memory said: there is no
	// Target.
	Indirect bool
	// Certain is set when the instruction was found from the start of its
	// function. Otherwise there is merely no other way to read the bytes before
	// the return address as a call.
	Certain bool
}

// CallBefore returns the call that ends at the return address ra. There is none
// when the instruction before ra is no call, as where a runtime has made the
// address up, and when it is not known which of several readings is right.
func (m *Image) CallBefore(ra uint64) (c CallSite, ok bool) {
	if f := m.Func(ra - 1); f != nil {
		if c, ok, sure := m.callIn(f, ra); sure {
			return c, ok
		}
	}
	return m.callBack(ra)
}

// callIn looks for the call before ra in the function f, from its start. sure is
// false when the instructions did not lead there.
func (m *Image) callIn(f *Func, ra uint64) (c CallSite, ok, sure bool) {
	m.Insts(f, func(pc uint64, i Inst) bool {
		end := pc + uint64(i.Len)
		switch {
		case i.Op == Bad:
			return false
		case end < ra:
			return true
		case end > ra:
			sure = true // ra is inside of an instruction: no return address
			return false
		}
		sure = true
		ok = i.Op == Call || i.Op == CallIndirect
		c = CallSite{At: pc, Indirect: i.Op == CallIndirect, Certain: true}
		if i.Op == Call {
			c.Target = i.Target(pc)
		}
		return false
	})
	return c, ok, sure
}

// callBack looks for the call before ra backwards from it.
func (m *Image) callBack(ra uint64) (c CallSite, ok bool) {
	for _, length := range tracer.AMD64.CallLengths {
		n := uint64(length)
		b := m.bytes(ra-n, ra)
		if uint64(len(b)) != n {
			break
		}
		i := Decode(b)
		if uint64(i.Len) != n {
			continue
		}
		at := CallSite{At: ra - n}
		switch i.Op {
		case Call:
			at.Target = i.Target(ra - n)
			if !m.callable(at.Target) {
				continue
			}
		case CallIndirect:
			at.Indirect = true
		default:
			continue
		}
		// With a byte more that may be its prefix it is the same call.
		if ok && (at.Indirect != c.Indirect || at.Target != c.Target) {
			return CallSite{}, false
		}
		if !ok || b[0]&0xf0 == 0x40 && at.Indirect {
			c, ok = at, true
		}
	}
	return c, ok
}

// callable reports whether a direct call may go there: to the start of a
// function if there are functions, else anywhere in the code.
func (m *Image) callable(target uint64) bool {
	if len(m.funcs) == 0 {
		return m.IsText(target)
	}
	f := m.Func(target)
	return f != nil && f.Start == target
}
