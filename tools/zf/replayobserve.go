//go:build !lean

package main

// What is looked at while a recording is replayed: calls and expressions. QEMU's gdb stub stops
// the machine at breakpoints, and its count of instructions says where that is. The machine
// notices nothing of it, so the replay is verified as without.

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/probe"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A sought is what a flag asks for, and how often it has come.
type sought struct {
	call      bool   // of -probe
	what      string // as the user has said it: a pattern, or a place
	arguments bool
	exprs     []string
	times     int
}

// A spot is what is said at an instruction.
type spot struct {
	*sought
	name string // the function, or the line
	// hides is why an expression has no value there: a name in it is one of an inlined call's.
	hides map[string]string
}

// observing is what the command line of zf replay says of it.
type observing struct {
	asked []*sought
	spots map[uint64][]spot
	image *inspect.Image
}

// flags adds the flags.
func (o *observing) flags(fs *flag.FlagSet) {
	addFlags(fs, []option{
		{func(s string) error {
			f := strings.Fields(s)
			if len(f) == 0 || len(f) > 2 || len(f) == 2 && f[1] != "args" {
				return errors.New("want a pattern of functions' names, or 'PATTERN args'")
			}
			o.asked = append(o.asked, &sought{call: true, what: f[0], arguments: len(f) == 2})
			return nil
		}, "probe", "say each call of the functions whose names match `PATTERN`; with 'PATTERN\nargs' its arguments, too"},
		{func(s string) error {
			place, text, _ := strings.Cut(strings.TrimSpace(s), " ")
			if place == "" || strings.TrimSpace(text) == "" {
				return errors.New("want a place and an expression, such as 'main.handle c.id'")
			}
			exprs, err := expressions(text)
			o.asked = append(o.asked, &sought{what: place, exprs: exprs})
			return err
		}, "print-on",
			"print 'PLACE EXPR,...', or PLACE and EXPR as two arguments, whenever the\nmachine comes to PLACE, a function or FILE.go:LINE"},
	})
}

// twoArguments has -print-on PLACE EXPR as one argument.
func twoArguments(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if strings.TrimLeft(a, "-") == "print-on" && a[0] == '-' && i+2 < len(args) &&
			!strings.Contains(strings.TrimSpace(args[i+1]), " ") {
			out = append(out, a, args[i+1]+" "+args[i+2])
			i += 2
			continue
		}
		out = append(out, a)
	}
	return out
}

// expressions parts what stands between commas.
func expressions(s string) (all []string, err error) {
	e, err := parser.ParseExpr("f(" + s + ")")
	call, ok := e.(*ast.CallExpr)
	if err != nil || !ok || len(call.Args) == 0 {
		return nil, fmt.Errorf("%q is no expression of Go's, nor several with commas between them", s)
	}
	const before = len("f(") + 1
	for _, a := range call.Args {
		all = append(all, s[int(a.Pos())-before:int(a.End())-before])
	}
	return all, nil
}

// find finds the instructions at which something is said. note is for the user.
func (o *observing) find(sym *symbol.File, note func(format string, a ...any)) error {
	o.spots = map[uint64][]spot{}
	for _, a := range o.asked {
		at, err := a.places(sym, note)
		if err != nil {
			return err
		}
		if name := a.unknown(at, o.image); name != "" {
			why := "look at the name: a package's variable is PKG.NAME"
			first, _, _ := strings.Cut(name, ".")
			for addr := range at {
				if h := hidden(sym, o.image, addr, first, true); h != "" {
					why = h
				}
			}
			return fmt.Errorf("-print-on %s: there is no variable %s; %s", printable(a.what),
				printable(name), why)
		}
		for addr, name := range at {
			s := spot{a, name, map[string]string{}}
			for _, e := range a.exprs {
				for _, n := range identifiers(e) {
					if h := hidden(sym, o.image, addr, n, false); h != "" {
						s.hides[e] = h
					}
				}
			}
			o.spots[addr] = append(o.spots[addr], s)
		}
	}
	return nil
}

// identifiers returns the names that an expression begins with, or its operands.
func identifiers(expr string) (names []string) {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return nil
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			names = append(names, identifiers(types.ExprString(n.X))...)
			return false
		case *ast.Ident:
			names = append(names, n.Name)
		}
		return true
	})
	return names
}

// hidden says why Delve does not know a variable at an instruction, or takes another one of that
// name for it: it is of a call that is inlined there, and Delve knows the variables of those only
// in a process. With anywhere it may be of any call that is inlined in the function. "" is if it is
// none.
func hidden(sym *symbol.File, image *inspect.Image, pc uint64, name string, anywhere bool) string {
	first, end := pc, pc+1
	if f, ok := sym.GoFunc(pc); ok && anywhere {
		first, end = f.Entry, f.End
	}
	known := map[string]bool{} // functions that have none of that name
	for pc := first; pc < end; pc++ {
		calls := sym.Lookup(pc, false)
		if len(calls) < 2 || known[calls[0].Function] {
			continue
		}
		if slices.Contains(image.Variables(calls[0].Function), name) {
			return fmt.Sprintf(
				"%s is a variable of %s, which is inlined in %s; record a build with -gcflags=all=-l to see it",
				printable(name), printable(calls[0].Function), caller(calls))
		}
		known[calls[0].Function] = true
	}
	calls := sym.Lookup(pc, false)
	if anywhere && len(calls) > 0 &&
		slices.Contains(image.Variables(calls[len(calls)-1].Function), name) {
		return fmt.Sprintf(
			"%s has it at other lines, or the compiler has left it out: then record a build with -gcflags='all=-N -l'",
			printable(calls[len(calls)-1].Function))
	}
	return ""
}

