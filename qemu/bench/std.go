package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// stdSummary is the last line of the table that qemu/stdtable makes.
var stdSummary = regexp.MustCompile(`(\d+) packages: (\d+) pass, (\d+) pass with exceptions, (\d+) fail; ` +
	`of the (\d+) that need no network and no subprocess, (\d+) pass: ([\d.]+) %$`)

// std gives the totals of the last run of make test-std, if there was one.
func (b *bench) std() error {
	const table = "qemu/std.txt"
	text, err := os.ReadFile(table)
	if errors.Is(err, fs.ErrNotExist) {
		b.progress("no std.*: there is no " + table + "; make test-std makes it")
		return nil
	}
	if err != nil {
		return err
	}
	b.progress("std.*: packages of the standard library whose tests pass on the kernel, from " + table +
		" as make test-std last made it; alone: those that need no network and no subprocess")
	m := stdSummary.FindStringSubmatch(strings.TrimSpace(string(text)))
	if m == nil {
		return fmt.Errorf("std: %s does not end in a summary; make test-std makes it anew", table)
	}
	for i, name := range []string{"packages", "pass", "exceptions", "fail", "alone", "alone.pass", "alone.percent"} {
		b.figure("std."+name, m[1+i])
	}
	return nil
}
