package main

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// sources lists the files of everything that ends up in an image because of the kernel: a
// package and a path in a line.
const sources = `{{if not .Standard}}{{range .GoFiles}}{{$.ImportPath}} {{$.Dir}}/{{.}}
{{end}}{{range .SFiles}}{{$.ImportPath}} {{$.Dir}}/{{.}}
{{end}}{{end}}`

// lines counts the lines of everything that ends up in an image because of the
// kernel, by package, without tests. One with code and a comment is one of code.
func (b *bench) lines() error {
	list, err := batch.Output(b.ctx, "", []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"},
		"go", "list", "-deps", "-f", sources, "./kernel")
	if err != nil {
		return err
	}
	packages, total := map[string]float64{}, map[string]float64{}
	for file := range strings.FieldsSeq(strings.ReplaceAll(list, " /", ":/")) {
		pkg, path, _ := strings.Cut(file, ":")
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pkg = strings.ReplaceAll(strings.TrimPrefix(pkg, batch.Module), "/", ".")
		for line := range strings.Lines(string(text)) {
			switch line = strings.TrimSpace(line); {
			case line == "":
				total["blank"]++
			case strings.HasPrefix(line, "//"):
				total["comment"]++
			default:
				total["code"]++
				packages[pkg]++
				if strings.HasSuffix(path, ".s") {
					total["assembly"]++
				}
			}
		}
	}
	if len(packages) == 0 {
		return errors.New("no package of the kernel was found")
	}
	for _, n := range slices.Sorted(maps.Keys(packages)) {
		b.add("package."+n, packages[n])
	}
	for name, n := range total {
		b.add(name, n)
	}
	return nil
}
