package main

// The next step of errors that come from elsewhere: the system says what is wrong, and a
// newcomer wants to know what to do. What zf itself says carries its own next step, behind a
// semicolon.

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/qemu"
)

// steps are by the system's errors.
var steps = []struct {
	err  error
	step string
}{
	{fs.ErrNotExist, "look at the name: nothing is there"},
	{fs.ErrPermission, "your user has no right to it; zf doctor says more of devices"},
	{syscall.ENOSPC, "make room there, or write elsewhere"},
	{syscall.EFBIG, "it is beyond the limit of a file's size; see ulimit -f"},
	{syscall.EADDRINUSE, "another program has that port; take another one"},
	{syscall.EISDIR, "name a file"},
	{syscall.ENOTDIR, "a part of that path is no folder"},
}

// withStep adds the next step to a message about an error, unless it has one.
func withStep(msg string, err error) string {
	if err == nil || strings.Contains(msg, ";") {
		return msg
	}
	for _, s := range steps {
		if errors.Is(err, s.err) {
			if ofTemporary(err) {
				return msg + "; set TMPDIR to a folder for temporary files that has room"
			}
			return msg + "; " + s.step
		}
	}
	return msg
}

// ofTemporary reports whether an error is of a file that zf itself has named.
func ofTemporary(err error) bool {
	p, dir := new(fs.PathError), os.TempDir()
	return errors.As(err, &p) && (p.Path == dir || strings.HasPrefix(p.Path, filepath.Join(dir, "zf-")))
}

// meant returns " (did you mean X?)" for what of known is nearly the word, or "".
func meant(word, prefix string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(word, k); d < least && d < len(k) && d < len(word) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s%s?)", prefix, best)
}

// distance is the number of letters that are left out, too many, wrong, or exchanged with the
// next one, between two words.
func distance(a, b string) int {
	before, last, row := []int(nil), []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// meantFlag adds to an error of a flag set what may have been meant.
func meantFlag(set *flag.FlagSet, err error) string {
	word, undefined := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !undefined {
		if said, ok := strings.CutPrefix(err.Error(), "invalid boolean flag "); ok {
			return "-" + said // of a flag that is refused, such as -race
		}
		return err.Error()
	}
	var known []string
	set.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	return err.Error() + meant(word, "-", known)
}

// kernelOptions returns the names of the kernel's options; those that end in a dot have more
// behind it.
func kernelOptions() (names []string) {
	for line := range strings.Lines(kernelHelp) {
		if line, ok := strings.CutPrefix(line, "  "); ok && !strings.HasPrefix(line, " ") {
			name, _, _ := strings.Cut(line, "=")
			if family, ok := strings.CutSuffix(name, ".NAME"); ok {
				name = family + "."
			}
			names = append(names, name)
		}
	}
	return names
}

// qemuSteps are by what QEMU says.
var qemuSteps = []struct{ said, step string }{
	{"host forwarding rule", "another program has that port; take another one"},
	{"Address already in use", "another program has that port; take another one"},
	{"unable to find CPU model", "`" + qemu.Program + " -cpu help` lists them"},
	{"unsupported machine type", "programs boot on q35, pc and microvm"},
	{"invalid option", "an ARG of -qemu goes to QEMU as it is"},
	{"it exited early", "is it a QEMU? zf doctor tries it"},
}

// withQEMUStep adds the next step to an error of QEMU's.
func withQEMUStep(err error) error {
	if errors.Is(err, qemu.ErrQEMU) {
		for _, s := range qemuSteps {
			if strings.Contains(err.Error(), s.said) {
				return fmt.Errorf("%w; %s", err, s.step)
			}
		}
	}
	return err
}

// unknownOption returns a note on the first option in a kernel command line that is nearly one
// of the kernel's, or "". One that is like none of them may be the program's.
func unknownOption(line string) string {
	names := kernelOptions()
	words, _ := kernelWords(line)
	for _, w := range words {
		name, _, _ := strings.Cut(w, "=")
		if slices.ContainsFunc(names, func(known string) bool {
			return name == known || strings.HasSuffix(known, ".") && strings.HasPrefix(name, known)
		}) {
			continue
		}
		if m := meant(name, "", names); m != "" {
			return fmt.Sprintf("the kernel has no option %s%s; `zf help kernel` lists them", name, m)
		}
	}
	return ""
}

// noise looks at text on its way for what a serial line at a wrong speed sends.
type noise struct {
	to         io.Writer
	total, odd int
}

func (n *noise) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if c := rest[0]; c >= ' ' && c < 0x7f { // nearly all of it
			rest = rest[1:]
			continue
		}
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 || r == 0x7f || r < ' ' &&
			!strings.ContainsRune("\n\r\t\b\x1b", r) {
			n.odd++
		}
		rest = rest[size:]
	}
	n.total += len(p)
	return n.to.Write(p)
}

// isNoise reports whether a good part of it was no text.
func (n *noise) isNoise() bool { return n.total >= 16 && n.odd*4 > n.total }
