package inspect

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzCore: any bytes are a core or an error, soon.
func FuzzCore(f *testing.F) {
	small := []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x3e\x00\x01\x00\x00\x00")
	small = append(small, make([]byte, 256)...)
	small[32], small[54], small[56] = 64, 56, 2  // the table, its rows
	small[64], small[72], small[96] = 4, 176, 24 // a note
	small[120], small[128], small[152], small[160] = 1, 200, 8, 8
	f.Add(small)
	f.Add(small[:70])
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := readCore(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, p := range s.loads {
			var w [8]byte
			if s.read(w[:], p.Vaddr) == nil && p.Filesz < 8 {
				t.Fatalf("8 bytes read of %d", p.Filesz)
			}
		}
		buildID(b)
	})
}

// FuzzTraceback: what is read of any text has limits, and shows without a panic.
func FuzzTraceback(f *testing.F) {
	f.Add("goroutine 18 gp=0xc000006c40 m=nil [chan receive, 2 minutes, locked to thread]:\n" +
		"main.worker(0x1, {0x4bf300, 0x2})\n\t/src/main.go:33 +0x1d fp=0xc00004e7d0 sp=0xc00004e790 pc=0x4b3afd\n" +
		"created by main.main in goroutine 1\n\t/src/main.go:52 +0x8a\n")
	f.Add("goroutine 1 [running]:\nmain.(*T).f(...)\n\tC:/a b/x.go:1\n...5 frames elided...\n")
	f.Add("goroutine x [y]:\n")
	f.Fuzz(func(t *testing.T, s string) {
		all, err := ReadTraceback(strings.NewReader(s))
		if err != nil {
			return
		}
		if len(all) > len(s) {
			t.Fatalf("%d goroutines of %d bytes", len(all), len(s))
		}
		var b bytes.Buffer
		if Write(&b, all, View{}) != nil || WriteJSON(&b, all) != nil {
			t.Fatal("cannot be shown")
		}
	})
}
