package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

func TestWantScreen(t *testing.T) {
	file := finish(t, AllLoaders)
	out, err := WantScreen(file)
	if err != nil {
		t.Fatal(err)
	}
	h, off, ok := findMultiboot(out)
	if !ok || h.Flags != multibootFlags|screenFlag {
		t.Fatalf("the header is %+v, found: %v; want flags %#x", h, ok, multibootFlags|screenFlag)
	}
	if mode := binary.LittleEndian.Uint32(out[off+multibootSize:]); mode != 1 {
		t.Errorf("mode %d; want 1, text", mode)
	}
	// Nothing else has changed.
	changed := 0
	for i := range file {
		if file[i] != out[i] && (uint64(i) < off || uint64(i) >= off+multibootSize+screenSize) {
			changed++
		}
	}
	before, err1 := Inspect(file)
	after, err2 := Inspect(out)
	if len(out) != len(file) || changed != 0 || err1 != nil || err2 != nil || *before != *after {
		t.Errorf("%d bytes elsewhere changed; %+v, %v; want %+v, %v", changed, after, err2, before, err1)
	}
	if again, err := WantScreen(out); err != nil || !bytes.Equal(again, out) {
		t.Errorf("once more: %v; want the same", err)
	}

	used := bytes.Clone(file)
	used[off+multibootSize+3] = 1
	for name, file := range map[string][]byte{"no header": make([]byte, 9000), "no room": used, "empty": nil, "cut": file[:off+multibootSize]} {
		if _, err := WantScreen(file); !errors.Is(err, ErrLayout) {
			t.Errorf("%s: %v; want %v", name, err, ErrLayout)
		}
	}
}
