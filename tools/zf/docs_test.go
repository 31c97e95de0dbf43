package main

// README.md and CONTRIBUTING.md name commands, flags, options of the kernel, targets of
// the Makefile, folders and headings. Each must be there, and of the options, the targets
// and the folders each must be named.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// document returns a file of the module's top folder.
func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	// zfLines matches a command line of zf in a block of code, or in a line.
	zfLines = regexp.MustCompile("(?m)^(?:    |\t)zf ([^#\n]*)|`zf ([^`]*)`")
	// quotes matches what is one word in a shell.
	quotes = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	// helpFlags matches a flag in a command's help, zf addr's too, whose flags have a letter
	// and a long name.
	helpFlags = regexp.MustCompile(`(?m)^  (-{1,2}[A-Za-z][a-z-]*)(?:, (--[a-z-]+))?`)
)

// TestDocumentedFlags: the commands and flags of zf in the documents exist.
func TestDocumentedFlags(t *testing.T) {
	text := document(t, "README.md") + document(t, "CONTRIBUTING.md")
	flags := map[string][]string{} // by command
	checked := 0
	for _, m := range zfLines.FindAllStringSubmatch(text, -1) {
		line, _, _ := strings.Cut(quotes.ReplaceAllString(m[1]+m[2], "Q"), " -- ")
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.HasSuffix(words[0], ":") {
			continue // zf itself, or what zf says
		}
		c := words[0]
		if find(c) == nil && c != "help" {
			t.Errorf("there is no command for `zf %s`", line)
			continue
		}
		if flags[c] == nil {
			_, stdout, _ := zf(nil, "help", c)
			flags[c] = []string{"-h"}
			for _, f := range helpFlags.FindAllStringSubmatch(stdout, -1) {
				flags[c] = append(flags[c], f[1], f[2])
			}
		}
		for _, w := range words[1:] {
			if w == "|" || strings.Contains(w, ">") {
				break // another command's
			}
			f, _, _ := strings.Cut(w, "=")
			if len(f) < 2 || f[0] != '-' {
				continue
			}
			checked++
			if slices.Contains(flags[c], f) {
				continue
			}
			for _, letter := range f[1:] {
				if c != "addr" || !slices.Contains(flags[c], "-"+string(letter)) {
					t.Errorf("zf %s has no flag %s, which stands in `zf %s`", c, f, line)
					break
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("%d flags found in the documents; want all of them", checked)
	}
}

// TestDocumentedOptions: the README's table has the options that the kernel reads, and
// no others.
func TestDocumentedOptions(t *testing.T) {
	_, table, ok := strings.Cut(document(t, "README.md"), "\n### Kernel command line\n")
	table, _, end := strings.Cut(table, "\n## ")
	if !ok || !end {
		t.Fatal("the README has no table of the kernel's options")
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)").FindAllStringSubmatch(table, -1) {
		documented[strings.TrimSuffix(m[1], ".")] = true // env.NAME
	}
	read := map[string]bool{}
	for _, file := range sources(t, "kernel") {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.Ident)
			if !ok || f.Name != "Option" && f.Name != "nextOption" && f.Name != "logSize" {
				return true
			}
			for _, arg := range call.Args {
				if s, ok := text(file, arg); ok {
					read[strings.TrimSuffix(s, ".")] = true
				}
			}
			return true
		})
	}
	// These are read word by word.
	for _, option := range []string{"env", "monitor"} {
		read[option] = true
	}
	read["crash.then"] = true // of the crash lab, as crash is
	for option := range read {
		if !documented[option] {
			t.Errorf("the kernel reads the option %s, which the README's table does not have", option)
		}
	}
	for option := range documented {
		if !read[option] {
			t.Errorf("the README's table has the option %s, which the kernel does not read", option)
		}
	}
	if len(read) < 20 {
		t.Errorf("the kernel reads %q; want all of its options", slices.Sorted(maps.Keys(read)))
	}
}

