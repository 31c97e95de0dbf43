package code

// The decoder. To follow code one needs of each instruction its length and
// whether it goes elsewhere, and needs them of every instruction: one wrong
// length puts all that follows out of step. So this decoder knows the encodings
// (opcode maps, VEX, EVEX, XOP) rather than the instructions, and of those only
// the ones that change the flow of control. What it says is checked against
// objdump and golang.org/x/arch/x86/x86asm. The latter does not do for a whole
// text: it takes VZEROUPPER and VZEROALL to be longer than they are (v0.32.0),
// which is enough to lose the next instruction, and it spends most of its time on
// operands that nobody asks for here.
//
// Source: Intel SDM volume 2, chapter 2 and appendix A; AMD APM volume 3 for XOP.

import (
	"encoding/binary"
	"strings"
)

// Op says what an instruction does to the flow of control.
type Op uint8

// The kinds of instructions. All but Other, Nop, Call and CallIndirect leave
// the straight line of the code, Branch only perhaps.
const (
	Bad          Op = iota // no instruction, or one cut short
	Other                  // goes on behind it
	Nop                    // the same, and does nothing
	Call                   // a direct call; Target is where to
	CallIndirect           // a call of what a register or memory says
	Jump                   // a direct jump; Target is where to
	JumpIndirect           // a jump to where a register or memory says
	JumpTable              // the same, by an entry of a table (a switch)
	Branch                 // a conditional jump; Target is where to
	Return                 // RET, IRET, SYSRET, SYSEXIT
	Trap                   // UD0, UD1, UD2: nothing comes behind
	Break                  // INT3, also the filling between functions
)

// An Inst is a decoded instruction.
type Inst struct {
	Op  Op
	Len int // in bytes, 1 to 15; 1 if Op is Bad
	// Rel is what a direct call or jump adds to the address behind it.
	Rel int64
	// Memory says that there is an operand in memory at Disp from the address
	// behind the instruction.
	Memory bool
	Disp   int32

	code  uint16 // opcode map << 8 | opcode
	modrm byte
	sib   byte
	rex   byte
}

// Target returns where a direct call or jump at the address pc goes.
func (i *Inst) Target(pc uint64) uint64 { return pc + uint64(i.Len) + uint64(i.Rel) }

// Vector reports whether i has a VEX, EVEX or XOP prefix: most such instructions change the
// parts of vector registers above the 128 bits of SSE.
func (i *Inst) Vector() bool { return i.code&mapVEX != 0 }

// Direct reports whether the instruction has a Target.
func (i *Inst) Direct() bool { return i.Op == Call || i.Op == Jump || i.Op == Branch }

// Ends reports whether nothing ever runs on to the address behind the
// instruction.
func (op Op) Ends() bool {
	return op == Jump || op == JumpIndirect || op == JumpTable || op == Return ||
		op == Trap || op == Break
}

// Bits of the tables of opcodes: what follows the opcode.
const (
	hasModRM = 1 << iota
	imm8
	imm16
	immZ   // 4 bytes, or 2 with an operand size prefix
	immV   // likewise, or 8 with REX.W
	offset // an address: 8 bytes, or 4 with an address size prefix
	rel32
	undefined
)

// maxInst is the longest instruction in bytes.
const maxInst = 15

// Opcode maps, in Inst.code.
const (
	map0F   = 1 << 8
	map0F38 = 2 << 8
	map0F3A = 3 << 8
	mapVEX  = 1 << 12 // VEX, EVEX or XOP
)

// The opcode maps as the manual prints them, a line for each upper half of an opcode.
const oneByteMap = `
mmmmbz--mmmmbz--
mmmmbz--mmmmbz--
mmmmbz--mmmmbz--
mmmmbz--mmmmbz--
................
................
---m....zZbB....
bbbbbbbbbbbbbbbb
BZ-Bmmmmmmmmmmmm
..........-.....
oooo....bz......
bbbbbbbbvvvvvvvv
BBw.--BZe.w..b-.
mmmm---.mmmmmmmm
bbbbbbbbrr-b....
......mm......mm`

