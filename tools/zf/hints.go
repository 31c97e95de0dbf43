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
	"regexp"
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
	return errors.As(err, &p) &&
		(p.Path == dir || strings.HasPrefix(p.Path, filepath.Join(dir, "zf-")))
}

// meant returns " (did you mean X?)" for what of known is nearly the word, or "".
func meant(word, prefix string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if max(len(k), len(word))-min(len(k), len(word)) >= least {
			continue // the word may be as long as a line of a script
		}
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

// qemuSaid has what QEMU says of its own start, as regular expressions, and what zf says for it:
// the cause and, behind a semicolon, the next step.
var qemuSaid = []struct{ said, means string }{
	{`-(\S+): invalid option`,
		"QEMU has no option -$1; what stands behind each -qemu goes to QEMU as it is"},
	{`-(\S+): requires an argument`, "QEMU's option -$1 wants a value; give it by another -qemu"},
	{`only allowed with -kernel`,
		"an option behind -qemu has taken zf's own for its value; give it one by another -qemu"},
	{`Could not open '([^']*)': No such file`, "there is no disk image $1; make it with: qemu-img create $1 1G"},
	{`Could not open '([^']*)': Permission denied`,
		"QEMU may not write to the disk image $1; change its mode, or add readonly=on"},
	{`Failed to get .*lock`, "another program has the disk image; end that one, or take a copy of it"},
	{`cannot set up guest memory .*Cannot allocate memory`,
		"this host has not the memory for such a machine; give it less by -m"},
	{`can't open backing store (\S+) for guest RAM: ([^;]*)`,
		"the file $1 cannot be the machine's memory: $2; name another one"},
	{`'([^']*)' is not a valid device model name`,
		"this QEMU has no device $1; `" + qemu.Program + " -device help` lists them"},
	{`'([^']*)' is not a valid char driver name`,
		"this QEMU has no character device $1; `" + qemu.Program + " -chardev help` lists them"},
	{`unable to find CPU model '([^']*)'`,
		"this QEMU has no CPU model $1; `" + qemu.Program + " -cpu help` lists them"},
	{`Invalid SMP CPUs (\d+)\..* is (\d+)`, "such a machine has $2 CPUs at most, and not $1; say less by -smp"},
	{`unsupported machine type`, "this QEMU has no such machine; programs boot on q35, pc and microvm"},
	{`(?:could not load (?:PC )?BIOS|failed to find romfile|could not find ROM) ['"]([^'"]*)`,
		"QEMU does not find its firmware $1; install QEMU again, with SeaBIOS; zf doctor tries it"},
	{`Could not access KVM kernel module: Permission denied`,
		"your user has no right to /dev/kvm; add it to the group kvm and log in again, or give -accel tcg"},
	{`Could not access KVM kernel module`, "this host has no KVM; -accel tcg does without it"},
	{`kvm.*Assertion`, "KVM does not work on this host; -accel tcg does without it"},
	{`-netdev user,\S*: Invalid parameter '([^']*)'`,
		"QEMU's user network has no option $1; `man " + qemu.Program + "` lists those of -netdev user"},
	{`Invalid host forwarding rule '([^']*)' \(([^)]*)\)`,
		"$1 forwards no port ($2); such a rule is tcp:127.0.0.1:8080-:80"},
	{`host forwarding rule '([^']*)'`, "the port of $1 is not free; another program has that port: take another one"},
	{`Address already in use`,
		"an address that QEMU was given is not free; another program has that port: take another one"},
	{`it exited early`, "it exited early; is it a QEMU? zf doctor tries it"},
}

// A qemuError says in a sentence what QEMU has said in its own words, which are the error's.
type qemuError struct {
	text string
	error
}

func (e qemuError) Error() string { return qemu.ErrQEMU.Error() + ": " + e.text }
func (e qemuError) Unwrap() error { return e.error }

// withQEMUStep makes a sentence of an error of QEMU's, if it is known.
func withQEMUStep(err error) error {
	if !errors.Is(err, qemu.ErrQEMU) || errors.As(err, new(qemuError)) {
		return err
	}
	text := err.Error()
	for _, s := range qemuSaid {
		re := regexp.MustCompile(s.said)
		if at := re.FindStringSubmatchIndex(text); at != nil {
			return qemuError{string(re.ExpandString(nil, s.means, text, at)), err}
		}
	}
	return err
}

// sayQEMU says with -v what QEMU has said in its own words, below the sentence for it.
func (m *machine) sayQEMU(err error) {
	if q := (qemuError{}); m.verbose && errors.As(withQEMUStep(err), &q) {
		m.say("in QEMU's own words: %s", printable(q.error.Error()))
	}
}

// unknownOptions returns a note on each word of a kernel command line that is nearly one of the
// kernel's options, is written as an environment variable, or has no value. Another one that is
// like none of them may be the program's; of those that look like its own the kernel tells.
func unknownOptions(line string) (notes []string) {
	note := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	names := kernelOptions()
	words, _ := kernelWords(line)
	for _, w := range words {
		name, _, value := strings.Cut(w, "=")
		known := slices.ContainsFunc(names, func(known string) bool {
			return name == known || strings.HasSuffix(known, ".") && strings.HasPrefix(name, known)
		})
		m := meant(name, "", names)
		switch {
		case known && value:
		case strings.HasPrefix(w, `"`):
			note(`%s means nothing to the kernel: a quote stands behind the =, as in env.NAME="a b"`, w)
		case known:
			note("the kernel's option %s wants a value; `zf help kernel` lists them", w)
		case m != "":
			note("the kernel has no option %s%s; `zf help kernel` lists them", name, m)
		case !value:
			note("%s means nothing to the kernel; the program's arguments stand behind --", w)
		case name == strings.ToUpper(name) && strings.ToLower(name) != name:
			note("the kernel has no option %s; `env.%[1]s=` sets that variable", name)
		}
	}
	return notes
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
