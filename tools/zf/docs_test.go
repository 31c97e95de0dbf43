package main

// README.md, CONTRIBUTING.md, CHANGELOG.md and the chapters in doc name commands, flags,
// options of the kernel, targets of the Makefile, folders, files and headings. Each must be
// there, and of the options, the targets and the folders each must be named.

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

// documents returns the names of all documents, and fails when chapters are missing.
func documents(t *testing.T) []string {
	t.Helper()
	chapters, err := filepath.Glob(filepath.Join("..", "..", "doc", "*.md"))
	if err != nil || len(chapters) < 20 {
		t.Fatalf("%d chapters, %v", len(chapters), err)
	}
	names := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}
	for _, c := range chapters {
		names = append(names, filepath.Join("doc", filepath.Base(c)))
	}
	return names
}

var (
	// zfLines matches a command line of zf in a block of code, or in a line.
	zfLines = regexp.MustCompile("(?m)^(?:    |\t|\\$ |>   )?zf ([^#`\n]*)|`zf ([^`]*)`")
	// quotes matches what is one word in a shell.
	quotes = regexp.MustCompile(`'[^']*'|"[^"]*"|\$\(.*\)|-qemu \S+`)
	// helpFlags matches a flag in a command's help, zf addr's too, whose flags have a letter
	// and a long name.
	helpFlags = regexp.MustCompile(`(?m)^  (-{1,2}[A-Za-z][a-z0-9-]*)(?:, (--[a-z-]+))?`)
)

// TestDocumentedFlags: the commands and flags of zf in the documents exist.
func TestDocumentedFlags(t *testing.T) {
	var text string
	for _, name := range documents(t) {
		text += document(t, name)
	}
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
	if checked < 70 {
		t.Errorf("%d flags found in the documents; want all of them", checked)
	}
}

// TestDocumentedOptions: each option that the kernel reads by its name is one of its table,
// of which the chapter and `zf help kernel` are made, and each of the table is read. The crash
// lab's own are in its chapter.
func TestDocumentedOptions(t *testing.T) {
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)").FindAllStringSubmatch(document(t, "doc/options.md"), -1) {
		documented[strings.TrimSuffix(m[1], ".")] = true // env.NAME
		if !strings.Contains(kernelHelp, "\n  "+m[1]) {
			t.Errorf("zf help kernel does not have the option %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(crash[a-z.]*)=").FindAllStringSubmatch(document(t, "doc/crashlab.md"), -1) {
		documented[m[1]] = true
		if !strings.Contains(document(t, "kernel/crashlab/options.go"), `{Name: "`+m[1]+`"`) || strings.Contains(kernelHelp, "\n  "+m[1]) {
			t.Errorf("the option %s is not the crash lab's alone", m[1])
		}
	}
	read := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", "..", "kernel"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() == "option" {
			return err
		}
		for _, file := range sources(t, path) {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				f, qualified := call.Fun.(*ast.SelectorExpr)
				id, _ := call.Fun.(*ast.Ident)
				if qualified {
					id, _ = f.X.(*ast.Ident)
					qualified = id != nil && id.Name == "option" && slices.Contains([]string{"Value", "Word", "Number", "Next"}, f.Sel.Name)
				}
				if !qualified && (id == nil || id.Name != "logSize") {
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
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	read["env"], read["stack.limit"] = true, true // read word by word
	for option := range read {
		if !documented[option] {
			t.Errorf("the kernel reads the option %s, which its table does not have", option)
		}
	}
	for option := range documented {
		if !read[option] {
			t.Errorf("the kernel's table has the option %s, which it does not read", option)
		}
	}
	if len(read) < 30 {
		t.Errorf("the kernel reads %q; want all of its options", slices.Sorted(maps.Keys(read)))
	}
}

// sources parses the files of a package, in folder dir.
func sources(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
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
	for _, name := range documents(t) {
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
			if f.IsDir() && f.Name() != "testdata" && !strings.Contains(row, "`"+f.Name()+"`") && !strings.Contains(row, "`"+f.Name()+"/`") {
				t.Errorf("CONTRIBUTING.md does not name %s/%s", top, f.Name())
			}
		}
	}
	for _, name := range documents(t) {
		for _, m := range regexp.MustCompile("`(?:\\./)?((?:arch|boot|kernel|tracer|tools|qemu)/[a-z0-9_/.]*)`").FindAllStringSubmatch(document(t, name), -1) {
			if _, err := os.Stat(filepath.Join("..", "..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", name, m[1], err)
			}
		}
	}
}

