package symbol

import (
	"path/filepath"
	"testing"
)

// TestObjectsOfOthers: an object file, whose relocations are applied here, answers as
// the program that the linker made of it. The files were made of csample.c, with all
// functions in .text:
//
//	riscv64-linux-gnu-gcc -g1 -O2 -ffreestanding -fno-reorder-functions -c
//	clang --target=aarch64-none-elf -g -O2 -ffreestanding -c   (without "cold")
//	ld --no-relax -Ttext=0x10000
func TestObjectsOfOthers(t *testing.T) {
	for _, arch := range []string{"riscv64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			object := openTest(t, filepath.Join("testdata", "objects", arch+".o"))
			linked := openTest(t, filepath.Join("testdata", "objects", arch+".linked"))
			if got := object.Arch(); got != arch {
				t.Fatalf("Arch() = %s", got)
			}
			if object.relocsOf(object.section(".debug_line")) == nil {
				t.Fatal("there is nothing to relocate")
			}
			from, to := object.section(".text"), linked.section(".text")
			if from.len != to.len {
				t.Fatalf("%d bytes of code, linked %d", from.len, to.len)
			}
			inlined := 0
			for off := uint64(0); off < from.len; off += 2 {
				got, want := object.Lookup(from.addr+off, false), linked.Lookup(to.addr+off, false)
				if !equalFrames(got, want) || len(want) == 0 || want[0].File == "" {
					t.Errorf("%#x: %+v; want %+v", off, got, want)
				}
				if len(got) > 1 {
					inlined++
				}
			}
			if inlined < 20 {
				t.Errorf("%d addresses with inlined calls; want more", inlined)
			}
		})
	}
}

// TestMarkers: what assemblers set for themselves names nothing.
func TestMarkers(t *testing.T) {
	for name, want := range map[string]bool{
		"$x": true, "$d": true, "$d.12": true, "$xrv64i2p1_m2p0": true, ".L12": true, ".L0 ": true,
		"runtime.text": true, "runtime.etext": true,
		"$": false, "$a_function": false, "$y": false, ".hidden": false, ".text": false, "runtime.textual": false, "x": false, "": false,
	} {
		if got := isMarker([]byte(name)); got != want {
			t.Errorf("isMarker(%q) = %t; want %t", name, got, want)
		}
	}
}

// TestRelocKinds: each kind of relocation reads what it has written, and nothing else.
func TestRelocKinds(t *testing.T) {
	for machine, kinds := range relocKinds {
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
