package core

// The threads of a machine: what each CPU was at, and each thread of the program that had none.
//
//	a CPU that has died    what its trace is made from (kernel/fault, stageDetails): it
//	                       stands where the trace begins, not in what the panic path does now
//	one that was stopped   the trap frame by which it was
//	a living one           its registers
//	a thread without CPU   the frame in its record
//
// A CPU in the kernel is a thread of its own, numbered from CPUThreads, and the program's thread
// that it works for is another one, which stands where it has entered the kernel. A CPU in the
// program is that thread. So each goroutine that runs has the registers that it had itself.

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
	"github.com/zeroframe/zeroframe/tracer"
)

// CPUThreads is the number of the thread that is what CPU 0 was at in the kernel; the others'
// follow.
const CPUThreads = 10000

// Limits of what memory may say that is damaged.
const (
	mostCPUs    = 64
	mostThreads = 2000
	mostRecords = 64 // traps within each other
)

// place is a thread and where it stood.
type place struct {
	thread
	id int
}

// state is what the kernel's records say.
type state struct {
	places []place
	death  *wire.Trace // its reason and cause; nil: it lives
}

// readState reads the records. What it has found is returned with an error, too.
func readState(l *layout, space *memory.Space, cpus []memory.CPU, sym Symbols) (state, error) {
	k := &kernelState{variables: variables{layout: l, read: space.Read}, sym: sym, cpus: cpus,
		seen: map[int]bool{}}
	k.read()
	slices.SortStableFunc(k.places, func(a, b place) int {
		return cmp.Compare(rank(a, k.first),
			rank(b, k.first))
	})
	return k.state, k.err
}

// rank orders the first thread before all, then the program's, then the CPUs'.
func rank(p place, first int) int {
	if p.id == first {
		return -1
	}
	return p.id
}

// kernelState reads a state.
type kernelState struct {
	variables
	state
	sym   Symbols
	cpus  []memory.CPU
	seen  map[int]bool // the threads that are there
	first int          // the one that goes first; 0: none yet
}

const (
	recordType  = "kernel/percpu.Record"
	cpuType     = "arch/amd64.CPU"
	frameType   = "arch/amd64.TrapFrame"
	threadType  = "kernel/thread.Thread"
	detailsType = "kernel/fault.Details"
)

func (k *kernelState) read() {
	count := min(k.word(k.variable("kernel/percpu.numRecords"), 4), mostCPUs)
	list := k.variable("kernel/percpu.records")
	var all []uint64
	for n := range count {
		all = append(all, k.word(list+8*n, 8))
	}
	dead := k.deadCPU(all)
	for n, record := range all {
		if err := k.try(func() { k.cpu(n, record, dead) }); err != nil {
			k.err = err
			return
		}
	}
	k.waiting()
}

// deadCPU returns the number of the CPU whose death it is, -1 if there is none: a fatal trace has
// begun on it, and not ended.
func (k *kernelState) deadCPU(all []uint64) int {
	dying := int(k.word(k.variable("kernel/fault.dying"), 4)) - 1
	kind := tracer.TraceKind(k.get(k.variable("kernel/fault.stageDetails"), detailsType, "Kind"))
	for n, record := range all {
		if k.get(record, recordType, "Stage") != 0 && kind.Fatal() && (dying < 0 || dying == n) {
			return n
		}
	}
	return -1
}

// add adds a thread, once.
func (k *kernelState) add(id int, th thread) {
	if k.seen[id] || id <= 0 {
		return
	}
	k.seen[id] = true
	if k.first == 0 {
		k.first = id
	}
	k.places = append(k.places, place{th, id})
}

