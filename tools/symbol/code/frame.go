package code

// Frame records. A function that has one pushes RBP and sets RBP to where it has
// done so; before that, and after it has taken it back, RBP is its caller's.

// HasFrame reports whether the function f has a frame record of its own when the
// instruction at pc, or the one that returns there, runs. It reads the
// instructions in the order of their addresses: code behind a RET is taken to run
// with the record, if there has been one before.
func (m *Image) HasFrame(f *Func, pc uint64) bool {
	has, had, arrived := false, false, false
	m.Insts(f, func(at uint64, i Inst) bool {
		if at >= pc {
			arrived = at == pc
			return false
		}
		switch {
		case i.Op == Bad:
			return false
		case i.Op.Ends():
			has = had
		case i.setsFrame():
			has, had = true, true
		case i.writesRBP():
			has = false
		}
		arrived = at+uint64(i.Len) == pc
		return true
	})
	return has && arrived
}

// setsFrame reports whether the instruction is MOV RBP, RSP or LEA RBP, N(RSP).
func (i *Inst) setsFrame() bool {
	switch i.code {
	case 0x89:
		return i.modrm == 0xe5 && i.rex == 0x48
	case 0x8b:
		return i.modrm == 0xec && i.rex == 0x48
	case 0x8d:
		return i.modrm>>3&7 == 5 && i.modrm&7 == 4 && i.modrm>>6 != 3 && i.sib == 0x24 && i.rex == 0x48
	}
	return false
}

// writesRBP reports whether the instruction is one of the few that give the
// caller's RBP back: POP RBP, LEAVE, MOV N(RSP), RBP.
func (i *Inst) writesRBP() bool {
	switch i.code {
	case 0x5d:
		return i.rex&1 == 0
	case 0xc9:
		return true
	case 0x8b:
		return i.modrm>>3&7 == 5 && i.rex == 0x48
	}
	return false
}
