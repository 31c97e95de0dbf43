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
		var v []float64
		for i := range all {
			v = append(v, *of(&all[i]))
		}
		slices.Sort(v)
		*of(&u) = v[len(v)/2]
	}
	return u
}

// measure runs a command with its input from a file.
func measure(args []string, in string) usage {
	u, _ := measureWithin(args, in, 0)
	return u
}

// measureWithin is measure that gives up after so many seconds of the processor's time, and
// reports false then; 0: never. A process between this one and the command does it: Linux
// counts the memory of the process that starts a command as the command's own.
func measureWithin(args []string, in string, limit int) (u usage, ok bool) {
	cmd := exec.Command(get(os.Executable()), append([]string{"measure", strconv.Itoa(limit), in}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		fatal("%s: %w", args[0], err)
	}
	if len(out) == 0 {
		return u, false
	}
	get(fmt.Sscan(string(out), &u.wall, &u.cpu, &u.memory))
	return u, true
}

// measureHere runs the command and prints what it took; nothing if that is more than the limit.
func measureHere(limit int, in string, args []string) {
	if limit > 0 {
		check(syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: uint64(limit), Max: uint64(limit) + 5}))
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = get(os.Open(in))
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start).Seconds()
	p := cmd.ProcessState
	if p == nil {
		check(err)
	}
	if signal := p.Sys().(syscall.WaitStatus).Signal(); limit > 0 && (signal == syscall.SIGXCPU || signal == syscall.SIGKILL) {
		return
	}
	check(err)
	get(fmt.Println(wall, (p.UserTime() + p.SystemTime()).Seconds(), p.SysUsage().(*syscall.Rusage).Maxrss<<10))
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

// write puts addresses into a file, one a line, each with tail after it.
func (b *bench) write(addrs []uint64, tail string) string {
	var text strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&text, "%#x%s\n", a, tail)
	}
	path := filepath.Join(b.dir, "addresses"+strconv.Itoa(len(addrs))+filepath.Base(tail))
	check(os.WriteFile(path, []byte(text.String()), 0o666))
	return path
}

// answer returns what a command says to the input in a file.
func answer(args []string, in string) string {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = get(os.Open(in))
	out, err := cmd.Output()
	if err != nil {
		fatal("%s: %w", args[0], err)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// split splits addr2line's answers at their addresses, and evens out how an unknown
// line is written.
func split(out string) (answers []string) {
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, "0x") {
			answers = append(answers, "")
			continue
		}
		line, _, _ = strings.Cut(line, " (discriminator")
		if rest, ok := strings.CutSuffix(line, ":?"); ok {
			line = rest + ":0"
		}
		if n := len(answers); n > 0 {
			answers[n-1] += line + "\n"
		}
	}
	return answers
}

// share returns for how many addresses, in percent, two commands say the same.
func (b *bench) share(addrs []uint64, one, other []string) float64 {
	in := b.write(addrs, "")
	ours, theirs := split(answer(one, in)), split(answer(other, in))
	if len(ours) != len(addrs) || len(theirs) != len(addrs) {
		fatal("%d and %d answers to %d addresses", len(ours), len(theirs), len(addrs))
	}
	same := 0
	for i := range addrs {
		if ours[i] == theirs[i] {
			same++
		}
	}
	return 100 * float64(same) / float64(len(addrs))
}
