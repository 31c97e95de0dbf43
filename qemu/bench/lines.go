package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// lines counts the lines of everything that ends up in an image because of the
// kernel, by package, without tests. A line of code is one with a token on it.
func (b *bench) lines() error {
	b.progress("lines.*: lines of code of the kernel's own packages, without tests, comments and blank lines")
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,SFiles", "./kernel")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	list, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("lines: go list: %w", err)
	}
	type pkg struct {
		ImportPath, Dir string
		Standard        bool
		GoFiles, SFiles []string
	}
	const module = "github.com/zeroframe/zeroframe/"
	total, assembly := count{}, count{}
	byPackage := map[string]int{}
	for d := json.NewDecoder(strings.NewReader(string(list))); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("lines: go list: %w", err)
		}
		if p.Standard {
			continue
		}
		for _, name := range append(p.GoFiles, p.SFiles...) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return err
			}
			c := countLines(text)
			total.add(c)
			if strings.HasSuffix(name, ".s") {
				assembly.add(c)
			}
			byPackage[strings.ReplaceAll(strings.TrimPrefix(p.ImportPath, module), "/", ".")] += c.code
		}
	}
	if len(byPackage) == 0 {
		return errors.New("lines: no package of the kernel was found")
	}
	var names []string
	for n := range byPackage {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		b.figure("lines."+n+".code", byPackage[n])
	}
	b.figure("lines.total.code", total.code)
	b.figure("lines.total.assembly.code", assembly.code)
	b.figure("lines.total.comment", total.comment)
	b.figure("lines.total.blank", total.blank)
	return nil
}

// count is numbers of lines. A line with code and a comment is one of code.
type count struct{ code, comment, blank int }

func (c *count) add(d count) {
	c.code += d.code
	c.comment += d.comment
	c.blank += d.blank
}

// countLines counts a source file. Go's scanner reads assembly as well: only its
// tokens are other ones, and those that it takes for wrong are still on their lines.
func countLines(text []byte) count {
	const (
		comment = 1 << iota
		code
	)
	lines := strings.Count(string(text), "\n")
	kinds := make([]int, lines+2)
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		kind := code
		switch {
		case tok == token.COMMENT:
			kind = comment
		case tok == token.SEMICOLON && lit == "\n":
			continue // put in by the scanner
		}
		first := file.Line(pos)
		for l := first; l <= first+strings.Count(lit, "\n") && l < len(kinds); l++ {
			kinds[l] |= kind
		}
	}
	var c count
	for _, k := range kinds[1 : lines+1] {
		switch {
		case k&code != 0:
			c.code++
		case k&comment != 0:
			c.comment++
		default:
			c.blank++
		}
	}
	return c
}
