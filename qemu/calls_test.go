package qemu

// Every system call, with arguments of all kinds, next to what Linux answers to the same program
// (testdata/calls/sweep). `make test-calls` asks the Linux that it runs on, and keeps the answers
// for the tests of other machines, whose Linux is older or newer, or lets nobody make namespaces.

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

var callsTable = flag.String("calls-table", "", "ask this Linux, keep its answers, and write the table of the system calls to this `file`")

// keptAnswers is the file of the answers that are kept: a line "== PART" before those of each.
const keptAnswers = "testdata/calls/sweep/linux.txt.gz"

// An exception is a kind of answer in which the kernel differs from Linux.
type exception struct {
	pattern string // of CASE: LINUX / OURS
	why     string
	depends bool // not every Linux and not every machine has the difference
	re      *regexp.Regexp
	found   int
}

// pointerExceptions are those to bad pointers: NAME WAY: LINUX / OURS.
var pointerExceptions = []*exception{
	{pattern: `^((read|write)v? (size )?.* |(pread64|pwrite64) .* |(read|write)v (part|second part|size) .* |getrandom |(send|recv)msg (stream|datagram) (second part|part size) )` +
		`(cross|2\^\d+|nil|one|page0|ram|apic|vga|hole|none|end|over|gap|bit63|upper|last|text|constant|readonly): (14 / (0|\+\d+)|(0|\+\d+) / 14)$`,
		why: "what lies before a bad place is moved, or nothing is: that differs between Linux's own files, too"},
	{pattern: `^readv count epoll 2.*: 22 / \+0$`, why: "no parts to read are no error"},
	{pattern: `^mmap( file)? -1: 1 / 22$`, why: "the address is not that of a page; Linux rounds it up to 0, which it protects", depends: true},
	{pattern: `^newfstatat empty nil: 0 / 14$`, why: "Linux allows it since 6.11", depends: true},
	{pattern: `^sendmsg (stream|datagram|udp) .*: (14|105) / (0|89|106)$`, why: "that the socket cannot send is found before the bad address"},
	{pattern: `^getcwd size .*: \+\d+ / \+\d+$`, why: "the directory's name is another", depends: true},
	{pattern: `^futex wake end: 0 / 14$`, why: "what counts as out of reach differs by a page"},
}

const orderOfErrors = "two things are wrong, of which another is said"

// The exceptions of testdata/calls/sweep/calls.txt, by section: CASE: LINUX / OURS.
var fileExceptions = []*exception{
	// Two things are wrong.
	{pattern: `^(linkat .* 999 '|linkat 999 ' |rename(at|at2)? .*(999|'f/none)|link '|symlink ' nil|mknod (nil|') ).*: -\d+ / -(2|9|14)$`, why: orderOfErrors},
	{pattern: `^(p(read|write)64|p(read|write)v|ftruncate) (@path|999|-1) .*-.*: -22 / -9$`, why: orderOfErrors},
	{pattern: `^(bind|sendto) .*: -22 / -97$`, why: orderOfErrors},
	{pattern: `^read @ev hole 200: -11 / -14$`, why: orderOfErrors},
	// What is not there says so.
	{pattern: `^(fchmod|fchown|utimensat|futimesat) @(pr|pw|ua|da|tcp|lis|udp) .*: 0 / -95$`, why: "pipes and sockets have no attributes to change: EOPNOTSUPP"},
	{pattern: `^fcntl @\S+ 4 (DIRECT|-1): 0.* / -22$`, why: "O_DIRECT: EINVAL"},
	{pattern: `^pipe2 buf DIRECT: 0 .* / -22$`, why: "O_DIRECT: EINVAL"},
	{pattern: `^(fcntl @ev 4 (NOATIME|-1)|utimensat @e[vp] nil nil 0|futimesat @e[vp] nil nil): -(1|13) / `, why: "whose files without a name are", depends: true},
	{pattern: `^fcntl @p[rw] 1031 (0|4096): 4096 / 65536$`, why: "a pipe has 64 KiB, and says so"},
	{pattern: `^renameat2 .* 4: .* / -22$`, why: "RENAME_WHITEOUT: EINVAL"},
	{pattern: `^[gs]etsockopt @(tcp|udp) 0 \d+ .* / -92$`, why: "options of IP that are not kept: ENOPROTOOPT", depends: true},
	// It is otherwise, and no harm is done.
	{pattern: `^newfstatat \S+ nil buf EMPTY: `, why: "Linux allows no name since 6.11", depends: true},
	{pattern: `^(ftruncate @rw 2\^62: 0|copy_file_range .*\{2\^62\}.*) .* / -27$`, why: "a file has 2^48 bytes at most: EFBIG"},
	{pattern: `^readv @ev \{buf 3 buf2 5\} 2: 8 .* / -22$`, why: "the value of an event counter goes into one part"},
	{pattern: `^(readv @ep|writev @(ep|tcp|lis|udp)) \S+( \S+){3} 0: |^(readv|writev) @\S+ \{.*\} 0: `, why: "no parts to move: some files of Linux see an error first"},
	{pattern: `^f(get|list)xattr @(ua|da|tcp|lis|udp) .*: -?2[12] .*/ `, why: "sockets have no attributes"},
	{pattern: `^f(get|set|remove)xattr @e[vp] .*: -(13|95) / `, why: "whose files without a name are", depends: true},
	{pattern: `^ioctl @ep 0x541b buf: `, why: "FIONREAD of epoll: ENOTTY", depends: true},
	{pattern: `^connect @tcp .*: -115 / -111$`, why: "whether somebody listens is known at once"},
	{pattern: `^connect @tcp \{2:(0|2) .*: (0|-111) / -22$`, why: "a stream socket cannot be disconnected by AF_UNSPEC: EINVAL; and the address's size comes first"},
}

