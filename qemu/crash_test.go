package qemu

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// Every way to die, booted: the exact chain of functions on every stack, the
// reason, the end of the walk, the watermarks and how the machine ended.

// tail is how every chain on the boot stack ends.
const tail = " main.lab kernel.early boot.start boot.long"

// A death is what a kind of crash must look like.
type death struct {
	kind   string // of the crash
	trace  string // the JSON's kind
	vector int    // -1: none
	reason string // with 0x* for an address that the linker decides
	chain  string
	end    string
	// check looks at what is particular to this kind.
	check func(t *testing.T, tr *labTrace)
}

var deaths = []death{
	{"early.panic", "panic", -1, "panic: the crash lab gave up",
		"boot: main.panicC main.panicB main.panicA" + tail, "zero", nil},
	{"early.panic-type", "panic", -1, "panic: -7 of type main.exitCode",
		"boot: main.panicTypeC main.panicTypeB main.panicTypeA" + tail, "zero", nil},
	{"early.runtime", "panic", -1, "call of the Go runtime, which is not there: runtime.makeslice",
		"boot: main.runtimeC main.runtimeB main.runtimeA" + tail, "zero", nil},
	{"early.kernel-panic", "panic", -1, "the crash lab asked for it",
		"boot: main.kernelPanicC main.kernelPanicB main.kernelPanicA" + tail, "zero", nil},
	{"early.nil-read", "fault", 14, "nil pointer dereference, read of 0x8",
		"boot: main.nilReadC main.nilReadB main.nilReadA" + tail, "zero", faultAt("0x8", 0)},
	{"early.nil-write", "fault", 14, "nil pointer dereference, write to 0x8",
		"boot: main.nilWriteC main.nilWriteB main.nilWriteA" + tail, "zero", faultAt("0x8", 2)},
	{"early.nil-call", "fault", 14, "call of a nil function, execution of 0x0",
		"boot: ? main.callAddress main.nilCallC main.nilCallB main.nilCallA" + tail, "zero", faultAt("0x0", 16)},
	{"early.bounds", "panic", -1, "runtime error: index out of range [5] with length 3",
		"boot: main.boundsC main.boundsB main.boundsA" + tail, "zero", nil},
	{"early.slice", "panic", -1, "runtime error: slice bounds out of range [:5] with capacity 3",
		"boot: main.sliceC main.sliceB main.sliceA" + tail, "zero", nil},
	{"early.div0", "panic", -1, "runtime error: integer divide by zero",
		"boot: main.divideC main.divideB main.divideA" + tail, "zero", nil},
	{"early.ud2", "fault", 6, "invalid opcode",
		"boot: main.undefinedC main.undefinedB main.undefinedA" + tail, "zero", nil},
	{"early.gp", "fault", 13, "general protection fault (non-canonical address or privileged operation)",
		"boot: main.protectionC main.protectionB main.protectionA" + tail, "zero", nil},
	{"early.ro-write", "fault", 14, "page fault, write to read-only 0x*",
		"boot: main.readOnlyC main.readOnlyB main.readOnlyA" + tail, "zero", faultIn("main.readOnlyA", 3)},
	{"early.nx", "fault", 14, "page fault, execution of data at 0x*",
		"boot: ? main.callAddress main.noExecC main.noExecB main.noExecA" + tail, "zero", nil},
	{"early.int3", "trace", 3, "breakpoint",
		"boot: main.breakpointC main.breakpointB main.breakpointA" + tail, "zero", nil},
	{"early.overflow", "fault", 14, "stack overflow: boot ran into its guard page, write to 0x*",
		"boot: main.overflowC* main.overflowB main.overflowA" + tail, "zero", overflowed("boot")},
	{"early.overflow-check", "panic", -1, "stack overflow: boot has no room for another frame",
		"boot: main.checkedC* main.checkedB main.checkedA" + tail, "zero", nil},
	{"early.overflow-irq", "fault", 14, "stack overflow: irq ran into its guard page, write to 0x*",
		"irq: main.irqOverflowD* main.irqOverflowHandler kernel/fault.interrupt kernel/fault.Trap arch/amd64.trapEntry trap" +
			" boot: arch.EnableInterrupts kernel/fault.RaiseInterrupt main.irqOverflowC main.irqOverflowB main.irqOverflowA" + tail, "zero", overflowed("irq")},
	{"early.double-fault", "fault", 8, "double fault",
		"boot: main.doubleC main.doubleB main.doubleA" + tail, "zero", nil},
	// Who has written over a frame pointer cannot hide the callers: the host finds
	// them by the tables. The trace does not count as complete for that.
	{"early.rbp-misaligned", "fault", 6, "invalid opcode", "boot: main.smash main.misalignedC main.misalignedB main.misalignedA" + tail, "misaligned", nil},
	{"early.rbp-outside", "fault", 6, "invalid opcode", "boot: main.smash main.outsideC main.outsideB main.outsideA" + tail, "outside", nil},
	{"early.rbp-backward", "fault", 6, "invalid opcode", "boot: main.smash main.backwardC main.backwardB main.backwardA" + tail, "backward", nil},
	{"early.rbp-cycle", "fault", 6, "invalid opcode", "boot: main.smashSelf main.cycleC main.cycleB main.cycleA" + tail, "backward", nil},
	{"early.rbp-zero", "fault", 6, "invalid opcode", "boot: main.smash main.zeroFPC main.zeroFPB main.zeroFPA" + tail, "outside", nil},
	{"early.record-zero", "fault", 6, "invalid opcode", "boot: main.smashRecord main.zeroRecordC", "text", nil},
	{"early.rbp-unmapped", "fault", 6, "invalid opcode", "boot: main.smash main.unmappedC main.unmappedB", "unreadable", nil},
	{"early.rbp-noncanonical", "fault", 6, "invalid opcode", "boot: main.smash main.nonCanonicalC main.nonCanonicalB main.nonCanonicalA" + tail, "outside", nil},
	{"early.rbp-reused", "fault", 6, "invalid opcode",
		"boot: main.reuse main.reusedC main.reusedB main.reusedA" + tail, "zero", unwound("outside", 6)},
	{"early.rsp-noncanonical", "fault", 6, "invalid opcode",
		"boot: main.badSPC main.badSPB main.badSPA" + tail, "zero", nil},
	{"early.ra-smashed", "fault", 6, "invalid opcode", "boot: main.smashCaller main.smashedC", "text", nil},
	{"early.ra-zero", "fault", 6, "invalid opcode", "boot: main.smashCaller main.zeroC", "text", nil},
	{"early.leaf", "fault", 14, "nil pointer dereference, write to 0x10",
		"boot: main.leafC main.leafB main.leafA" + tail, "zero", faultAt("0x10", 2)},
	{"early.in-irq", "fault", 14, "nil pointer dereference, write to 0x18",
		"irq: main.inIRQE main.inIRQD main.inIRQHandler kernel/fault.interrupt kernel/fault.Trap arch/amd64.trapEntry trap" +
			" boot: arch.EnableInterrupts kernel/fault.RaiseInterrupt main.inIRQC main.inIRQB main.inIRQA" + tail, "zero", faultAt("0x18", 2)},
	{"early.watermark", "panic", -1, "stack boot is over its limit: at least *",
		"boot: kernel/fault.CheckStacks main.watermarkB main.watermarkA" + tail, "zero", watermark},
	{"early.deep", "panic", -1, "deep", "boot: main.deepC*26 main.deepB main.deepA" + tail[:len(" main.lab")] +
		" kernel.early boot.start boot.long", "zero", nil},
}

