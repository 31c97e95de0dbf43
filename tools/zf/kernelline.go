package main

// The kernel's command line, and what its options ask for.

import (
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
)

// kernelOption is an option of the kernel command line. A value with a quote in it
// cannot be said and leaves the option out.
func kernelOption(key, value string) string {
	switch {
	case strings.ContainsAny(value, "\"\n"):
		return ""
	case strings.Contains(value, " "):
		return key + `="` + value + `"`
	}
	return key + "=" + value
}

// kernelWords returns the words of a kernel command line. ended is set if the word "--" follows
// them, behind which are the program's arguments.
func kernelWords(line string) (words []string, ended bool) {
	words, _ = iso.Words(line)
	if i := slices.Index(words, "--"); i >= 0 {
		return words[:i], true
	}
	return words, false
}

// lastOption finds an option as the kernel does.
func lastOption(line, key string) (value string, ok bool) {
	words, _ := kernelWords(line)
	for _, w := range words {
		if v, found := strings.CutPrefix(w, key+"="); found {
			if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
				v = v[1 : len(v)-1]
			}
			value, ok = v, true
		}
	}
	return value, ok
}

// parts returns the parts of the kernel that the machine uses; observed says that something is to
// be counted or logged.
func (m *machine) parts(observed bool) []string {
	words, _ := kernelWords(m.append)
	names := append([]string{}, image.PartsFor(words)...)
	if observed {
		names = append(names, "observe")
	}
	if m.qemu.Net != "" {
		names = append(names, "network")
	}
	if len(m.qemu.Shares) > 0 {
		names = append(names, "shares")
	}
	if _, tty := lastOption(m.append, "tty"); tty || isTerminal(m.stdin) {
		names = append(names, "monitor") // ^] opens it
	}
	return names
}

// kernelCommandLine joins the kernel's words and the program's arguments. An
// argument that is empty or holds space, quotes or backslashes is put in double
// quotes, with a backslash before each quote and backslash in it. If line has arguments
// already, these follow them.
func kernelCommandLine(line string, args []string) string {
	if len(args) == 0 {
		return line
	}
	var b strings.Builder
	b.WriteString(line)
	if line != "" {
		b.WriteByte(' ')
	}
	if _, ended := kernelWords(line); !ended {
		b.WriteString("-- ")
	}
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\") {
			a = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a) + `"`
		}
		b.WriteString(a)
	}
	return b.String()
}
