package process

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/elf"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const libSource = `
__attribute__((noinline)) int in_library(int n) { return n + 1; }
`

const mainSource = `
#include <stdio.h>
#include <sys/auxv.h>
int in_library(int);
static __attribute__((noinline)) int in_program(int n) { return in_library(n) * 3; }
int shown = 1;
int main(void) {
	printf("in_program %p\nin_library %p\nmain %p\nshown %p\nvdso %lx\n", (void *)in_program, (void *)in_library, (void *)main, (void *)&shown, getauxval(AT_SYSINFO_EHDR));
	fflush(stdout);
	return in_program(getchar());
}
`

// A sample is a position-independent program with a library of its own, which runs.
type sample struct {
	dir, exe, lib string
	cmd           *exec.Cmd
	addrs         map[string]uint64 // as it has printed them
}

func start(t *testing.T) *sample {
	t.Helper()
	s := &sample{dir: t.TempDir(), addrs: map[string]uint64{}}
	s.exe, s.lib = filepath.Join(s.dir, "prog"), filepath.Join(s.dir, "libsample.so")
	for name, text := range map[string]string{"lib.c": libSource, "main.c": mainSource} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{
		"-O1 -g -Wl,--build-id -fPIC -shared -o libsample.so lib.c",
		"-O1 -g -Wl,--build-id -fPIE -pie -o prog main.c -L. -lsample -Wl,-rpath=" + s.dir,
	} {
		cmd := exec.Command("gcc", strings.Fields(args)...)
		cmd.Dir = s.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
	}
	s.cmd = exec.Command(s.exe)
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		s.cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for len(s.addrs) < 5 && lines.Scan() {
		name, addr, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseUint(strings.TrimPrefix(addr, "0x"), 16, 64)
		if err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		s.addrs[name] = n
	}
	if len(s.addrs) < 5 {
		t.Fatalf("the program has printed %v", s.addrs)
	}
	return s
}

// check asks a process for all that the program has printed.
func (s *sample) check(t *testing.T, p *Process) {
	t.Helper()
	for _, name := range []string{"in_program", "in_library", "main"} {
		calls := p.Lookup(s.addrs[name], false)
		file := "main.c"
		if name == "in_library" {
			file = "lib.c"
		}
		if len(calls) != 1 || calls[0].Function != name || filepath.Base(calls[0].File) != file || calls[0].Line == 0 {
			t.Errorf("%s: %+v", name, calls)
		}
		if !p.IsText(s.addrs[name]) {
			t.Errorf("%s is no code", name)
		}
	}
	if name, offset, ok := p.Variable(s.addrs["shown"] + 2); !ok || name != "shown" || offset != 2 {
		t.Errorf("a variable: %s+%d, %v", name, offset, ok)
	}
	for _, addr := range []uint64{0, 0x10, ^uint64(0)} {
		if calls := p.Lookup(addr, true); calls != nil {
			t.Errorf("%#x: %+v", addr, calls)
		}
	}
	// A function of the vDSO, which is in no file.
	found := false
	if f, _ := p.At(s.addrs["vdso"] + 0x10); f != nil {
		for fn := range f.Functions() {
			if strings.Contains(fn.Name, "gettime") {
				calls := p.Lookup(s.addrs["vdso"]+fn.Start, false)
				found = found || len(calls) == 1 && calls[0].Function == fn.Name
			}
		}
	}
	if !found {
		t.Error("no clock_gettime in the vDSO")
	}
	if err := p.Lost(); err != nil {
		t.Errorf("lost: %v", err)
	}
}

func TestRunning(t *testing.T) {
	s := start(t)
	p, err := Running(s.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	// The file has been replaced since: what runs is the old one.
	old := s.exe + ".old"
	if err := os.Rename(s.exe, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.exe, []byte("another"), 0o755); err != nil {
		t.Fatal(err)
	}
	if p, err = Running(s.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s.check(t, p)
	if _, err := Running(1 << 30); err == nil || !strings.Contains(err.Error(), "process 1073741824") {
		t.Errorf("a process that is not there: %v", err)
	}
}

func TestMaps(t *testing.T) {
	s := start(t)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	p, err := ReadMaps(bytes.NewReader(text), "maps")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, name := range []string{"in_program", "in_library"} {
		if calls := p.Lookup(s.addrs[name], false); len(calls) != 1 || calls[0].Function != name {
			t.Errorf("%s: %+v", name, calls)
		}
	}
	for _, bad := range []string{"", "hello\n", "1000-1000 r-xp 0 00:00 1 /a\n", "2000-1000 r-xp 0 00:00 1 /a\n", "1000-2000 r-xp z 00:00 1 /a\n", "1000-2000\n"} {
		if _, err := ReadMaps(strings.NewReader(bad), "maps"); err == nil || !strings.HasPrefix(err.Error(), "maps: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// core writes a core file of the sample.
func (s *sample) core(t *testing.T) string {
	t.Helper()
	path := filepath.Join(s.dir, "core")
	out, err := exec.Command("gdb", "-nx", "-batch", "-p", strconv.Itoa(s.cmd.Process.Pid), "-ex", "generate-core-file "+path).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestCore(t *testing.T) {
	s := start(t)
	path := s.core(t)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := Core(f)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, p)
	ids := 0
	for _, m := range p.Mappings() {
		if m.Path != s.exe && m.Path != s.lib {
			continue
		}
		sym, err := symbol.Open(m.Path)
		if err != nil {
			t.Fatal(err)
		}
		if id := sym.BuildID(); m.BuildID != id {
			t.Errorf("%s at %#x: build ID %q; want %q", m.Path, m.Low, m.BuildID, id)
		}
		ids++
		sym.Close()
	}
	if ids < 4 {
		t.Errorf("%d mappings of the two files", ids)
	}
	p.Close()
	// The library has been built anew: nothing of it may be believed.
	cmd := exec.Command("gcc", "-shared", "-fPIC", "-Wl,--build-id", "-O0", "-o", s.lib+".new", "lib.c")
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if err := os.Rename(s.lib+".new", s.lib); err != nil {
		t.Fatal(err)
	}
	if p, err = Core(f); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if calls := p.Lookup(s.addrs["in_library"], false); calls != nil {
		t.Errorf("of another build: %+v", calls)
	}
	if err := p.Lost(); err == nil || !strings.Contains(err.Error(), "another build") || !strings.Contains(err.Error(), s.lib) {
		t.Errorf("lost: %v", err)
	}
	if calls := p.Lookup(s.addrs["in_program"], false); len(calls) != 1 {
		t.Errorf("in_program: %+v", calls)
	}
	prog, err := elf.Open(s.exe)
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	if _, err := Core(prog); !errors.Is(err, ErrNoCore) {
		t.Errorf("a program: %v", err)
	}
}

// coreWith returns a little core file with these contents of NT_FILE.
func coreWith(note []byte) []byte {
	var b bytes.Buffer
	put := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	notes := []byte{5, 0, 0, 0, 0, 0, 0, 0, 'E', 'L', 'I', 'F', 'C', 'O', 'R', 'E', 0, 0, 0, 0}
	binary.LittleEndian.PutUint32(notes[4:], uint32(len(note)))
	notes = append(notes, note...)
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	put([]uint16{4, 62})
	put(uint32(1))
	put([]uint64{0, 64, 0})
	put(uint32(0))
	put([]uint16{64, 56, 1, 0, 0, 0})
	put([]uint32{4, 4})
	put([]uint64{120, 0, 0, uint64(len(notes)), 0, 4})
	b.Write(notes)
	return b.Bytes()
}

// FuzzCore: whatever a core file says, there is an answer or an error.
func FuzzCore(f *testing.F) {
	le := binary.LittleEndian
	var note []byte
	for _, n := range []uint64{1, 4096, 0x400000, 0x401000, 0} {
		note = le.AppendUint64(note, n)
	}
	note = append(note, "/bin/nothing-of-this-name\x00"...)
	f.Add(coreWith(note))
	f.Add(coreWith(note[:30]))
	f.Add(coreWith([]byte("\xff\xff\xff\xff\xff\xff\xff\x0f")))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := elf.NewFile(bytes.NewReader(b), int64(len(b)), "core")
		if err != nil {
			return
		}
		p, err := Core(file)
		if err != nil {
			return
		}
		defer p.Close()
		p.Open = func(m Mapping) (*symbol.File, error) { return nil, io.EOF }
		for _, m := range p.Mappings() {
			p.Lookup(m.Low, true)
			p.Lookup(m.High, true)
		}
	})
}