// sources parses the files of a package.
func sources(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// text returns the string that an expression is: a literal, or a constant of the file.
func text(file *ast.File, e ast.Expr) (string, bool) {
	if id, ok := e.(*ast.Ident); ok {
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if ok && v.Names[0].Name == id.Name && len(v.Values) > 0 {
				e = v.Values[0]
			}
			return true
		})
	}
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// TestDocumentedTargets: the Makefile has the targets that the documents name, and its
// help has all of them.
func TestDocumentedTargets(t *testing.T) {
	makefile := document(t, "Makefile")
	_, rest, _ := strings.Cut(makefile, ".PHONY:")
	line, _, _ := strings.Cut(rest, "\n")
	targets := strings.Fields(line)
	for _, target := range targets {
		if target != "help" && target != "build-zf" && !strings.Contains(makefile, "make "+target+" ") {
			t.Errorf("make help does not name %s", target)
		}
	}
	found := 0
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		for _, m := range regexp.MustCompile("(?:`|(?m:^    ))make ([a-z-]+)").FindAllStringSubmatch(document(t, name), -1) {
			if found++; !slices.Contains(targets, m[1]) {
				t.Errorf("%s names make %s, which the Makefile does not have", name, m[1])
			}
		}
	}
	if found < 8 {
		t.Errorf("%d targets found in the documents; want all of them", found)
	}
}

// TestDocumentedFolders: the table of the layout has each package's folder, and folders
// that are named exist.
func TestDocumentedFolders(t *testing.T) {
	contributing := document(t, "CONTRIBUTING.md")
	for _, top := range []string{"kernel", "tools", "qemu"} {
		_, row, ok := strings.Cut(contributing, "\n| `"+top+"/` ")
		row, _, _ = strings.Cut(row, "\n")
		if !ok {
			t.Errorf("CONTRIBUTING.md has no row for %s/", top)
			continue
		}
		folders, err := os.ReadDir(filepath.Join("..", "..", top))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders {
			if f.IsDir() && f.Name() != "testdata" && !strings.Contains(row, "`"+f.Name()+"`") {
				t.Errorf("CONTRIBUTING.md does not name %s/%s", top, f.Name())
			}
		}
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		for _, m := range regexp.MustCompile("`(?:\\./)?((?:arch|boot|kernel|tracer|tools|qemu)/[a-z0-9_/.]*)`").FindAllStringSubmatch(document(t, name), -1) {
			if _, err := os.Stat(filepath.Join("..", "..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", name, m[1], err)
			}
		}
	}
}

// TestDocumentedFiles: the way through the kernel, kernel/doc.go, passes all of its files.
func TestDocumentedFiles(t *testing.T) {
	way := document(t, "kernel/doc.go")
	paths, err := filepath.Glob(filepath.Join("..", "..", "kernel", "*.go"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d files of the kernel, %v", len(paths), err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if name == "doc.go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "monitor") {
			continue // monitor*.go there
		}
		if !strings.Contains(way, name) {
			t.Errorf("kernel/doc.go does not say where %s comes in", name)
		}
	}
	for _, m := range regexp.MustCompile(`[a-z0-9_/]+\.(?:go|s)\b`).FindAllString(way, -1) {
		_, inKernel := os.Stat(filepath.Join("..", "..", "kernel", m))
		if _, err := os.Stat(filepath.Join("..", "..", m)); err != nil && inKernel != nil {
			t.Errorf("kernel/doc.go names %s, which is not there", m)
		}
	}
}

// TestDocumentedLinks: a link within a document leads to one of its headings, and a
// link to a file to one that is there.
func TestDocumentedLinks(t *testing.T) {
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		text := document(t, name)
		anchors := map[string]bool{}
		for _, m := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(text, -1) {
			anchor := strings.NewReplacer(" ", "-", "`", "", ",", "").Replace(strings.ToLower(m[1]))
			anchors["#"+anchor] = true
		}
		for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "#") {
				if !anchors[m[1]] {
					t.Errorf("%s has no heading for the link %s", name, m[1])
				}
				continue
			}
			if _, err := os.Stat(filepath.Join("..", "..", m[1])); err != nil && !strings.Contains(m[1], "://") {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}
