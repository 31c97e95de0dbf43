package probe

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"maps"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

// From patterns to functions.

// A Function is one that a pattern has chosen.
type Function struct {
	Name       string
	Start, End uint64
	Places     []Place
	// Refused says why it has no places; "" if it is probed.
	Refused string
}

// A Plan is what will be probed.
type Plan struct {
	Functions []Function // those that are probed, by address
	Refused   []Function
	// Inlined are functions whose calls the compiler has inlined, with the number of
	// places at which it has: there they are not counted.
	Inlined map[string]int

	buildID string
	textLo  uint64
}

// The format of the table; package kernel/observe/probe has the same numbers.
const (
	File         = ".zf/probes"
	magic        = "zfprobe1"
	flagStacks   = 1
	MaxFunctions = 1 << 16
	MaxPlaces    = 1 << 20
)

// Choose decides about the functions of a program whose names match one of the patterns.
// In a pattern * stands for any characters, also dots and slashes. It is an error if a
// pattern matches nothing that could be probed; the error then says why.
func Choose(sym *symbol.File, patterns []string) (*Plan, error) {
	tab, ok := sym.PCTable()
	if !ok {
		return nil, fmt.Errorf("%s has no Go pc tables: nothing can be probed", sym.Name())
	}
	lo, _ := tab.TextRange()
	if at := sym.Named("runtime.text"); len(at) > 0 {
		lo = uintptr(at[0].Start)
	}
	p := &Plan{buildID: sym.BuildID(), textLo: uint64(lo)}
	c := choice{patterns, make([]bool, len(patterns))}
	grows := growers(sym)
	for fn := range sym.Functions() {
		if !c.matches(fn.Name) {
			continue
		}
		f := Function{Name: fn.Name, Start: fn.Start, End: fn.End}
		if f.Places, f.Refused = examine(sym, &tab, f, grows); f.Refused != "" {
			p.Refused = append(p.Refused, f)
		} else {
			p.Functions = append(p.Functions, f)
		}
	}
	p.Inlined = c.inlined(&tab)
	if err := c.unused(); err != nil {
		return nil, err
	}
	if len(p.Functions) == 0 {
		return p, p.nothing()
	}
	places := 0
	for i := range p.Functions {
		places += len(p.Functions[i].Places)
	}
	if len(p.Functions) > MaxFunctions || places > MaxPlaces {
		return nil, fmt.Errorf("%d functions with %d places are more than the target takes (%d, %d)",
			len(p.Functions), places, MaxFunctions, MaxPlaces)
	}
	return p, nil
}

// A choice is what patterns choose.
type choice struct {
	patterns []string
	used     []bool // those that have chosen something
}

// matches reports whether a name matches one of the patterns.
func (c *choice) matches(name string) (any bool) {
	for i, pattern := range c.patterns {
		if match(pattern, name) {
			c.used[i], any = true, true
		}
	}
	return any
}

// inlined counts, for each function whose name matches, the places at which it is inlined.
func (c *choice) inlined(tab *tracer.PCTable) map[string]int {
	n := make(map[string]int)
	eachInlined(tab, func(name string, _ uint64) bool { n[name]++; return true })
	maps.DeleteFunc(n, func(name string, _ int) bool { return !c.matches(name) })
	return n
}

// unused returns the error of the first pattern that has chosen nothing.
func (c *choice) unused() error {
	if i := slices.Index(c.used, false); i >= 0 {
		return fmt.Errorf(
			"no function matches %q; names are as in traces: main.parse, net/http.(*Server).Serve, and * stands for anything", c.patterns[i])
	}
	return nil
}

// growers are the functions that make a stack larger and begin a call again.
func growers(sym *symbol.File) map[uint64]bool {
	grows := make(map[uint64]bool)
	for _, name := range []string{"runtime.morestack", "runtime.morestack_noctxt",
		"runtime.morestackc"} {
		for _, n := range sym.Named(name) {
			grows[n.Start] = true
		}
	}
	return grows
}

// PlanOf returns a plan of these functions with their places, in a program without a build
// ID whose text begins at textLo.
func PlanOf(functions []Function, textLo uint64) *Plan {
	return &Plan{Functions: functions, textLo: textLo}
}

// nothing is the error when nothing can be probed.
func (p *Plan) nothing() error {
	if len(p.Refused) > 0 {
		return fmt.Errorf("%s cannot be probed: %s", p.Refused[0].Name, p.Refused[0].Refused)
	}
	for name, n := range p.Inlined {
		return fmt.Errorf(
			"%s is inlined in %d places and has no code of its own: put //go:noinline before it, or build with -gcflags=-l", name, n)
	}
	return fmt.Errorf("nothing can be probed")
}

