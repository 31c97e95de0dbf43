package code

// The functions of a file without symbols: each description (FDE) of .eh_frame begins with the
// range of its function. Stripping leaves the section, since exceptions need it.
//
// Source: Linux Standard Base 5.0 core, "Exception Frames"; DWARF 5, 6.4.1.

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// Encodings of pointers (DW_EH_PE_*): the low four bits are the format, the next
// three what it counts from.
const (
	encAbs    = 0x00
	encPCRel  = 0x10
	encFormat = 0x0f
	encFrom   = 0x70
	encOmit   = 0xff
)

// FrameFuncs returns the functions that the section .eh_frame describes, sorted by
// address, with names like func_2797c0. It leaves out what it cannot read. Context: host.
func FrameFuncs(s Segment) []Func {
	var funcs []Func
	cies := map[int]byte{} // encoding, by offset
	r := frameReader{b: s.Bytes, addr: s.Addr}
	for r.n+4 <= len(r.b) {
		start := r.n
		size := uint64(r.u32())
		if size == 0 {
			// The end of one object file's part; zeros may follow until the next.
			continue
		}
		if size == 0xffffffff {
			size = r.u64()
		}
		if r.bad || size > uint64(len(r.b)-r.n) {
			break
		}
		body, end := r.n, r.n+int(size)
		id := r.u32()
		if id == 0 {
			cies[start] = r.encoding(end)
		} else if enc, ok := cies[body-int(id)]; ok && enc != encOmit {
			if lo, ok := r.pointer(enc); ok {
				if n, ok := r.pointer(enc & encFormat); ok && n > 0 && lo+n > lo && r.n <= end {
					funcs = append(funcs, Func{Start: lo, End: lo + n, Name: fmt.Sprintf("func_%x", lo)})
				}
			}
		}
		r.n, r.bad = end, false
	}
	slices.SortFunc(funcs, func(a, b Func) int { return cmp.Compare(a.Start, b.Start) })
	return funcs
}

// frameReader reads the section; bad is set behind its end.
type frameReader struct {
	b    []byte
	addr uint64
	n    int
	bad  bool
}

func (r *frameReader) take(n int) []byte {
	if r.bad || len(r.b)-r.n < n {
		r.bad = true
		return make([]byte, 8)
	}
	r.n += n
	return r.b[r.n-n : r.n]
}

func (r *frameReader) u8() byte    { return r.take(1)[0] }
func (r *frameReader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *frameReader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *frameReader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// leb skips an LEB128 number; signed or not does not matter for that.
func (r *frameReader) leb() {
	for range 10 {
		if r.u8() < 0x80 {
			return
		}
	}
	r.bad = true
}

// encoding reads the rest of a CIE and returns how its FDEs give addresses.
func (r *frameReader) encoding(end int) byte {
	version := r.u8()
	var aug []byte
	for c := r.u8(); c != 0 && !r.bad && len(aug) < 16; c = r.u8() {
		aug = append(aug, c)
	}
	if len(aug) == 0 {
		return encAbs
	}
	r.leb()
	r.leb()
	if version == 1 {
		r.u8()
	} else {
		r.leb()
	}
	if aug[0] != 'z' {
		return encOmit
	}
	r.leb()
	enc := byte(encAbs)
	for _, c := range aug[1:] {
		switch c {
		case 'R':
			enc = r.u8()
		case 'L':
			r.u8()
		case 'P':
			if _, ok := r.pointer(r.u8()); !ok {
				return encOmit
			}
		case 'S', 'B':
		default:
			return encOmit
		}
	}
	if r.bad || r.n > end {
		return encOmit
	}
	return enc
}

// pointer reads an address of this encoding.
func (r *frameReader) pointer(enc byte) (uint64, bool) {
	at := r.addr + uint64(r.n)
	var v uint64
	switch enc & encFormat {
	case 0x00, 0x04, 0x0c:
		v = r.u64()
	case 0x02:
		v = uint64(r.u16())
	case 0x0a:
		v = uint64(int64(int16(r.u16())))
	case 0x03:
		v = uint64(r.u32())
	case 0x0b:
		v = uint64(int64(int32(r.u32())))
	default:
		return 0, false
	}
	switch enc & encFrom {
	case encAbs:
	case encPCRel:
		v += at
	default:
		return 0, false
	}
	return v, !r.bad
}
