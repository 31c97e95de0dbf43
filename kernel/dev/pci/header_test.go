package pci

import (
	"encoding/binary"
	"testing"
)

// header makes a Header of bytes at offsets.
func header(set map[uint8]uint32) *Header {
	h := new(Header)
	for off, v := range set {
		h[off/4] = v
	}
	return h
}

func TestBar(t *testing.T) {
	// As QEMU's virtio-net-pci has them: ports, memory, none, none, 64-bit memory.
	h := header(map[uint8]uint32{
		0x10: 0xc001, 0x14: 0xfebd1000, 0x20: 0xfe00000c, 0x24: 0x8,
	})
	for _, tt := range []struct {
		i     uint8
		base  uintptr
		ports bool
		ok    bool
	}{
		{0, 0xc000, true, true},
		{1, 0xfebd1000, false, true},
		{2, 0, false, false},
		{4, 0x8_fe000000, false, true},
		{5, 0, false, false}, // the upper half of 4
		{6, 0, false, false},
		{255, 0, false, false},
	} {
		base, ports, ok := h.Bar(tt.i)
		if ok != tt.ok || ok && (base != tt.base || ports != tt.ports) {
			t.Errorf("Bar(%d) = %#x, ports %v, ok %v; want %#x, %v, %v", tt.i, base, ports, ok, tt.base, tt.ports, tt.ok)
		}
	}
}

// TestBadBar has base addresses that no driver may use.
func TestBadBar(t *testing.T) {
	for name, h := range map[string]*Header{
		"unset":               header(nil),
		"of a bridge":         header(map[uint8]uint32{0x0c: 1 << 16, 0x10: 0xfebd1000}),
		"below 1 MiB":         header(map[uint8]uint32{0x10: 0xfebd1002}),
		"reserved type":       header(map[uint8]uint32{0x10: 0xfebd1006}),
		"not canonical":       header(map[uint8]uint32{0x10: 0xfebd1004, 0x14: 0x8000}),
		"ports out of range":  header(map[uint8]uint32{0x10: 0x10001}),
		"no such function":    header(map[uint8]uint32{0x0c: 0xffffffff, 0x10: 0xffffffff}),
		"unset, of 64 bits":   header(map[uint8]uint32{0x10: 4}),
		"unset ports":         header(map[uint8]uint32{0x10: 1}),
		"reserved, all ones":  header(map[uint8]uint32{0x10: 0xfffffffe, 0x14: 0xffffffff}),
		"64 bits of all ones": header(map[uint8]uint32{0x10: 0xfffffff4, 0x14: 0xffffffff}),
	} {
		if base, ports, ok := h.Bar(0); ok {
			t.Errorf("%s: Bar(0) = %#x, ports %v", name, base, ports)
		}
	}
	if base, _, ok := header(map[uint8]uint32{0x24: 0xfebd1004}).Bar(5); ok {
		t.Errorf("64 bits in the last one: Bar(5) = %#x", base)
	}
}

func caps(h *Header, id uint8) (at []uint8) {
	for c := h.Cap(id, 0); c != 0 && len(at) < 1000; c = h.Cap(id, c) {
		at = append(at, c)
	}
	return at
}

func TestCap(t *testing.T) {
	h := header(map[uint8]uint32{
		0x04: 1 << 20, 0x34: 0x98,
		0x98: 0x8011, 0x80: 0x7009, 0x70: 0x6009, 0x60: 0x0005,
	})
	if got := caps(h, CapVendor); len(got) != 2 || got[0] != 0x80 || got[1] != 0x70 {
		t.Errorf("vendor capabilities at %#x; want 0x80 and 0x70", got)
	}
	for id, want := range map[uint8]uint8{CapMSIX: 0x98, CapMSI: 0x60, 0x10: 0} {
		if got := h.Cap(id, 0); got != want {
			t.Errorf("Cap(%#x) = %#x; want %#x", id, got, want)
		}
	}
	h[1] = 0
	if got := h.Cap(CapMSIX, 0); got != 0 {
		t.Errorf("without a list Cap = %#x", got)
	}
}

// TestCapLoop has lists that lead to themselves, or out of their part of the space.
func TestCapLoop(t *testing.T) {
	for name, h := range map[string]*Header{
		"itself":    header(map[uint8]uint32{0x04: 1 << 20, 0x34: 0x40, 0x40: 0x4001}),
		"two":       header(map[uint8]uint32{0x04: 1 << 20, 0x34: 0x40, 0x40: 0x4401, 0x44: 0x4001}),
		"the start": header(map[uint8]uint32{0x04: 1 << 20, 0x34: 0x40, 0x40: 0x0401}),
	} {
		if got := h.Cap(CapMSI, 0); got != 0 {
			t.Errorf("%s: Cap = %#x", name, got)
		}
	}
}

// FuzzHeader reads anything as a configuration space.
func FuzzHeader(f *testing.F) {
	seed := make([]byte, 256)
	f.Add(seed)
	binary.LittleEndian.PutUint32(seed[0x04:], 1<<20)
	binary.LittleEndian.PutUint32(seed[0x10:], 0xfebd1004)
	seed[0x34], seed[0x40], seed[0x41] = 0x40, CapVendor, 0x50
	seed[0x50], seed[0x51] = CapVendor, 0x40
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		h := new(Header)
		for i := range h {
			var w [4]byte
			copy(w[:], b[min(len(b), i*4):])
			h[i] = binary.LittleEndian.Uint32(w[:])
		}
		for i := uint8(0); i < 8; i++ {
			base, ports, ok := h.Bar(i)
			if ok && (base == 0 || ports && base > 0xffff || base >= 1<<47) {
				t.Fatalf("Bar(%d) = %#x, ports %v", i, base, ports)
			}
		}
		for id := range 256 {
			n, at := 0, uint8(0)
			for at = h.Cap(uint8(id), 0); at != 0 && n < 100; n++ {
				if at < 0x40 || at%4 != 0 || h.Byte(at) != uint8(id) {
					t.Fatalf("Cap(%#x) = %#x, where %#x is", id, at, h.Byte(at))
				}
				at = h.Cap(uint8(id), at)
			}
		}
	})
}
