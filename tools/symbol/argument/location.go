package argument

// Where a value lives: DWARF's location lists and expressions, as far as compilers use them
// for parameters. What is not known here has no location.
//
// Source: DWARF 5, sections 2.5, 2.6 and 7.7.3; DWARF 4, 2.6.2; Go's cmd/compile/internal/ssa,
// debug.go.

import (
	"iter"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// A piece is a part of a value.
type piece struct {
	at   uint64 // where it is in the value
	size uint64 // in bytes; 0: the whole value
	kind pieceKind
	n    uint64 // the address, the register's number in DWARF, or the value itself
}

type pieceKind uint8

const (
	lost       pieceKind = iota // it is nowhere
	inMemory                    // at the address n
	inRegister                  // in the register n
	isValue                     // n is it
)

// Limits of what is read, whatever a file says.
const (
	maxEntries = 1 << 12 // of a location list
	maxOps     = 64      // of an expression
	maxPieces  = 32
)

// A lists is what the location lists of one unit need.
type lists struct {
	v5    bool
	bytes []byte // .debug_loclists, or .debug_loc before DWARF 5
	addrs []byte // .debug_addr from the unit's part on
	low   uint64 // the unit's base
}

// at returns the expression for pc of the list at an offset of the section.
func (l *lists) at(off, pc uint64) (expr []byte, ok bool) {
	var usual []byte // for where no entry says anything
	for e := range l.entries(off) {
		if e.usual {
			usual = e.expr
		} else if e.lo <= pc && pc < e.hi {
			return e.expr, true
		}
	}
	return usual, usual != nil
}

// An entry of a location list says where a value lives from lo up to hi, or where no other one
// says anything.
type entry struct {
	lo, hi uint64
	usual  bool
	expr   []byte
}

// entries are those of the list at an offset of the section, up to the first that is damaged.
func (l *lists) entries(off uint64) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		if off > uint64(len(l.bytes)) {
			return
		}
		c := elf.Cursor{B: l.bytes, At: int(off)}
		if l.v5 {
			l.version5(&c, yield)
		} else {
			l.before5(&c, yield)
		}
	}
}

// version5 reads a list of .debug_loclists.
func (l *lists) version5(c *elf.Cursor, yield func(entry) bool) {
	base := l.low
	for range maxEntries {
		var lo, hi uint64
		kind := c.U8()
		switch kind {
		case 0: // end_of_list
			return
		case 1: // base_addressx
			base = l.addr(c.ULEB(), c)
			continue
		case 2: // startx_endx
			lo = l.addr(c.ULEB(), c)
			hi = l.addr(c.ULEB(), c)
		case 3: // startx_length
			lo = l.addr(c.ULEB(), c)
			hi = lo + c.ULEB()
		case 4: // offset_pair
			lo = base + c.ULEB()
			hi = base + c.ULEB()
		case 5: // default_location
		case 6: // base_address
			base = c.Uint(8)
			continue
		case 7: // start_end
			lo, hi = c.Uint(8), c.Uint(8)
		case 8: // start_length
			lo = c.Uint(8)
			hi = lo + c.ULEB()
		default:
			return
		}
		e := c.Take(c.ULEB())
		if c.Bad || !yield(entry{lo, hi, kind == 5, e}) {
			return
		}
	}
}

// before5 reads a list of .debug_loc: pairs of addresses, from the base.
func (l *lists) before5(c *elf.Cursor, yield func(entry) bool) {
	base := l.low
	for range maxEntries {
		lo, hi := c.Uint(8), c.Uint(8)
		switch {
		case c.Bad, lo == 0 && hi == 0:
			return
		case lo == 1<<64-1:
			base = hi
			continue
		}
		e := c.Take(c.Uint(2))
		if c.Bad || !yield(entry{base + lo, base + hi, false, e}) {
			return
		}
	}
}

