package qemu

// What the kernel's stacks really took is never more than what tools/symbol/stacks proves that
// they can take.

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/stacks"
)

// bounds returns the proven bounds of an image's stacks by their names, 0 for none.
func bounds(t *testing.T, f *symbol.File) map[string]int {
	t.Helper()
	p, err := stacks.New(f, stacks.KernelNotes())
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]int{}
	for _, s := range p.Stacks() {
		m[s.Name] = int(s.Bound.Bytes)
		if m[s.Name] > 0 != (len(s.Bound.Why) == 0) {
			t.Errorf("%+v: neither a bound nor a reason", s)
		}
	}
	return m
}

// highest gathers the most that each stack has used.
type highest struct {
	mu   sync.Mutex
	used map[string]int
	size map[string]int
}

func (h *highest) add(tr *labTrace) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range tr.Stacks {
		h.used[s.Name] = max(h.used[s.Name], s.Used)
		h.size[s.Name] = s.Size
	}
}

// TestStackBounds measures every stack over many ways to die, in the crash lab and in a
// program that brings nothing of its own for the boot and interrupt stacks, and compares.
func TestStackBounds(t *testing.T) {
	t.Parallel()
	_, symbols := lab(t, image.AllLoaders)
	plain := built(t, image.BuildOptions{Package: "./testdata/stacks"})
	plainSymbols := opened(t, plain)

	inLab := highest{used: map[string]int{}, size: map[string]int{}}
	inPlain := highest{used: map[string]int{}, size: map[string]int{}}
	t.Run("measure", func(t *testing.T) {
		gather := func(t *testing.T, symbols *symbol.File, serial string, h *highest) {
			all := traces(t, symbols, serial)
			if len(all) == 0 {
				t.Fatal("there is no trace")
			}
			for _, tr := range all {
				h.add(tr)
			}
		}
		run := func(cfg Config, cmdline string, symbols *symbol.File, h *highest) {
			t.Run(cmdline, func(t *testing.T) {
				t.Parallel()
				_, serial, err := boot(t, cfg, cmdline)
				if err != nil {
					t.Fatal(err)
				}
				gather(t, symbols, serial, h)
			})
		}
		// From outside: what comes is traced, then the program goes on or dies.
		poke := func(name string, do func(vm *VM) error) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				path, _ := lab(t, image.AllLoaders)
				vm, out := start(t, Config{Kernel: path, Append: "crash=early.spin"}, "")
				out.For(t, "spinning\r\n")
				if err := do(vm); err != nil {
					t.Fatal(err)
				}
				out.waitForTraces(t, 1)
				gather(t, symbols, out.String(), &inLab)
			})
		}
		poke("NMI", (*VM).InjectNMI)
		poke("MCE", func(vm *VM) error {
			_, err := vm.QMP("human-monitor-command", map[string]string{"command-line": "mce 0 0 0xb200000000000000 0x4 0 0"})
			return err
		})
		for _, kind := range []string{
			"early.panic", "early.runtime", "early.kernel-panic", "early.nil-read", "early.nil-call", "early.bounds", "early.div0",
			"early.gp", "early.ud2", "early.int3", "early.overflow", "early.overflow-check", "early.double-fault", "early.rbp-unmapped",
			"early.rsp-noncanonical", "early.nested crash.stage=1", "early.nested crash.stage=2", "early.nested crash.stage=3",
			"early.step trace=compact", "go.panic", "go.nil-write", "go.ud2", "go.int3", "go.double-fault", "go.systemstack", "go.overflow",
			"go.kernel-panic", "go.syscall-bug", "go.throw-deadlock",
		} {
			run(Config{}, "crash="+kind, symbols, &inLab)
		}
		for _, options := range []string{"", "trace=markup", "trace=compact trace.stack=65536"} {
			run(Config{Kernel: plain}, strings.TrimSpace("watchdog=1 "+options), plainSymbols, &inPlain)
		}
	})

	labBounds, plainBounds := bounds(t, symbols), bounds(t, plainSymbols)
	names, _ := stacks.KernelStacks()
	table := "stack      size   static    lab  plain\n"
	for _, name := range names {
		b, size := plainBounds[name], inPlain.size[name]
		table += fmt.Sprintf("%-7s %7d %8d %6d %6d\n", name, size, b, inLab.used[name], inPlain.used[name])
		if b == 0 || b > size {
			t.Errorf("%s: the bound is %d; want one, and no more than the %d bytes of the stack", name, b, size)
		}
		if u := inPlain.used[name]; u > b {
			t.Errorf("%s: %d bytes were used in the program; the bound is %d", name, u, b)
		}
		// In the lab, what is meant to overflow a stack has no bound.
		if lb := labBounds[name]; lb != 0 && inLab.used[name] > lb {
			t.Errorf("%s: %d bytes were used in the lab; the bound is %d", name, inLab.used[name], lb)
		}
	}
	t.Log("\n" + table)
	for _, name := range names {
		if inLab.used[name] == 0 && inPlain.used[name] == 0 {
			t.Errorf("%s: no use was measured", name)
		}
	}
}
