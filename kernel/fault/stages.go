package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// The panic stages, as a table: panicStages. A stage is counted before anything is done in it, so
// whatever breaks, the stages come to an end. Each but the first has a place of its own on the
// stack "nested" (below, and in tools/symbol/stacks/kernel.txt), and the last reports the one
// before it (writeLines).
//
// While a trace is written, all exceptions go to the stack "nested", so that the stacks that the
// trace is about stay unchanged, and NMIs are dropped. A requested trace (NMI, breakpoint) takes
// the same path and then leaves the stages again.

// Stage is a panic stage.
type Stage uint8

// The panic stages.
const (
	noStage        Stage = iota
	StageFull            // a full trace
	StageAddresses       // a trace of addresses only
	StageLine            // one line: the last stage that writes a trace
	stageWord            // a word that needs no other code
	stageEnd             // the crash log has faulted
	stageEndAgain        // sending by network has faulted
	stageGiveUp

	// StageSending is not a stage: the function of [OnPanic] gets it before a trace is sent by
	// network.
	StageSending
	// StageDumping is not a stage: the function gets it before the memory is sent.
	StageDumping

	// inCrashLog, added to a stage, makes writeStage write the crash log, and cpuInLog makes it add
	// the trace of another CPU.
	inCrashLog Stage = 0x80
	cpuInLog   Stage = 0x40
	// inDump makes writeStage send the memory.
	inDump Stage = 0x20
)

// panicStage is a row of the table.
type panicStage struct {
	name  string
	begin func()                      // runs before anything else; nil: nothing
	write func(d *Details)            // writes its trace; nil: begin does not return
	log   func(d *Details, kept bool) // writes the trace for the crash log; nil: there is none
	next  Stage                       // follows if this stage faults
}

// row returns the table's row of a stage. The table is a constant in the code, which nothing can
// damage.
func (s Stage) row() panicStage {
	panicStages := [...]panicStage{
		noStage:        {name: "none", next: StageFull},
		StageFull:      {"full trace", beginFull, fullTrace, writeDetails, StageAddresses},
		StageAddresses: {"addresses", beginAddresses, shortTrace, writeShort, StageLine},
		StageLine:      {"one line", nil, writeLines, nil, stageWord},
		stageWord:      {"last word, end of the machine", lastWord, nil, nil, stageEnd},
		stageEnd:       {"end of the machine", EndMachine, nil, nil, stageEndAgain},
		stageEndAgain:  {"end of the machine again", EndMachine, nil, nil, stageGiveUp},
		stageGiveUp:    {"the end that panic= asks for", GiveUp, nil, nil, stageGiveUp},
	}
	return panicStages[min(s, stageGiveUp)]
}

// The stack "nested", from the top: the second stage runs at its top, where a fault in the first
// one lands, the third below it, and a dropped NMI below that. So none of them overwrites another.
const (
	thirdStageBelow = 8 << 10
	droppedBelow    = 16 << 10
)

var (
	stageDetails [StageLine]Details // panic path only
	// Traces since boot; under the kernel lock; the panic path takes none.
	seq uint32
)

// stage returns the topmost stage in use.
//
//go:noinline
func stage() Stage { return Stage(percpu.This().Stage) }

// Panic writes a trace of the caller, with that reason, and ends the machine as the option panic=
// says. Any context. It does not return.
//
//go:noinline
func Panic(reason string) {
	fp := arch.FramePointer()
	if stack.Running && !arch.OnFakeG() {
		// Traces are not written on a goroutine's stack.
		arch.Syscall(linux.PanicCall, uintptr(unsafe.Pointer(unsafe.StringData(reason))),
			uintptr(len(reason)), fp, 0, 0)
	}
	d := NextStage(tracer.KindPanic)
	d.Reason.Str(reason)
	panicCaller(d, fp)
}

// GoroutinePanic handles linux.PanicCall, the system call by which a goroutine panics. Kernel
// context.
func GoroutinePanic(f *arch.TrapFrame, reason []byte) {
	_, _, fp, goesOn, _, _ := f.CallArgs()
	kind := tracer.KindPanic
	if goesOn != 0 {
		kind = tracer.KindTrace
	}
	d := NextStage(kind)
	d.atTrap(f)
	d.Cause = false
	d.Reason.bytes(reason)
	d.fromCaller(fp)
	WriteTrace()
	if kind == tracer.KindPanic {
		EndMachine()
	}
	LeaveStages()
}

// fromCaller makes the crash begin at the caller of the function with the frame record at fp.
func (d *Details) fromCaller(fp uintptr) {
	saved, ra := arch.FrameRecord(fp)
	d.Have = 0
	d.callerAt(ra, fp+16, saved)
}

// panicCaller traces the caller of the function with the frame record at fp.
func panicCaller(d *Details, fp uintptr) {
	d.fromCaller(fp)
	WriteTrace()
	EndMachine()
}

