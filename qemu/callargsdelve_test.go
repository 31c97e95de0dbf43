package qemu

// The arguments in traces against what Delve shows of the same frames, from the full core of the
// same dead machine. Delve's packages read the core, as dlv does.
//
// Delve is not always right. Of a value of several parts it takes those that live nowhere for zero,
// and where optimized code keeps one part alone, it takes that for the first. Registers that it
// does not have are zero, too. So what it shows is held against what the function was called with.
// What is right by chance, such as nil for a slice of which only the length is known, counts as
// right.

import (
	"errors"
	"fmt"
	"go/constant"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	corefile "github.com/zeroframe/zeroframe/tools/postmortem/core"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// delveCounts count the arguments of the program's innermost functions.
type delveCounts struct {
	mu           sync.Mutex
	all, shown   int // those that there are; of them, those in the trace
	right, both  int // those that Delve shows as they are; of them, those in the trace
	wrong, known int // those that Delve shows as they are not; of them, those in the trace, as they are
	unlike       int // those that both show, and not the same
	missing      int // those of functions that Delve has on no stack
	words, marks int // words in Go's own traceback; of them, those with ?
}

func TestCallArgumentsDelve(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		sites, seeds int
		percent      int // of Delve's arguments are in the trace at least
	}{{"few", 8, 1, 85}, {"many", 125, 1, 95}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var c delveCounts
			t.Run("seeds", func(t *testing.T) {
				for seed := range test.seeds {
					p := makeProgram(t, uint64(seed)+uint64(test.sites)<<32, test.sites)
					path := built(t, image.BuildOptions{Package: ".", Dir: p.dir, Env: testEnv()})
					symbols := opened(t, path)
					for site := range test.sites {
						t.Run(fmt.Sprintf("%d-%d", seed, site), func(t *testing.T) {
							t.Parallel()
							p.delveCrash(t, path, symbols, site, &c)
						})
					}
				}
			})
			t.Logf("%d arguments of the innermost %d functions: %d (%.1f %%) in the trace; Delve shows %d as they are, of which %d (%.1f %%) are in the trace, and %d as they are not, of which %d are in the trace, as they are; %d are of functions that it leaves out; Go's traceback has %d words, %d of them with ?",
				c.all, madeInnermost, c.shown, percent(c.shown, c.all), c.right, c.both, percent(c.both, c.right), c.wrong, c.known, c.missing, c.words, c.marks)
			// make bench reads this line.
			t.Logf("figures: %d arguments, %d shown; Delve %d, %d of them shown, %d differ; Go %d words, %d marked", c.all, c.shown, c.right, c.both, c.unlike, c.words, c.marks)
			if c.both*100 < c.right*test.percent {
				t.Errorf("%d of the %d arguments that Delve shows are in the trace; want %d %%", c.both, c.right, test.percent)
			}
			if c.unlike > 0 || c.right == 0 {
				t.Errorf("%d of the %d are not as Delve shows them", c.unlike, c.right)
			}
		})
	}
}

var errNoParameter = errors.New("no such parameter")

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// delveCrash boots the program, lets it crash at a site, and compares the arguments in the trace
// with those that Delve shows.
func (p *madeProgram) delveCrash(t *testing.T, elf string, symbols *symbol.File, site int, c *delveCounts) {
	vm, out := start(t, Config{Kernel: elf, MemoryMiB: 64, Append: "panic=halt -- " + strconv.Itoa(site)}, "")
	out.waitForTraces(t, 1)
	dead := filepath.Join(t.TempDir(), "core")
	if err := writeFullCore(vm, dead, elf, symbols); err != nil {
		t.Fatal(err)
	}
	vm.Kill()
	vm.Wait()
	delve := delveArguments(t, elf, dead, func(name string) bool { return p.calls[name] != nil })
	if err := os.Remove(dead); err != nil {
		t.Fatal(err)
	}
	words, marks := goMarks(out.String())
	c.mu.Lock()
	c.words, c.marks = c.words+words, c.marks+marks
	c.mu.Unlock()
	p.innermost(madeTrace(t, symbols, out.String()), func(name string, want []madeArg, have []lookup.Argument) {
		// It leaves out who called a leaf that has faulted.
		all, ok := delve[name]
		if !ok {
			c.leftOut(want, have)
			return
		}
		for i := range want {
			var h lookup.Argument // not known
			if have != nil {
				h = have[i]
			}
			// Of a call that is inlined Delve lists only parameters that live somewhere.
			d := &proc.Variable{Unreadable: errNoParameter}
			for _, v := range all {
				if v.Name == want[i].name {
					d = v
				}
			}
			c.count(t, symbols, name, &want[i], h, d)
		}
	})
}

