package symbol

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSupplementary: programs from which dwz has moved what they share into a third
// file answer as they did before.
func TestSupplementary(t *testing.T) {
	for _, tt := range []struct{ flag, section string }{{"--dwarf-5", ".debug_sup"}, {"--relative", ".gnu_debugaltlink"}} {
		t.Run(tt.section, func(t *testing.T) {
			dir := t.TempDir()
			var header strings.Builder
			header.WriteString("extern volatile int sink;\n")
			for i := range 12 {
				fmt.Fprintf(&header, "struct s%d { int a; long b; struct s%d *next; };\nextern struct s%d v%d;\n", i, i, i, i)
				fmt.Fprintf(&header, "static inline int inlined_number_%d(int x) { sink = x + v%d.a; return x * %d; }\n", i, i, i+3)
			}
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			write("shared.h", header.String())
			for _, name := range []string{"one", "two"} {
				var text strings.Builder
				text.WriteString("#include \"shared.h\"\nvolatile int sink;\n")
				for i := range 12 {
					fmt.Fprintf(&text, "struct s%d v%d;\n", i, i)
				}
				fmt.Fprintf(&text, "int %s(int n) {\n\tint s = 0;\n", name)
				for i := range 12 {
					fmt.Fprintf(&text, "\ts += inlined_number_%d(n);\n", i)
				}
				fmt.Fprintf(&text, "\treturn s;\n}\nvoid _start(void) { for (;;) %s(sink); }\n", name)
				write(name+".c", text.String())
				command(t, dir, "gcc", "-g", "-O2", "-ffreestanding", "-nostdlib", "-static", "-Wl,--build-id", "-o", name, name+".c")
				command(t, dir, "cp", name, name+".plain")
			}
			command(t, dir, "dwz", tt.flag, "-m", "common.debug", "one", "two")
			for _, name := range []string{"one", "two"} {
				f := openTest(t, filepath.Join(dir, name))
				if f.FirstSection(tt.section) == nil {
					t.Fatalf("dwz has written no %s", tt.section)
				}
				if n := sameFrames(t, f, openTest(t, filepath.Join(dir, name+".plain"))); n < 50 {
					t.Errorf("%d addresses with inlined calls; want more", n)
				}
			}
			// The third file may come from a store, by its ID.
			away := filepath.Join(t.TempDir(), "away.debug")
			if err := os.Rename(filepath.Join(dir, "common.debug"), away); err != nil {
				t.Fatal(err)
			}
			store := &testStore{path: away}
			stored := openTest(t, filepath.Join(dir, "one"))
			stored.UseStores(t.Context(), store)
			if n := sameFrames(t, stored, openTest(t, filepath.Join(dir, "one.plain"))); n < 50 || store.asked.Load() == 0 {
				t.Errorf("from a store, which was asked %d times: %d addresses with inlined calls", store.asked.Load(), n)
			}
			// Another file of that name counts for nothing: what is in it is not known.
			if err := os.Rename(filepath.Join(dir, "one.plain"), filepath.Join(dir, "common.debug")); err != nil {
				t.Fatal(err)
			}
			f := openTest(t, filepath.Join(dir, "one"))
			addr, size, _ := f.Symbol("one")
			for pc := addr; pc < addr+size; pc++ {
				for _, fr := range f.Lookup(pc, false) {
					if strings.HasPrefix(fr.Function, "inlined") || fr.Line == 0 {
						t.Fatalf("Lookup(%#x) = %+v; want lines only", pc, fr)
					}
				}
			}
		})
	}
}
