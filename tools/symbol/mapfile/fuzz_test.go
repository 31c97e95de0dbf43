package mapfile

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// FuzzMap: a map from anywhere gives answers or an error of one line, in memory in
// proportion to its size; and what it gives can be written and read again.
func FuzzMap(f *testing.F) {
	path, _ := build(f)
	gnu := filepath.Join(f.TempDir(), "ld.map")
	build(f, "-Wl,-Map,"+gnu)
	seeds := []string{kallsyms, msvc6Map, borland5Map, delphiMap, dosMap,
		output(f, "nm", path), output(f, "nm", "-S", path), output(f, "nm", "-P", path), output(f, "nm", "-f", "sysv", path)}
	files, err := filepath.Glob("testdata/*.map")
	if err != nil || len(files) == 0 {
		f.Fatal("no recorded maps")
	}
	for _, name := range append(files, gnu) {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, string(text))
	}
	for _, s := range seeds {
		f.Add([]byte(s), uint64(0x401010), uint64(0))
		f.Add([]byte(s), uint64(0x401639), uint64(0x400000))
	}
	f.Fuzz(func(t *testing.T, text []byte, addr, base uint64) {
		var opt Options
		if base != 0 {
			opt.Base = &base
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := Read(bytes.NewReader(text), "fuzz", opt)
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+256*len(text)); got > limit {
			t.Errorf("%d bytes allocated for a map of %d", got, len(text))
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "fuzz:") {
				t.Errorf("error %q", err)
			}
			return
		}
		for _, a := range []uint64{addr, 0, 1, 0x401000, 1<<64 - 1} {
			if s, ok := m.Find(a); ok && (a-s.Addr >= s.Size || !s.IsFunc()) {
				t.Errorf("%#x is in %+v", a, s)
			}
			if r, ok := m.Region(a); ok && a-r.Addr >= r.Size {
				t.Errorf("%#x is in %+v", a, r)
			}
			m.Preceding(a)
			m.Nearest(a)
			m.InText(a)
			m.At(a)
			m.Span(a)
			m.Logical(a>>32, a&0xffffffff)
		}
		for i, s := range m.Symbols() {
			if i > 0 && m.syms[i-1].Addr > s.Addr {
				t.Fatalf("%+v after %+v", s, m.syms[i-1])
			}
		}
		m.Named("main")
		m.SectionStart(".text")
		var out bytes.Buffer
		if err := Write(&out, m.Symbols(), m.AddressSize()); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&out, "again", Options{})
		if err != nil {
			t.Fatalf("written, it cannot be read: %v", err)
		}
		// Names that are odd enough may be lost or change; addresses do not.
		if len(again.syms) > len(m.syms) {
			t.Errorf("%d symbols became %d", len(m.syms), len(again.syms))
		}
	})
}