// caller is where the innermost of some calls is inlined.
func caller(calls []lookup.Call) string {
	by := &calls[1]
	return fmt.Sprintf("%s at %s:%d", printable(by.Function), printable(path.Base(by.File)), by.Line)
}

// places returns the instructions that a flag asks for, each with its function's name or its line.
func (a *sought) places(sym *symbol.File, note func(format string,
	a ...any)) (map[uint64]string, error) {
	at := map[uint64]string{}
	if file, line, ok := fileLine(a.what); ok && !a.call {
		found, before, after := sym.Places(file, line)
		for _, addr := range found {
			at[addr] = a.what
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("-print-on: no code is of %s%s", a.what, nearest(before, after))
		}
		return at, nil
	}
	found, inlined, err := probe.Entries(sym, []string{a.what})
	if err != nil {
		name := "-print-on"
		if a.call {
			name = "-probe"
		}
		pc, ok := probe.InlinedAt(sym, a.what)
		if calls := sym.Lookup(pc, false); ok && len(calls) > 1 {
			return nil, fmt.Errorf("%s: %w; one is in %s", name, err, caller(calls))
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, e := range found {
		at[e.Addr] = e.Name
		if n := inlined[e.Name]; n > 0 {
			note("note: %s is inlined in %s, too: those calls are not seen", e.Name, count(n, "place"))
		}
		if e.Twice {
			note("note: %s begins in a way that is not understood: a call may be seen more than once",
				e.Name)
		}
	}
	return at, nil
}

// unknown returns a name in the expressions that nothing has at any of the instructions, or "".
func (a *sought) unknown(at map[uint64]string, image *inspect.Image) string {
	lacks := map[string]int{} // how many of them
	for _, e := range a.exprs {
		for pc := range at {
			for _, n := range image.Unknown(pc, e) {
				lacks[n]++
			}
		}
		for _, n := range slices.Sorted(maps.Keys(lacks)) {
			if lacks[n] == len(at) {
				return n
			}
		}
		clear(lacks)
	}
	return ""
}

// fileLine parts "main.go:17".
func fileLine(s string) (file string, line int, ok bool) {
	file, number, ok := cutLast(s, ":")
	line, err := strconv.Atoi(number)
	return file, line, ok && file != "" && err == nil && line > 0
}

// nearest says which lines have code.
func nearest(before, after int) string {
	switch {
	case before > 0 && after > 0:
		return fmt.Sprintf("; lines %d and %d have some", before, after)
	case before+after > 0:
		return fmt.Sprintf("; line %d has some", before+after)
	}
	return "; no line of such a file has"
}

// text is what is said of a spot where the machine has come to it.
func (s *spot) text(image *inspect.Image, c *inspect.CPU) string {
	var b bytes.Buffer
	b.WriteString(printable(s.name))
	if s.arguments {
		args, err := image.Arguments(c, lineLimits)
		sep := "("
		for i := range args {
			fmt.Fprintf(&b, "%s%s = %s", sep, printable(args[i].Name), args[i].Line())
			sep = ", "
		}
		if len(args) == 0 {
			b.WriteByte('(')
		}
		b.WriteByte(')')
		if err != nil {
			fmt.Fprintf(&b, " (its arguments are not known: %s)", printable(err.Error()))
		}
	}
	sep := ": "
	for _, e := range s.exprs {
		v, err := image.Eval(c, e, lineLimits)
		if why := s.hides[e]; why != "" {
			fmt.Fprintf(&b, "%s%s: %s", sep, e, why)
		} else if err != nil {
			fmt.Fprintf(&b, "%s%s: %s", sep, e, printable(strings.TrimPrefix(err.Error(), e+": ")))
		} else {
			fmt.Fprintf(&b, "%s%s = %s", sep, e, v.Line())
		}
		sep = ", "
	}
	return b.String()
}

// lineLimits are of what fits into a line.
var lineLimits = inspect.Limits{Elements: 16, Bytes: 128, Depth: 1}

// observer stops a replay where something is to be looked at.
type observer struct {
	*playing
	vm *qemu.VM
	d  *memory.Debugger

	// again are calls that will be seen once more: an interrupt came when the machine stood
	// in front of their first instruction.
	again map[entered]bool
}

// entered is a call that begins.
type entered struct {
	pc        uint64
	goroutine int64
	sp        uint64 // in the kernel: its functions may be interrupted by themselves
}

// forEver is after each recording's end, in instructions.
const forEver = 1<<63 - 1

// gdbSocket is where the stub listens that an observer uses.
func (p *playing) gdbSocket() string { return filepath.Join(p.rec.tmp, "gdb") }

// observe lets the machine run to where it is to stop, and says what is to be seen on the way.
func (p *playing) observe(vm *qemu.VM) error {
	d, err := memory.DialDebugger(p.ctx, "unix", p.gdbSocket())
	for _, a := range slices.Sorted(maps.Keys(p.look.spots)) {
		if err == nil {
			err = d.Break(a)
		}
	}
	if err != nil {
		return failure{err, exitMachine}
	}
	o := &observer{p, vm, d, map[entered]bool{}}
	err = o.run()
	for _, a := range p.look.asked {
		switch {
		case a.times > 0 || p.ctx.Err() != nil:
		case a.call:
			p.say("no call of %s", printable(a.what))
		default:
			p.say("the machine has not come to %s", printable(a.what))
		}
	}
	switch {
	case errors.As(err, new(partsError)):
		return err
	case errors.Is(err, memory.ErrEnded), p.ctx.Err() != nil:
		vm.Kill()
		return p.ended(vm)
	case err != nil && over(vm):
		return p.ended(vm)
	}
	for a := range p.look.spots {
		if err == nil {
			err = d.Unbreak(a)
		}
	}
	if err != nil {
		return failure{err, exitMachine}
	}
	p.last = p.target
	return p.stopped(vm)
}

// run runs the machine until it has come to the replay's target.
func (o *observer) run() (err error) {
	to := uint64(forEver)
	if o.target > 0 {
		to = o.target
		if err := o.vm.StopAt(to); err != nil {
			return err
		}
	}
	for at := o.rec.log.Base.At; at < to; {
		if err := o.proceed(); err != nil {
			return err
		}
		if at, err = o.vm.Instructions(); err != nil || at == to {
			return err
		}
		if at > to {
			return partsError(wrongStop(at, to))
		}
		v := &view{read: o.d.Read, pages: map[uint64][]byte{}}
		c := &inspect.CPU{Read: v.Read}
		if c.Registers, err = o.d.Registers(); err != nil {
			return err
		}
		if all := o.look.spots[c.Registers["rip"]]; all != nil {
			if at, err = o.hit(c, at, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// hit says what is to be said at a spot, and steps over its instruction: the stub would stop
// there again. It returns how many instructions have run by then.
func (o *observer) hit(c *inspect.CPU, at uint64, all []spot) (uint64, error) {
	pc := c.Registers["rip"]
	if f, ok := o.rec.sym.GoFunc(pc); ok {
		c.Depth, _ = f.SPDelta(pc)
	}
	this, who := entered{pc: pc, goroutine: o.look.image.Goroutine(c)}, "kernel"
	if this.goroutine == 0 {
		this.sp = c.Registers["rsp"]
	} else {
		who = fmt.Sprintf("goroutine %d", this.goroutine)
	}
	if o.again[this] {
		delete(o.again, this)
		all = nil
	}
	for i := range all {
		all[i].times++
		if err := o.out.say(fmt.Sprintf("%s, %s: %s", o.point(at), who,
			all[i].text(o.look.image, c))); err != nil {
			return at, err
		}
	}
	if err := o.d.Step(o.ctx); err != nil {
		return at, err
	}
	// A step that has run no instruction has delivered an interrupt.
	n, err := o.vm.Instructions()
	if n == at && err == nil {
		o.again[this] = true
	}
	return n, err
}

// proceed lets the machine run until it stops.
func (o *observer) proceed() error {
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = o.d.Go(o.ctx)
	}()
	if _, stands := o.await(o.vm, nil, done); stands != nil {
		o.vm.Kill()
		<-done
		return stands
	}
	return err
}

// over reports whether a machine has ended.
func over(vm *qemu.VM) bool {
	select {
	case <-vm.Done():
		return true
	default:
		return false
	}
}

// pageSize is of what is read at once of a machine that stands still, in bytes.
const pageSize = 1 << 10

// view is the memory of a machine that stands still: what has been read once is not asked for
// again.
type view struct {
	read  func(p []byte, addr uint64) error
	pages map[uint64][]byte
}

func (v *view) Read(p []byte, addr uint64) error {
	for len(p) > 0 {
		at := addr &^ (pageSize - 1)
		page, ok := v.pages[at]
		if !ok {
			page = make([]byte, pageSize)
			if v.read(page, at) != nil { // a part of it, perhaps
				return v.read(p, addr)
			}
			v.pages[at] = page
		}
		n := copy(p, page[addr-at:])
		p, addr = p[n:], addr+uint64(n)
	}
	return nil
}

// lines writes lines between what else is written to the same place: each begins at the
// beginning of one.
type lines struct {
	mu    sync.Mutex
	w     io.Writer
	begun bool // what was written last has not ended its line
}

// Write is for the machine's output.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p) > 0 {
		l.begun = p[len(p)-1] != '\n'
	}
	return l.w.Write(p)
}

// say writes a line.
func (l *lines) say(s string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun {
		s, l.begun = "\n"+s, false
	}
	_, err := io.WriteString(l.w, s+"\n")
	return err
}
