package inspect

// Where an expression has its place in memory, for those who ask who wrote it.

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"reflect"
	"strings"

	"github.com/go-delve/delve/pkg/proc"
)

// Address returns where the value of an expression lies in memory, and its size in bytes. An
// expression that is no place in memory is an error, as what is in a register. Host.
func (p *Program) Address(expr string, at Place) (addr, size uint64, err error) {
	defer guard(&err)
	if err := isPlace(expr); err != nil {
		return 0, 0, err
	}
	scope, err := p.scope(at)
	if err != nil {
		return 0, 0, err
	}
	v, err := p.eval(scope, expr, at.Goroutine == 0, proc.LoadConfig{})
	if err != nil {
		return 0, 0, p.meaningless(expr, scope, at, err)
	}
	return placeOf(expr, v)
}

// ErrFollows is for an expression that goes through a pointer, a slice, a map or an interface, of
// an image that does not run. Host.
var ErrFollows = errors.New("it goes through a pointer, a slice, a map or an interface")

// Address is [Program.Address] for what lies in the image: package variables, their fields, and
// elements of their arrays. Other places give [ErrFollows]. Host.
func (i *Image) Address(expr string) (addr, size uint64, err error) {
	defer guardImage(&err)
	if err := isPlace(expr); err != nil {
		return 0, 0, err
	}
	follows := false // an index, say, which is then not known
	scope := i.scope(&CPU{Registers: map[string]uint64{}, Read: func([]byte, uint64) error {
		follows = true
		return errNoMemory
	}})
	e, _ := parser.ParseExpr(expr)
	for within(&e) {
		// Where it is is known if all that it is in are parts of one variable.
		x, err := scope.EvalExpression(types.ExprString(e), proc.LoadConfig{})
		if _, star := e.(*ast.StarExpr); star || err == nil && leads(x.Kind) {
			return 0, 0, fmt.Errorf("%s: %w", expr, ErrFollows)
		}
	}
	follows = false
	v, err := scope.EvalExpression(expr, proc.LoadConfig{})
	if err == nil {
		return placeOf(expr, v)
	}
	if follows {
		err = ErrFollows
	}
	return 0, 0, fmt.Errorf("%s: %w", expr, err)
}

// leads reports whether what is in a variable of a kind lies elsewhere.
func leads(k reflect.Kind) bool {
	return k == reflect.Pointer || k == reflect.Slice || k == reflect.Map || k == reflect.Interface ||
		k == reflect.String
}

// within makes of an expression the one that it is a part of, and reports whether there is one.
func within(e *ast.Expr) bool {
	switch x := (*e).(type) {
	case *ast.ParenExpr:
		*e = x.X
	case *ast.SelectorExpr:
		*e = x.X
	case *ast.IndexExpr:
		*e = x.X
	case *ast.TypeAssertExpr:
		*e = x.X
	default:
		return false
	}
	return true
}

// placeOf returns where a variable of Delve's is.
func placeOf(expr string, v *proc.Variable) (addr, size uint64, err error) {
	size = uint64(max(0, v.RealType.Size()))
	switch {
	case v.Unreadable != nil && away(v.Unreadable):
		err = fmt.Errorf("%s is optimized away there: it has no place in memory", expr)
	case v.Flags&(proc.VariableFakeAddress|proc.VariableCPURegister) != 0:
		err = fmt.Errorf("%s is in a register there, and not in memory", expr)
	case v.Flags&proc.VariableConstant != 0 || v.Addr == 0:
		err = fmt.Errorf("%s has no place in memory", expr)
	case size == 0:
		err = fmt.Errorf("%s has no bytes", expr)
	}
	return v.Addr, size, err
}

// isPlace returns an error for an expression whose value is made when it is evaluated.
func isPlace(expr string) error {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		_, why, _ := strings.Cut(err.Error(), ": ") // behind line and column
		return fmt.Errorf("%s is no Go expression: %s", expr, why)
	}
	for within(&e) {
	}
	switch e.(type) {
	case *ast.Ident, *ast.StarExpr, *ast.BasicLit:
		return nil
	}
	return fmt.Errorf(
		"%s is no place in memory: want a variable, a field, an element or what a pointer points to",
		expr)
}
