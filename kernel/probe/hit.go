package probe

import "github.com/zeroframe/zeroframe/arch/amd64"

const (
	flagTrap = 1 << 8
	flags    = flagTrap | amd64.FlagInterrupt
)

var (
	stepping  uint32  // 1 + number of the place whose instruction is put back
	stepFlags uintptr // what RFLAGS had in flags

	hits  uint64
	spent uint64 // ticks that hits have taken, since boot

	// A hit takes more than Hit sees: the trap itself, the entry code and the way back.
	// calibrate measures that.
	unseen      uint64 // ticks for each hit
	calibrating bool
	seen        uint64 // ticks in Hit while calibrating
)

// calibrate sets unseen: the least of some breakpoints.
func calibrate() {
	calibrating, unseen = true, ^uint64(0)
	for range 64 {
		before := amd64.ReadTSC()
		amd64.Breakpoint()
		if t := amd64.ReadTSC() - before - seen; t < unseen {
			unseen = t
		}
	}
	calibrating = false
}

// Hit answers a breakpoint: it reports whether it was one of the places, and makes f go on
// behind the instruction there, or at it for one step. Kernel context.
func Hit(f *amd64.TrapFrame) bool {
	if !on {
		return false
	}
	now := amd64.ReadTSC()
	if calibrating {
		seen = amd64.ReadTSC() - now
		return true
	}
	off := f.RIP - 1 - textLo
	if off > 1<<32-1 {
		return false
	}
	i, ok := find(uint32(off))
	if !ok {
		return false
	}
	p := placeAt(i)
	f.RIP--
	hits++
	if p.Kind == Entry {
		enter(p.Function, f, now)
	} else {
		leave(p.Function, p.Kind, f, now)
	}
	if !emulate(p, f) {
		poke(f.RIP, p.Byte)
		stepping, stepFlags = i+1, f.RFLAGS&flags
		f.RFLAGS = f.RFLAGS&^flags | flagTrap
	}
	spent += amd64.ReadTSC() - now + unseen
	return true
}

// emulate does what the instruction at p would do. It reports false if it has to be run.
func emulate(p *Place, f *amd64.TrapFrame) bool {
	switch p.Action {
	case ActPushBP:
		if !amd64.StoreUser64(f.RSP-8, uint64(f.BP)) {
			return false
		}
		f.RSP -= 8
		f.RIP += uintptr(p.Len)
		return true
	case ActRet:
		ra, ok := amd64.LoadUser64(f.RSP)
		if !ok {
			return false
		}
		f.RSP += 8
		f.RIP = uintptr(ra)
		return true
	case ActJump:
		f.RIP += uintptr(p.Len) + uintptr(int(p.Arg))
		return true
	}
	return false
}

// Stepped answers a debug exception: it reports whether it was the step over an
// instruction that was put back, whose place it arms again. Kernel context.
func Stepped(f *amd64.TrapFrame) bool {
	if stepping == 0 {
		return false
	}
	now := amd64.ReadTSC()
	if f.RIP != textLo+uintptr(placeAt(stepping-1).Offset) { // else a REP that has more to do
		end(f)
	}
	spent += amd64.ReadTSC() - now + unseen
	return true
}

// Fault is for a fault that is going to be the program's: if it was in an instruction that
// was put back, that is over. Kernel context.
func Fault(f *amd64.TrapFrame) {
	if stepping != 0 && f.RIP == textLo+uintptr(placeAt(stepping-1).Offset) {
		end(f)
	}
}

// end arms the place again and restores the flags.
func end(f *amd64.TrapFrame) {
	poke(textLo+uintptr(placeAt(stepping-1).Offset), int3)
	f.RFLAGS = f.RFLAGS&^flags | stepFlags
	stepping = 0
}
