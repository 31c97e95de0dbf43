package symbol_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/postmortem/core"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
	"github.com/zeroframe/zeroframe/tools/postmortem/why"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/argument"
)

// ringShapes are a unit, a type, a struct, a member, a function and a parameter. The type has the
// tag.
func ringShapes(tag byte) []byte {
	return []byte("\x01\x11\x01\x03\x08\x11\x01\x12\x07\x55\x17\x00\x00\x02" + string(tag) + "\x00\x49\x13\x00\x00" +
		"\x03\x13\x01\x03\x08\x0b\x0b\x00\x00\x04\x0d\x00\x03\x08\x49\x13\x38\x0b\x00\x00" +
		"\x05\x2e\x01\x03\x08\x11\x01\x12\x07\x00\x00\x06\x05\x00\x03\x08\x49\x13\x02\x18\x00\x00\x00")
}

// ringInfo has a ring of two types in the structs that are looked for and in the parameter of the
// function from low on.
func ringInfo(low uint64) []byte {
	word := binary.LittleEndian.AppendUint64
	place := word(word(nil, low), 0x1000)
	b := []byte("\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x08\x01main\x00")
	b = append(append(b, place...), 0, 0, 0, 0)
	ring := byte(len(b))
	b = append(b, 2, ring+5, 0, 0, 0, 2, ring, 0, 0, 0)
	for _, name := range []string{"runtime.g", "runtime.hchan", "github.com/zeroframe/zeroframe/kernel/thread.Thread"} {
		b = append(append(append(b, 3), name...), 0, 8)
		b = append(b, 4, 'f', 0, ring, 0, 0, 0, 0, 0)
	}
	b = append(append(append(b, 5), "main.main\x00"...), place...)
	b = append(b, 6, 'p', 0, ring, 0, 0, 0, 1, 0x9c, 0, 0)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// TestRings: types that lead back to themselves are an error of one sentence for all who give debug
// information to the standard library or to Delve, both of which would overflow their stack.
func TestRings(t *testing.T) {
	if _, err := exec.LookPath("objcopy"); err != nil {
		t.Fatal("objcopy is not installed: run tools/setup.sh test, which installs it")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	os.WriteFile(at("main.go"), []byte("package main\n\nfunc main() { println(1) }\n"), 0o666)
	run("go", "build", "-ldflags=-compressdwarf=false", "-o", at("elf"), at("main.go"))
	good, err := symbol.Open(at("elf"))
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	low, _, _ := good.Symbol("main.main")
	for name, tag := range map[string]byte{"typedef": 0x16, "const": 0x26, "array": 0x01, "pointer": 0x0f, "function": 0x15} {
		os.WriteFile(at("info"), ringInfo(low), 0o666)
		os.WriteFile(at("abbrev"), ringShapes(tag), 0o666)
		path := at(name)
		run("objcopy", "--update-section", ".debug_info="+at("info"), "--update-section", ".debug_abbrev="+at("abbrev"), at("elf"), path)
		f, err := symbol.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		check := func(who string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "made to do harm") || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %s: %v", name, who, err)
			}
		}
		if all := f.Arguments().Arguments(&argument.Frame{PC: low, CFA: 0x1000}); all != nil {
			t.Errorf("%s: the arguments are %v", name, all)
		}
		check("arguments", f.Incomplete())
		_, err = inspect.OpenImage(path)
		check("inspect", err)
		os.WriteFile(at("core"), coreHeader(), 0o666)
		_, err = inspect.Open(at("core"), path, true)
		check("a core", err)
		_, err = why.New(nil, path, f)
		check("why", err)
		out, err := os.Create(at("full"))
		if err != nil {
			t.Fatal(err)
		}
		info, _ := core.WriteFull(out, noMemory{}, core.FullOptions{Path: path, Symbols: f, Force: true})
		out.Close()
		check("full core", info.Missing)
	}
}

// coreHeader is a core with an empty note and a word of memory.
func coreHeader() []byte {
	b := make([]byte, 64+2*56+12+8)
	copy(b, "\x7fELF\x02\x01\x01")
	b[16], b[18], b[20], b[32], b[52], b[54], b[56] = 4, 62, 1, 64, 64, 56, 2
	note, load := b[64:], b[64+56:]
	note[0], note[8], note[32] = 4, 64+2*56, 12
	load[0], load[8], load[32], load[40] = 1, 64+2*56+12, 8, 8
	return b
}

// noMemory is the memory of a machine without any.
type noMemory struct{ memory.Source }

func (noMemory) Blocks() []memory.Block                       { return nil }
func (noMemory) CPUs() []memory.CPU                           { return nil }
func (noMemory) Copy(func(addr uint64, b []byte) error) error { return nil }
