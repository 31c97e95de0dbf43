package argument_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/argument"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

const source = `package main

type T struct{ next *T }

type S struct { A int32; B string }

type Color int16

//go:noinline
func (t *T) words(key string, n int8, xs []uint16, e error, any any) int {
	return len(key) + int(n) + len(xs) + btoi(e != nil) + btoi(any != nil) + btoi(t != nil) + cap(xs)
}

//go:noinline
func more(s S, c Color, ok bool, f func() int, m map[string]int, bytes []byte) int {
	return int(s.A) + len(s.B) + int(c) + btoi(ok) + f() + len(m) + len(bytes)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func main() {
	var t T
	println(t.words("key", 1, nil, nil, 3), more(S{1, "b"}, 2, true, func() int { return 1 }, nil, nil))
}
`

// program builds the program and returns its symbols.
func program(t *testing.T, flags ...string) *symbol.File {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "main.go")
	if err := os.WriteFile(path, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", path+".elf", path)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := symbol.Open(path + ".elf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// shown returns the arguments of a function at its entry.
func shown(t *testing.T, f *symbol.File, name string, fr argument.Frame) string {
	t.Helper()
	pc, _, ok := f.Symbol(name)
	if !ok {
		t.Fatalf("no function %s", name)
	}
	fr.PC = pc
	all := f.Arguments().Arguments(&fr)
	if len(all) != 1 {
		t.Fatalf("%s: %d calls at its entry; want 1", name, len(all))
	}
	var s []string
	for _, a := range all[0] {
		s = append(s, text(a))
	}
	return strings.Join(s, ", ")
}

func text(a lookup.Argument) string {
	if !a.Known {
		return a.Name + " " + a.Type + " ?"
	}
	return a.Name + " " + a.Type + " " + a.Value
}

// TestEntry: at a function's entry the arguments are in the registers of Go's ABI.
func TestEntry(t *testing.T) {
	f := program(t)
	static, _, ok := f.Symbol("main.main.func1")
	if !ok {
		t.Fatal("no main.main.func1")
	}
	memory := map[uint64]uint64{0x5000: 0x64636261, 0x5008: 0x6a69, 0x6000: 7 | 8<<16 | 65535<<32, 0x7000: static}
	frame := func(regs map[string]uint64) argument.Frame {
		return argument.Frame{CFA: 0x10000,
			Register: func(name string) (v uint64, ok bool) { v, ok = regs[name]; return v, ok },
			Word:     func(addr uint64) (v uint64, ok bool) { v, ok = memory[addr]; return v, ok }}
	}
	for _, test := range []struct {
		function string
		regs     map[string]uint64
		want     string
	}{
		{"main.(*T).words", map[string]uint64{"rax": 0xc000, "rbx": 0x5000, "rcx": 3, "rdi": 0xfe, "rsi": 0x6000, "r8": 3, "r9": 4, "r10": 0, "r11": 0},
			`t *main.T 0xc000, key string "abc", n int8 -2, xs []uint16 [7 8 65535], e error nil, any interface {} ?`},
		{"main.(*T).words", map[string]uint64{"rbx": 0x9000, "rcx": 3, "rsi": 0, "r8": 0, "r9": 0},
			`t *main.T ?, key string 0x9000[:3], n int8 ?, xs []uint16 nil, e error ?, any interface {} ?`},
		{"main.more", map[string]uint64{"rax": 0xffffffff00000003, "rbx": 0x5001, "rcx": 1, "rdi": 0xffff, "rsi": 1, "r8": 0x7000, "r9": 0x77, "r10": 0x7000, "r11": 40},
			`s main.S {A:3 B:"b"}, c main.Color -1, ok bool true, f func() int main.main.func1, m map[string]int 0x77, bytes []uint8 ?`},
	} {
		if got := shown(t, f, test.function, frame(test.regs)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.function, got, test.want)
		}
	}
	if got := shown(t, f, "main.more", argument.Frame{}); strings.Count(got, "?") != 6 {
		t.Errorf("of a frame of which nothing is known: %s", got)
	}
}

// TestNothing: without DWARF nothing is known.
func TestNothing(t *testing.T) {
	f := program(t, "-ldflags=-w")
	pc, _, _ := f.Symbol("main.more")
	if all := f.Arguments().Arguments(&argument.Frame{PC: pc}); all != nil {
		t.Errorf("%v without DWARF; want nothing", all)
	}
}
