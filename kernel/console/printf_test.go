package console

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each call of Printf in the kernel must give as many numbers as its format takes.
func TestPrintfCalls(t *testing.T) {
	verb := regexp.MustCompile(`%[0-9]*(.?)`)
	calls := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := c.Fun.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "Printf" || !isConsole(s.X) {
				return true
			}
			calls++
			format := ""
			if l, ok := c.Args[0].(*ast.BasicLit); ok {
				format, _ = strconv.Unquote(l.Value)
			}
			verbs := verb.FindAllStringSubmatch(format, -1)
			for _, v := range verbs {
				if v[1] != "d" && v[1] != "x" {
					t.Errorf("%s: %s is no verb of Printf", files.Position(c.Pos()), v[0])
				}
			}
			if len(verbs) == 0 || len(verbs) != len(c.Args)-1 {
				t.Errorf("%s: %q takes %d numbers, and is given %d", files.Position(c.Pos()), format,
					len(verbs), len(c.Args)-1)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if calls < 50 {
		t.Errorf("%d calls were found; want at least 50", calls)
	}
}

func isConsole(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "console"
}

func TestPrintf(t *testing.T) {
	speech = mute
	Tap(collect)
	Printf("a %d, %3d|%x\nb%12d", 7, 42, 0xbeef, 1)
	if got, want := string(collected), "a 7,  42|0xbeef\r\nb           1"; got != want {
		t.Errorf("Printf has sent %q; want %q", got, want)
	}
}

var collected []byte

func collect(b byte) { collected = append(collected, b) }