// fatalTrap writes the trace of a fatal trap and ends the machine.
func fatalTrap(f *arch.TrapFrame) {
	beginDeath(f, 0)
	r := percpu.This()
	if r.Fatal++; r.Fatal >= uint8(stageGiveUp) {
		GiveUp() // not even the stages work
	}
	dumpFaulted(f)
	d := NextStage(tracer.KindFault)
	d.atTrap(f)
	if stage() > StageFull {
		d.Reason.Str("in the panic path: ")
		d.describe(false)
	} else if !d.goPanic() {
		d.describe(true)
	}
	WriteTrace()
	EndMachine()
}

// traceAndResume writes the trace of a trap that asked for one, and returns.
func traceAndResume(kind tracer.TraceKind, f *arch.TrapFrame, reason string) {
	if stage() != noStage {
		fatalTrap(f) // the panic path itself hit the trap
	}
	// An NMI waits for no lock. So that nobody else uses the network card or dies meanwhile, and the
	// goroutines' states are of one moment, the other CPUs stand still.
	list := kind == tracer.KindNMI && stack.Running
	hold := list && HoldCPUs()
	if list && !beginReport() {
		stopIfAsked(f) // halts for good
	}
	d := NextStage(kind)
	d.atTrap(f)
	d.Reason.Str(reason)
	WriteTrace()
	LeaveStages()
	if list {
		skip := d.Goroutine
		if noteBetween(d.cpu) {
			skip = 0
		}
		if hold {
			traceHeld()
		}
		ListGoroutines(skip, false)
		between = [arch.MaxCPUs]bool{}
		endReport()
		if hold {
			ReleaseCPUs()
		}
		if !eventstream.Busy() {
			handle.Send("nmi")
			sendCounts()
			eventstream.Flush()
		}
	}
}

// NextStage begins the next stage and returns its details, empty. After the stages that write a
// trace there is nothing left to report, apart from what EndMachine makes of what there is.
//
//go:noinline
func NextStage(kind tracer.TraceKind) *Details {
	arch.DisableInterrupts()
	if kind != tracer.KindNMI && kind != tracer.KindTrace {
		fp, _ := arch.FrameRecord(arch.FramePointer())
		beginDeath(nil, fp)
	} else {
		stack.Show(percpu.This().Number)
	}
	arch.DropNMI(true) // before the stage is counted: an NMI in between is no fault of the panic path
	s := stage().row().next
	percpu.This().Stage = uint8(s)
	if begin := s.row().begin; begin != nil {
		begin()
	}
	d := &stageDetails[s-1]
	d.begin(kind)
	return d
}

// beginFull sends all exceptions to the stack "nested".
func beginFull() {
	stopAlarm()
	r := percpu.This()
	holdWatches(r)
	nestedLo, nestedHi := stack.Bounds(r.Number, stack.Nested) // not the table's, which may be damaged
	for i := 1; i < arch.NumTrapStacks; i++ {
		r.TrapStackLo[i], r.TrapStackTop[i] = arch.TrapStack(i)
		arch.SetTrapStack(i, nestedLo, nestedHi)
	}
	arch.SetTrapStack(arch.TrapStackNMI, nestedLo, nestedHi-droppedBelow)
	console.HoldTail(true)
}

// beginAddresses sends the exceptions of this stage to a place below its own.
func beginAddresses() {
	nestedLo, nestedHi := stack.Bounds(percpu.This().Number, stack.Nested)
	for i := 1; i < arch.NumTrapStacks; i++ {
		if i != arch.TrapStackNMI {
			arch.SetTrapStack(i, nestedLo, nestedHi-thirdStageBelow)
		}
	}
}

// lastWord is the stage after the last trace.
func lastWord() {
	arch.LastWord(0)
	EndMachine()
}

// LeaveStages leaves the stages, so that the next crash is traced in full again.
func LeaveStages() {
	r := percpu.This()
	for i := 1; i < arch.NumTrapStacks; i++ {
		arch.SetTrapStack(i, r.TrapStackLo[i], r.TrapStackTop[i])
	}
	r.Stage, r.Fatal = uint8(noStage), 0
	if dying == 0 {
		stack.Show(0)
	}
	console.HoldTail(false)
	arch.DropNMI(false)
	startAlarm()
	releaseWatches(r)
	if n := arch.DroppedNMIs(); n != dropped {
		console.Printf("%d NMI came while the trace was written and was not traced\n",
			uint64(n-dropped))
		dropped = n
	}
}

// dropped is the number of dropped NMIs that have been reported. Panic path only.
var dropped uint32

// WriteTrace writes the trace of the topmost stage.
func WriteTrace() { onPanicStack(stage()) }

// onPanicStack runs writeStage. The first stage runs it on the panic stack; the others stay where
// the fault in the panic path put them.
func onPanicStack(s Stage) {
	if stage() == StageFull {
		lo, hi := stack.Bounds(percpu.This().Number, stack.Panic)
		arch.OnStack(lo, hi, writeStage, uintptr(s))
		return
	}
	writeStage(uintptr(s))
}