const twoByteMap = `
mmmm-.....-.-m.B
mmmmmmmmmmmmmmmm
mmmm----mmmmmmmm
......-.m-m-----
mmmmmmmmmmmmmmmm
mmmmmmmmmmmmmmmm
mmmmmmmmmmmmmmmm
BBBBmmm.mm--mmmm
rrrrrrrrrrrrrrrr
mmmmmmmmmmmmmmmm
...mBm--...mBmmm
mmmmmmmmmmBmmmmm
mmBmBBBm........
mmmmmmmmmmmmmmmm
mmmmmmmmmmmmmmmm
mmmmmmmmmmmmmmmm`

// mapLetters are the letters of the maps.
var mapLetters = map[rune]uint8{'.': 0, 'm': hasModRM, 'b': imm8, 'w': imm16, 'z': immZ, 'v': immV,
	'o': offset, 'r': rel32, '-': undefined, 'B': hasModRM | imm8, 'Z': hasModRM | immZ,
	'e': imm16 | imm8}

var oneByte, twoByte = opcodes(oneByteMap), opcodes(twoByteMap)

func opcodes(text string) (table [256]uint8) {
	for op, letter := range strings.Join(strings.Fields(text), "") {
		table[op] = mapLetters[letter]
	}
	return table
}

// Decode decodes the instruction that b begins with, as 64-bit code. It never
// looks at more than 15 bytes.
func Decode(b []byte) Inst {
	if len(b) > maxInst {
		b = b[:maxInst]
	}
	d := decoder{b: b}
	if !d.decode() || d.n > len(b) {
		return Inst{Op: Bad, Len: 1}
	}
	d.i.Len = d.n
	return d.i
}

type decoder struct {
	b    []byte
	n    int // bytes taken
	i    Inst
	data bool // operand size prefix
	addr bool // address size prefix
	rep  byte // F2 or F3, the last of them
}

// next takes a byte; 0 behind the end, which Decode notices.
func (d *decoder) next() byte {
	d.n++
	if d.n > len(d.b) {
		return 0
	}
	return d.b[d.n-1]
}

func (d *decoder) decode() bool {
	var op byte
prefixes:
	for {
		op = d.next()
		if d.n > len(d.b) {
			return false
		}
		switch op {
		case 0x66:
			d.data = true
		case 0x67:
			d.addr = true
		case 0xf2, 0xf3:
			d.rep = op
		case 0xf0, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65:
		default:
			if op&0xf0 != 0x40 {
				break prefixes
			}
			// REX counts only just before the opcode.
			d.i.rex = op
			continue
		}
		d.i.rex = 0
	}
	if d.vex(op) {
		return d.vexInst(op)
	}
	flags := oneByte[op]
	d.i.code = uint16(op)
	if op == 0x0f {
		op = d.next()
		switch op {
		case 0x38:
			d.i.code, flags = map0F38|uint16(d.next()), hasModRM
		case 0x3a:
			d.i.code, flags = map0F3A|uint16(d.next()), hasModRM|imm8
		default:
			d.i.code, flags = map0F|uint16(op), twoByte[op]
		}
	}
	if flags&undefined != 0 {
		return false
	}
	if flags&hasModRM != 0 {
		d.modRM()
	}
	d.operands(flags)
	d.flow()
	return d.i.Op != Bad
}

// vex reports whether op begins a VEX, EVEX or XOP prefix.
func (d *decoder) vex(op byte) bool {
	switch op {
	case 0xc4, 0xc5, 0x62:
		return true
	case 0x8f: // POP has 0 in the ModRM byte's middle
		return d.n < len(d.b) && d.b[d.n]&0x1f >= 8
	}
	return false
}

// vexInst decodes what follows such a prefix.
func (d *decoder) vexInst(op byte) bool {
	if d.i.rex != 0 || d.data || d.rep != 0 {
		return false // #UD
	}
	class := byte(1)
	switch op {
	case 0xc5:
		d.next()
	case 0xc4, 0x8f:
		class = d.next() & 0x1f
		d.next()
	case 0x62:
		p0, p1 := d.next(), d.next()
		if d.next(); p0&8 != 0 || p1&4 == 0 {
			return false // fixed bits
		}
		class = p0 & 7
	}
	code := d.next()
	d.i.Op, d.i.code = Other, mapVEX|uint16(class)<<8|uint16(code)
	if op == 0x8f {
		d.modRM()
		switch class {
		case 8:
			d.next()
		case 9:
		case 10:
			d.n += 4
		default:
			return false
		}
		return true
	}
	switch class {
	case 1:
		if code == 0x77 && op != 0x62 { // VZEROUPPER, VZEROALL
			return true
		}
		d.modRM()
		switch code {
		case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
			d.next()
		}
	case 2:
		d.modRM()
	case 3:
		d.modRM()
		d.next()
	case 5, 6: // half-precision floats
		if op != 0x62 {
			return false
		}
		d.modRM()
	default:
		return false
	}
	return true
}

