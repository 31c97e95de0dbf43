package main

// One list says which tests are long. `make test` hands it to `go test` as what to skip,
// `make test-all` as what to run, so no test can be in neither. A name in it that no
// test has is an error.

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed long.txt
var longText string

// A longTest is one line of long.txt.
type longTest struct {
	pkg  string // its folder, as "./qemu"
	name string // as `go test -v` prints it; the name of a subtest is behind a slash
}

type longList []longTest

// readLong reads long.txt.
func readLong() (list longList, err error) {
	for line := range strings.Lines(longText) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 2 || !strings.HasPrefix(f[0], "./") || !strings.HasPrefix(f[1], "Test") {
			return nil, fmt.Errorf("long.txt: %q; want ./FOLDER TEST", strings.TrimSpace(line))
		}
		list = append(list, longTest{f[0], f[1]})
	}
	return list, nil
}

// pattern returns the argument of -run and -skip that matches the list's tests alone.
// They are matched in every package of the run, so a name must be one in the module.
func (l longList) pattern() string {
	var all []string
	for _, t := range l {
		parts := strings.Split(t.name, "/")
		for i, p := range parts {
			parts[i] = "^" + regexp.QuoteMeta(p) + "$"
		}
		all = append(all, strings.Join(parts, "/"))
	}
	return strings.Join(all, "|")
}

// packages returns the folders of the list's tests, each once.
func (l longList) packages() []string {
	var all []string
	for _, t := range l {
		all = append(all, t.pkg)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
