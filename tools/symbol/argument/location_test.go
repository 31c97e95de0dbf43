package argument

import (
	"debug/dwarf"
	"encoding/binary"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// u64 is a number as the file has it.
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func join(all ...any) (b []byte) {
	for _, a := range all {
		switch a := a.(type) {
		case []byte:
			b = append(b, a...)
		case int:
			b = append(b, byte(a))
		}
	}
	return b
}

// TestLists: what each kind of entry says, in both versions of the format.
func TestLists(t *testing.T) {
	rax, cfa := []byte{opReg0}, []byte{opCFA}
	v5 := join(
		4, 0x10, 0x20, 1, rax, // from the unit's base
		1, 1, 4, 0, 8, 1, cfa, // base 0x2000
		6, u64(0x3000), 4, 0, 8, 1, rax,
		2, 2, 3, 1, cfa, // 0x4000 up to 0x5000
		3, 3, 4, 1, rax, // 0x5000 up to 0x5004
		7, u64(0x6000), u64(0x6001), 1, cfa,
		8, u64(0x7000), 2, 1, rax,
		0)
	addrs := join(u64(0x1000), u64(0x2000), u64(0x4000), u64(0x5000))
	v4 := join(u64(0x10), u64(0x20), 1, 0, rax, u64(1<<64-1), u64(0x2000), u64(0), u64(8), 1, 0, cfa, u64(0), u64(0))
	for _, test := range []struct {
		l    lists
		pc   uint64
		want byte // 0: none
	}{
		{lists{v5: true, bytes: v5}, 0x100f, 0}, {lists{v5: true, bytes: v5}, 0x1010, opReg0}, {lists{v5: true, bytes: v5}, 0x1020, 0},
		{lists{v5: true, bytes: v5}, 0x2007, opCFA}, {lists{v5: true, bytes: v5}, 0x3000, opReg0}, {lists{v5: true, bytes: v5}, 0x4fff, opCFA},
		{lists{v5: true, bytes: v5}, 0x5003, opReg0}, {lists{v5: true, bytes: v5}, 0x6000, opCFA}, {lists{v5: true, bytes: v5}, 0x7001, opReg0},
		{lists{v5: true, bytes: v5}, 0x7002, 0},
		{lists{v5: true, bytes: join(5, 1, cfa, 0)}, 0x7002, opCFA},
		{lists{v5: true, bytes: join(5, 1, cfa, 4, 0, 8, 1, rax, 0)}, 0x1001, opReg0},
		{lists{v5: true, bytes: join(9, 1, cfa, 0)}, 0x1001, 0},
		{lists{v5: true, bytes: join(4, 0, 8, 9, rax)}, 0x1001, 0},
		{lists{v5: true, bytes: join(1, 4, 4, 0, 8, 1, rax, 0)}, 0x1001, 0},
		{lists{bytes: v4}, 0x1010, opReg0}, {lists{bytes: v4}, 0x2007, opCFA}, {lists{bytes: v4}, 0x2008, 0},
	} {
		test.l.low, test.l.addrs = 0x1000, addrs
		expr, ok := test.l.at(0, test.pc)
		if ok != (test.want != 0) || ok && (len(expr) != 1 || expr[0] != test.want) {
			t.Errorf("version 5 %v: at %#x: %x, %v; want %x", test.l.v5, test.pc, expr, ok, test.want)
		}
	}
}

// TestPieces: what an expression means.
func TestPieces(t *testing.T) {
	f := Frame{CFA: 0x1000,
		Register: func(name string) (uint64, bool) { return 7, name == "rbx" },
		Word:     func(addr uint64) (uint64, bool) { return 0x77, addr == 0x1008 }}
	for _, test := range []struct {
		expr []byte
		want []piece // nil: it is refused
	}{
		{join(opCFA), []piece{{kind: inMemory, n: 0x1000}}},
		{join(opFbreg, 0x78), []piece{{kind: inMemory, n: 0xff8}}},
		{join(opFbreg, 8, elf.OpDeref), []piece{{kind: inMemory, n: 0x77}}},
		{join(opFbreg, 16, elf.OpDeref), nil}, // of memory that is not known
		{join(opReg0 + 3), []piece{{kind: inRegister, n: 3}}},
		{join(opRegx, 17), []piece{{kind: inRegister, n: 17}}},
		{join(elf.OpBreg0+3, 1), []piece{{kind: inMemory, n: 8}}},
		{join(elf.OpBreg0, 1), nil},
		{join(elf.OpAddr, u64(0x5000)), []piece{{kind: inMemory, n: 0x5000}}},
		{join(elf.OpConst1u, 9, opValue), []piece{{kind: isValue, n: 9}}},
		{join(elf.OpConst1u+1, 0xff, opValue), []piece{{kind: isValue, n: 1<<64 - 1}}},
		{join(elf.OpLit0+5, elf.OpConstu, 2, elf.OpMinus, elf.OpPlusUconst, 4, elf.OpConsts, 0x7f, elf.OpPlus, opValue), []piece{{kind: isValue, n: 6}}},
		{join(opReg0, opPiece, 8, opPiece, 8, opFbreg, 8, opPiece, 8),
			[]piece{{size: 8, kind: inRegister}, {size: 8}, {size: 8, kind: inMemory, n: 0x1008}}},
		{nil, nil},
		{join(elf.OpPlus), nil},
		{join(opPiece, 0), nil},
		{join(opReg0, opPiece, 8, opReg0), nil},
		{join(elf.OpAddr, 1), nil},
		{join(0xff), nil},
	} {
		got, ok := pieces(test.expr, &f)
		if ok != (test.want != nil) {
			t.Errorf("%x: %v, %v; want %v", test.expr, got, ok, test.want)
			continue
		}
		for i := range test.want {
			if len(got) != len(test.want) || got[i] != test.want[i] {
				t.Errorf("%x: %v; want %v", test.expr, got, test.want)
				break
			}
		}
	}
	if _, ok := pieces([]byte{opCFA}, &Frame{}); ok {
		t.Error("a place in a frame that is not known is believed")
	}
}

// TestSurvive: what a call overwrites is where the location list has it behind the call, if that is
// memory.
func TestSurvive(t *testing.T) {
	rax := []byte{opReg0}
	list := join(
		4, 0, 8, 1, rax, // up to behind the call
		4, 8, 16, 2, opFbreg, 0x10,
		4, 16, 24, 1, opReg0+3,
		4, 24, 32, 5, opFbreg, 8, opPiece, 8, opPiece,
		0)
	l := lists{v5: true, bytes: list, low: 0x1000}
	for _, test := range []struct {
		behind uint64
		known  bool // the register is
		want   piece
	}{
		{0x1008, false, piece{kind: inMemory, n: 0x5010}},
		{0x1008, true, piece{kind: inRegister}},
		{0, false, piece{kind: inRegister}},
		{0x1010, false, piece{kind: inRegister}}, // another register
		{0x1018, false, piece{kind: inRegister}}, // damaged
		{0x1020, false, piece{kind: inRegister}}, // nowhere
	} {
		f := &Frame{CFA: 0x5000, Behind: test.behind, Register: func(string) (uint64, bool) { return 1, test.known }}
		all, _ := pieces(rax, f)
		l.survive(all, 0, f)
		if all[0] != test.want {
			t.Errorf("behind %#x, register known %v: %v; want %v", test.behind, test.known, all[0], test.want)
		}
	}
}

func scalar(n int64) dwarf.Type {
	return &dwarf.UintType{BasicType: dwarf.BasicType{CommonType: dwarf.CommonType{ByteSize: n}}}
}

func structOf(name string, size int64, fields ...*dwarf.StructField) *dwarf.StructType {
	return &dwarf.StructType{CommonType: dwarf.CommonType{ByteSize: size}, StructName: name, Kind: "struct", Field: fields}
}

func field(name string, t dwarf.Type, off int64) *dwarf.StructField {
	return &dwarf.StructField{Name: name, Type: t, ByteOffset: off}
}

var (
	word    = scalar(8)
	text    = structOf("string", 16, field("str", &dwarf.PtrType{CommonType: dwarf.CommonType{ByteSize: 8}, Type: scalar(1)}, 0), field("len", word, 8))
	padded  = structOf("main.S", 24, field("A", scalar(4), 0), field("B", text, 8))
	numbers = &dwarf.ArrayType{CommonType: dwarf.CommonType{ByteSize: 6}, Type: scalar(2), Count: 3}
	five    = structOf("main.F", 40, field("a", word, 0), field("b", word, 8), field("c", word, 16), field("d", word, 24), field("e", word, 32))
)

// TestLay: pieces are believed only if there is one for each part.
func TestLay(t *testing.T) {
	for _, test := range []struct {
		name   string
		typ    dwarf.Type
		pieces []piece
		listed bool
		at     []uint64 // nil: they are refused
	}{
		{"a word", word, []piece{{kind: inMemory}}, true, []uint64{0}},
		{"a string", text, []piece{{size: 8}, {size: 8}}, true, []uint64{0, 8}},
		{"the length of a string, as if it were the string", text, []piece{{kind: inMemory}}, true, nil},
		{"a string in memory, everywhere", text, []piece{{kind: inMemory}}, false, []uint64{0}},
		{"a struct with a gap", padded, []piece{{size: 4}, {size: 8}, {size: 8}}, true, []uint64{0, 8, 16}},
		{"a struct without its first field", padded, []piece{{size: 8}, {size: 8}}, true, nil},
		{"a struct, other sizes", padded, []piece{{size: 8}, {size: 8}, {size: 4}}, true, nil},
		{"an array", numbers, []piece{{kind: inMemory}}, true, []uint64{0}},
		{"a struct that is in memory always", five, []piece{{kind: inMemory}}, true, []uint64{0}},
	} {
		ok := lay(test.typ, test.pieces, test.listed)
		if ok != (test.at != nil) {
			t.Errorf("%s: %v; want %v", test.name, ok, test.at != nil)
		}
		for i, at := range test.at {
			if test.pieces[i].at != at {
				t.Errorf("%s: piece %d at %d; want %d", test.name, i, test.pieces[i].at, at)
			}
		}
	}
}

// FuzzLists: a damaged location list ends, and what it says stays within it.
func FuzzLists(f *testing.F) {
	f.Add(join(4, 0, 8, 1, opCFA, 1, 0, 5, 1, opReg0, 0), uint64(0), uint64(0x1001), true)
	f.Add(join(u64(0), u64(8), 1, 0, opCFA, u64(1<<64-1), u64(9)), uint64(0), uint64(0x1001), false)
	f.Fuzz(func(t *testing.T, b []byte, off, pc uint64, v5 bool) {
		l := lists{v5: v5, bytes: b, addrs: b, low: 0x1000}
		expr, ok := l.at(off, pc)
		if ok && len(expr) > len(b) {
			t.Errorf("an expression of %d bytes in a list of %d", len(expr), len(b))
		}
		frame := Frame{CFA: 0x1000, kept: func(uint8) bool { return true }}
		if all, ok := pieces(expr, &frame); ok {
			l.keep(all, off, &frame)
		}
	})
}

// FuzzPieces: an expression ends, and a value that is made of what it says is within its limits.
func FuzzPieces(f *testing.F) {
	f.Add(join(opFbreg, 8, opPiece, 8, opReg0, opPiece, 8), uint64(0x1000), uint64(5))
	f.Add(join(elf.OpBreg0, 1, elf.OpDeref, elf.OpPlusUconst, 4, opValue), uint64(8), uint64(1<<63))
	f.Fuzz(func(t *testing.T, expr []byte, cfa, w uint64) {
		frame := Frame{CFA: cfa,
			Register: func(string) (uint64, bool) { return w, true },
			Word:     func(addr uint64) (uint64, bool) { return w, addr&8 == 0 }}
		for _, typ := range []dwarf.Type{word, text, padded, numbers, five} {
			for _, listed := range []bool{true, false} {
				all, ok := pieces(expr, &frame)
				if !ok || !lay(typ, all, listed) {
					continue
				}
				v := value{im: &Image{}, f: &frame}
				v.bytes, v.known = frame.read(all, uint64(typ.Size()))
				if s, _ := v.format(typ, 0, 0); len(s) > 2*maxText {
					t.Errorf("%x: %q", expr, s)
				}
			}
		}
	})
}

// TestTextWithoutPointer: a string without bytes needs no pointer; a slice without elements may be
// nil or not.
func TestTextWithoutPointer(t *testing.T) {
	known := append(make([]bool, 8), allKnown(16)...)
	for n, want := range map[byte]string{0: `""`, 1: ""} {
		v := value{f: &Frame{}, bytes: make([]byte, 24), known: known}
		v.bytes[8] = n
		if got, ok := v.format(text, 0, 0); got != want || ok != (n == 0) {
			t.Errorf("a string of %d bytes: %q, %v; want %q", n, got, ok, want)
		}
		if got, ok := v.slice(word, 0, 0); ok {
			t.Errorf("a slice of %d elements: %q", n, got)
		}
	}
}