var processExceptions = []*exception{
	{pattern: `^futex \{4:5\} (5|6|7|8|11|12|13) .* / -38$`, why: "futexes that inherit priority, and FUTEX_WAKE_OP: ENOSYS"},
	{pattern: `^clock_nanosleep 2 .* / -95$`, why: "sleeping by CLOCK_PROCESS_CPUTIME_ID: EOPNOTSUPP"},
	{pattern: `^prctl 1 .* / -22$`, why: "signals for a parent's death: EINVAL"},
	{pattern: `^arch_prctl 0x1004 hole: -14 / -22$`, why: "GS is the kernel's: EINVAL"},
	{pattern: `^sigaltstack \{win 4:0x80000000 .*: 0 .* / -22$`, why: "SS_AUTODISARM: EINVAL"},
}

var memoryExceptions = []*exception{
	{pattern: `^madvise win\+16384 .*: -12 / -22$`, why: orderOfErrors},
	{pattern: `^madvise win(\+32768)? 4096 (9|22|23): 0 / -22$`, why: "MADV_REMOVE and MADV_POPULATE: EINVAL"},
	{pattern: `^mremap win\+(4096|8192) 8192 8192 3 .* / -14$`, why: "Linux moves several areas at once since 6.17", depends: true},
	{pattern: `^mmap win 4096 3 \w+\|FIXED @ua (0|4096): -19 page0:- / -19$`, why: "what is there is not unmapped when the new mapping is refused"},
}

// A callRow is what the table says of a call.
type callRow struct {
	cases, equal int
	unanswered   bool
	why          map[string]int // the reasons of those that differ
}

