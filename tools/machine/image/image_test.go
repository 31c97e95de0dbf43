package image

// The image under test is a real one: the guest of package qemu's tests, built by
// the real toolchain. What a loader makes of it is asked of u-root's multiboot
// package; that it boots is proved by package qemu.

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/u-root/u-root/pkg/boot/multiboot"
)

// guest is a module with a boot package of its own, so that no test here depends
// on the kernel.
const guest = "../../../qemu/testdata/guest"

func guestOptions(t *testing.T) BuildOptions {
	t.Helper()
	dir, err := filepath.Abs(guest)
	if err != nil {
		t.Fatal(err)
	}
	return BuildOptions{
		Package: ".", Dir: dir, Output: filepath.Join(t.TempDir(), "guest.elf"),
		EntrySymbol: "guest/boot.entry", KernelPackage: "guest/kernel",
		Stderr: t.Output(),
	}
}

// linked returns what the linker wrote for the guest, built once. Callers must
// not change it.
func linked(t *testing.T) []byte {
	t.Helper()
	linkedOnce.Do(func() {
		o := guestOptions(t)
		o.Env = os.Environ()
		if linkedErr = o.goBuild(context.Background(), o.Output, nil); linkedErr == nil {
			linkedFile, linkedErr = os.ReadFile(o.Output)
		}
	})
	if linkedErr != nil {
		t.Fatal(linkedErr)
	}
	return linkedFile
}

var (
	linkedOnce sync.Once
	linkedFile []byte
	linkedErr  error
)

func finish(t *testing.T, l Loaders) []byte {
	t.Helper()
	out, err := Finish(linked(t), l)
	if err != nil {
		t.Fatalf("Finish(guest, %v) failed: %v", l, err)
	}
	return out
}

func TestFinishKeepsSections(t *testing.T) {
	before, after := linked(t), finish(t, AllLoaders)
	if len(before) != len(after) {
		t.Errorf("len(Finish(guest)) = %d; want %d", len(after), len(before))
	}
	fb, err := elf.NewFile(bytes.NewReader(before))
	if err != nil {
		t.Fatal(err)
	}
	fa, err := elf.NewFile(bytes.NewReader(after))
	if err != nil {
		t.Fatalf("debug/elf cannot read the image: %v", err)
	}
	if len(fb.Sections) != len(fa.Sections) {
		t.Fatalf("sections = %d; want %d", len(fa.Sections), len(fb.Sections))
	}
	names := map[string]bool{}
	for i, s := range fb.Sections {
		names[s.Name] = true
		if s.SectionHeader != fa.Sections[i].SectionHeader {
			t.Errorf("header of %s = %+v; want %+v", s.Name, fa.Sections[i].SectionHeader, s.SectionHeader)
		}
		if s.Type == elf.SHT_NULL || s.Type == elf.SHT_NOBITS {
			continue
		}
		want, err1 := s.Data()
		got, err2 := fa.Sections[i].Data()
		if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
			t.Errorf("contents of %s differ (%v, %v)", s.Name, err1, err2)
		}
	}
	for _, n := range []string{".symtab", ".debug_info", ".note.gnu.build-id", ".gopclntab"} {
		if !names[n] {
			t.Errorf("the guest has no section %s to compare", n)
		}
	}
	if fa.Entry != fb.Entry {
		t.Errorf("entry = %#x; want %#x", fa.Entry, fb.Entry)
	}
	for _, p := range fa.Progs {
		if p.Paddr != p.Vaddr {
			t.Errorf("%v: physical address %#x; want the virtual one, %#x", p.Type, p.Paddr, p.Vaddr)
		}
	}
	// Nothing but the room and the program headers has changed.
	for i := range before {
		inProgs := i >= headerSize && i < headerSize+progSize*len(fa.Progs)
		if before[i] != after[i] && !inProgs && (i >= pageSize || before[i] != 0) {
			t.Fatalf("byte at %#x changed from %#x to %#x", i, before[i], after[i])
		}
	}
}

// TestNotes reads the notes as readelf does: one after the other through PT_NOTE.
func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		loaders Loaders
		want    string
	}{
		{AllLoaders, "Xen 18, Go 4, GNU 3"},
		{PVH, "Xen 18, Go 4, GNU 3"},
		{Multiboot, "Go 4, GNU 3"},
	} {
		file := finish(t, tt.loaders)
		f, err := elf.NewFile(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range f.Progs {
			if p.Type != elf.PT_NOTE {
				continue
			}
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			for len(b) > 0 {
				name := int(binary.LittleEndian.Uint32(b))
				desc := int(binary.LittleEndian.Uint32(b[4:]))
				typ := binary.LittleEndian.Uint32(b[8:])
				owner := strings.TrimRight(string(b[12:12+name]), "\x00")
				at := 12 + (name+3)&^3
				if owner == "Xen" {
					if e := binary.LittleEndian.Uint64(b[at:]); desc != 8 || e != f.Entry {
						t.Errorf("%v: Xen note has %d bytes, entry %#x; want 8, %#x", tt.loaders, desc, e, f.Entry)
					}
				}
				got = append(got, fmt.Sprintf("%s %d", owner, typ))
				b = b[at+(desc+3)&^3:]
			}
		}
		if g := strings.Join(got, ", "); g != tt.want {
			t.Errorf("notes of an image for %v = %s; want %s", tt.loaders, g, tt.want)
		}
	}
}

