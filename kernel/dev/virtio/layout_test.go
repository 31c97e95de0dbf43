package virtio

import (
	"encoding/binary"
	"testing"

	"github.com/zeroframe/zeroframe/kernel/dev/pci"
)

// space makes a configuration space as QEMU's virtio-net-pci has it, with disable-legacy=on.
func space() []byte {
	b := make([]byte, 256)
	le := binary.LittleEndian
	le.PutUint32(b[0x00:], 0x1041<<16|0x1af4)
	le.PutUint32(b[0x04:], 1<<20)
	le.PutUint32(b[0x14:], 0xfebd1000)
	le.PutUint32(b[0x20:], 0xfe00000c)
	le.PutUint32(b[0x24:], 0x8)
	b[0x34] = 0x98
	put := func(at, next, length, kind, bar byte, offset, size uint32) {
		copy(b[at:], []byte{pci.CapVendor, next, length, kind, bar})
		le.PutUint32(b[at+8:], offset)
		le.PutUint32(b[at+12:], size)
	}
	copy(b[0x98:], []byte{pci.CapMSIX, 0x84})
	put(0x84, 0x70, 20, 5, 0, 0, 0)
	put(0x70, 0x60, 20, 2, 4, 0x3000, 0x1000)
	le.PutUint32(b[0x80:], 4)
	put(0x60, 0x50, 16, 4, 4, 0x2000, 0x1000)
	put(0x50, 0x40, 16, 3, 4, 0x1000, 0x1000)
	put(0x40, 0x00, 16, 1, 4, 0x0000, 0x1000)
	return b
}

func parse(b []byte) *pci.Header {
	h := new(pci.Header)
	for i := range h {
		var w [4]byte
		copy(w[:], b[min(len(b), 4*i):])
		h[i] = binary.LittleEndian.Uint32(w[:])
	}
	return h
}

func TestLayout(t *testing.T) {
	l := readLayout(parse(space()))
	const base = 0x8_fe000000
	if !l.ok(6) || l.commonAt != base || l.deviceAt != base+0x2000 || l.notifyAt != base+0x3000 || l.notifyStep != 4 || l.notify.size != 0x1000 {
		t.Errorf("layout %+v", l)
	}
	for name, change := range map[string]func(b []byte){
		"no capabilities":          func(b []byte) { b[6] = 0 },
		"a list without an end":    func(b []byte) { b[0x41], b[0x43] = 0x40, 9 },
		"the structures are ports": func(b []byte) { b[0x20] = 1 },
		"no such base address":     func(b []byte) { b[0x44] = 7 },
		"the upper half of one":    func(b []byte) { b[0x64] = 5 },
		"short common structure":   func(b []byte) { binary.LittleEndian.PutUint32(b[0x4c:], commonBytes-1) },
		"short device structure":   func(b []byte) { binary.LittleEndian.PutUint32(b[0x6c:], 5) },
		"nothing to notify":        func(b []byte) { binary.LittleEndian.PutUint32(b[0x7c:], 0) },
		"huge structure to notify": func(b []byte) { binary.LittleEndian.PutUint32(b[0x7c:], 1<<31) },
		"offset out of range":      func(b []byte) { binary.LittleEndian.PutUint32(b[0x48:], 0xfffff000) },
		"misaligned":               func(b []byte) { b[0x48] = 2 },
		"an odd step":              func(b []byte) { b[0x80] = 1 },
		"a capability too short":   func(b []byte) { b[0x72] = 16 },
		"a shorter one":            func(b []byte) { b[0x42] = 8 },
		"an empty list":            func(b []byte) { copy(b[0x40:], make([]byte, 0xc0)) },
	} {
		b := space()
		change(b)
		if l := readLayout(parse(b)); l.ok(6) {
			t.Errorf("%s: layout %+v", name, l)
		}
	}
}

// FuzzLayout reads anything as a virtio device's capabilities: the result can be mapped and used.
func FuzzLayout(f *testing.F) {
	f.Add(space())
	loop := space()
	loop[0x41] = 0x84
	f.Add(loop)
	edge := space()
	edge[0x51] = 0xf8
	copy(edge[0xf8:], []byte{pci.CapVendor, 0x40, 20, 2, 4})
	f.Add(edge)
	f.Fuzz(func(t *testing.T, b []byte) {
		l := readLayout(parse(b))
		if !l.ok(6) {
			return
		}
		for _, a := range []uintptr{l.commonAt, l.notifyAt, l.deviceAt} {
			if a == 0 || a >= 1<<47+1<<24 {
				t.Fatalf("a structure at %#x: %+v", a, l)
			}
		}
		if l.notify.size > 1<<24 || l.common.size < commonBytes {
			t.Fatalf("sizes of %+v", l)
		}
	})
}
