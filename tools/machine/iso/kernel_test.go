package iso

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// volume is a small ISO image: a root folder in sector 18, /BOOT in 19 and 20, the kernel
// from 21 on.
func volume(kernel string) []byte {
	b := make([]byte, 22*sector)
	copy(b[16*sector:], "\x01CD001\x01")
	put(b[16*sector+156:], "\x00", 18, sector, true)
	n := put(b[18*sector:], "\x00", 18, sector, true)
	n += put(b[18*sector+n:], "EFI", 1, 1, true)
	put(b[18*sector+n:], "BOOT", 19, 2*sector, true)
	put(b[19*sector:], "\x00", 19, 2*sector, true)
	put(b[20*sector:], "KERNEL.ELF;1", 21, len(kernel), false) // in the folder's second sector
	copy(b[21*sector:], kernel)
	return b
}

// put writes a record and returns its length.
func put(b []byte, name string, at, size int, folder bool) int {
	n := (33 + len(name) + 1) &^ 1
	b[0], b[32] = byte(n), byte(len(name))
	binary.LittleEndian.PutUint32(b[2:], uint32(at))
	binary.LittleEndian.PutUint32(b[10:], uint32(size))
	if folder {
		b[25] = 2
	}
	copy(b[33:], name)
	return n
}

func TestKernel(t *testing.T) {
	r, err := Kernel(bytes.NewReader(volume("a kernel")))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "a kernel" {
		t.Errorf("the kernel is %q, %v", got, err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"empty":           func(b []byte) []byte { return nil },
		"no descriptor":   func(b []byte) []byte { b[16*sector+1] = 'X'; return b },
		"cut":             func(b []byte) []byte { return b[:17*sector] },
		"no /BOOT":        func(b []byte) []byte { b[18*sector+34+36+33] = 'X'; return b },
		"/BOOT is a file": func(b []byte) []byte { b[18*sector+34+36+25] = 0; return b },
		"no kernel":       func(b []byte) []byte { b[20*sector] = 0; return b },
		"a folder":        func(b []byte) []byte { b[20*sector+25] = 2; return b },
		"too large":       func(b []byte) []byte { b[20*sector+13] = 0xff; return b },
		"a long name":     func(b []byte) []byte { b[20*sector+32] = 0xff; return b },
	} {
		if _, err := Kernel(bytes.NewReader(change(volume("a kernel")))); !errors.Is(err, ErrNotISO) {
			t.Errorf("%s: %v; want %v", name, err, ErrNotISO)
		}
	}
}

func FuzzKernel(f *testing.F) {
	f.Add(volume("a kernel")[16*sector:])
	f.Add([]byte("\x01CD001"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := append(make([]byte, 16*sector), data...)
		r, err := Kernel(bytes.NewReader(b))
		if err != nil {
			return
		}
		if n, _ := io.Copy(io.Discard, r); n > int64(len(b)) {
			t.Errorf("%d bytes of a file of %d", n, len(b))
		}
	})
}