// writeFullCore writes the full core of a machine that has died.
func writeFullCore(vm *VM, path, elf string, symbols *symbol.File) error {
	dump, err := vm.Memory()
	if err != nil {
		return err
	}
	defer dump.Close()
	d, err := memory.OpenDump(dump, -1)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = corefile.WriteFull(file, d, corefile.FullOptions{Path: elf, Symbols: symbols})
	return err
}

// delveArguments returns the arguments of the program's functions, by the names of these.
func delveArguments(t *testing.T, elf, path string, of func(name string) bool) map[string][]*proc.Variable {
	t.Helper()
	p, err := inspect.Open(path, elf, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	target := p.Target()
	gs, _, err := proc.GoroutinesInfo(target, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]*proc.Variable{}
	for _, g := range gs {
		frames, _ := proc.GoroutineStacktrace(target, g, 64, 0)
		thread := target.CurrentThread().ThreadID()
		if g.Thread != nil {
			thread = g.Thread.ThreadID()
		}
		for i := range frames {
			fn := frames[i].Call.Fn
			if fn == nil || !of(fn.Name) {
				continue
			}
			scope := proc.FrameToScope(target, target.Memory(), g, thread, frames[i:]...)
			args, err := scope.FunctionArguments(proc.LoadConfig{MaxStringLen: 64, MaxArrayValues: 64, MaxStructFields: -1, MaxVariableRecurse: 2})
			if err != nil {
				t.Fatalf("Delve has no arguments of %s: %v", fn.Name, err)
			}
			var in []*proc.Variable
			for _, a := range args {
				if a.Flags&proc.VariableReturnArgument == 0 {
					in = append(in, a)
				}
			}
			all[fn.Name] = in
		}
	}
	return all
}

// delveText is a value of Delve's as zf shows one; ok is false if Delve has none.
func delveText(v *proc.Variable) (text string, ok bool) {
	if v.Unreadable != nil {
		return "", false
	}
	children := func(size int64) (string, bool) {
		show := v.Len
		if v.Kind == reflect.Slice && size > 0 {
			show = min(show, 32/size)
		}
		var all []string
		for i := range show {
			if i >= int64(len(v.Children)) {
				return "", false
			}
			s, ok := delveText(&v.Children[i])
			if !ok {
				return "", false
			}
			all = append(all, s)
		}
		s := strings.Join(all, " ")
		if v.Len > show {
			s += fmt.Sprintf(" ...+%d more", v.Len-show)
		}
		return "[" + s + "]", true
	}
	number := func(c constant.Value, bits int) string {
		f, _ := constant.Float64Val(c)
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	pointer := func(p uint64) string {
		if p == 0 {
			return "nil"
		}
		return fmt.Sprintf("%#x", p)
	}
	switch v.Kind {
	case reflect.Bool, reflect.Float32, reflect.Float64, reflect.Complex128, reflect.String:
		if v.Value == nil { // or a number that is none
			return "", false
		}
	}
	switch v.Kind {
	case reflect.Bool:
		return strconv.FormatBool(constant.BoolVal(v.Value)), true
	case reflect.Float32:
		return number(v.Value, 32), true
	case reflect.Float64:
		return number(v.Value, 64), true
	case reflect.Complex128:
		im := number(constant.Imag(v.Value), 64)
		if im[0] != '-' {
			im = "+" + im
		}
		return "(" + number(constant.Real(v.Value), 64) + im + "i)", true
	case reflect.String:
		s := constant.StringVal(v.Value)
		if v.Len < 0 || v.Len > 32 && len(s) < 32 || v.Len <= 32 && int64(len(s)) != v.Len {
			return "", false
		}
		if v.Len > 32 {
			return strconv.Quote(s[:32]+"...") + fmt.Sprintf("+%d more", v.Len-32), true
		}
		return strconv.Quote(s), true
	case reflect.Slice:
		if v.Base == 0 && v.Len == 0 {
			return "nil", true
		}
		size := int64(0)
		if t, ok := v.RealType.(*godwarf.SliceType); ok {
			size = t.ElemType.Size()
		}
		return children(size)
	case reflect.Array:
		return children(0)
	case reflect.Struct:
		var all []string
		for i := range v.Children {
			s, ok := delveText(&v.Children[i])
			if !ok {
				return "", false
			}
			all = append(all, v.Children[i].Name+":"+s)
		}
		return "{" + strings.Join(all, " ") + "}", true
	case reflect.Ptr:
		if len(v.Children) == 0 {
			return "", false
		}
		return pointer(v.Children[0].Addr), true
	case reflect.Map, reflect.Chan:
		return pointer(v.Base), true
	case reflect.Func:
		if v.Base == 0 {
			return "nil", true
		}
		return constant.StringVal(v.Value), true
	case reflect.Interface:
		if len(v.Children) == 0 {
			return "", false
		}
		in := &v.Children[0]
		if in.Kind == reflect.Invalid && in.Addr == 0 {
			return "nil", true
		}
		s, ok := delveText(in)
		if !ok {
			return "", false
		}
		name := in.TypeString()
		if in.Kind == reflect.Struct {
			return name + " at " + pointer(in.Addr), true
		}
		return name + "(" + s + ")", true
	}
	if v.Value == nil {
		return "", false
	}
	return v.Value.ExactString(), true
}

// addressed is a value of which zf shows where it is, and not what is there.
var addressed = regexp.MustCompile(`^(?:(0x[0-9a-f]+)\[:(\d+)\]|(.+) at (0x[0-9a-f]+))$`)

// sameValue reports whether zf and Delve show the same, as far as the trace carries it.
func sameValue(ours string, v *proc.Variable, delve string) bool {
	if ours == delve {
		return true
	}
	m := addressed.FindStringSubmatch(ours)
	switch {
	case m == nil:
		return false
	case m[1] != "":
		return m[1] == fmt.Sprintf("%#x", v.Base) && m[2] == strconv.FormatInt(v.Len, 10)
	case v.Kind == reflect.Interface && len(v.Children) > 0:
		return m[3] == v.Children[0].TypeString() && m[4] == fmt.Sprintf("%#x", v.Children[0].Addr)
	}
	return false
}

// leftOut counts the arguments of a function that Delve does not have on its stack.
func (c *delveCounts) leftOut(want []madeArg, have []lookup.Argument) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all += len(want)
	c.missing += len(want)
	for i := range have {
		if have[i].Known {
			c.shown++
		}
	}
}

// count compares an argument in the trace with what Delve shows.
func (c *delveCounts) count(t *testing.T, symbols *symbol.File, name string, want *madeArg, ours lookup.Argument, delve *proc.Variable) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	text, shown := delveText(delve)
	c.all++
	if ours.Known {
		c.shown++
	}
	switch right := shown && want.is(t, symbols, text); {
	case right && ours.Known:
		c.right++
		c.both++
		if !sameValue(ours.Value, delve, text) && (want.assigned == "" || !want.is(t, symbols, ours.Value)) {
			c.unlike++
			t.Errorf("%s: %s = %s; Delve has %s", name, want.name, ours.Value, text)
		}
	case right:
		c.right++
		t.Logf("Delve alone has %s: %s %s = %s; %v", name, want.name, want.typ.name, text, delve.LocationExpr)
	case shown:
		c.wrong++
		if ours.Known && !want.is(t, symbols, ours.Value) {
			t.Errorf("%s: %s = %s; want %s", name, want.name, ours.Value, want.want)
		}
		if ours.Known {
			c.known++
		}
		t.Logf("Delve is wrong: %s: %s = %s; want %s, and zf has %q", name, want.name, text, want.want, ours.Value)
	}
}
