package symbol

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// TestThumb: a function's symbol has its lowest bit set where the code is Thumb, and begins
// at the address without it. arm-thumb was made as the file below, by
// arm-linux-gnueabihf-gcc -mthumb -g1.
func TestThumb(t *testing.T) {
	path := filepath.Join("testdata", "arm-thumb")
	f := openTest(t, path)
	againstLLVM(t, path, 2, 100)
	for fn := range f.Functions() {
		if frames := f.Lookup(fn.Start, false); fn.Start%2 != 0 || len(frames) == 0 || frames[len(frames)-1].Function != fn.Name {
			t.Errorf("%s begins at %#x, where %+v is", fn.Name, fn.Start, frames)
		}
	}
}

// TestDescriptors: in a file of 64-bit PowerPC's first ABI, where symbols are those of
// descriptors, each byte of the code is in the function that llvm-symbolizer says, and a
// function is found by its name with a dot and without; so in a debug file, which has the
// symbols and not the descriptors. powerpc64-elfv1 was made by
//
//	powerpc64-linux-gnu-gcc -mabi=elfv1 -O2 -ffreestanding -nostdlib -static -fno-ident
//	-fno-asynchronous-unwind-tables -Wl,-z,max-page-size=4096 -Wl,--build-id=none csample.c
func TestDescriptors(t *testing.T) {
	path := filepath.Join("testdata", "powerpc64-elfv1")
	f := openTest(t, path)
	addrs := textAddrs(f, 1)
	want := askLLVM(t, path, addrs)
	compare(addrs, f.LookupAll(addrs, false), want, nil).gate(t, "powerpc64", 100)
	for i, pc := range addrs {
		if got := openTest(t, path).Lookup(pc, false); len(got) != len(want[i]) || len(got) == 1 && got[0].Function != want[i][0].Function {
			t.Fatalf("%#x alone: %+v; want %+v", pc, got, want[i])
		}
	}
	for _, name := range []string{"loop", ".loop"} {
		n := f.Named(name)
		if len(n) != 1 || !f.IsText(n[0].Start) || n[0].Size == 0 {
			t.Fatalf("Named(%s) = %+v; want the code", name, n)
		}
		if fr := f.Lookup(n[0].Start+n[0].Size-4, false); len(fr) != 1 || fr[0].Function != "loop" || fr[0].Offset != n[0].Size-4 {
			t.Errorf("at the end of %s is %+v", name, fr)
		}
	}
	if n := f.Named("nosuch"); len(n) > 0 {
		t.Errorf("Named(nosuch) = %+v", n)
	}
	// A debug file has the symbols, the file that names it has the descriptors.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hide := func(section string, field int, value uint32) []byte {
		b := slices.Clone(whole)
		be := binary.BigEndian
		for i := range f.Sections {
			if f.Sections[i].Name == section {
				at := int(be.Uint64(b[40:])) + i*int(be.Uint16(b[58:])) + field
				be.PutUint32(b[at:], value)
			}
		}
		return b
	}
	open := func(b []byte) *File {
		file, err := NewFile(bytes.NewReader(b), int64(len(b)), "bare")
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	const typeField = 4
	bare, debug := open(hide(".symtab", typeField, uint32(stdelf.SHT_PROGBITS))), open(hide(".opd", typeField, uint32(stdelf.SHT_NOBITS)))
	debug.ShareDescriptors(bare.File)
	if got := debug.LookupAll(addrs, false); !reflect.DeepEqual(got, f.LookupAll(addrs, false)) {
		t.Errorf("a debug file answers otherwise: %+v", got[0])
	}
}
