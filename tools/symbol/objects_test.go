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
			if object.FirstSection(".rela.debug_line") == nil {
				t.Fatal("there is nothing to relocate")
			}
			from, to := object.FirstSection(".text"), linked.FirstSection(".text")
			if from.Len != to.Len {
				t.Fatalf("%d bytes of code, linked %d", from.Len, to.Len)
			}
			inlined := 0
			for off := uint64(0); off < from.Len; off += 2 {
				got, want := object.Lookup(from.Addr+off, false), linked.Lookup(to.Addr+off, false)
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
