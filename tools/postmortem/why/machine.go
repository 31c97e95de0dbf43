package why

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/replay"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
)

// machine is one replay.
type machine struct {
	*replay.Machine
	ctx   context.Context
	insts map[uint64]x86asm.Inst

	funcStart func(pc uint64) (start uint64, ok bool)
}

// start begins a replay.
func (w *Why) start() (*machine, error) {
	m, err := replay.Start(w.ctx, w.launch)
	if err != nil {
		return nil, err
	}
	w.Replays++
	return &machine{Machine: m, ctx: w.ctx, insts: w.insts, funcStart: w.file.FuncStart}, nil
}

// A follower is a second replay that stays behind one which looks for something: when that has been
// found, the follower stands in front of it, or is on its way there. The two run at the same time.
type follower struct {
	m       *machine
	targets chan uint64 // the latest one that it has not begun with
	done    chan error  // what it has ended with
}

// followed begins a replay with a follower.
func (w *Why) followed() (*machine, *follower, error) {
	m, err := w.start()
	if err != nil {
		return nil, nil, err
	}
	f := &follower{targets: make(chan uint64, 1), done: make(chan error, 1)}
	if f.m, err = w.start(); err != nil {
		m.End()
		return nil, nil, err
	}
	w.Replays-- // it counts when it is needed
	go func() {
		var err error
		for n := range f.targets {
			if err == nil {
				err = f.m.To(n)
			}
		}
		f.done <- err
	}()
	return m, f, nil
}

// found sends the follower to a place before an instruction that may be what is looked for.
func (f *follower) found(count, before uint64) {
	select {
	case <-f.targets: // it has not begun with
	default:
	}
	f.targets <- count - min(before, count)
}

// keep ends the search; the follower is the machine that [Why.pathTo] takes next.
func (w *Why) keep(f *follower) {
	close(f.targets)
	if err := <-f.done; err != nil {
		f.m.End()
		return
	}
	w.drop()
	w.next = f.m
}

// drop ends a follower that was not needed.
func (w *Why) drop() {
	if w.next != nil {
		w.next.End()
		w.next = nil
	}
}

var gprNames = [16]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10",
	"r11", "r12", "r13", "r14", "r15"}

// now returns the state and the address of the next instruction.
func (m *machine) now() (e entry, err error) {
	regs, err := m.Registers()
	if err != nil {
		return e, err
	}
	for i, name := range gprNames {
		e.gpr[i] = regs[name]
	}
	for i := range e.vector {
		e.vector[i] = regs[fmt.Sprintf("xmm%d", i)]
	}
	e.pc, e.flags, e.fs, e.gs = regs["rip"], regs["eflags"], regs["fs_base"], regs["gs_base"]
	e.inst = m.decode(e.pc)
	return e, nil
}

// decode decodes an instruction; Op is 0 for one that is not known, whose length is.
func (m *machine) decode(pc uint64) x86asm.Inst {
	if in, ok := m.insts[pc]; ok {
		return in
	}
	var b [16]byte
	n := len(b)
	if m.Read(b[:], pc) != nil {
		n = int(0x1000 - pc&0xfff)
		if n >= len(b) || m.Read(b[:n], pc) != nil {
			return x86asm.Inst{}
		}
	}
	in, err := x86asm.Decode(b[:n], 64)
	if err != nil || in.Len == 0 {
		in = x86asm.Inst{Len: code.Decode(b[:n]).Len}
	}
	m.insts[pc] = in
	return in
}

// moves reports whether an instruction only moves what is in memory, or does not read it.
func moves(in *x86asm.Inst) bool {
	op := in.Op.String()
	return slices.ContainsFunc([]string{"MOV", "VMOV", "LEA", "NOP", "PREFETCH", "STOS", "PUSH",
		"POP"}, func(s string) bool {
		return strings.HasPrefix(op, s)
	})
}