// examine returns the places of a function, or why it is refused.
func examine(sym *symbol.File, tab *tracer.PCTable, f Function,
	grows map[uint64]bool) ([]Place, string) {
	fn, ok := tab.Find(uintptr(f.Start))
	if !ok || uint64(fn.Entry()) != f.Start {
		return nil, "it is not in Go's pc tables"
	}
	if why := refuse(string(fn.Name()), fn.Flags()); why != "" {
		return nil, why
	}
	b, ok := sym.BytesAt(f.Start, f.End-f.Start)
	if !ok {
		return nil, "its code is not in the file"
	}
	body, err := decode(f.Start, b)
	if err == nil {
		var places []Place
		if places, err = body.places(fn.Flags()&tracer.FuncFlagAsm != 0,
			func(addr uint64) bool { return grows[addr] }); err == nil {
			return places, ""
		}
	}
	return nil, err.Error()
}

// switching are the functions of the runtime that leave their stack, that nothing calls,
// or that others jump into.
var switching = []string{
	"runtime.goexit", "runtime.sigpanic", "runtime.sigpanic0", "runtime.asyncPreempt",
	"runtime.systemstack",
	"runtime.systemstack_switch", "runtime.asmcgocall", "runtime.switchToCrashStack0", "runtime.mcall",
	"runtime.gogo", "gogo",
	"runtime.morestack", "runtime.morestack_noctxt", "runtime.clone", "runtime.mstart",
	"runtime.rt0_go", "_rt0_amd64",
	"_rt0_amd64_linux", "runtime.sigreturn__sigaction", "runtime.newstack",
}

// kernelParts are the parts of the kernel's import path whose functions run in kernel
// context.
var kernelParts = []string{"arch/", "boot.", "kernel.", "kernel/", "tracer.", "tracer/"}

// InKernel is the reason for which those are refused.
const InKernel = "it runs in kernel context"

// refuse returns why a function cannot be probed, as far as its name and flags tell.
func refuse(name string, flags byte) string {
	if rest, ok := strings.CutPrefix(name, "github.com/zeroframe/zeroframe/"); ok &&
		!strings.HasPrefix(rest, "kernel/crashlab") {
		begins := func(part string) bool { return strings.HasPrefix(rest, part) }
		if slices.ContainsFunc(kernelParts, begins) {
			return InKernel
		}
	}
	switch {
	case slices.Contains(switching, name), flags&tracer.FuncFlagSPWrite != 0:
		return "it leaves its stack"
	case name == "runtime.setg":
		return "it changes the goroutine"
	case flags&tracer.FuncFlagTopFrame != 0:
		return "nothing calls it"
	case name == "runtime.duffzero" || name == "runtime.duffcopy":
		return "calls go into its middle"
	case strings.HasPrefix(name, "runtime.panic"), strings.HasPrefix(name, "runtime.goPanic"),
		name == "runtime.gopanic":
		return "the kernel's own panics come by it"
	}
	return ""
}

// match reports whether a name matches a pattern.
func match(pattern, name string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	// A star may stand for itself too: the name of a method has one.
	if !strings.HasPrefix(name, head) {
		return false
	}
	for i := len(head); i <= len(name); i++ {
		if match(rest, name[i:]) {
			return true
		}
	}
	return false
}

// InlinedAt returns the first instruction of a call of a function that is inlined somewhere.
func InlinedAt(sym *symbol.File, function string) (pc uint64, ok bool) {
	if tab, has := sym.PCTable(); has {
		eachInlined(&tab, func(name string, at uint64) bool {
			pc, ok = at, name == function
			return !ok
		})
	}
	return pc, ok
}

// eachInlined does something for each call that is inlined, and where it begins, until that says
// that it is enough.
func eachInlined(tab *tracer.PCTable, do func(name string, pc uint64) bool) {
	for i := range tab.NumFuncs() {
		f, ok := tab.Func(i)
		if !ok {
			continue
		}
		seen := make(map[int32]bool)
		for pc := f.Entry(); pc < f.End(); {
			v, end, ok := f.PCDataSpan(tracer.PCDataInlTreeIndex, pc)
			if !ok {
				break
			}
			if v >= 0 && !seen[v] {
				seen[v] = true
				if c, ok := f.Inlined(pc); ok && !do(string(c.Name()), uint64(pc)) {
					return
				}
			}
			pc = max(end, pc+1)
		}
	}
}

// Table returns the plan as the target takes it. With stacks it counts by callers, too.
func (p *Plan) Table(stacks bool) []byte {
	le := binary.LittleEndian
	var rows []byte
	n := uint32(0)
	for i := range p.Functions {
		for _, at := range p.Functions[i].Places {
			rows = le.AppendUint32(rows, uint32(at.Addr-p.textLo))
			rows = le.AppendUint32(rows, uint32(i))
			rows = le.AppendUint32(rows, uint32(at.arg))
			rows = append(rows, byte(at.Kind), byte(at.action), at.first, byte(at.length))
			n++
		}
	}
	flags := uint32(0)
	if stacks {
		flags = flagStacks
	}
	id, _ := hex.DecodeString(p.buildID)
	b := []byte(magic)
	b = le.AppendUint32(b, uint32(len(p.Functions)))
	b = le.AppendUint32(b, n)
	b = le.AppendUint32(b, flags)
	b = le.AppendUint32(b, uint32(len(id)))
	b = append(b, append(id, make([]byte, 32)...)[:32]...)
	return append(b, rows...)
}
