package inspect

// The names that an expression may use: variables of a frame, package variables, fields. Where one
// means nothing, Delve's own error is of its inner workings; so we look for the name ourselves.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"
)

// NoName is the error of an expression with a name that means nothing. Host.
type NoName struct {
	text  string
	Name  string   // that one
	Known []string // those that there are at its place
}

// Error says what is not there, with near names.
func (e *NoName) Error() string { return e.text }

// Names returns the names that an expression may go on with: behind "of." the fields of what of
// means, or the variables of a package of; if of is "", those that it may begin with, packages with
// a dot. Host.
func (p *Program) Names(of string, at Place) (names []string, err error) {
	defer guard(&err)
	scope, err := p.scope(at)
	if err != nil {
		return nil, err
	}
	if of == "" {
		for _, name := range p.names(scope, at.Goroutine == 0) {
			if pkg, _, full := strings.Cut(name, "."); full {
				name = pkg + "."
			}
			names = append(names, name)
		}
		slices.Sort(names)
		return slices.Compact(names), nil
	}
	if token.IsIdentifier(of) && !p.isLocal(scope, of) && p.isPackage(scope, of) {
		return p.variablesOf(scope, of), nil
	}
	v, err := p.eval(scope, of, at.Goroutine == 0, proc.LoadConfig{})
	if err != nil {
		return nil, err
	}
	return fields(v.RealType), nil
}

// names returns the names with which an expression may begin: of variables of the frame and of
// package variables, those of the frame's package, with inMain of package main, also without it.
func (p *Program) names(scope *proc.EvalScope, inMain bool) (names []string) {
	own := "main."
	if !inMain && scope.Fn != nil {
		pkg := scope.Fn.PackageName()
		own = pkg[strings.LastIndexByte(pkg, '/')+1:] + "."
	}
	if locals, err := scope.Locals(0, ""); err == nil {
		for _, v := range locals {
			names = append(names, v.Name)
		}
	}
	for _, name := range p.globals(scope) {
		if short, ok := strings.CutPrefix(name, own); ok {
			names = append(names, short)
		}
		names = append(names, name)
	}
	return names
}

// globals returns the names of package variables, each with the last part of its package's path.
func (p *Program) globals(scope *proc.EvalScope) []string {
	if p.packageNames == nil {
		all, _ := scope.PackageVariables(proc.LoadConfig{})
		for _, v := range all {
			p.packageNames = append(p.packageNames, v.Name[strings.LastIndexByte(v.Name, '/')+1:])
		}
	}
	return p.packageNames
}

// fields returns the fields of a type, or of what it points to.
func fields(t godwarf.Type) (names []string) {
	t = godwarf.ResolveTypedef(t)
	if to, ok := t.(*godwarf.PtrType); ok {
		t = godwarf.ResolveTypedef(to.Type)
	}
	if s, ok := t.(*godwarf.StructType); ok {
		for _, f := range s.Field {
			if f.Name != "_" {
				names = append(names, f.Name[strings.LastIndexByte(f.Name, '.')+1:])
			}
		}
	}
	return names
}

// noName returns the error of the first name in an expression that means nothing, nil if there is
// none.
func (p *Program) noName(expr string, scope *proc.EvalScope, inMain bool) (found *NoName) {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return nil
	}
	has := func(name string) bool {
		if inMain {
			name = p.inMain(name, scope)
		}
		ok, err := p.means(scope, name)
		return ok || away(err)
	}
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr, *ast.FuncLit, *ast.CompositeLit, *ast.InterfaceType, *ast.StructType,
			*ast.FuncType:
			return false // Delve says what it makes of that
		case *ast.SelectorExpr:
			of, name := types.ExprString(n.X), n.Sel.Name
			x, isName := n.X.(*ast.Ident)
			switch {
			case found != nil || has(of+"."+name):
			case isName && !p.isLocal(scope, x.Name) && (p.isPackage(scope, x.Name) || !has(x.Name)):
				found = p.noPackageVariable(scope, inMain, x.Name, name)
				if !p.isPackage(scope, x.Name) && has("main."+x.Name) {
					found = &NoName{butMain(x.Name), x.Name, nil}
				}
			case has(of):
				found = p.noField(scope, inMain, of, name)
			default:
				ast.Inspect(n.X, look)
			}
			return false
		case *ast.Ident:
			if found == nil && types.Universe.Lookup(n.Name) == nil && !has(n.Name) {
				text := "no variable here has the name " + n.Name + leftOut
				if has("main." + n.Name) {
					text = butMain(n.Name)
				}
				found = &NoName{text, n.Name, p.names(scope, inMain)}
			}
		}
		return true
	}
	ast.Inspect(e, look)
	return found
}

func butMain(name string) string {
	return fmt.Sprintf("no variable here has the name %s, but there is main.%[1]s", name)
}

// leftOut is why a name of the source may be unknown.
const leftOut = ", or nothing uses it, so that the linker left it out"

func (p *Program) isLocal(scope *proc.EvalScope, name string) bool {
	locals, _ := scope.Locals(0, name)
	return slices.ContainsFunc(locals, func(v *proc.Variable) bool { return v.Name == name })
}

func (p *Program) isPackage(scope *proc.EvalScope, name string) bool {
	return slices.ContainsFunc(p.globals(scope), func(s string) bool {
		return strings.HasPrefix(s, name+".")
	})
}

func (p *Program) noPackageVariable(scope *proc.EvalScope, inMain bool, pkg, name string) *NoName {
	if !p.isPackage(scope, pkg) {
		return &NoName{"no variable here, and no package with variables, has the name " + pkg, pkg,
			p.names(scope, inMain)}
	}
	return &NoName{fmt.Sprintf("package %s has no variable or type %s", pkg, name) + leftOut, name,
		p.variablesOf(scope, pkg)}
}

func (p *Program) variablesOf(scope *proc.EvalScope, pkg string) (names []string) {
	for _, full := range p.globals(scope) {
		if of, name, _ := strings.Cut(full, "."); of == pkg {
			names = append(names, name)
		}
	}
	return names
}

func (p *Program) noField(scope *proc.EvalScope, inMain bool, of, name string) *NoName {
	if inMain {
		of = p.inMain(of, scope)
	}
	v, err := scope.EvalExpression(of, proc.LoadConfig{})
	if err != nil {
		return nil
	}
	known := fields(v.RealType)
	if slices.Contains(known, name) {
		return nil // it is not to be read
	}
	text := fmt.Sprintf("%s is of type %s, which has no fields", of, v.TypeString())
	if len(known) > 0 {
		text = fmt.Sprintf("%s is of type %s, which has no field %s, only %s", of, v.TypeString(), name,
			strings.Join(known[:min(len(known), 12)], ", "))
	}
	return &NoName{text, name, known}
}
