package qemu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// statesImage is an image with one state, as savevm makes it.
func statesImage() []byte {
	const cluster = 1 << 16
	b := append(emptyImage(), make([]byte, cluster)...)
	be := binary.BigEndian
	be.PutUint32(b[60:], 1)         // states
	be.PutUint64(b[64:], 4*cluster) // their table
	e := b[4*cluster:]
	be.PutUint64(e, 3*cluster) // the state's table of clusters
	be.PutUint32(e[8:], 2)     // its entries
	be.PutUint16(e[12:], 1)    // bytes of the id
	be.PutUint16(e[14:], uint16(len(snapshotName)))
	be.PutUint32(e[36:], 16) // bytes more
	copy(e[56:], "1"+snapshotName)
	return b
}

// newer makes an image one of version 3, with those features.
func newer(b []byte, incompatible uint64) []byte {
	be := binary.BigEndian
	be.PutUint32(b[4:], 3)
	be.PutUint64(b[72:], incompatible)
	be.PutUint32(b[96:], 4)
	be.PutUint32(b[100:], 104)
	return b
}

// TestCheckStates: an image of a stranger's leads QEMU to no other file, and is of bounded size.
func TestCheckStates(t *testing.T) {
	t.Parallel()
	be := binary.BigEndian
	u32 := func(at int, v uint32) func([]byte) { return func(b []byte) { be.PutUint32(b[at:], v) } }
	u64 := func(at int, v uint64) func([]byte) { return func(b []byte) { be.PutUint64(b[at:], v) } }
	extension := func(kind, n uint32) func([]byte) {
		return func(b []byte) { be.PutUint32(b[72:], kind); be.PutUint32(b[76:], n) }
	}
	for _, tt := range []struct {
		name   string
		change func([]byte)
		says   string // "": it is handed over
	}{
		{"as zf makes it", func([]byte) {}, ""},
		{"version 3", func(b []byte) { newer(b, 0) }, ""},
		{"names of features", extension(featureNames, 48), ""},
		{"raw", func(b []byte) { copy(b, "raw!") }, "no qcow2 image"},
		{"version", u32(4, 4), "version 4"},
		{"backing file", func(b []byte) { copy(b[200:], "/etc/shadow"); u64(8, 200)(b); u32(16, 11)(b) }, "a backing file"},
		{"backing address", func(b []byte) { copy(b[200:], "http://h/x"); u64(8, 200)(b); u32(16, 10)(b) }, "a backing file"},
		{"backing without a length", u64(8, 200), "a backing file"},
		{"format of a backing file", extension(0xe2792aca, 3), "an extension of type 0xe2792aca"},
		{"data file", extension(0x44415441, 11), "an extension of type 0x44415441"},
		{"data file as a feature", func(b []byte) { newer(b, 4) }, "incompatible 0x4"},
		{"unknown feature", func(b []byte) { newer(b, 1<<40) }, "incompatible 0x10000000000"},
		{"dirty", func(b []byte) { newer(b, 1) }, "incompatible 0x1"},
		{"AES", u32(32, 1), "encrypted, by method 1"},
		{"LUKS", u32(32, 2), "encrypted, by method 2"},
		{"key's extension", extension(0x0537be77, 16), "an extension of type 0x537be77"},
		{"endless extension", extension(featureNames, 1<<31), "2147483648 bytes"},
		{"clusters", u32(20, 31), "2 to the power of 31"},
		{"disk", u64(24, 1<<60), "its disk has"},
		{"table of clusters outside", u64(40, 1<<40), "its table of clusters"},
		{"table of clusters amid one", u64(40, 3<<16+8), "its table of clusters"},
		{"large table of clusters", u32(36, 1<<31), "its table of clusters has"},
		{"large table of counts", u32(56, 1<<30), "its table of counts has"},
		{"no state", u32(60, 0), "0 states"},
		{"many states", u32(60, 1<<16), "65536 states"},
		{"states outside", u64(64, 1<<40), "the state's entry"},
		{"state's table outside", u64(4<<16, 1<<40), "the state's table"},
		{"large state", u64(4<<16+40, 1<<50), "the state has"},
		{"long entry", u32(4<<16+36, 1<<30), "the state's entry"},
		{"header of version 3", func(b []byte) { newer(b, 0); u32(100, 99)(b) }, "its header has 99 bytes"},
	} {
		b := statesImage()
		tt.change(b)
		switch err := checkStates(bytes.NewReader(b), int64(len(b))); {
		case tt.says == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.says != "" && (!errors.Is(err, errStates) || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v; want %q", tt.name, err, tt.says)
		}
	}
	for _, n := range []int{0, 8, 103, 4 << 16} {
		if err := checkStates(bytes.NewReader(statesImage()[:n]), int64(n)); !errors.Is(err, errStates) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// FuzzStates: an image that is handed over names no other file and has no key, whatever else it
// has.
func FuzzStates(f *testing.F) {
	f.Add(statesImage()[:256], statesImage()[4<<16:][:128])
	f.Add(newer(statesImage(), 0)[:256], statesImage()[4<<16:][:128])
	f.Fuzz(func(t *testing.T, head, state []byte) {
		b := statesImage()
		copy(b[:1<<16], head)
		copy(b[4<<16:], state)
		if checkStates(bytes.NewReader(b), int64(len(b))) != nil {
			return
		}
		be := binary.BigEndian
		if be.Uint64(b[8:]) != 0 || be.Uint32(b[16:]) != 0 || be.Uint32(b[32:]) != 0 || be.Uint32(b[4:]) == 3 && be.Uint64(b[72:]) != 0 {
			t.Errorf("it is handed over: % x", b[:104])
		}
		end := 72
		if be.Uint32(b[4:]) == 3 {
			end = int(be.Uint32(b[100:]))
		}
		cluster := 1 << be.Uint32(b[20:])
		for ; end+8 <= cluster && be.Uint32(b[end:]) != 0; end += 8 + (int(be.Uint32(b[end+4:]))+7)&^7 {
			if kind := be.Uint32(b[end:]); kind != featureNames {
				t.Fatalf("it is handed over with the extension %#x", kind)
			}
		}
	})
}