// elsewhere are the kinds that have tests of their own.
var elsewhere = map[string]bool{"early.nested": true, "early.network": true, "early.dump": true, "early.spin": true, "early.spin-unmapped": true, "early.triple": true, "early.measure": true, "early.repeat": true, "early.step": true, "early.moves": true, "early.on-return": true, "early.random": true, "early.wreck": true, "early.mutual": true, "early.many": true}

func TestDeaths(t *testing.T) {
	t.Parallel()
	for _, d := range deaths {
		t.Run(d.kind, func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			res, serial, err := boot(t, Config{Kernel: path}, "crash="+d.kind)
			want := Traced
			if d.trace == "trace" {
				want = Exited
			}
			if err != nil || res.Outcome != want {
				t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, want)
			}
			all := traces(t, symbols, serial)
			if len(all) != 1 {
				t.Fatalf("%d traces; want 1", len(all))
			}
			tr := all[0]
			checkDeath(t, tr, d)
			checkTrace(t, tr)
			if id := symbols.BuildID(); tr.BuildID != id {
				t.Errorf("build ID = %s; want the image's, %s", tr.BuildID, id)
			}
		})
	}
}

func checkDeath(t *testing.T, tr *labTrace, d death) {
	t.Helper()
	if got := tr.chain(); !sameChain(got, d.chain) {
		t.Errorf("chain = %s\nwant    %s", got, d.chain)
	}
	if tr.Kind != d.trace || tr.Context != "early" || tr.End != d.end || tr.Complete != (d.end == "zero") {
		t.Errorf("kind, context, end, complete = %s, %s, %s, %v; want %s, early, %s, %v",
			tr.Kind, tr.Context, tr.End, tr.Complete, d.trace, d.end, d.end == "zero")
	}
	got := -1
	if tr.Vector != nil {
		got = *tr.Vector
	}
	if got != d.vector {
		t.Errorf("vector = %d; want %d", got, d.vector)
	}
	start, _, cut := strings.Cut(d.reason, "*")
	if tr.Reason != d.reason && !(cut && strings.HasPrefix(tr.Reason, start)) {
		t.Errorf("reason = %q; want %q", tr.Reason, d.reason)
	}
	if d.check != nil {
		d.check(t, tr)
	}
}