// cpu adds what a CPU was at, and the program's thread that it has.
func (k *kernelState) cpu(n int, record uint64, dead int) {
	tid := int(int32(k.get(record, recordType, "Thread")))
	kernelFS, _ := k.at(record, cpuType, "tls")
	kernelFS += 8
	var th thread
	program := false // th is the program's
	frame := uint64(0)
	if dead >= 0 {
		frame = k.get(record, recordType, "Frame")
	}
	switch fp := k.get(record, recordType, "FP"); {
	case n == dead:
		k.first = 0
		var of int
		if th, of, program = k.ofDeath(); program && of != 0 {
			tid = of
		}
		if !program && !th.goroutine {
			th.regs["fs_base"] = kernelFS
		}
		k.fpuOfDeath(&th, k.registersOf(n, record))
	case dead >= 0 && frame != 0:
		th = k.ofTrap(frame)
		program = th.regs["fs_base"] != kernelFS
	case dead >= 0 && fp != 0: // it has died by a call, behind another one
		th = thread{regs: map[string]uint64{
			"rip": k.word(fp+8, 8), "rsp": fp + 16, "rbp": k.word(fp, 8), "fs_base": kernelFS}}
		th.backToCall(k.sym)
	default:
		c := k.registersOf(n, record)
		if c == nil {
			return
		}
		th = thread{regs: c}
		program = c["fs_base"] != kernelFS && tid != 0
	}
	if program && tid != 0 {
		k.add(tid, th)
	} else {
		k.add(CPUThreads+n, th)
	}
	if n == dead {
		k.first = k.places[len(k.places)-1].id
	}
	if !program && tid != 0 {
		k.interrupted(tid, th, record, kernelFS)
	}
}

// registersOf returns the registers of the CPU with the record: its GS base leads there. Where that
// is not known, the CPUs are in the order of the records.
func (k *kernelState) registersOf(n int, record uint64) memory.CPU {
	for _, c := range k.cpus {
		if c["gs_base"] == record {
			return c
		}
	}
	if n < len(k.cpus) {
		return k.cpus[n]
	}
	return nil
}

// ofDeath returns where the death's trace begins, and the program's thread there. program is set if
// the program ran, and not the kernel.
func (k *kernelState) ofDeath() (th thread, tid int, program bool) {
	d := k.variable("kernel/fault.stageDetails")
	get := func(path string) uint64 { return k.get(d, detailsType, path) }
	th.regs = map[string]uint64{}
	regs, _ := k.at(d, detailsType, "Regs")
	have := get("Have")
	for i, name := range tracer.AMD64.Registers {
		if have>>i&1 != 0 {
			th.regs[name] = k.word(regs+8*uint64(i), 8)
		}
	}
	th.regs["rip"], th.regs["rsp"], th.regs["rbp"] = get("PC"), get("sp"), get("fp")
	if get("Call") != 0 {
		th.backToCall(k.sym)
	}
	program = tracer.Context(get("Context")) == tracer.ContextGoroutine
	tid = int(get("Thread"))
	switch g := get("g"); {
	case program && g != 0: // a goroutine that had no thread: it is no state of a thread's
		program = false
		th.goroutine = true
	case program:
		th.regs["fs_base"] = get("fs")
	}
	k.death = &wire.Trace{Kind: tracer.TraceKind(get("Kind")).String()}
	text, size := k.at(d, detailsType, "Reason.b")
	b := k.bytes(text, size)
	k.death.Reason = string(b[:min(get("Reason.N"), size)])
	if get("Cause") != 0 {
		k.death.Cause = &wire.Cause{Vector: get("vector"), ErrorCode: get("code"), PC: get("at"),
			Address: get("addr"), HasAddress: true}
	}
	return th, tid, program
}

// frameRegs are the registers of a trap frame, by the names of its fields.
var frameRegs = map[string]string{
	"R15": "r15", "R14": "r14", "R13": "r13", "R12": "r12", "R11": "r11", "R10": "r10",
	"R9": "r9", "R8": "r8",
	"DI": "rdi", "SI": "rsi", "DX": "rdx", "CX": "rcx", "BX": "rbx", "AX": "rax", "FP": "rbp",
	"PC": "rip", "CS": "cs", "RFLAGS": "rflags", "SP": "rsp", "SS": "ss", "TLS": "fs_base",
}