// readOperand sets mem: when it is asked for, that will have been overwritten.
func (m *machine) readOperand(e *entry) {
	for _, a := range e.inst.Args {
		if a, ok := a.(x86asm.Mem); ok && !moves(&e.inst) {
			e.mem, _ = m.word(e.operand(a))
		}
	}
}

// word reads eight bytes.
func (m *machine) word(addr uint64) (v uint64, ok bool) {
	var b [8]byte
	if m.Read(b[:], addr) != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// toStop lets the machine run to its next stop, and returns how many instructions it has run then.
func (m *machine) toStop() (count uint64, err error) {
	if err = m.Proceed(); err == nil {
		count, err = m.VM.Instructions()
	}
	return count, err
}

// stop lets the machine run to its next stop, and returns where it stands then.
func (m *machine) stop() (e entry, err error) {
	count, err := m.toStop()
	if err == nil {
		e, err = m.now()
	}
	e.count = count
	return e, err
}

// pass steps over a breakpoint, where the stub would stop again, after count instructions. It
// reports whether an instruction was run: otherwise there was an interrupt first, and the machine
// will come to the breakpoint once more.
func (m *machine) pass(count uint64) (run bool, err error) {
	if err := m.Step(m.ctx); err != nil {
		return false, err
	}
	now, err := m.VM.Instructions()
	return now > count, err
}

// frameless reports whether a function's code sets no frame pointer before pc.
func (m *machine) frameless(pc uint64) bool {
	at, ok := m.funcStart(pc)
	if !ok || pc-at > 1<<16 {
		return false
	}
	for at < pc {
		in := m.decode(at)
		if in.Args[0] == x86asm.RBP && (in.Op == x86asm.MOV || in.Op == x86asm.LEA) || in.Len == 0 {
			return false
		}
		at += uint64(in.Len)
	}
	return true
}

// stack walks the frame pointers: addresses of code, the innermost first.
func (m *machine) stack(e *entry, most int) []uint64 {
	all := []uint64{e.pc}
	// A function that has no frame of its own, or not yet, has its return address at SP; the frame
	// pointer is its caller's.
	if ra, ok := m.word(e.gpr[rsp]); ok && m.frameless(e.pc) {
		if _, ok = m.funcStart(ra); ok {
			all = append(all, ra)
		}
	}
	early := len(all) == 2
	for fp := e.gpr[rbp]; len(all) < most && fp != 0 && fp&7 == 0; {
		ra, ok := m.word(fp + 8)
		next, ok2 := m.word(fp)
		if !ok || !ok2 || ra == 0 {
			break
		}
		if !early || ra != all[1] { // whoever calls duffcopy makes a frame for it
			all = append(all, ra)
		}
		early = false
		if next <= fp && next != 0 && fp-next < 1<<20 {
			break
		}
		fp = next
	}
	return all
}

// hit is a write to a word that is watched.
type hit struct {
	count     uint64 // instructions run, the writing one too
	value     uint64 // behind it
	at        entry  // behind it
	stack     []uint64
	goroutine int64
}

// writes runs until n instructions have been run, and returns the writes to a place on the way; of
// more than most of them the last ones. goid names the goroutine that runs; nil: stacks are not
// asked for. The word's value in the end is in end. A follower is told of each; there may be none.
func (m *machine) writes(p place, n uint64, most int, goid func(*entry) int64,
	f *follower) (hits []hit, end uint64, err error) {
	lo := p.addr &^ (p.size - 1)
	if p.size&(p.size-1) != 0 || p.size > 8 {
		return nil, 0, fmt.Errorf("%d bytes at %#x cannot be watched", p.size, p.addr)
	}
	if err := m.Watch(lo, p.size); err != nil {
		return nil, 0, err
	}
	if n < forEver {
		if err := m.VM.StopAt(n); err != nil {
			return nil, 0, err
		}
	}
	before, _ := m.word(lo)
	before &= mask(p.size)
	for last := uint64(0); ; {
		at, err := m.toStop()
		if over(err) && n == forEver {
			return hits, end, nil
		} else if err != nil {
			return hits, end, err
		}
		v, _ := m.word(lo)
		if end = v & mask(p.size); at > n || at == last || at == n && end == before {
			break
		}
		last = at
		h := hit{count: at, value: end}
		if h.at, err = m.now(); over(err) && n == forEver {
			return hits, end, nil
		} else if err != nil {
			return nil, 0, err
		}
		// Where the word has changed and the instruction writes elsewhere, no instruction has written it.
		// At a stop without a watchpoint there may have been a write only at n, where the stub names the
		// end of the run instead; at the recording's end there was none.
		wrote := (at == n || strings.Contains(m.Reason(), "watch")) &&
			m.mayWrite(&h.at, bytesAt(lo, p.size), end != before && at != n)
		if before = end; wrote {
			if goid != nil {
				h.stack, h.goroutine = m.stack(&h.at, 64), goid(&h.at)
			}
			hits = append(hits, h)
			if f != nil {
				f.found(h.count, windows[0])
			}
			if len(hits) > 2*most {
				hits = slices.Delete(hits, 0, most)
			}
		}
		if at == n {
			break
		}
	}
	return hits, end, m.Unwatch(lo, p.size)
}

// over reports whether an error says that the replay is at its end. QEMU, which ends with its log,
// may be gone when it is asked where it stands.
func over(err error) bool {
	return errors.Is(err, memory.ErrEnded) || errors.Is(err, qemu.ErrMonitor)
}

// forEver is behind each recording's end, in instructions.
const forEver = 1<<63 - 1

func mask(size uint64) uint64 { return 1<<(8*size-1)<<1 - 1 }

// stringOps are the string instructions that write to memory, and how many bytes at a time.
var stringOps = map[x86asm.Op]uint64{
	x86asm.STOSB: 1, x86asm.STOSW: 2, x86asm.STOSD: 4, x86asm.STOSQ: 8, x86asm.MOVSB: 1,
	x86asm.MOVSW: 2, x86asm.MOVSD: 4, x86asm.MOVSQ: 8,
}

// wrote returns where an instruction that does not name it in its operands has written to memory; e
// is the state behind.
func (e *entry) wrote(in *x86asm.Inst) (p place, ok bool) {
	switch n := stringOps[in.Op]; {
	case in.Op == x86asm.PUSH, in.Op == x86asm.PUSHFQ, in.Op == x86asm.CALL:
		return bytesAt(e.gpr[rsp], 8), true
	case n > 0 && e.flags&(1<<10) != 0: // DF: downwards
		return bytesAt(e.gpr[rdi]+n, n), true
	case n > 0:
		return bytesAt(e.gpr[rdi]-n, n), true
	}
	return p, false
}

// mayWrite reports whether the instruction in front of the one at after may have written the place.
// QEMU 7.2 stops at other stores into a page with a watchpoint, too. One that cannot be decoded has
// written if the word has changed.
func (m *machine) mayWrite(after *entry, p place, changed bool) bool {
	start, ok := m.funcStart(after.pc)
	if !ok || after.pc-start > 1<<16 {
		return true
	}
	if to, ok := after.wrote(&after.inst); ok && stringOps[after.inst.Op] > 0 && to.overlaps(p) {
		return true // a repeated one stays at its address until it is done
	}
	if after.pc == start { // a call has led here, or an interrupt
		return changed || bytesAt(after.gpr[rsp], 8).overlaps(p)
	}
	var in x86asm.Inst // the one in front
	for pc := start; pc < after.pc; pc += uint64(in.Len) {
		if in = m.decode(pc); in.Len == 0 || pc+uint64(in.Len) > after.pc {
			return true
		}
	}
	if to, ok := after.wrote(&in); ok {
		return to.overlaps(p)
	}
	mem, ok := in.Args[0].(x86asm.Mem)
	if !ok || in.MemBytes == 0 && changed {
		return changed
	}
	return bytesAt(after.addressOf(mem, after.pc), uint64(max(in.MemBytes, 1))).overlaps(p)
}