// checkTrace looks at what every trace of the first stage must have.
func checkTrace(t *testing.T, tr *labTrace) {
	t.Helper()
	if tr.Version != 1 || tr.Damaged {
		t.Errorf("version, damaged = %d, %v; want 1, false", tr.Version, tr.Damaged)
	}
	for i, f := range tr.Frames {
		if f.Function != "" && f.Line == 0 {
			t.Errorf("frame %d, %s, has no line", i, f.Function)
		}
	}
	if f := tr.Frames[0]; tr.Registers["rip"] != f.Address || tr.Registers["rbp"] != f.FP {
		t.Errorf("rip, rbp = %s, %s; want frame 0's, %s, %s", tr.Registers["rip"], tr.Registers["rbp"], f.Address, f.FP)
	}
	want := []string{"boot", "pf", "exc", "irq", "df", "nmi", "mc", "debug", "panic", "nested", "kernel"}
	if len(tr.Stacks) != len(want) {
		t.Fatalf("%d stacks; want %d", len(tr.Stacks), len(want))
	}
	for i, s := range tr.Stacks {
		if s.Name != want[i] || s.Size < 16<<10 || s.Used < 0 || s.Used > s.Size {
			t.Errorf("stack %d = %+v; want %s, with a size and a use", i, s, want[i])
		}
	}
	for _, name := range []string{"boot", "panic"} {
		if tr.stack(name).Used == 0 {
			t.Errorf("stack %s has not been used", name)
		}
	}
	// The stack of the trap has been used, and those of other traps have not.
	if tr.Vector != nil {
		for v, name := range map[int]string{14: "pf", 13: "exc", 6: "exc", 8: "df", 3: "debug"} {
			if used := tr.stack(name).Used; v == *tr.Vector && used == 0 {
				t.Errorf("stack %s has not been used by vector %d", name, v)
			}
		}
	}
	if used := tr.stack("mc").Used; used != 0 {
		t.Errorf("stack mc has been used: %d bytes", used)
	}
}

