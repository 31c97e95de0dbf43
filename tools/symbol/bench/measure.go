package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is what a command took: seconds and bytes.
type usage struct{ wall, cpu, memory float64 }

// measure runs a command with its input from a file.
func measure(args []string, in string) usage {
	u, _ := measureWithin(args, in, 0)
	return u
}

// measureWithin is measure that gives up after so many seconds of the processor's time, and reports
// false then; 0: never. A process between this one and the command does it: Linux counts the memory of
// the process that starts a command as the command's own.
func measureWithin(args []string, in string, limit int) (u usage, ok bool) {
	self := get(os.Executable())
	cmd := exec.Command(self, append([]string{"measure", strconv.Itoa(limit), in}, args...)...)
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
	file := get(os.Open(in))
	defer file.Close()
	cmd.Stdin = file
	start := time.Now()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		check(err)
	}
	cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && limit > 0 && (w.Signal() == syscall.SIGXCPU || w.Signal() == syscall.SIGKILL) {
		return
	}
	check(err)
	wall := time.Since(start).Seconds()
	memory := 0.0
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		memory = float64(r.Maxrss) * 1024
	}
	get(fmt.Println(wall, cpu, memory))
}

// live measures the answers to single lines in a pipe without an index.
func (b *bench) live() { b.liveRow("live", "-index=off") }

// liveRow measures the first answer, and the median of the others.
func (b *bench) liveRow(name, index string) {
	const lines, runs = 100, 5
	addrs := textAddresses(b.vmlinux, lines)
	commands := [][]string{
		{b.zf, "addr", index, "-afi", "-e", b.vmlinux},
		{"eu-addr2line", "-afi", "-e", b.vmlinux},
		{b.llvmSymbolizer, "--output-style=JSON", "-e", b.vmlinux},
	}
	progress("%s, a pipe with %d lines: zf, eu-addr2line, %s", name, lines, filepath.Base(b.llvmSymbolizer))
	first, rest := make([][]usage, len(commands)), make([][]usage, len(commands))
	for range runs {
		for i, args := range commands {
			times := converse(args, addrs)
			first[i] = append(first[i], usage{wall: times[0]})
			for _, t := range times[1:] {
				rest[i] = append(rest[i], usage{wall: t})
			}
		}
	}
	b.figure(name+".first.ms", fmt.Sprintf("%.1f", median(first[0]).wall*1000))
	b.figure(name+".line.ms", fmt.Sprintf("%.3f", median(rest[0]).wall*1000))
	b.atMost(name+".first.ratio", median(first[0]).wall/median(first[1]).wall, 0.5)
	b.atMost(name+".line.ratio", median(rest[0]).wall/median(rest[2]).wall, 0.3)
}

// converse sends a command one address after the other and returns how many seconds
// each answer took, the first with the start of the command.
func converse(args []string, addrs []uint64) []float64 {
	cmd := exec.Command(args[0], args[1:]...)
	in := get(cmd.StdinPipe())
	out := get(cmd.StdoutPipe())
	start := time.Now()
	check(cmd.Start())
	answers := bufio.NewReader(out)
	var times []float64
	for _, a := range addrs {
		get(fmt.Fprintf(in, "%#x\n", a))
		// The first line has the innermost call. The lines of the calls around it
		// come with it.
		for {
			line, err := answers.ReadString('\n')
			if err != nil {
				fatal("%s: no answer to %#x: %w", args[0], a, err)
			}
			if strings.Contains(strings.ToLower(line), fmt.Sprintf("%x", a)) {
				break
			}
		}
		times = append(times, time.Since(start).Seconds())
		start = time.Now()
	}
	in.Close()
	io.Copy(io.Discard, answers)
	check(cmd.Wait())
	return times
}