// inPieces reports whether a list has an entry of pieces. The compiler's optimizer writes all
// entries of a variable so, if any; where one has none, -N has kept the whole value in memory.
//
// Source: Go 1.26, cmd/compile/internal/ssa, debug.go (BuildFuncDebugNoOptimized,
// writePendingEntry).
func (l *lists) inPieces(off uint64, f *Frame) bool {
	for e := range l.entries(off) {
		if all, ok := pieces(e.expr, f); ok && all[0].size != 0 {
			return true
		}
	}
	return false
}

// addr returns address i of the unit.
func (l *lists) addr(i uint64, c *elf.Cursor) uint64 {
	if i >= uint64(len(l.addrs))/8 {
		c.Bad = true
		return 0
	}
	a := elf.Cursor{B: l.addrs, At: int(i) * 8}
	return a.Uint(8)
}

// The operations of expressions that say where a value is, or are of a function's frame.
const (
	opReg0  = 0x50
	opReg31 = 0x6f
	opRegx  = 0x90
	opFbreg = 0x91
	opPiece = 0x93
	opCFA   = 0x9c
	opValue = 0x9f
)

// pieces evaluates an expression in a frame. It reports false if that cannot be done; a piece
// that is lost is no failure.
func pieces(expr []byte, f *Frame) (all []piece, ok bool) {
	e := elf.Expr{Cursor: elf.Cursor{B: expr}, Register: f.register, Memory: f.number}
	now := piece{}
	found := func() { // an address is on the stack, unless the place is known
		if now.kind == lost && len(e.Stack) > 0 {
			now = piece{kind: inMemory, n: e.Pop()}
		}
	}
	for range maxOps {
		if e.Bad || len(all) >= maxPieces {
			return nil, false
		}
		if e.Left() == 0 {
			break
		}
		switch op := e.U8(); {
		case op >= opReg0 && op <= opReg31:
			now = piece{kind: inRegister, n: uint64(op - opReg0)}
		case op == opRegx:
			now = piece{kind: inRegister, n: e.ULEB()}
		case op == opFbreg: // Go's frame base is the CFA
			e.Push(f.CFA + uint64(e.SLEB()))
			e.Bad = e.Bad || f.CFA == 0
		case op == opCFA:
			e.Push(f.CFA)
			e.Bad = e.Bad || f.CFA == 0
		case op == opValue:
			now = piece{kind: isValue, n: e.Pop()}
		case op == opPiece:
			found()
			if now.size = e.ULEB(); now.size == 0 {
				return nil, false
			}
			all, now, e.Stack = append(all, now), piece{}, e.Stack[:0]
		default:
			e.Step(op)
		}
	}
	if e.Bad || e.Left() > 0 {
		return nil, false
	}
	if len(all) > 0 {
		return all, now.kind == lost && len(e.Stack) == 0
	}
	found()
	return []piece{now}, now.kind != lost
}

// keep moves those pieces of a value that were in registers to memory, where the function has
// kept them too: in the place above the CFA that its caller has set aside for it, which other
// entries of the list name. kept says what the function has written to by then.
func (l *lists) keep(all []piece, list uint64, f *Frame) {
	if f.kept == nil || f.CFA == 0 {
		return
	}
	for e := range l.entries(list) {
		move(all, e.expr, f, func(o piece) bool {
			off := o.n - f.CFA
			return off < maxKept && f.kept(uint8(off))
		})
	}
}

// survive moves those pieces of a value that were in registers before a call to where they are
// behind it: no register survives one, so that is memory, to which they were written before.
func (l *lists) survive(all []piece, list uint64, f *Frame) {
	if f.Behind == 0 {
		return
	}
	if expr, ok := l.at(list, f.Behind); ok {
		move(all, expr, f, func(piece) bool { return true })
	}
}

// move moves those pieces that are in registers that are not known to where another expression
// has them in memory, if they are there.
func move(all []piece, expr []byte, f *Frame, there func(piece) bool) {
	other, ok := pieces(expr, f)
	if !ok || len(other) != len(all) {
		return
	}
	for i, o := range other {
		p := &all[i]
		if _, known := f.register(p.n); p.kind == inRegister && !known && o.kind == inMemory &&
			o.size == p.size && there(o) {
			*p = o
		}
	}
}

const maxKept = 0xfb // larger offsets are not in the pc tables
