package symbol

import (
	"bytes"
	stdelf "debug/elf"
	"errors"
	"os"
	"sync"
	"testing"
	"time"
)

// together is a file whose first reads of two sections wait for each other.
type together struct {
	*bytes.Reader
	at    [2]int64 // where the sections begin
	begun [2]chan struct{}
	once  [2]sync.Once
}

func (r *together) ReadAt(b []byte, off int64) (int, error) {
	for i, at := range r.at {
		if off != at {
			continue
		}
		r.once[i].Do(func() { close(r.begun[i]) })
		select {
		case <-r.begun[1-i]:
		case <-time.After(time.Minute): // one after the other would wait for ever
			return 0, errors.New("the other section is not read")
		}
	}
	return r.Reader.ReadAt(b, off)
}

// TestPackedTogether: compressed sections are unfolded side by side.
func TestPackedTogether(t *testing.T) {
	path := buildC(t, "-g", "-gz")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plain := openTest(t, path)
	r := &together{Reader: bytes.NewReader(b)}
	for i, name := range []string{".debug_info", ".debug_line"} {
		s := plain.FirstSection(name)
		if s == nil || s.Flags&stdelf.SHF_COMPRESSED == 0 {
			t.Fatalf("%s is not compressed", name)
		}
		r.at[i], r.begun[i] = int64(s.Off), make(chan struct{})
	}
	f, err := NewFile(r, int64(len(b)), path)
	if err != nil {
		t.Fatal(err)
	}
	if n := sameFrames(t, f, plain); n == 0 {
		t.Error("no inlined calls")
	}
}