// TestCalls: every system call that is answered returns what Linux returns, and does what Linux
// does; and the kernel and the program's runtime go on. Those that are not answered return ENOSYS.
func TestCalls(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/sweep")
	rows := map[string]*callRow{}
	asked := ""
	for _, part := range []struct {
		name       string
		atLeast    int
		exceptions []*exception
	}{
		{"pointers", 4500, pointerExceptions}, {"files", 9500, fileExceptions},
		{"process", 1000, processExceptions}, {"memory", 1000, memoryExceptions},
	} {
		t.Run(part.name, func(t *testing.T) {
			onLinux := ""
			if *callsTable != "" {
				onLinux = askLinux(t, elf, part.name)
				asked += "== " + part.name + "\n" + onLinux
			} else {
				onLinux = kept(t, part.name)
			}
			sweep(t, elf, part.name, onLinux, part.atLeast, part.exceptions, rows)
		})
	}
	if *callsTable != "" && !t.Failed() {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, asked)
		if err := errors.Join(z.Close(), os.WriteFile(keptAnswers, b.Bytes(), 0o644), os.WriteFile(*callsTable, []byte(callsReport(rows)), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// kept returns what Linux has answered to a part of the program.
func kept(t *testing.T, part string) string {
	file, err := os.Open(keptAnswers)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "== "+part+"\n")
	of, _, _ := strings.Cut(rest, "\n== ")
	return of
}

// askLinux runs a part of the program on this Linux, and returns what it says.
func askLinux(t *testing.T, elf, part string) string {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	onLinux := exec.CommandContext(ctx, elf, part, t.TempDir())
	onLinux.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that it has no terminal of ours
	if part != "pointers" {
		onLinux = alone(t, ctx, elf, part)
	}
	before := machineFiles(t)
	out, err := onLinux.CombinedOutput()
	if after := machineFiles(t); after != before {
		t.Errorf("the program has changed files of the machine:\n%s; they were\n%s", after, before)
	}
	if err != nil {
		t.Fatalf("on Linux: %v\n%s", err, out[max(0, len(out)-2000):])
	}
	return string(out)
}

// sweep runs a part of the program on the kernel, and compares the answers with those of Linux.
// There are so many cases at least.
func sweep(t *testing.T, elf, part, onLinux string, atLeast int, exceptions []*exception, rows map[string]*callRow) {
	for _, e := range exceptions {
		e.re = regexp.MustCompile(e.pattern)
	}
	vm, serial := start(t, Config{Kernel: elf, Append: "-- " + part}, "")
	res, err := vm.Wait()
	if err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Fatalf("the machine: %v, status %d, %v; want status 0", res.Outcome, res.Program, err)
	}
	text := strings.ReplaceAll(said(serial.String()), "\x00", "") // written to the terminal by good parts of bad calls
	if !strings.Contains(text, "alive after ") || strings.Contains(text, "left over") {
		t.Errorf("the program did not go on as it should:\n%.300s", text[max(0, len(text)-300):])
	}
	want, got := answers(part, onLinux), answers(part, text)
	if len(want) < atLeast {
		t.Errorf("only %d cases were run", len(want))
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		linux, ours := want[key], got[key]
		name, _, _ := strings.Cut(key, " ")
		row := rows[name]
		if row == nil {
			row = &callRow{why: map[string]int{}}
			rows[name] = row
		}
		row.cases++
		row.unanswered = row.unanswered || strings.HasSuffix(key, "is not answered")
		first, _, _ := strings.Cut(linux, " ")
		switch {
		case linux == ours, part == "pointers" && ours == "14" && linux != "0" && linux[0] != '+': // another error than Linux's
			row.equal++
			continue
		case first == "38" || first == "-38": // an older Linux
			row.why["this Linux has it not"]++
			continue
		case *callsTable != "" && os.Geteuid() != 0 && (first == "-1" || first == "-13" || first == "-22"):
			row.why["for root alone"]++
			continue
		}
		line := key + ": " + linux + " / " + ours
		i := slices.IndexFunc(exceptions, func(e *exception) bool { return e.re.MatchString(line) })
		if i < 0 {
			t.Errorf("%s; want Linux's answer", line)
			continue
		}
		exceptions[i].found++
		row.why[exceptions[i].why]++
	}
	for _, e := range exceptions {
		if e.found == 0 && !e.depends {
			t.Errorf("no answer differs as listed: %s (%s)", e.pattern, e.why)
		}
	}
}

// alone is the command that runs the program where it can touch nothing of this machine: as the
// root of a user namespace, who is nobody outside, the only process that it can see, and in a
// root folder that holds the program and nothing else.
func alone(t *testing.T, ctx context.Context, elf, part string) *exec.Cmd {
	memory := "/dev/shm" // a file system in memory, as the kernel's
	if _, err := os.Stat(memory); err != nil {
		memory = t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "calls")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.Chmod(dir, 0o700)
		os.RemoveAll(dir)
	})
	b, err := os.ReadFile(elf)
	if err != nil {
		t.Fatal(err)
	}
	writeProgram(t, dir+"/sweep", string(b))
	uid, gid, size := os.Geteuid(), os.Getegid(), 1
	if uid == 0 {
		const nobody = 100000 // nobody's numbers from here on
		uid, gid, size = nobody, nobody, 1<<16
		if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, uid, gid)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(ctx, "/sweep", part, "/")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:      true,
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNS,
		Chroot:      dir,
		Credential:  &syscall.Credential{NoSetGroups: true},
		UidMappings: []syscall.SysProcIDMap{{HostID: uid, Size: size}},
		GidMappings: []syscall.SysProcIDMap{{HostID: gid, Size: size}},
	}
	return cmd
}

// machineFiles says who may do what with files of the machine, of which no run may change anything.
func machineFiles(t *testing.T) (text string) {
	for _, name := range []string{"/", "/dev", "/dev/null", "/dev/zero", "/tmp"} {
		var st syscall.Stat_t
		if err := syscall.Stat(name, &st); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s %o %d:%d\n", name, st.Mode, st.Uid, st.Gid)
	}
	return text
}

// answers returns what is answered to each case.
func answers(part, text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if part != "pointers" {
			if key, answer, ok := strings.Cut(line, " = "); ok {
				all[key] = answer
			}
			continue
		}
		name, rest, ok := strings.Cut(line, ": ") // NAME: WAY=ANSWER ...
		if !ok || !strings.Contains(rest, "=") {
			continue
		}
		for _, f := range strings.Fields(rest) {
			way, answer, _ := strings.Cut(f, "=")
			all[name+" "+way] = answer
		}
	}
	return all
}

// callsReport is the table, by the calls' numbers.
func callsReport(rows map[string]*callRow) string {
	var b strings.Builder
	sum := callRow{}
	unanswered := 0
	for n := range linux.MaxCall {
		name := linux.CallName(n)
		row := rows[name]
		if name == "?" || row == nil {
			continue
		}
		sum.cases += row.cases
		sum.equal += row.equal
		if row.unanswered {
			unanswered++
			continue
		}
		fmt.Fprintf(&b, "%3d %-20s %5d %5d", n, name, row.cases, row.equal)
		for i, why := range slices.Sorted(maps.Keys(row.why)) {
			fmt.Fprintf(&b, "%s %d: %s", []string{" ", ";"}[min(i, 1)], row.why[why], why)
		}
		b.WriteString("\n")
	}
	return fmt.Sprintf("# System calls with valid, edge and invalid arguments, on Linux and on the kernel.\n"+
		"# Made by `make test-calls`: %d cases, %d equal, %d that differ as listed; %d calls are not answered (ENOSYS).\n"+
		"# number, call, cases, equal, and how many differ and why\n%s", sum.cases, sum.equal, sum.cases-sum.equal, unanswered, b.String())
}
