package elf

import "testing"

// TestRelocKinds: each kind of relocation reads what it has written, and nothing else.
func TestRelocKinds(t *testing.T) {
	for machine, kinds := range relocKinds() {
		for no, k := range kinds {
			if k.size == 0 {
				continue
			}
			for _, big := range []bool{false, true} {
				b := []byte{0xc1, 0x82, 0x03, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99}
				at := k.place(b)
				before := append([]byte(nil), b...)
				k.put(at, big, 0x2a)
				if got := k.get(at, big); got != 0x2a {
					t.Errorf("%v, type %d: wrote 0x2a, read %#x", machine, no, got)
				}
				if string(b[len(at):]) != string(before[len(at):]) || k.size == sizeLow6 && b[0] != 0xc0|0x2a {
					t.Errorf("%v, type %d: % x became % x", machine, no, before, b)
				}
				if k.place(b[:len(at)-1]) != nil {
					t.Errorf("%v, type %d fits %d bytes", machine, no, len(at)-1)
				}
			}
		}
	}
}
