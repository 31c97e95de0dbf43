package mapfile

// Lists of symbols, in the forms of the several nm and of /proc/kallsyms.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNM compares the answers for each byte of a program, from what nm prints of it,
// with its symbol table.
func TestNM(t *testing.T) {
	path, want := build(t)
	for _, tt := range []struct {
		args  string
		sizes bool
	}{
		{"", false}, {"-n", false}, {"-r", false}, {"-C", false}, {"-a", false},
		{"-S", true}, {"-n -S", true}, {"-S -C --size-sort", true}, {"-S -l", true},
		{"-P", true}, {"-f posix -n", true}, {"-f sysv", true}, {"-f sysv -r -C", true},
	} {
		m := parse(t, output(t, "nm", append(strings.Fields(tt.args), path)...), Options{})
		for addr := want.from - 16; addr < want.to+16; addr++ {
			w, got := want.at(addr), found(m, addr)
			if w == "" && !tt.sizes {
				continue // padding counts as the function's before it
			}
			if got != w {
				t.Errorf("nm %s: %#x is %q; want %q", tt.args, addr, got, w)
				break
			}
		}
		// The posix format has no leading zeros that would tell.
		if want := 8; m.AddressSize() != want && !strings.Contains(tt.args, "P") && !strings.Contains(tt.args, "posix") {
			t.Errorf("nm %s: addresses of %d bytes; want %d", tt.args, m.AddressSize(), want)
		}
	}
}

// TestGoNM does the same with a Go program and Go's nm.
func TestGoNM(t *testing.T) {
	path := filepath.Join(t.TempDir(), "go.elf")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = "../testdata/gosample"
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, msg)
	}
	want := readTruth(t, path)
	for _, args := range [][]string{{"go", "tool", "nm", path}, {"go", "tool", "nm", "-size", path}, {"nm", "-S", path}, {"nm", "-P", path}, {"nm", "-f", "sysv", path}} {
		m := parse(t, output(t, args[0], args[1:]...), Options{})
		n := 0
		for _, s := range want.funcs {
			if s.Size == 0 || isNoFunc(s.Name) {
				continue
			}
			n++
			for _, off := range []uint64{0, s.Size / 2, s.Size - 1} {
				got, ok := m.Find(s.Value + off)
				if !ok || got.Addr != s.Value || got.Name != s.Name {
					t.Fatalf("%v: %#x is %s at %#x; want %s at %#x", args, s.Value+off, got.Name, got.Addr, s.Name, s.Value)
				}
			}
		}
		if n < 1000 {
			t.Errorf("%d functions; want more", n)
		}
	}
}

const kallsyms = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000040 t dup
ffffffff81000080 W weak_alias
ffffffff81000080 T strong
ffffffff81000100 t dup
ffffffff81000140 T _etext
ffffffff82000000 D jiffies
ffffffffc0201000 t ftrace_trampoline	[__builtin__ftrace]
ffffffffc0301000 t ext4_read	[ext4]
ffffffffc0301080 T ext4_write	[ext4]
`

// TestKallsyms: marks, aliases, equal names, gaps and modules.
func TestKallsyms(t *testing.T) {
	m := parse(t, kallsyms, Options{})
	for _, tt := range []struct {
		addr uint64
		want string
	}{
		{0xffffffff81000004, "startup_64+0x4"}, {0xffffffff8100003f, "startup_64+0x3f"}, {0xffffffff81000044, "dup+0x4"},
		{0xffffffff81000081, "strong+0x1"}, {0xffffffff8100013f, "dup+0x3f"}, {0xffffffff81000141, ""},
		{0xffffffff82000000, ""}, {0xffffffffc0000000, ""}, {0xffffffffc0301001, "ext4_read+0x1"}, {0, ""},
		{0xffffffffc0301080 + MaxUnsized - 1, "ext4_write+0x3ffff"}, {0xffffffffc0301080 + MaxUnsized, ""}, {1<<64 - 1, ""},
	} {
		if got := found(m, tt.addr); got != tt.want {
			t.Errorf("%#x is %q; want %q", tt.addr, got, tt.want)
		}
	}
	if s, _ := m.Find(0xffffffffc0301001); s.Module != "ext4" || s.Size != 0x80 {
		t.Errorf("ext4_read: %+v", s)
	}
	if s := m.At(0xffffffff81000080); len(s) != 2 || s[0].Name != "weak_alias" || s[1].Name != "strong" {
		t.Errorf("aliases: %+v", s)
	}
	if s := m.Named("dup"); len(s) != 2 || s[0].Addr != 0xffffffff81000040 || m.Span(s[1].Addr) != 0x40 {
		t.Errorf("dup: %+v", s)
	}
	if s, ok := m.Preceding(0xffffffff81000148); !ok || s.Name != "dup" {
		t.Errorf("preceding: %+v", s)
	}
}
