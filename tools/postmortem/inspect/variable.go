package inspect

// Expressions are Delve's: Go's syntax for what needs no call. A variable has a value only where
// the debug information says that it has one at that instruction, and the core has the memory.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"strings"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
)

// OptimizedAway is said of a variable that has no value where its frame stands. Host.
const OptimizedAway = "<optimized away>"

// Place is where an expression is evaluated: in a frame of a goroutine, 0 being the innermost
// and inlined calls having frames of their own. Goroutine 0 is none: package variables alone.
// Host.
type Place struct {
	Goroutine int64
	Frame     int
}

// Limits of how much of a value is read: elements of an array, slice or map, bytes of a string,
// pointers followed and structs within structs. Host.
type Limits struct{ Elements, Bytes, Depth int }

// DefaultLimits fit on a screen. Host.
var DefaultLimits = Limits{Elements: 64, Bytes: 1024, Depth: 3}

// Value is what an expression has given. Host.
type Value struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`
	Value *string `json:"value"`              // nil if it is not known
	Why   string  `json:"why,omitempty"`      // why not: OptimizedAway, or an error
	Arg   bool    `json:"arg,omitempty"`      // an argument or a result of its function
	Outer bool    `json:"shadowed,omitempty"` // another one of that name hides it

	text string // over several lines
}

// Eval returns the value of an expression. An expression that has no meaning there is an error;
// one whose value is not known is a Value that says so. Host.
func (p *Program) Eval(expr string, at Place, l Limits) (v Value, err error) {
	defer guard(&err)
	scope, err := p.scope(at)
	if err != nil {
		return v, err
	}
	found, err := p.eval(scope, expr, at.Goroutine == 0, l.config())
	if err != nil {
		if away(err) {
			return Value{Name: expr, Why: OptimizedAway}, nil
		}
		return v, p.meaningless(expr, scope, at, err)
	}
	v = value(found)
	v.Name = expr
	return v, nil
}

// eval has Delve evaluate an expression; inMain says that there is no frame.
func (p *Program) eval(scope *proc.EvalScope, expr string, inMain bool,
	c proc.LoadConfig) (*proc.Variable, error) {
	if inMain {
		expr = p.inMain(expr, scope)
	}
	return scope.EvalExpression(expr, c)
}

// meaningless says of an error of Delve's what is wrong with an expression.
func (p *Program) meaningless(expr string, scope *proc.EvalScope, at Place, err error) error {
	if wrong := p.noName(expr, scope, at.Goroutine == 0); wrong != nil {
		return fmt.Errorf("%s: %w", expr, wrong)
	}
	for theirs, ours := range delvesWords {
		if strings.Contains(err.Error(), theirs) {
			return fmt.Errorf("%s: %s", expr, ours)
		}
	}
	return fmt.Errorf("%s: %w", expr, err)
}

// delvesWords are errors that tell how Delve's own commands are used.
var delvesWords = map[string]string{
	"function calls not allowed": "a dead program calls no functions",
	"no type entry found":        "the program has no such type, or nothing uses it",
}

// Variables returns the arguments of a frame's function, then its local variables that are in
// scope there. Host.
func (p *Program) Variables(at Place, l Limits) (all []Value, err error) {
	defer guard(&err)
	scope, err := p.scope(at)
	if err != nil {
		return nil, err
	}
	args, err := scope.FunctionArguments(l.config())
	if err != nil {
		return nil, err
	}
	locals, err := scope.LocalVariables(l.config())
	if err != nil {
		return nil, err
	}
	for i, v := range append(args, locals...) {
		one := value(v)
		one.Arg = i < len(args)
		all = append(all, one)
	}
	return all, nil
}

// Where returns the frame of a place. Host.
func (p *Program) Where(at Place) (f Frame, err error) {
	defer guard(&err)
	scope, err := p.scope(at)
	if err != nil {
		return f, err
	}
	return location(scope.Location), nil
}

// scope is Delve's for a place.
func (p *Program) scope(at Place) (*proc.EvalScope, error) {
	if at.Goroutine == 0 {
		return &proc.EvalScope{Mem: p.target.Memory(), BinInfo: p.target.BinInfo()}, nil
	}
	g, err := p.find(at.Goroutine)
	if err != nil {
		return nil, err
	}
	frames, err := Stack(p.target, g, at.Frame+1)
	if at.Frame >= len(frames) {
		if err == nil {
			err = fmt.Errorf("it has %d frames", len(frames))
		}
		return nil, fmt.Errorf("goroutine %d has no frame %d: %w", at.Goroutine, at.Frame, err)
	}
	thread := p.target.CurrentThread()
	if g.Thread != nil {
		thread = g.Thread
	}
	return proc.FrameToScope(p.target, p.target.Memory(), g, thread.ThreadID(),
		frames[at.Frame:]...), nil
}

// means reports whether a name is of a variable or a type; err is what Delve says of a variable.
func (p *Program) means(scope *proc.EvalScope, name string) (ok bool, err error) {
	_, err = scope.EvalExpression(name, proc.LoadConfig{})
	_, terr := p.target.BinInfo().FindType(name)
	return err == nil || terr == nil, err
}

// inMain returns an expression in which a name that is a package variable or a type of main has
// its package: that is what a user means by it where there is no frame.
func (p *Program) inMain(expr string, scope *proc.EvalScope) string {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return expr // Delve says what is wrong
	}
	skip := map[*ast.Ident]bool{}
	changed := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			skip[n.Sel] = true
			if x, ok := n.X.(*ast.Ident); ok {
				// pkg.Name stays, if there is one; else it is a field of a variable.
				full := x.Name + "." + n.Sel.Name
				skip[x], _ = p.means(scope, full)
			}
		case *ast.Ident:
			if skip[n] {
				return true
			}
			if ok, _ := p.means(scope, "main."+n.Name); ok {
				n.Name, changed = "main."+n.Name, true
			}
		}
		return true
	})
	if !changed {
		return expr
	}
	var b strings.Builder
	if printer.Fprint(&b, token.NewFileSet(), e) != nil {
		return expr
	}
	return b.String()
}

func (l Limits) config() proc.LoadConfig {
	return proc.LoadConfig{FollowPointers: true, MaxVariableRecurse: l.Depth, MaxStringLen: l.Bytes,
		MaxArrayValues: l.Elements, MaxStructFields: -1, MaxMapBuckets: 0}
}

// value makes ours of a variable of Delve's.
func value(v *proc.Variable) Value {
	out := Value{Name: v.Name, Type: v.TypeString(), Outer: v.Flags&proc.VariableShadowed != 0}
	if v.Unreadable != nil {
		out.Why = v.Unreadable.Error()
		if away(v.Unreadable) {
			out.Why = OptimizedAway
		}
		return out
	}
	shown := api.ConvertVar(v)
	line := shown.SinglelineString()
	out.Value, out.text = &line, shown.StringWithOptions("", "", api.PrettyNewlines)
	return out
}

// away reports whether an error is that the debug information has no place for a variable at the
// frame's instruction: the compiler has kept it nowhere, or nowhere any more.
func away(err error) bool {
	for _, s := range []string{"could not find loclist entry", "empty OP stack", "optimized out",
		"optimized away"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

// Write shows a value as one that a user asked for. Host.
func (v *Value) Write(w io.Writer) error {
	_, err := fmt.Fprintln(w, clean(v.String()))
	return err
}

// String is the value, or why there is none. Host.
func (v *Value) String() string {
	switch {
	case v.Value != nil:
		return v.text
	case v.Why == OptimizedAway:
		return v.Why
	}
	return "<unreadable: " + v.Why + ">"
}

// WriteVariables shows variables of a frame, a line each, or more. Host.
func WriteVariables(w io.Writer, f Frame, all []Value) error {
	fmt.Fprintf(w, "%s\n\t%s:%d\n", terminal.Clean(f.Function), terminal.Clean(f.File), f.Line)
	for i := range all {
		v := &all[i]
		note := ""
		if v.Arg {
			note = " (argument)"
		}
		if v.Outer {
			note += " (shadowed)"
		}
		if _, err := fmt.Fprintf(w, "%s%s = %s\n", terminal.Clean(v.Name), note,
			clean(v.String())); err != nil {
			return err
		}
	}
	return nil
}

// clean makes text of several lines safe for a terminal.
func clean(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		rest := strings.TrimLeft(l, "\t")
		lines[i] = l[:len(l)-len(rest)] + terminal.Clean(rest)
	}
	return strings.Join(lines, "\n")
}
