package unwind

import (
	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// The program of an FDE, which makes its rows one after the other: instructions
// change the row at hand or advance the address from which on it holds. The CIE's
// program, which comes first, makes the row at the function's entry, to which
// DW_CFA_restore goes back.

// Instructions (DWARF 5, 7.24; the last few are GNU's).
const (
	cfaAdvanceLoc = 0x40 // the operand is in the lower six bits
	cfaOffset     = 0x80
	cfaRestore    = 0xc0

	cfaNop             = 0x00
	cfaSetLoc          = 0x01
	cfaAdvanceLoc1     = 0x02
	cfaAdvanceLoc2     = 0x03
	cfaAdvanceLoc4     = 0x04
	cfaOffsetExtended  = 0x05
	cfaRestoreExtended = 0x06
	cfaUndefined       = 0x07
	cfaSameValue       = 0x08
	cfaRegister        = 0x09
	cfaRememberState   = 0x0a
	cfaRestoreState    = 0x0b
	cfaDefCFA          = 0x0c
	cfaDefCFARegister  = 0x0d
	cfaDefCFAOffset    = 0x0e
	cfaDefCFAExpr      = 0x0f
	cfaExpression      = 0x10
	cfaOffsetExtSF     = 0x11
	cfaDefCFASF        = 0x12
	cfaDefCFAOffsetSF  = 0x13
	cfaValOffset       = 0x14
	cfaValOffsetSF     = 0x15
	cfaValExpression   = 0x16
	cfaMIPSAdvanceLoc8 = 0x1d
	cfaGNUArgsSize     = 0x2e
	cfaGNUNegOffset    = 0x2f
)

// maxRemembered bounds the rows that a program may put aside. Compilers use one
// or two.
const maxRemembered = 32

// A machine runs the programs of one FDE.
type machine struct {
	s       *elf.Frames
	c       elf.Cursor
	cie     *elf.CIE
	row     Row
	initial [NumRegs]Rule // behind the CIE's program
	inCIE   bool
	saved   []savedRow
}

type savedRow struct {
	cfa  Rule
	regs [NumRegs]Rule
}

// eachRow calls yield for each row of an FDE of s, in the order of addresses, until it
// returns false. It reports false if the program is damaged; the rows before that
// are good.
func eachRow(s *elf.Frames, f *elf.FDE, yield func(*Row) bool) bool {
	m := machine{s: s, cie: f.CIE, inCIE: true}
	if f.CIE.Column >= NumRegs {
		return false
	}
	m.row = Row{Start: f.Low, End: f.High, Column: Reg(f.CIE.Column), Signal: f.CIE.Signal,
		Source: DebugFrame}
	if s.EH {
		m.row.Source = EHFrame
	}
	m.c = elf.Cursor{B: f.CIE.Program}
	for m.c.Left() > 0 {
		if _, ok := m.step(); !ok {
			return false
		}
	}
	m.initial, m.inCIE = m.row.Regs, false
	m.c = s.Program(f)
	for m.c.Left() > 0 {
		next, ok := m.step()
		if !ok {
			return false
		}
		if next == m.row.Start {
			continue
		}
		if next >= f.High {
			break
		}
		m.row.End = next
		if !yield(&m.row) {
			return true
		}
		m.row.Start, m.row.End = next, f.High
	}
	yield(&m.row)
	return true
}

// rowAt returns the row of s for pc.
func rowAt(s *elf.Frames, pc uint64) (row Row, ok bool) {
	f, ok := s.Find(pc)
	if !ok {
		return row, false
	}
	ok = false
	eachRow(s, f, func(r *Row) bool {
		if pc < r.End {
			row, ok = *r, true
			return false
		}
		return true
	})
	return row, ok
}

// step runs one instruction. next is the address from which on what follows
// holds: that of the row at hand, unless the instruction has advanced it.
func (m *machine) step() (next uint64, ok bool) {
	c, row := &m.c, &m.row
	next = row.Start
	op := c.U8()
	switch op & 0xc0 {
	case cfaAdvanceLoc:
		return m.advance(uint64(op & 0x3f))
	case cfaOffset:
		return next, m.offset(uint64(op&0x3f), int64(c.ULEB()))
	case cfaRestore:
		return next, m.restore(uint64(op & 0x3f))
	}
	ok = true
	switch op {
	case cfaNop:
	case cfaSetLoc:
		a, good := m.s.Address(c, m.cie)
		if !good || a < next || m.inCIE {
			return next, false
		}
		return a, true
	case cfaAdvanceLoc1:
		return m.advance(c.Uint(1))
	case cfaAdvanceLoc2:
		return m.advance(c.Uint(2))
	case cfaAdvanceLoc4:
		return m.advance(c.Uint(4))
	case cfaMIPSAdvanceLoc8:
		return m.advance(c.Uint(8))
	case cfaOffsetExtended:
		r := c.ULEB()
		ok = m.offset(r, int64(c.ULEB()))
	case cfaOffsetExtSF:
		r := c.ULEB()
		ok = m.offset(r, c.SLEB())
	case cfaGNUNegOffset:
		r := c.ULEB()
		ok = m.offset(r, -int64(c.ULEB()))
	case cfaRestoreExtended:
		ok = m.restore(c.ULEB())
	case cfaUndefined:
		m.set(c.ULEB(), Rule{Kind: Undefined})
	case cfaSameValue:
		m.set(c.ULEB(), Rule{Kind: Same})
	case cfaRegister:
		r, from := c.ULEB(), c.ULEB()
		if from >= NumRegs {
			m.set(r, Rule{Kind: Undefined}) // in one that is not followed here
		} else {
			m.set(r, Rule{Kind: InReg, Reg: Reg(from)})
		}
	case cfaValOffset:
		r := c.ULEB()
		m.set(r, Rule{Kind: CFAPlus, Off: int64(c.ULEB()) * m.cie.DataAlign})
	case cfaValOffsetSF:
		r := c.ULEB()
		m.set(r, Rule{Kind: CFAPlus, Off: c.SLEB() * m.cie.DataAlign})
	case cfaExpression:
		r := c.ULEB()
		m.set(r, Rule{Kind: AtExpr, Expr: c.Take(c.ULEB())})
	case cfaValExpression:
		r := c.ULEB()
		m.set(r, Rule{Kind: IsExpr, Expr: c.Take(c.ULEB())})
	case cfaRememberState:
		if len(m.saved) >= maxRemembered {
			return next, false
		}
		m.saved = append(m.saved, savedRow{row.CFA, row.Regs})
	case cfaRestoreState:
		n := len(m.saved) - 1
		if n < 0 {
			return next, false
		}
		row.CFA, row.Regs = m.saved[n].cfa, m.saved[n].regs
		m.saved = m.saved[:n]
	case cfaDefCFA:
		r := c.ULEB()
		ok = m.cfa(r, int64(c.ULEB()))
	case cfaDefCFASF:
		r := c.ULEB()
		ok = m.cfa(r, c.SLEB()*m.cie.DataAlign)
	case cfaDefCFARegister:
		ok = row.CFA.Kind == InReg && m.cfa(c.ULEB(), row.CFA.Off)
	case cfaDefCFAOffset:
		row.CFA.Off = int64(c.ULEB())
		ok = row.CFA.Kind == InReg
	case cfaDefCFAOffsetSF:
		row.CFA.Off = c.SLEB() * m.cie.DataAlign
		ok = row.CFA.Kind == InReg
	case cfaDefCFAExpr:
		row.CFA = Rule{Kind: IsExpr, Expr: c.Take(c.ULEB())}
	case cfaGNUArgsSize:
		row.ArgsSize = c.ULEB()
	default:
		ok = false
	}
	return next, ok && !c.Bad
}

func (m *machine) advance(n uint64) (next uint64, ok bool) {
	d := n * m.cie.CodeAlign
	next = m.row.Start + d
	return next, !m.c.Bad && !m.inCIE && next >= m.row.Start && (n == 0 || d/n == m.cie.CodeAlign)
}

// set gives a register a rule. Registers that no row has (vector registers) are
// skipped.
func (m *machine) set(r uint64, rule Rule) {
	if r < NumRegs {
		m.row.Regs[r] = rule
	}
}

func (m *machine) offset(r uint64, factored int64) bool {
	m.set(r, Rule{Kind: AtCFA, Off: factored * m.cie.DataAlign})
	return !m.c.Bad
}

func (m *machine) restore(r uint64) bool {
	if r < NumRegs {
		m.row.Regs[r] = m.initial[r]
	}
	return !m.c.Bad && !m.inCIE
}

func (m *machine) cfa(r uint64, off int64) bool {
	if r >= NumRegs {
		return false
	}
	m.row.CFA = Rule{Kind: InReg, Reg: Reg(r), Off: off}
	return true
}