// modRM takes the ModRM byte, and the SIB byte and displacement that it asks for.
func (d *decoder) modRM() {
	m := d.next()
	d.i.modrm = m
	mod, rm := m>>6, m&7
	if mod == 3 {
		return
	}
	if rm == 4 {
		d.i.sib = d.next()
	}
	switch {
	case mod == 1:
		d.n++
	case mod == 0 && rm == 5:
		d.i.Memory = !d.addr
		if d.n+4 <= len(d.b) {
			d.i.Disp = int32(binary.LittleEndian.Uint32(d.b[d.n:]))
		}
		d.n += 4
	case mod == 2, rm == 4 && d.i.sib&7 == 5:
		d.n += 4
	}
}

// operands takes what follows the opcode and the ModRM byte.
func (d *decoder) operands(flags uint8) {
	wide := d.i.rex&8 != 0
	z := 4
	if d.data && !wide {
		z = 2
	}
	if flags&imm8 != 0 {
		if d.n < len(d.b) {
			d.i.Rel = int64(int8(d.b[d.n]))
		}
		d.n++
	}
	if flags&imm16 != 0 {
		d.n += 2
	}
	if flags&immZ != 0 {
		d.n += z
	}
	if flags&immV != 0 {
		if d.n += z; wide {
			d.n += 4
		}
	}
	if flags&offset != 0 {
		if d.n += 8; d.addr {
			d.n -= 4
		}
	}
	if flags&rel32 != 0 {
		if d.n+4 <= len(d.b) {
			d.i.Rel = int64(int32(binary.LittleEndian.Uint32(d.b[d.n:])))
		}
		d.n += 4
	}
	reg := d.i.modrm >> 3 & 7
	switch d.i.code {
	case 0xf6: // TEST has an operand more than its neighbours
		if reg < 2 {
			d.n++
		}
	case 0xf7:
		if reg < 2 {
			d.n += z
		}
	case map0F | 0x78: // EXTRQ, INSERTQ of SSE4a
		if d.data || d.rep == 0xf2 {
			d.n += 2
		}
	}
}

// flow sets Op, and clears Rel where it is an operand of another kind.
func (d *decoder) flow() {
	i := &d.i
	i.Op = Other
	reg := i.modrm >> 3 & 7
	switch c := i.code; {
	case c == 0xe8:
		i.Op = Call
		return
	case c == 0xe9, c == 0xeb:
		i.Op = Jump
		return
	case c >= 0x70 && c <= 0x7f, c >= 0xe0 && c <= 0xe3, c >= map0F|0x80 && c <= map0F|0x8f:
		i.Op = Branch
		return
	case c == 0xff && (reg == 2 || reg == 3):
		i.Op = CallIndirect
	case c == 0xff && (reg == 4 || reg == 5):
		i.Op = JumpIndirect
		// A scaled index makes a table of it.
		if i.modrm>>6 != 3 && i.modrm&7 == 4 && d.i.sib>>6 == 3 && (d.i.sib>>3&7 != 4 || i.rex&2 != 0) {
			i.Op = JumpTable
		}
	case c == 0xff && reg == 7, c == 0xfe && reg > 1:
		i.Op = Bad
	case c == 0xc2, c == 0xc3, c == 0xca, c == 0xcb, c == 0xcf, c == map0F|0x07, c == map0F|0x35:
		i.Op = Return
	case c == 0xcc:
		i.Op = Break
	case c == map0F|0x0b, c == map0F|0xb9, c == map0F|0xff:
		i.Op = Trap
	case c == 0x90 && d.rep == 0 && i.rex&1 == 0, c == map0F|0x1f,
		c == map0F|0x1e && d.rep == 0:
		i.Op = Nop
	}
	i.Rel = 0
}