var (
	// sourceFile matches the name of a file that a package is made of: Go, assembly, and what is
	// embedded or read.
	sourceFile = `[a-z0-9_-]\.(?:go|s|txt|css|js|py|html)`
	// fileNames matches such a name in a text, with or without its folder.
	fileNames = regexp.MustCompile(`[A-Za-z0-9_/.-]*` + sourceFile + `\b`)
	isSource  = regexp.MustCompile(sourceFile + `$`)
	code      = regexp.MustCompile(`\.(?:go|s)$`)
	// variants matches the end of the name of a file that belongs to the one without it.
	variants = regexp.MustCompile(`_(?:amd64|other|linux|bsd|unix|windows|xz|dwarf)$`)
)

// TestDocumentedFiles: the comment of a package names each of its files, in the order of reading,
// and no file that is not there. It is in doc.go, or in main.go of a command. Files such as
// NAME_amd64.s belong to NAME.go, if there is one.
// A package of one file beside its doc.go need not.
func TestDocumentedFiles(t *testing.T) {
	root := filepath.Join("..", "..")
	folders := 0
	err := filepath.WalkDir(root, func(folder string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" || d.Name() == ".git" {
			return filepath.SkipDir
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		stem := func(name string) string { return code.ReplaceAllString(name, "") }
		files, isGo := map[string]string{}, false // by what they are named by
		for _, e := range entries {
			isGo = isGo || strings.HasSuffix(e.Name(), ".go")
			if name := e.Name(); !e.IsDir() && isSource.MatchString(name) && name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
				files[stem(name)] = name
			}
		}
		for s := range files {
			if base := variants.ReplaceAllString(s, ""); base != s && files[base] != "" {
				delete(files, s)
			}
		}
		path := filepath.Join(folder, "doc.go")
		if _, err := os.Stat(path); err != nil && files["main"] == "main.go" {
			path = filepath.Join(folder, "main.go")
		}
		b, err := os.ReadFile(path)
		switch {
		case !isGo:
			return nil
		case err != nil && len(files) > 1:
			t.Errorf("%s has %d files, and no doc.go that says what is in them", folder, len(files))
			return nil
		case err != nil:
			return nil
		}
		folders++
		comment, _, _ := strings.Cut(string(b), "\npackage ")
		named := map[string]bool{}
		for _, name := range fileNames.FindAllString(comment, -1) {
			named[stem(name)], named[variants.ReplaceAllString(stem(name), "")] = true, true
			if !code.MatchString(name) {
				continue // it may be what a command writes
			}
			_, here := os.Stat(filepath.Join(folder, name))
			if _, err := os.Stat(filepath.Join(root, name)); err != nil && here != nil {
				t.Errorf("%s names %s, which is not there", path, name)
			}
		}
		for s, name := range files {
			if len(files) > 1 && !named[s] {
				t.Errorf("%s does not say what is in %s", path, name)
			}
		}
		return nil
	})
	if err != nil || folders < 100 {
		t.Errorf("%d packages have a doc.go or a main.go, %v", folders, err)
	}
}

// TestDocumentedLinks: a link leads to a file that is there, and to one of its headings. A
// chapter is linked from the README and from the list of chapters.
func TestDocumentedLinks(t *testing.T) {
	anchors := map[string]bool{} // and files
	for _, name := range documents(t) {
		anchors[name] = true
		for _, m := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(document(t, name), -1) {
			anchor := strings.NewReplacer(" ", "-", "`", "", ",", "").Replace(strings.ToLower(m[1]))
			anchors[name+"#"+anchor] = true
		}
	}
	linked := map[string]bool{}
	for _, name := range documents(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(document(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := filepath.Join(filepath.Dir(name), m[1])
			if strings.HasPrefix(m[1], "#") {
				to = name + m[1]
			}
			linked[name+" "+to] = true
			if _, err := os.Stat(filepath.Join("..", "..", to)); err != nil && !anchors[to] {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
	for _, name := range documents(t)[3:] {
		for _, from := range []string{"README.md", "doc/README.md"} {
			if name != "doc/README.md" && !linked[from+" "+name] {
				t.Errorf("%s has no link to %s", from, name)
			}
		}
	}
}
