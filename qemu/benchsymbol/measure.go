package main

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is what a command took: seconds and bytes.
type usage struct{ wall, cpu, memory float64 }

// median returns the median of each quantity.
func median(all []usage) (u usage) {
	for _, of := range []func(*usage) *float64{
		func(u *usage) *float64 { return &u.wall },
		func(u *usage) *float64 { return &u.cpu },
		func(u *usage) *float64 { return &u.memory },
	} {
		slices.SortFunc(all, func(a, b usage) int { return int(1e9**of(&a)) - int(1e9**of(&b)) })
		*of(&u) = *of(&all[len(all)/2])
	}
	return u
}

// measure runs a command with its input from a file. It gives up after limit seconds of the
// processor's time; 0: never. A process between this one and the command does it: Linux
// counts the memory of the process that starts a command as the command's own.
func measure(args []string, in string, limit int) (u usage, err error) {
	cmd := exec.Command(get(os.Executable()), append([]string{"measure", strconv.Itoa(limit),
		in}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return u, fmt.Errorf("%s: %s", args[0], out)
	}
	get(fmt.Sscan(string(out), &u.wall, &u.cpu, &u.memory))
	return u, nil
}

// measureHere runs the command and prints what it took, or ends this process with the reason.
func measureHere(limit int, in string, args []string) {
	if limit > 0 {
		check(syscall.Setrlimit(syscall.RLIMIT_CPU,
			&syscall.Rlimit{Cur: uint64(limit), Max: uint64(limit) + 5}))
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = get(os.Open(in))
	var first atMost
	cmd.Stdout = &first
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start).Seconds()
	p := cmd.ProcessState
	switch {
	case p == nil || !p.Exited():
		fmt.Printf("%v, within %d s of the processor's time", err, limit)
		os.Exit(1)
	case !slices.Contains([]int{0, 2}, p.ExitCode()) ||
		!strings.ContainsAny(string(first), "123456789"):
		// zf: 2 for a few frames
		fmt.Printf("%v; it says %q", p, first)
		os.Exit(1)
	}
	fmt.Println(wall, (p.UserTime() + p.SystemTime()).Seconds(),
		p.SysUsage().(*syscall.Rusage).Maxrss<<10)
}

// atMost keeps the beginning of what is written to it.
type atMost []byte

func (a *atMost) Write(b []byte) (int, error) {
	*a = append(*a, b[:min(len(b), 1000-min(len(*a), 1000))]...)
	return len(b), nil
}

// converse sends a command one address after the other and returns how long each answer took,
// the first with the start of the command.
func converse(args []string, addrs []uint64) (times []usage) {
	cmd := exec.Command(args[0], args[1:]...)
	in, out := get(cmd.StdinPipe()), get(cmd.StdoutPipe())
	start := time.Now()
	check(cmd.Start())
	answers := bufio.NewReader(out)
	for _, a := range addrs {
		get(fmt.Fprintf(in, "%#x\n", a))
		// The first line has the innermost call. The lines of the calls around it
		// come with it.
		for line := ""; !strings.Contains(strings.ToLower(line), fmt.Sprintf("%x", a)); {
			line = get(answers.ReadString('\n'))
		}
		times = append(times, usage{wall: time.Since(start).Seconds()})
		start = time.Now()
	}
	in.Close()
	io.Copy(io.Discard, answers)
	check(cmd.Wait())
	return times
}

// input returns the path of an input for a file, by its name in figures.txt.
func (b *bench) input(file, name string) string {
	path := filepath.Join(b.dir, file+"."+name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	var text strings.Builder
	if n, ok := strings.CutPrefix(name, "oops"); ok {
		writeOops(&text, b.path(file), number(n))
	} else {
		n, of := 100_000, 500
		if name != "some500" {
			n = number(name)
			of = n
		}
		addrs := textAddresses(b.path(file), of)
		for i := range n {
			fmt.Fprintf(&text, "%#x\n", addrs[i*7919%of])
		}
	}
	check(os.WriteFile(path, []byte(text.String()), 0o666))
	return path
}

// textAddresses returns n addresses spread evenly over a file's code, always the same ones.
func textAddresses(path string, n int) []uint64 {
	f := get(elf.Open(path))
	defer f.Close()
	text := slices.DeleteFunc(f.Sections, func(s *elf.Section) bool {
		return s.Flags&elf.SHF_EXECINSTR == 0 || s.Type != elf.SHT_PROGBITS
	})
	total := uint64(0)
	for _, s := range text {
		total += s.Size
	}
	r := rand.New(rand.NewSource(1))
	addrs := make([]uint64, n)
	for i := range addrs {
		at := uint64(r.Int63n(int64(total)))
		for _, s := range text {
			if at < s.Size {
				addrs[i] = s.Addr + at
				break
			}
			at -= s.Size
		}
	}
	return addrs
}

// writeOops writes oopses of 24 places each, n in all, in the functions of a kernel.
func writeOops(w io.Writer, path string, n int) {
	f := get(elf.Open(path))
	defer f.Close()
	all := get(f.Symbols())
	r := rand.New(rand.NewSource(1))
	for at := 0; at < n; {
		s := all[r.Intn(len(all))]
		if s.Size < 64 || elf.ST_TYPE(s.Info) != elf.STT_FUNC || strings.Contains(s.Name, ".") {
			continue
		}
		before, after := " ", ""
		if at%24 == 0 {
			fmt.Fprint(w, "[    9.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n")
			before, after = "RIP: 0010:", "[    9.000001] Call Trace:\n[    9.000001]  <TASK>\n"
		}
		if at++; at%24 == 0 || at == n {
			after = "[    9.000002]  </TASK>\n"
		}
		fmt.Fprintf(w, "[    9.000001] %s%s+%#x/%#x\n%s", before, s.Name,
			8+uint64(r.Int63n(int64(s.Size-24))), s.Size, after)
	}
}

// ask returns what a command says to an input.
func (b *bench) ask(command, file, in string) string {
	cmd := exec.Command(b.command(command, file)[0], b.command(command, file)[1:]...)
	cmd.Stdin = get(os.Open(in))
	return strings.TrimSuffix(string(get(cmd.Output())), "\n")
}

// unasked is the answer to an address that a Go program's runtime cannot be asked about.
const unasked = "-"

// answers splits what a command says by address, and evens out how an unknown line is written.
func answers(command, out string) (all []string) {
	n := 0 // lines of the answer
	for line := range strings.SplitSeq(out, "\n") {
		known, _, _ := strings.Cut(line, " (discriminator")
		if rest, ok := strings.CutSuffix(known, ":?"); ok {
			known = rest + ":0"
		}
		if known == "?:0" || known == ":-1" {
			known = "??:0"
		}
		switch {
		case command == "runtime":
			name, at, _ := strings.Cut(line, "\t")
			if at == "?:0" {
				at = "??:0"
			}
			all = append(all, strings.TrimSuffix(name+"\n"+at, "\n"))
		case command == "gotool" && n%2 == 0, strings.HasPrefix(line, "0x"):
			n, all = n+1, append(all, "")
			if command == "gotool" {
				all[len(all)-1] = short(line)
			}
		case len(all) > 0:
			n, all[len(all)-1] = n+1, strings.TrimPrefix(all[len(all)-1]+"\n"+known, "\n")
		}
	}
	return all
}

// as returns of an answer of zf's what a peer would say: a Go program's runtime names the innermost
// call, `go tool addr2line` the line of that and the function that holds it.
func as(peer, answer string) string {
	lines := strings.Split(answer, "\n")
	switch {
	case len(lines) < 2:
	case peer == "runtime":
		return short(lines[0]) + "\n" + lines[1]
	case peer == "gotool":
		return short(lines[len(lines)-2]) + "\n" + lines[1]
	}
	return answer
}

// short is a function's name as the runtime prints it.
func short(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j < i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}