func TestMultibootProbe(t *testing.T) {
	for _, tt := range []struct {
		loaders Loaders
		want    error
	}{
		{AllLoaders, nil},
		{Multiboot, nil},
		{PVH, multiboot.ErrHeaderNotFound},
	} {
		got := multiboot.Probe(bytes.NewReader(finish(t, tt.loaders)))
		// Without a multiboot header u-root goes on to look for one of ESXi.
		if (got == nil) != (tt.want == nil) {
			t.Errorf("multiboot.Probe(image for %v) = %v; want %v", tt.loaders, got, tt.want)
		}
	}
}

// TestMultibootHeader checks the header by the rules of the specification, section
// 3.1, as a loader applies them.
func TestMultibootHeader(t *testing.T) {
	file := finish(t, AllLoaders)
	at := bytes.Index(file, []byte{0x02, 0xb0, 0xad, 0x1b})
	if at < 0 || at%4 != 0 || at+32 > 8192 {
		t.Fatalf("header at %#x; want a multiple of 4 within the first 8192 bytes", at)
	}
	var w [8]uint32
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(file[at+4*i:])
	}
	if w[0]+w[1]+w[2] != 0 {
		t.Errorf("magic + flags + checksum = %#x; want 0", w[0]+w[1]+w[2])
	}
	if w[1] != 0x10003 {
		t.Errorf("flags = %#x; want 0x10003", w[1])
	}
	header, load, loadEnd, bssEnd, entry := w[3], w[4], w[5], w[6], w[7]
	if load > header || header-load != uint32(at) {
		t.Errorf("header_addr - load_addr = %#x; want the header's file offset %#x", header-load, at)
	}
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if uint64(entry) != f.Entry {
		t.Errorf("entry_addr = %#x; want %#x", entry, f.Entry)
	}
	// Loaded flat, memory is what the ELF's program headers ask for.
	memory := make([]byte, bssEnd-load)
	copy(memory, file[:loadEnd-load])
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		want := make([]byte, p.Memsz)
		if _, err := p.ReadAt(want[:p.Filesz], 0); err != nil {
			t.Fatal(err)
		}
		if got := memory[p.Vaddr-uint64(load):][:p.Memsz]; !bytes.Equal(got, want) {
			t.Errorf("LOAD at %#x differs when loaded flat", p.Vaddr)
		}
	}
}

func TestInspect(t *testing.T) {
	for _, l := range []Loaders{AllLoaders, PVH, Multiboot} {
		info, err := Inspect(finish(t, l))
		if err != nil || info.Loaders != l {
			t.Errorf("Inspect(image for %v) = %+v, %v; want its loaders", l, info, err)
		}
	}
	info, err := Inspect(linked(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Loaders != 0 || len(info.BuildID) != 40 || info.Start != 0x1ff000 || info.Entry < TextAddress {
		t.Errorf("Inspect(linker's file) = %+v; want no loaders, a build ID of 40 digits, start 0x1ff000", info)
	}
}

func TestMinRAM(t *testing.T) {
	for _, tt := range []struct{ end, want uint64 }{
		{0x280000, 3 << 20},
		{0x280001, 4 << 20},
		{0x2ffffff, 49 << 20},
	} {
		if got := (&Info{End: tt.end}).MinRAM(); got != tt.want {
			t.Errorf("MinRAM(end %#x) = %d; want %d", tt.end, got, tt.want)
		}
	}
	if info, err := Inspect(linked(t)); err != nil || info.MinRAM() < 3<<20 || info.MinRAM() > 8<<20 {
		t.Errorf("Inspect(guest) = %+v, %v; want a MinRAM of a few MiB", info, err)
	}
	if _, err := Inspect([]byte("#!/bin/sh")); err == nil {
		t.Error("Inspect(garbage) = nil error; want one")
	}
}

func TestLoaders(t *testing.T) {
	for s, want := range map[string]Loaders{"pvh": PVH, "multiboot": Multiboot, "multiboot,pvh": AllLoaders, "pvh, multiboot": AllLoaders} {
		got, err := ParseLoaders(s)
		if err != nil || got != want {
			t.Errorf("ParseLoaders(%q) = %v, %v; want %v", s, got, err, want)
		}
		if again, err := ParseLoaders(got.String()); err != nil || again != got {
			t.Errorf("ParseLoaders(%q) = %v, %v; want %v", got, again, err, got)
		}
	}
	for _, s := range []string{"", "grub", "pvh,"} {
		if got, err := ParseLoaders(s); err == nil {
			t.Errorf("ParseLoaders(%q) = %v; want an error", s, got)
		}
	}
}
