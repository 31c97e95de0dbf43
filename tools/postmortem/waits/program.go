package waits

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/locks"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// program is a stopped program: its memory, the types of its runtime by their names, its code.
type program struct {
	t       *proc.Target
	mem     proc.MemoryReadWriter
	file    *symbol.File
	code    *locks.Program
	codeErr error // why there is none
	globals map[string]*proc.Variable
	fields  map[string]field
	semas   map[uint64]uint64 // of a g: the word of the semaphore it waits for
	list    *List             // the program is one of traces; nil: of a core
	reasons []string          // the runtime's words for what a goroutine waits for, by number
}

// field is where a field lies in its type, and its size, in bytes.
type field struct{ off, size int64 }

func newProgram(t *proc.Target, file *symbol.File, list *List) (*program, error) {
	p := &program{t: t, list: list, mem: t.Memory(), file: file,
		globals: make(map[string]*proc.Variable), fields: make(map[string]field)}
	if file.Machine.String() != "EM_X86_64" {
		return nil, fmt.Errorf("waits are told of programs for amd64 alone, and %s is for %v",
			file.Name(), file.Machine)
	}
	p.code, p.codeErr = locks.New(file)
	vars, err := p.scope().PackageVariables(proc.LoadConfig{})
	if err != nil {
		return nil, fmt.Errorf("package variables: %w", err)
	}
	for _, v := range vars {
		if v.Addr != 0 && v.RealType != nil {
			p.globals[v.Name] = v
		}
	}
	if list != nil {
		p.mem = list.memory(p)
	}
	for _, need := range []string{
		"runtime.g.goid", "runtime.g.waiting", "runtime.g.atomicstatus", "runtime.g.waitreason",
		"runtime.g.lockedm",
		"runtime.sudog.elem", "runtime.sudog.waitlink", "runtime.sudog.next", "runtime.sudog.c",
		"runtime.hchan.qcount", "runtime.hchan.dataqsiz", "runtime.hchan.closed", "runtime.hchan.recvq",
		"runtime.hchan.sendq",
		"runtime.hchan.timer", "runtime.timer.when", "runtime.waitq.first",
	} {
		if _, ok := p.field(need); !ok {
			return nil, fmt.Errorf(
				"%s: this Go runtime has no field %s that is known here, or the image has no DWARF: the waits of goroutines cannot be told; Go 1.25 to 1.27 are known", file.Name(), need)
		}
	}
	for _, need := range []string{"runtime.allgs", "runtime.waitReasonStrings"} {
		if p.globals[need] == nil {
			return nil, fmt.Errorf("%s: no variable %s in the DWARF: build it without -ldflags=-w",
				file.Name(), need)
		}
	}
	p.readReasons()
	return p, nil
}

// scope is Delve's for what lies in no frame.
func (p *program) scope() *proc.EvalScope {
	return proc.FrameToScope(p.t, p.mem, nil, 0, proc.Stackframe{})
}

// field finds "package/path.type.field.field".
func (p *program) field(name string) (field, bool) {
	if f, ok := p.fields[name]; ok {
		return f, f.size > 0
	}
	f := p.findField(name)
	p.fields[name] = f
	return f, f.size > 0
}

func (p *program) findField(name string) field {
	slash := strings.LastIndexByte(name, '/') + 1
	pkg, rest, _ := strings.Cut(name[slash:], ".")
	typ, path, _ := strings.Cut(rest, ".")
	t, err := p.t.BinInfo().FindType(name[:slash] + pkg + "." + typ)
	if err != nil {
		return field{}
	}
	off, t, err := inspect.Field(t, path)
	if err != nil {
		return field{}
	}
	return field{int64(off), max(t.Size(), 1)}
}

// at returns the address of a field, by its name, of what lies at addr; 0 if there is none.
func (p *program) at(addr uint64, name string) uint64 {
	f, ok := p.field(name)
	if !ok || addr == 0 {
		return 0
	}
	return addr + uint64(f.off)
}

// holder returns the address of the object whose field, by its name, lies at addr.
func (p *program) holder(addr uint64, name string) uint64 {
	f, ok := p.field(name)
	if !ok || addr == 0 {
		return 0
	}
	return addr - uint64(f.off)
}

// bytes reads n bytes; nil if they are not in the core.
func (p *program) bytes(addr, n uint64) []byte {
	b := make([]byte, n)
	if m, err := p.mem.ReadMemory(b, addr); addr == 0 || err != nil || m < len(b) {
		return nil
	}
	return b
}

// uint reads a number of n bytes; 0 if they are not in the core.
func (p *program) uint(addr uint64, n int64) uint64 {
	var b [8]byte
	copy(b[:], p.bytes(addr, uint64(min(max(n, 0), 8))))
	return binary.LittleEndian.Uint64(b[:])
}

func (p *program) word(addr uint64) uint64 { return p.uint(addr, 8) }

// has reports whether a field of what lies at addr can be read.
func (p *program) has(addr uint64, name string) bool {
	f, _ := p.field(name)
	return p.bytes(p.at(addr, name), uint64(min(f.size, 8))) != nil
}

func (p *program) readWord(addr uint64) (uint64, bool) {
	b := p.bytes(addr, 8)
	if b == nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// get reads a field of what lies at addr.
func (p *program) get(addr uint64, name string) uint64 {
	f, _ := p.field(name)
	return p.uint(p.at(addr, name), min(f.size, 8))
}

// str reads a string's bytes, at most 64 of them.
func (p *program) str(addr uint64) string {
	return string(p.bytes(p.word(addr), min(p.word(addr+8), 64)))
}

func (p *program) readReasons() {
	v := p.globals["runtime.waitReasonStrings"]
	a, ok := v.RealType.(*godwarf.ArrayType)
	if !ok {
		return
	}
	for i := range min(a.Count, 256) {
		p.reasons = append(p.reasons, p.str(v.Addr+uint64(i)*16))
	}
}

// pointers reads the slice at addr, at most limit words of it.
func (p *program) pointers(addr uint64, limit uint64) (all []uint64) {
	b := p.bytes(p.word(addr), 8*min(p.word(addr+8), limit))
	all = make([]uint64, len(b)/8)
	binary.Decode(b, binary.LittleEndian, all)
	return all
}
