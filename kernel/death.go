package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/tracer"
)

// What is known of a death: what the trap or the call left in registers, and what
// that means in words.

// death is what a trace is made from.
type death struct {
	kind   tracer.TraceKind
	vector uint32
	code   uint32
	addr   uintptr // faulting address (#PF)
	cause  bool    // vector and code are meant
	at     uintptr // where the trap was, for the cause line
	told   bool    // its begin and cause have been written
	seq    uint32  // number of its trace; 0: it has none

	context   tracer.Context
	thread    uint32
	goroutine uint64
	fs        uintptr // FS base of the thread: where its g is found
	g         uintptr // address of the goroutine's g, if it is not the thread's

	call       bool // pc is a return address
	pc, sp, fp uintptr

	regs [tracer.NumRegisters]uintptr
	have uint32

	reason text
}

// begin empties d for a death that is now.
func (d *death) begin(kind tracer.TraceKind) {
	d.kind = kind
	d.reason.n, d.have = 0, 0
	d.cause, d.call, d.told, d.seq = false, false, false, 0
	d.place()
}

// Walk walks the stacks from the return address ra of a call, after which RSP is
// sp and RBP is fp; with tables it also reads Go's pc tables for the first frame
// (see tracer.Walker.SPDelta). What it returns holds until the next walk. Early
// and kernel context, not inside a trap that can interrupt another walk.
func Walk(ra, sp, fp uintptr, tables bool) *tracer.Walker {
	walker.Plain = !tables
	walker.WalkCaller(ra, sp, fp)
	return &walker
}

// StackOf returns the row of the kernel's stack that holds the address sp, or nil. Early
// and kernel context.
func StackOf(sp uintptr) *tracer.Stack {
	for i := range stacks[:numStacks] {
		if s := &stacks[i]; s.Contains(sp) {
			return s
		}
	}
	return nil
}

// SetCapture makes c ready for walks of a stack through the image's text. Any context.
func SetCapture(c *tracer.Capture, s *tracer.Stack) { c.Set(s, image.textLo, image.textHi) }

// Indices in tracer.RegisterNames.
const (
	regRIP = iota
	regRSP
	regRBP
	regRFLAGS
	regRAX
	regRBX
	regRCX
	regRDX
	regRSI
	regRDI
	regR8
	regR9
	regR10
	regR11
	regR12
	regR13
	regR14
	regR15
	regCR2
	regCR3
)

func (d *death) reg(i int, v uintptr) {
	d.regs[i] = v
	d.have |= 1 << uint(i)
}

// callerAt sets where the walk starts: at the return address of a call.
func (d *death) callerAt(ra, sp, fp uintptr) {
	d.call = true
	d.pc, d.sp, d.fp = ra, sp, fp
	d.reg(regRIP, ra)
	d.reg(regRSP, sp)
	d.reg(regRBP, fp)
}

// fromTrap copies a trap's registers.
func (d *death) fromTrap(f *amd64.TrapFrame) {
	d.cause = true
	d.vector, d.code, d.at = uint32(f.Vector), uint32(f.Error), f.RIP
	d.pc, d.sp, d.fp = f.RIP, f.RSP, f.BP
	d.reg(regRIP, d.pc)
	d.reg(regRSP, d.sp)
	d.reg(regRBP, f.BP)
	d.reg(regRFLAGS, f.RFLAGS)
	d.reg(regRAX, f.AX)
	d.reg(regRBX, f.BX)
	d.reg(regRCX, f.CX)
	d.reg(regRDX, f.DX)
	d.reg(regRSI, f.SI)
	d.reg(regRDI, f.DI)
	d.reg(regR8, f.R8)
	d.reg(regR9, f.R9)
	d.reg(regR10, f.R10)
	d.reg(regR11, f.R11)
	d.reg(regR12, f.R12)
	d.reg(regR13, f.R13)
	d.reg(regR14, f.R14)
	d.reg(regR15, f.R15)
	d.reg(regCR3, amd64.ReadCR3())
	if d.vector == amd64.VectorPF {
		d.addr = f.CR2
		d.reg(regCR2, f.CR2)
	}
}

// nilPage is the highest address, exclusive, whose access counts as that of a
// nil pointer's field: page 0 is never mapped.
const nilPage = amd64.PageSize

// describe says in words what a fault was. On the upper rungs of the ladder it
// asks nothing but d itself.
func (d *death) describe(first bool) {
	r := &d.reason
	switch d.vector {
	case amd64.VectorPF:
		var guarded *tracer.Stack
		if first {
			guarded = guardOf(d.addr)
		}
		d.describePageFault(r, guarded)
	case amd64.VectorGP:
		r.str("general protection fault")
		if d.code != 0 {
			r.str(", selector ")
			r.hex(uint64(d.code))
		} else {
			r.str(" (non-canonical address or privileged operation)")
		}
	case amd64.VectorDE:
		r.str("divide error")
	case amd64.VectorUD:
		r.str("invalid opcode")
	case amd64.VectorNM:
		r.str("FPU not available: CR0.TS or CR0.EM was set")
	case amd64.VectorDF:
		r.str("double fault")
	case amd64.VectorMC:
		r.str("machine check")
	default:
		r.str("exception ")
		r.dec(uint64(d.vector))
		r.byte(' ')
		r.str(tracer.VectorName(d.vector))
	}
}

func (d *death) describePageFault(r *text, guarded *tracer.Stack) {
	access := "read of "
	switch {
	case d.code&amd64.PFFetch != 0:
		access = "execution of "
	case d.code&amd64.PFWrite != 0:
		access = "write to "
	}
	switch {
	case guarded != nil:
		r.str("stack overflow: ")
		r.str(guarded.Name)
		r.str(" ran into its guard page, ")
		r.str(access)
	case d.addr < nilPage && d.code&amd64.PFFetch != 0:
		r.str("call of a nil function, ")
		r.str(access)
	case d.addr < nilPage:
		r.str("nil pointer dereference, ")
		r.str(access)
	case d.code&amd64.PFPresent == 0:
		r.str("page fault, ")
		r.str(access)
		r.str("unmapped ")
	case d.code&amd64.PFFetch != 0 && mm.NoExec():
		r.str("page fault, ")
		r.str(access)
		r.str("data at ")
	case d.code&amd64.PFWrite != 0:
		r.str("page fault, ")
		r.str(access)
		r.str("read-only ")
	default:
		r.str("page fault, ")
		r.str(access)
	}
	r.hex(uint64(d.addr))
}
