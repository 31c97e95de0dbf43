package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// What is known of a crash: the registers that the trap or the call left, and their meaning in
// words.

// Details is what a trace is made from.
type Details struct {
	Kind   tracer.TraceKind
	vector uint32
	code   uint32
	addr   uintptr // faulting address (#PF)
	Cause  bool    // vector and code are valid
	at     uintptr // where the trap was, for the cause line
	Begun  bool    // its begin and cause lines have been written
	Seq    uint32  // number of its trace; 0 if it has none
	cpu    uint32  // number of the CPU
	other  bool    // of another CPU than the one that died
	silent bool    // nothing more is known of that CPU
	of     uint32  // for other CPUs: the number of the death's trace; else 0
	hung   bool    // the watchdog found the program running
	brief  bool    // the program was told to end: no registers, stacks and words

	Context   tracer.Context
	Thread    uint32
	Goroutine uint64
	fs        uintptr // FS base of the thread, which leads to its g
	g         uintptr // address of the goroutine's g, if it is not the thread's

	Call       bool // pc is a return address
	PC, sp, fp uintptr
	behind     bool // pc is after the instruction that is meant

	Regs [tracer.NumRegisters]uintptr
	Have uint64

	Reason text
}

// begin resets d for a crash that happens now.
func (d *Details) begin(kind tracer.TraceKind) {
	d.Kind = kind
	d.Reason.N, d.Have = 0, 0
	d.Cause, d.Call, d.Begun, d.Seq, d.brief, d.behind = false, false, false, 0, false, false
	d.cpu, d.other, d.of = percpu.This().Number, false, 0
	d.locate()
}

func (d *Details) reg(i int, v uintptr) {
	d.Regs[i] = v
	d.Have |= 1 << uint(i)
}

// callerAt makes the walk start at the return address of a call.
//
//go:noinline
func (d *Details) callerAt(ra, sp, fp uintptr) {
	d.Call = true
	d.PC, d.sp, d.fp = ra, sp, fp
	d.reg(arch.RegisterPC, ra)
	d.reg(arch.RegisterSP, sp)
	d.reg(arch.RegisterFP, fp)
}

// fromTrap copies a trap's registers.
func (d *Details) fromTrap(f *arch.TrapFrame) {
	d.Cause = true
	d.vector, d.code, d.at = uint32(f.Trap), uint32(f.Error), f.PC
	d.PC, d.sp, d.fp = f.PC, f.SP, f.FP
	d.Have = f.Registers(d.Regs[:])
	if f.Trap == arch.TrapPage {
		d.addr = f.Addr
	}
}

// nilPage is the end of the addresses that count as a field of a nil pointer: page 0 is never
// mapped.
const nilPage = arch.PageSize

// describe puts a fault into words. After the first stage it reads nothing but d itself.
func (d *Details) describe(first bool) {
	r := &d.Reason
	switch d.vector {
	case arch.TrapPage:
		var guarded *tracer.Stack
		if first {
			guarded = stack.GuardOf(d.addr)
		}
		d.describePageFault(r, guarded)
	case arch.TrapProtection:
		r.Str("general protection fault")
		if d.code != 0 {
			r.Str(", selector ")
			r.hex(uint64(d.code))
		} else {
			r.Str(" (non-canonical address or privileged operation)")
		}
	case arch.TrapDivide:
		r.Str("divide error")
	case arch.TrapOpcode:
		r.Str("invalid opcode")
	case arch.TrapFPU:
		r.Str("FPU not available: it was turned off")
	case arch.TrapDouble:
		r.Str("double fault")
	case arch.TrapMachine:
		r.Str("machine check")
	default:
		r.Str("exception ")
		r.Dec(uint64(d.vector))
		r.byte(' ')
		r.Str(tracer.VectorName(d.vector))
	}
}

func (d *Details) describePageFault(r *text, guarded *tracer.Stack) {
	access := "read of "
	switch {
	case d.code&arch.FaultFetch != 0:
		access = "execution of "
	case d.code&arch.FaultWrite != 0:
		access = "write to "
	}
	switch {
	case guarded != nil:
		r.Str("stack overflow: ")
		r.Str(guarded.Name)
		r.Str(" ran into its guard page, ")
		r.Str(access)
	case d.addr < nilPage && d.code&arch.FaultFetch != 0:
		r.Str("call of a nil function, ")
		r.Str(access)
	case d.addr < nilPage:
		r.Str("nil pointer dereference, ")
		r.Str(access)
	case d.code&arch.FaultPresent == 0:
		r.Str("page fault, ")
		r.Str(access)
		r.Str("unmapped ")
	case d.code&arch.FaultFetch != 0 && mem.NoExec():
		r.Str("page fault, ")
		r.Str(access)
		r.Str("data at ")
	case d.code&arch.FaultWrite != 0:
		r.Str("page fault, ")
		r.Str(access)
		r.Str("read-only ")
	default:
		r.Str("page fault, ")
		r.Str(access)
	}
	r.hex(uint64(d.addr))
}
