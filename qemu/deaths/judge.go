package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/trace"
)

// result is what became of a case.
type result struct {
	death
	wrong  string // what is not as it must be; "": all is
	traces int
	died   int // CPUs that say that they have died at the same time
	silent int // CPUs that did not answer
	serial string
}

// boot runs a machine with a case to its end.
func (l *lab) boot(ctx context.Context, d death) (result, error) {
	var out bytes.Buffer
	vm, err := qemu.Start(ctx, qemu.Config{Machine: d.machine, CPUs: d.cpus, Kernel: l.image, Append: d.cmdline(),
		Icount: !d.threads, VirtualTime: !d.threads, Stdout: &out})
	if err != nil {
		return result{}, err
	}
	res, end := vm.Wait()
	if ctx.Err() != nil || errors.Is(end, qemu.ErrQEMU) {
		return result{}, cmp.Or(ctx.Err(), end)
	}
	r := result{death: d, serial: out.String()}
	if end != nil || res.Outcome != qemu.Traced {
		r.wrong = fmt.Sprintf("the machine: %v, %v; ", res.Outcome, end)
	}
	all, err := l.read(r.serial)
	if err != nil {
		return result{}, err
	}
	r.wrong += r.judge(all)
	return r, nil
}

// said is what is read of a trace's JSON.
type said struct {
	Reason   string
	CPU      *int
	Of       int
	Damaged  bool
	Complete bool
	Frames   []struct{ Function, Kind string }
}

// read reads the traces of a serial log.
func (l *lab) read(serial string) (all []said, err error) {
	var js bytes.Buffer
	f, err := trace.NewFilter(io.Discard, trace.Options{JSON: &js, Symbols: l.symbols})
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(f, serial)
	if err = cmp.Or(err, f.Close()); err != nil {
		return nil, err
	}
	for d := json.NewDecoder(&js); d.More(); {
		var t said
		if err := d.Decode(&t); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// chain is the trace's functions, innermost first, each once where it comes many times in a row.
func (t *said) chain() string {
	var names []string
	for _, f := range t.Frames {
		if f.Function != "" {
			names = append(names, strings.TrimPrefix(f.Function, "github.com/zeroframe/zeroframe/"))
		}
	}
	return strings.Join(slices.Compact(names), " ")
}

// judge says what is wrong with the traces, and counts.
func (r *result) judge(all []said) (wrong string) {
	if r.busy { // those of other goroutines are not counted
		first := true
		all = slices.DeleteFunc(all, func(t said) bool {
			was := first
			first = false
			return !was && t.Of == 0
		})
	}
	if len(all) != r.cpus {
		return fmt.Sprintf("%d traces", len(all))
	}
	r.traces = len(all)
	seen := map[int]bool{}
	for i := range all {
		t := &all[i]
		cpu := 0
		switch {
		case t.Damaged:
			return fmt.Sprintf("trace %d is damaged", i+1)
		case (t.CPU != nil) != (r.cpus > 1), (t.Of != 0) != (i > 0):
			return fmt.Sprintf("trace %d does not say right of which CPU and death it is", i+1)
		case t.CPU != nil:
			cpu = *t.CPU
		}
		if seen[cpu] || cpu < 0 || cpu >= r.cpus {
			return fmt.Sprintf("trace %d is of CPU %d, which has one", i+1, cpu)
		}
		seen[cpu] = true
		if wrong := r.judgeCPU(t, i == 0, cpu); wrong != "" {
			return fmt.Sprintf("trace %d, of CPU %d: %s: %s", i+1, cpu, wrong, t.chain())
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
func (r *result) judgeCPU(t *said, first bool, cpu int) string {
	if r.busy {
		return r.judgeBusy(t, first, cpu)
	}
	k, chain := &kinds[r.kind], t.chain()
	ofKind := cpu == r.cpus-1 && strings.Contains(chain, k.functions)
	end := "boot.apLong"
	if cpu == 0 {
		end = "boot.long"
	}
	whole := t.Complete && strings.HasSuffix(chain, " "+end)
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
	case r.others == "" && cpu != 0 && !strings.Contains(chain, waiting), r.others == "spin" && cpu != r.cpus-1 && !among(chain):
		return "the wrong function"
	}
	if !whole && (k.whole || !ofKind) {
		return "not whole"
	}
	return ""
}

// judgeBusy is judgeCPU under a program.
func (r *result) judgeBusy(t *said, first bool, cpu int) string {
	want := "golab.busyC kernel/crashlab/golab.busyB kernel/crashlab/golab.busyA runtime.goexit"
	if r.inKernel() {
		want = "golab.divideOnCPU kernel/crashlab/golab.busyKernelB kernel/smp.call"
	}
	for i := range t.Frames {
		if f := &t.Frames[i]; f.Function == "" && f.Kind != "trap" {
			return fmt.Sprintf("frame %d is of no function", i)
		}
	}
	switch {
	case t.Reason == "the CPU did not answer":
		r.silent++
		return "no answer"
	case first && (cpu != r.cpus-1 || !strings.Contains(t.chain(), want)):
		return "the wrong function"
	case !first && t.Reason != "stopped":
		return "the reason " + t.Reason
	case !t.Complete:
		return "not whole"
	}
	return ""
}

// among reports whether a CPU that is to spin does, or is on its way there.
func among(chain string) bool {
	return strings.Contains(chain, spinning) || strings.Contains(chain, "main.doOther") || strings.Contains(chain, "kernel/smp.main") ||
		strings.Contains(chain, "main.runOnCPU")
}