// ofFrame returns what a trap frame holds.
func (k *kernelState) ofFrame(frame uint64) thread {
	th := thread{regs: map[string]uint64{}}
	b := k.bytes(frame, uint64(k.types[frameType].ByteSize))
	for field, name := range frameRegs {
		if off, _, err := k.field(frameType, field); err == nil && off+8 <= uint64(len(b)) {
			th.regs[name] = binary.LittleEndian.Uint64(b[off:])
		}
	}
	return th
}

// fpuSize is that of what FXSAVE writes: x87, MXCSR and the XMM registers (SDM Vol. 1, 10.5.1).
const fpuSize = 512

// ofTrap is ofFrame of a frame that a trap's entry has left on its stack, where the FPU's state is
// just below. A system call's entry keeps none of that: Go's code expects none back.
func (k *kernelState) ofTrap(frame uint64) thread {
	th := k.ofFrame(frame)
	k.try(func() {
		if k.get(frame, frameType, "Trap") != uint64(tracer.VectorSyscall) {
			k.fpuAt(&th, frame&^15-fpuSize)
		}
	})
	return th
}

// fpuAt takes the FPU's state from a save area.
func (k *kernelState) fpuAt(th *thread, at uint64) {
	if b := k.bytes(at, fpuSize); k.err == nil {
		th.fpu = b
	}
}

// eachTrap follows the chain of frame records from fp up, and calls f for those of traps until it
// returns false.
func (k *kernelState) eachTrap(fp uint64, f func(fp uint64) bool) {
	for n := 0; fp != 0 && fp%8 == 0 && n < mostRecords*mostRecords; n++ {
		next, ra := k.word(fp, 8), k.word(fp+8, 8)
		if k.err != nil || ra == uint64(tracer.TrapMark) && !f(fp) {
			return
		}
		fp = next
	}
}

// fpuOfDeath finds the trap by which a CPU died: the panic path runs behind it, on the CPU with
// these registers.
func (k *kernelState) fpuOfDeath(th *thread, now memory.CPU) {
	if th.call || now == nil {
		return
	}
	k.try(func() {
		fpAt, _ := k.at(0, frameType, "FP")
		k.eachTrap(now["rbp"], func(fp uint64) bool {
			t := k.ofTrap(fp - fpAt)
			if t.regs["rip"] != th.regs["rip"] || t.regs["rsp"] != th.regs["rsp"] {
				return true
			}
			th.fpu = t.fpu
			return false
		})
	})
}

// interrupted adds the program's thread whose CPU is in the kernel: the chain of frame records
// leads from there to the trap frame by which it came, or, if it leads nowhere, that of the CPU's
// latest system call is taken.
func (k *kernelState) interrupted(tid int, th thread, record, kernelFS uint64) {
	frame := uint64(0)
	k.try(func() {
		fpAt, _ := k.at(0, frameType, "FP")
		k.eachTrap(th.regs["rbp"], func(fp uint64) bool {
			if k.get(fp-fpAt, frameType, "TLS") == kernelFS {
				return true
			}
			frame = fp - fpAt
			return false
		})
	})
	if frame == 0 {
		if top := k.get(record, cpuType, "syscallTop"); top != 0 {
			frame = top - uint64(k.types[frameType].ByteSize)
		}
	}
	k.try(func() {
		if u := k.ofTrap(frame); k.err == nil && u.regs["rip"] != 0 && u.regs["fs_base"] != kernelFS {
			k.add(tid, u)
		}
	})
}

// waiting adds the threads that had no CPU.
func (k *kernelState) waiting() {
	table := k.variable("kernel/thread.table")
	highest := min(k.word(k.variable("kernel/thread.highTID"), 4), mostThreads)
	for tid := range highest {
		tid++
		addr := k.word(table+8*tid, 8)
		if addr == 0 || k.seen[int(tid)] {
			continue
		}
		at, _ := k.at(addr, threadType, "Frame")
		k.try(func() {
			if th := k.ofFrame(at); k.err == nil {
				// It has lost the CPU in the middle of its code, or in a system call.
				if full, _ := k.at(addr, threadType, "Full"); k.fpu != 0 && k.word(full, 1) != 0 {
					k.fpuAt(&th, addr+k.fpu)
				}
				k.add(int(tid), th)
			}
		})
	}
}
