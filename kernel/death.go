package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/tracer"
)

// What is known of a death, gathered without touching anything that may be
// broken, and the ladder by which it is told: a full trace; when that faults,
// addresses only; when that faults too, one line; then nothing more, and the
// machine ends.
//
// While a trace is written all exceptions go to the stack "nested", so that the
// stacks that the trace is about stay as they were, and NMIs are dropped. A
// trace that was asked for (NMI, breakpoint) takes the same way and then steps
// down from the ladder again.

// death is what a trace is made from.
type death struct {
	kind   tracer.TraceKind
	vector uint32
	code   uint32
	addr   uintptr // faulting address (#PF)
	cause  bool    // vector and code are meant
	at     uintptr // where the trap was, for the cause line

	call       bool // pc is a return address
	pc, sp, fp uintptr

	regs [tracer.NumRegisters]uintptr
	have uint32

	reason text
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

// numRungs is the number of rungs: full trace, addresses, one line.
const numRungs = 3

var (
	deaths [numRungs]death
	rung   int    // rungs in use
	seq    uint32 // traces since boot

	// What the IST was when the ladder was entered.
	savedLo, savedTop [amd64.NumIST]uintptr
)

// Panic gives up: it writes a trace of the caller, with that reason, and ends
// the machine as the option panic= says. Early and kernel context. It does not
// return.
//
//go:noinline
func Panic(reason string) {
	fp := amd64.FramePointer()
	d := climb()
	d.reason.str(reason)
	panicCaller(d, fp)
}

// panicText is Panic with a composed reason.
//
//go:noinline
func panicText(reason *text) {
	fp := amd64.FramePointer()
	d := climb()
	d.reason.bytes(reason.b[:reason.n])
	panicCaller(d, fp)
}

// panicCaller fills in the caller of the function with the frame record at fp.
func panicCaller(d *death, fp uintptr) {
	saved, ra := amd64.FrameRecord(fp)
	d.kind = tracer.KindPanic
	d.callerAt(ra, fp+16, saved)
	d.reg(regCR3, amd64.ReadCR3())
	perform()
	endFatal()
}

// die is for a fatal trap.
func die(f *amd64.TrapFrame) {
	d := climb()
	d.fromTrap(f)
	d.kind = tracer.KindFault
	if rung > 1 {
		d.reason.str("in the panic path: ")
	}
	if !d.goPanic() {
		d.describe()
	}
	perform()
	endFatal()
}

// ask is for a trap that wants a trace and goes on.
func ask(kind tracer.TraceKind, f *amd64.TrapFrame, reason string) {
	if rung > 0 {
		die(f) // the panic path itself ran into it
	}
	d := climb()
	d.fromTrap(f)
	d.kind = kind
	d.reason.str(reason)
	perform()
	descend()
}

// climb takes the next rung and returns its death, empty. Above the last rung
// there is nothing left to say.
func climb() *death {
	amd64.DisableInterrupts()
	if rung >= numRungs {
		endFatal()
	}
	if rung == 0 {
		amd64.DropNMI(true)
		n := &stacks[stackNested]
		for i := 1; i < amd64.NumIST; i++ {
			savedLo[i], savedTop[i] = amd64.IST(i)
			if i != amd64.ISTNMI {
				amd64.SetIST(i, n.Lo, n.Hi)
			}
		}
	}
	d := &deaths[rung]
	rung++
	d.reason.n, d.have = 0, 0
	d.cause, d.call = false, false
	return d
}

// descend leaves the ladder: what follows is traced in full again.
func descend() {
	rung = 0
	for i := 1; i < amd64.NumIST; i++ {
		amd64.SetIST(i, savedLo[i], savedTop[i])
	}
	amd64.DropNMI(false)
}

// perform writes the trace of the topmost rung. The first runs on the panic
// stack; the others stay where the fault in the panic path has put them.
func perform() {
	if rung == 1 {
		s := &stacks[stackPanic]
		amd64.OnStack(s.Lo, s.Hi, writeRung, 1)
		return
	}
	writeRung(uintptr(rung))
}

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
	d.reg(regRIP, f.RIP)
	d.reg(regRSP, f.RSP)
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

// describe says in words what a fault was.
func (d *death) describe() {
	r := &d.reason
	switch d.vector {
	case amd64.VectorPF:
		d.describePageFault(r)
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

func (d *death) describePageFault(r *text) {
	access := "read of "
	switch {
	case d.code&amd64.PFFetch != 0:
		access = "execution of "
	case d.code&amd64.PFWrite != 0:
		access = "write to "
	}
	switch s := guardOf(d.addr); {
	case s != nil:
		r.str("stack overflow: ")
		r.str(s.Name)
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