func faultAt(addr string, code int) func(*testing.T, *labTrace) {
	return func(t *testing.T, tr *labTrace) {
		t.Helper()
		if tr.FaultAddress != addr || tr.ErrorCode == nil || *tr.ErrorCode != code {
			t.Errorf("fault_address, error_code = %s, %v; want %s, %d", tr.FaultAddress, tr.ErrorCode, addr, code)
		}
	}
}

// faultIn wants the faulting address in the function of that name.
func faultIn(name string, code int) func(*testing.T, *labTrace) {
	return func(t *testing.T, tr *labTrace) {
		t.Helper()
		_, symbols := lab(t, image.AllLoaders)
		a, _ := strconv.ParseUint(tr.FaultAddress, 0, 64)
		fr := symbols.Lookup(a, false)
		if len(fr) == 0 || fr[0].Function != name || tr.ErrorCode == nil || *tr.ErrorCode != code {
			t.Errorf("fault_address is in %v, error_code %v; want %s, %d", fr, tr.ErrorCode, name, code)
		}
	}
}

// unwound wants a trace whose walk has ended so, and n frames that the host has
// found by unwinding.
func unwound(walkEnd string, n int) func(*testing.T, *labTrace) {
	return func(t *testing.T, tr *labTrace) {
		t.Helper()
		got := 0
		for _, f := range tr.Frames {
			if f.Source == "cfi" && f.Kind == "ra" {
				got++
			}
		}
		if tr.WalkEnd != walkEnd || got != n {
			t.Errorf("walk_end = %q, %d frames by unwinding; want %q, %d", tr.WalkEnd, got, walkEnd, n)
		}
	}
}

func overflowed(name string) func(*testing.T, *labTrace) {
	return func(t *testing.T, tr *labTrace) {
		t.Helper()
		s := tr.stack(name)
		if !s.Overflowed || s.Used != s.Size {
			t.Errorf("stack %s = %+v; want it overflowed", name, s)
		}
		// The fault is in the page below the stack, and RSP with it or just above.
		a, _ := strconv.ParseUint(tr.FaultAddress, 0, 64)
		sp, _ := strconv.ParseUint(tr.Registers["rsp"], 0, 64)
		if a+8 != sp || a%4096 != 4096-8 {
			t.Errorf("fault at %#x with RSP %#x; want it in the last word below the stack", a, sp)
		}
		for _, other := range tr.Stacks {
			if other.Name != name && other.Overflowed {
				t.Errorf("stack %s has overflowed too", other.Name)
			}
		}
	}
}

func watermark(t *testing.T, tr *labTrace) {
	t.Helper()
	s := tr.stack("boot")
	if s.Used < 30700 || s.Used >= s.Size || s.Overflowed {
		t.Errorf("stack boot = %+v; want 30,700 bytes or more used, and no overflow", s)
	}
	// The lab's hook has no bound, so this is the stack's size less kernel/stack.panicReserve.
	if want := fmt.Sprintf("at least %d of %d bytes used, limit %d", s.Used, s.Size, s.Size-2048); !strings.Contains(tr.Reason, want) {
		t.Errorf("reason = %q; want %q in it", tr.Reason, want)
	}
}

// TestEveryKindIsTested: the crash lab lists no kind that has no test.
func TestEveryKindIsTested(t *testing.T) {
	t.Parallel()
	res, serial, err := boot(t, Config{}, "crash=no-such-kind")
	if err != nil || res.Outcome != Exited || res.Program != 2 {
		t.Errorf("an unknown kind: %v, status %d, %v; want status 2", res.Outcome, res.Program, err)
	}
	tested := map[string]bool{}
	for _, d := range deaths {
		tested[d.kind] = true
	}
	listed := 0
	for _, l := range strings.Split(serial, "\n") {
		if !strings.HasPrefix(l, "  early.") {
			continue
		}
		listed++
		if k := strings.Fields(l)[0]; !tested[k] && !elsewhere[k] {
			t.Errorf("the kind %s has no test", k)
		}
	}
	if want := len(deaths) + len(elsewhere); listed != want {
		t.Errorf("%d kinds are listed; want %d", listed, want)
	}
}
