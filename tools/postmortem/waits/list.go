package waits

import (
	stdelf "debug/elf"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

// Without a core: a list of all goroutines, each with a trace, carries words of memory beside the
// stacks (kernel/fault/waits.go). They are made to look like the memory of a program with these
// goroutines and no others, and what is not among them cannot be read: it is never taken for zero,
// nor for what the ELF file has there.

// List is a list of all goroutines, as a stream of traces has it.
type List struct {
	// Hang is set if a watchdog has said that the program has done nothing for long, Asleep if the
	// runtime has said that no goroutine can run and no timer is to come.
	Hang, Asleep bool

	words    map[uint64]uint64
	regs     map[uint64]map[string]uint64 // of a g that runs; what is known of its registers
	complete bool                         // each goroutine of the program is there
}

// Layout is where the runtime keeps what, as image.GoTable reads it from an image.
type Layout map[string]uint64

// ErrNoWords is returned for a list without what says who waits for what: of a kernel of another
// version, or with the option args=0. Host.
var ErrNoWords = errors.New("the traces do not say what their goroutines wait for")

// field returns where a field lies in its struct.
func (l Layout) field(name string) (off uint64, ok bool) {
	v, ok := l["field runtime."+name]
	return v & 0xffffffff, ok
}

// made is where the list of goroutines is put that the program is made to have: no Go program has
// anything there.
const made = 0x7ef0_0000_0000

// offsets are those of a runtime.g that its words are known by.
type offsets struct{ lo, hi, sp, pc, bp, id, status uint64 }

// NewList makes a List of the traces of one list of goroutines, with what came before it, if that
// ended the program; memory is what core.Memory says of them. all and run are how many goroutines
// the program has, and how many of those run. Host.
func NewList(traces []*wire.Trace, memory map[uint64]uint64, all, run int, layout Layout,
	file *symbol.File) (*List, error) {
	var o offsets
	for name, at := range map[string]*uint64{"g.stack.lo": &o.lo, "g.stack.hi": &o.hi,
		"g.sched.sp": &o.sp, "g.sched.pc": &o.pc,
		"g.sched.bp": &o.bp, "g.goid": &o.id, "g.atomicstatus.value": &o.status} {
		off, ok := layout.field(name)
		if !ok {
			return nil, fmt.Errorf("%s does not say where its runtime keeps %s", file.Name(), name)
		}
		*at = off
	}
	l := &List{words: maps.Clone(memory), regs: make(map[uint64]map[string]uint64)}
	known := make(map[uint64]uint64) // goroutine: its g
	var running []*wire.Trace
	for _, t := range traces {
		if t.Damaged || t.Repeat {
			return nil, fmt.Errorf("trace %d is damaged", t.Seq)
		}
		l.Hang = l.Hang || strings.HasPrefix(t.Reason, "watchdog: the program")
		l.Asleep = l.Asleep || strings.Contains(t.Reason, "all goroutines are asleep")
		found := o.goroutines(t.Words)
		for id, g := range found {
			if known[id] != 0 && known[id] != g {
				return nil, fmt.Errorf("goroutine %d is there twice", id)
			}
			known[id] = g
		}
		first, ok := found[t.Goroutine]
		if !ok {
			running = append(running, t)
			continue
		}
		for id, g := range found {
			if id != t.Goroutine {
				l.shift(t, t.Words[g+o.sp]-t.Words[first+o.sp])
			}
		}
	}
	if len(known) == 0 {
		return nil, ErrNoWords
	}
	ran := 0
	for _, t := range running {
		if known[t.Goroutine] == 0 && t.Goroutine != 0 {
			known[t.Goroutine] = o.running(l, t, ran)
			ran++
		}
	}
	l.complete = len(known) == all && ran == run
	return l, l.list(known, file)
}

// goroutines finds each runtime.g among words, by the number of its goroutine: where a goroutine
// was left, its g has its own address beside the stack pointer and the pc.
func (o *offsets) goroutines(words map[uint64]uint64) map[uint64]uint64 {
	found := make(map[uint64]uint64)
	for a, v := range words {
		if a != v+o.sp+16 || v == 0 {
			continue
		}
		has := true
		for _, off := range []uint64{o.lo, o.hi, o.sp, o.pc, o.bp, o.id, o.status &^ 7} {
			_, ok := words[v+off]
			has = has && ok
		}
		lo, hi, sp := words[v+o.lo], words[v+o.hi], words[v+o.sp]
		if has && lo < hi && sp >= lo && sp < hi {
			found[words[v+o.id]] = v
		}
	}
	return found
}

// shift adds the words that the walk of a goroutine must have read whose trace another one of its
// group stands for: its frames are the same, delta bytes further up.
func (l *List) shift(t *wire.Trace, delta uint64) {
	add := func(addr, word uint64) {
		if _, ok := l.words[addr]; !ok {
			l.words[addr] = word
		}
	}
	for i := range t.Frames[:max(len(t.Frames), 1)-1] {
		f, next := &t.Frames[i], &t.Frames[i+1]
		if f.Kind != tracer.RA || next.Kind != tracer.RA || f.Stack != next.Stack || f.Repeat > 0 ||
			next.Elided > 0 ||
			f.Source != "" || f.Repaired || next.Source != "" || f.FP == 0 || next.FP != 0 &&
			next.FP <= f.FP {
			return
		}
		add(f.FP+delta+8, next.Address)
		if next.FP != 0 {
			add(f.FP+delta, next.FP+delta)
		} else {
			add(f.FP+delta, 0)
		}
	}
}

// running makes the g of a goroutine that runs: who it is, its trace says. It stands in the first
// frame on its own stack; what it waits for is nothing.
func (o *offsets) running(l *List, t *wire.Trace, n int) (g uint64) {
	words := l.words
	g = made + 0x1000*(uint64(n)+1)
	for a := g; a < g+roomOfG; a += 8 {
		words[a] = 0
	}
	words[g+o.status&^7] = gRunning << (8 * (o.status & 7))
	words[g+o.id] = t.Goroutine
	for i := range t.Stacks {
		if s := &t.Stacks[i]; s.Name == "g" {
			words[g+o.lo], words[g+o.hi] = s.Lo, s.Hi
		}
	}
	for i := range t.Frames {
		if f := &t.Frames[i]; f.Stack == "g" && f.Kind == tracer.PC && !f.Bare {
			words[g+o.sp], words[g+o.pc], words[g+o.bp] = f.SP, f.Address, f.FP
			if t.Registers["rip"] == f.Address && t.Registers["rsp"] == f.SP {
				l.regs[g] = t.Registers
			} else if sp, ok := interrupted(t, i); ok {
				words[g+o.sp], words[g+o.pc], words[g+o.bp] = sp, t.Frames[i-1].Address, t.Frames[i-1].FP
			}
			break
		}
	}
	return g
}

// interrupted returns the stack pointer with which runtime.asyncPreempt goes on, which has saved
// the registers of frame i there; ok is false if that frame was not stopped so.
func interrupted(t *wire.Trace, i int) (sp uint64, ok bool) {
	if i < 2 {
		return 0, false
	}
	by, callee := &t.Frames[i-1], &t.Frames[i-2]
	return callee.FP + 16, by.Kind == tracer.RA && callee.Kind == tracer.RA && callee.FP != 0 &&
		by.Stack == "g" && callee.Stack == "g" &&
		len(by.Calls) > 0 && by.Calls[0].Function == "runtime.asyncPreempt"
}

// registers returns what is known of those of a goroutine that runs, by x86's numbers.
func (l *List) registers(g uint64) map[int]uint64 {
	known := make(map[int]uint64)
	for n, name := range registers {
		if v, ok := l.regs[g][strings.ToLower(name)]; ok {
			known[n] = v
		}
	}
	if _, ok := known[14]; ok {
		known[14] = g // where the list has it
	}
	return known
}

// roomOfG is more than a runtime.g has, in bytes.
const roomOfG = 1024

// list makes the runtime's list of all goroutines.
func (l *List) list(known map[uint64]uint64, file *symbol.File) error {
	n := uint64(0)
	for _, g := range known {
		l.words[made+8*n] = g
		if n++; n == 0x1000/8 {
			return fmt.Errorf("there are %d goroutines", len(known))
		}
	}
	syms := map[string]uint64{}
	for _, name := range []string{"runtime.allgs", "runtime.allglen"} {
		v, _, ok := file.Symbol(name)
		if !ok {
			return fmt.Errorf("%s has no variable %s", file.Name(), name)
		}
		syms[name] = v
	}
	a := syms["runtime.allgs"]
	l.words[a], l.words[a+8], l.words[a+16] = made, n, n
	l.words[syms["runtime.allglen"]] = n
	return nil
}

// Core returns what a core file for Delve is to have: the words, and zeros where a g has fields of
// which nothing is known and which Delve reads all the same. Host.
func (l *List) Core() map[uint64]uint64 {
	all := maps.Clone(l.words)
	for i := uint64(0); l.words[made+8*i] != 0; i++ {
		g := l.words[made+8*i]
		for a := g; a < g+roomOfG; a += 8 {
			if _, ok := all[a]; !ok {
				all[a] = 0
			}
		}
	}
	return all
}

// known is the memory that the traces tell of, and what nobody writes, of the ELF file.
type known struct {
	words    map[uint64]uint64
	constant []extent
	file     *symbol.File
}

type extent struct{ lo, hi uint64 }

// constants are variables with a first value that stays.
var constants = []string{"runtime.waitReasonStrings", "runtime.buildVersion",
	"runtime.firstmoduledata"}

// memory returns the memory of a list.
func (l *List) memory(p *program) *known {
	m := &known{words: l.words, file: p.file}
	for i := range p.file.Sections {
		s := &p.file.Sections[i]
		if s.Flags&stdelf.SHF_ALLOC != 0 && s.Flags&stdelf.SHF_WRITE == 0 && s.Type != stdelf.SHT_NOBITS {
			m.constant = append(m.constant, extent{s.Addr, s.Addr + s.Len})
		}
	}
	for _, name := range constants {
		if v := p.globals[name]; v != nil {
			m.constant = append(m.constant, extent{v.Addr, v.Addr + uint64(v.RealType.Size())})
		}
	}
	return m
}

// ReadMemory fills b; anything that is not known is an error.
func (m *known) ReadMemory(b []byte, addr uint64) (int, error) {
	n := uint64(len(b))
	for _, s := range m.constant {
		if addr >= s.lo && addr <= s.hi && n <= s.hi-addr {
			data, ok := m.file.BytesAt(addr, n)
			if !ok {
				break
			}
			return copy(b, data), nil
		}
	}
	for i := range b {
		a := addr + uint64(i)
		w, ok := m.words[a&^7]
		if !ok {
			return 0, fmt.Errorf("no trace tells what is at %#x", a&^7)
		}
		b[i] = byte(w >> (8 * (a & 7)))
	}
	return len(b), nil
}

// WriteMemory is for Delve's interface alone.
func (m *known) WriteMemory(addr uint64, b []byte) (int, error) {
	return 0, errors.New("the memory of a list of goroutines is not written to")
}
