package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// result is what became of a case.
type result struct {
	death
	wrong  string // what is not as it must be; "": all is
	traces int
	died   int // CPUs that say that they have died at the same time
	silent int // CPUs that did not answer
	batch.Sent
}

// boot runs a machine with a case to its end.
func boot(ctx context.Context, l *batch.Lab, seed uint64, n int) (*result, error) {
	r := &result{death: choose(seed, n)}
	serial, res, end := batch.Boot(ctx, qemu.Config{Machine: r.machine, CPUs: r.cpus,
		Kernel: l.Image, Append: r.cmdline(),
		Icount: !r.threads, VirtualTime: !r.threads})
	if ctx.Err() != nil || errors.Is(end, qemu.ErrQEMU) {
		return nil, cmp.Or(ctx.Err(), end)
	}
	r.Serial = serial
	if end != nil || res.Outcome != qemu.Traced {
		r.wrong = fmt.Sprintf("the machine: %v, %v; ", res.Outcome, end)
	}
	all, err := l.Traces(serial, nil)
	if err != nil {
		return nil, err
	}
	r.wrong += r.judge(all)
	return r, nil
}

// Line tells of a machine, and whether it is not right.
func (r *result) Line() (string, bool) {
	what := strings.ReplaceAll(cmp.Or(r.wrong, "right"), "\n", "; ")
	return fmt.Sprintf("%s, %d CPUs\t%s\t%.160s", r.machine, r.cpus, r.cmdline(), what), r.wrong != ""
}

// chain is a trace's functions, innermost first, each once where it comes many times in a row.
func chain(t *wire.Trace) string { return strings.Join(slices.Compact(batch.Functions(t)), " ") }

// judge says what is wrong with the traces, and counts.
func (r *result) judge(all []*wire.Trace) (wrong string) {
	if r.busy && len(all) > 0 { // those of other goroutines are not counted
		all = append(all[:1:1], slices.DeleteFunc(slices.Clone(all[1:]),
			func(t *wire.Trace) bool { return t.Of == 0 })...)
	}
	if len(all) != r.cpus {
		return fmt.Sprintf("%d traces", len(all))
	}
	r.traces = len(all)
	seen := map[int]bool{}
	for i, t := range all {
		cpu := int(t.CPU)
		switch {
		case t.Damaged:
			return fmt.Sprintf("trace %d is damaged", i+1)
		case t.HasCPU != (r.cpus > 1), (t.Of != 0) != (i > 0):
			return fmt.Sprintf("trace %d does not say right of which CPU and death it is", i+1)
		case seen[cpu] || cpu >= r.cpus:
			return fmt.Sprintf("trace %d is of CPU %d, which has one", i+1, cpu)
		}
		seen[cpu] = true
		if wrong := r.judgeCPU(t, i == 0, cpu); wrong != "" {
			return fmt.Sprintf("trace %d, of CPU %d: %s: %s", i+1, cpu, wrong, chain(t))
		}
	}
	return ""
}

// The functions in which the other CPUs may be.
const (
	waiting  = "arch/amd64.WaitForInterrupt"
	spinning = "main.idleSpin"
	dying    = "main.undefinedC main.undefinedB main.doOther"
)

// judgeCPU says what is wrong with the trace of a CPU. The last one is to die of the kind. With
// others=die another one may be first.
func (r *result) judgeCPU(t *wire.Trace, first bool, cpu int) string {
	if r.busy {
		return r.judgeBusy(t, first, cpu)
	}
	k, chain := &kinds[r.kind], chain(t)
	ofKind := cpu == r.cpus-1 && strings.Contains(chain, k.functions)
	end := "boot.apLong"
	if cpu == 0 {
		end = "boot.long"
	}
	whole := t.Complete() && strings.HasSuffix(chain, " "+end)
	if first {
		switch {
		case !ofKind && (r.others != "die" || !strings.Contains(chain, dying)):
			return "the wrong function"
		case !whole && (k.whole || !ofKind):
			return "not whole"
		}
		return ""
	}
	switch {
	case t.Reason == "the CPU did not answer":
		r.silent++
		return "no answer"
	case strings.HasPrefix(t.Reason, "died at the same time: "):
		r.died++
		if !ofKind && !strings.Contains(chain, dying) {
			return "the wrong function"
		}
	case t.Reason != "stopped":
		return "the reason " + t.Reason
	case r.others == "" && cpu != 0 && !strings.Contains(chain, waiting), r.others == "spin" &&
		cpu != r.cpus-1 && !among(chain):
		return "the wrong function"
	}
	if !whole && (k.whole || !ofKind) {
		return "not whole"
	}
	return ""
}

// judgeBusy is judgeCPU under a program.
func (r *result) judgeBusy(t *wire.Trace, first bool, cpu int) string {
	want := "golab.busyC kernel/crashlab/golab.busyB kernel/crashlab/golab.busyA runtime.goexit"
	if r.inKernel() {
		want = "golab.divideOnCPU kernel/crashlab/golab.busyKernelB kernel/smp.call"
	}
	for i := range t.Frames {
		if f := &t.Frames[i]; len(f.Calls) == 0 && f.Kind != tracer.Trap {
			return fmt.Sprintf("frame %d is of no function", i)
		}
	}
	switch {
	case t.Reason == "the CPU did not answer":
		r.silent++
		return "no answer"
	case first && (cpu != r.cpus-1 || !strings.Contains(chain(t), want)):
		return "the wrong function"
	case !first && t.Reason != "stopped":
		return "the reason " + t.Reason
	case !t.Complete():
		return "not whole"
	}
	return ""
}

// among reports whether a CPU that is to spin does, or is on its way there.
func among(chain string) bool {
	return strings.Contains(chain, spinning) || strings.Contains(chain, "main.doOther") ||
		strings.Contains(chain, "kernel/smp.main") ||
		strings.Contains(chain, "main.runOnCPU")
}
