package image

// What a program does not use of the kernel is not linked. The kernel's package parts has a
// constant for each part; the build compiles the kernel with a copy of that file in which those
// that are not wanted are false.

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// partsTable has a line for each part of the kernel: its name, and the options that need it. It is
// made by go generate ./kernel/option.
//
//go:embed parts.txt
var partsTable string

// Parts returns the names of the kernel's parts that can be left out.
func Parts() (names []string) {
	for line := range strings.Lines(partsTable) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		names = append(names, name)
	}
	return names
}

// ParseParts reads what -parts says: names with commas between, all or none. The result is for
// BuildOptions.Parts.
func ParseParts(s string) ([]string, error) {
	switch s {
	case "all":
		return nil, nil
	case "none":
		return []string{}, nil
	}
	names := strings.Split(s, ",")
	for _, n := range names {
		if !slices.Contains(Parts(), n) {
			return nil, fmt.Errorf("there is no part %q; want all, none, or some of %s", n,
				strings.Join(Parts(), ","))
		}
	}
	return names, nil
}

// PartsFor returns the parts that the words of a kernel's command line need.
func PartsFor(words []string) (names []string) {
	for line := range strings.Lines(partsTable) {
		f := strings.Fields(line)
		if slices.ContainsFunc(words, func(w string) bool {
			name, _, option := strings.Cut(w, "=")
			return option && slices.Contains(f[1:], name)
		}) {
			names = append(names, f[0])
		}
	}
	if slices.Contains(words, "monitor") || slices.Contains(words, "panic=monitor") {
		names = append(names, "monitor")
	}
	return names
}

// makesSockets reports whether a program of those packages may make a socket: by package net, or by
// a system call of its own.
func makesSockets(pkgs []listed, root *listed) bool {
	return slices.ContainsFunc(pkgs, func(p listed) bool {
		name, _, _ := strings.Cut(p.ImportPath, " ")
		own := !p.Standard || root.Standard // whose tests call what they like
		return name == "net" || own && (len(p.SFiles) > 0 || slices.Contains(p.Imports, "syscall"))
	})
}

// withParts returns what the kernel's file parts.go is replaced by, in folder dir; nothing if the
// kernel has all its parts.
func (o *BuildOptions) withParts(dir string) (replace map[string]string, err error) {
	replace = make(map[string]string)
	source := filepath.Join(o.kernelDir, "parts", "parts.go")
	text, err := os.ReadFile(source)
	if o.Parts == nil || err != nil {
		return replace, nil // a kernel without that file has no parts
	}
	for _, p := range Parts() {
		if slices.Contains(o.Parts, p) || p == "network" && (o.Net || o.inet) ||
			p == "observe" && o.HeapProfile {
			continue
		}
		constant := "\t" + strings.ToUpper(p[:1]) + p[1:]
		if before, after, ok := strings.Cut(string(text), constant); ok {
			text = []byte(before + constant + strings.Replace(after, "true", "false", 1))
		}
	}
	replace[source] = filepath.Join(dir, "parts.go")
	return replace, os.WriteFile(replace[source], text, 0o644)
}
