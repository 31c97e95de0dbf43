package await

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sleeps returns the places in a file where a test waits for a time: a call of time.Sleep or
// time.Tick, or a receive from time.After that is no case of a select. A bubble of
// testing/synctest has a time of its own, in which nobody waits.
func sleeps(t *testing.T, path string, text any) (all []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[ast.Node]bool{} // the receives that are cases
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CommClause:
			if s, ok := n.Comm.(*ast.ExprStmt); ok {
				limits[s.X] = true
			}
		case *ast.UnaryExpr:
			if call, ok := n.X.(*ast.CallExpr); ok && n.Op == token.ARROW && isTime(call.Fun, "After") && !limits[n] {
				all = append(all, set.Position(n.Pos()).String())
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Test" && fmt.Sprint(s.X) == "synctest" {
				return false
			}
			if isTime(n.Fun, "Sleep", "Tick") {
				all = append(all, set.Position(n.Pos()).String())
			}
		}
		return true
	})
	return all
}

// isTime reports whether an expression is one of those functions of package time.
func isTime(e ast.Expr, names ...string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && fmt.Sprint(s.X) == "time" && slices.Contains(names, s.Sel.Name)
}

// TestNoSleep: no test of the module waits for a time.
func TestNoSleep(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata": // programs that tests run
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		for _, at := range sleeps(t, path, nil) {
			t.Errorf("%s: it waits for a time; wait for what is sent, with await.Log, or ask, with await.Poll", at)
		}
		return nil
	})
	if err != nil || files < 200 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestFindsSleeps: what TestNoSleep looks for is found, and nothing else.
func TestFindsSleeps(t *testing.T) {
	const text = `package p

func f() {
	time.Sleep(1)
	<-time.After(1)
	synctest.Test(t, func() { time.Sleep(1); <-time.After(1) })
	select {
	case <-c:
	case <-time.After(1):
		time.Sleep(2)
	}
	for end := 0; ; time.Sleep(3) {
	}
	for range time.Tick(1) {
	}
}
`
	want := []string{"p.go:4:2", "p.go:5:2", "p.go:10:3", "p.go:12:18", "p.go:14:12"}
	if got := sleeps(t, "p.go", text); !slices.Equal(got, want) {
		t.Errorf("sleeps at %q; want %q", got, want)
	}
}
