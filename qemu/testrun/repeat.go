package main

// A test that fails by chance fails in some of many runs, and sooner on a busy machine.

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// failedTest is a line of what end prints.
var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (.*) \((\d+\.\d+)s\)$`)

// repeat runs `make test` n times and writes the table. It returns the exit status.
func repeat(ctx context.Context, n, loops int, file string, out io.Writer) int {
	var b strings.Builder
	tests := map[string][]string{} // the runs in which each failed
	bad := 0
	fmt.Fprintf(&b, "%-5s %-10s %8s  %s\n", "run", "busy loops", "time", "result")
	for i := 1; i <= n && ctx.Err() == nil; i++ {
		busy := 0
		if i%2 == 0 {
			busy = loops
		}
		stop := load(busy)
		started := time.Now()
		// the last line is the count
		cmd := exec.CommandContext(ctx, "make", "--no-print-directory", "test")
		cmd.Stderr = os.Stderr
		said, err := cmd.Output()
		stop()
		out.Write(said)
		result := strings.TrimSpace(
			string(said[strings.LastIndexByte(strings.TrimSpace(string(said)), '\n')+1:]))
		if err != nil {
			bad++
			result += ", " + err.Error()
		}
		for _, m := range failedTest.FindAllStringSubmatch(string(said), -1) {
			tests[m[1]] = append(tests[m[1]], fmt.Sprintf("run %d after %s s", i, m[2]))
		}
		fmt.Fprintf(&b, "%-5d %-10d %8v  %s\n", i, busy, time.Since(started).Round(time.Second), result)
	}
	fmt.Fprintf(&b, "\n%d of %d runs failed\n", bad, n)
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		fmt.Fprintf(&b, "failed %d times: %s (%s)\n", len(tests[name]), name,
			strings.Join(tests[name], ", "))
	}
	fmt.Fprintf(out, "\n%s", &b)
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return 1
	}
	if bad > 0 || ctx.Err() != nil {
		return 1
	}
	return 0
}

// load runs n busy loops, each a process of its own, until stop is called.
func load(n int) (stop func()) {
	var all []*exec.Cmd
	for range n {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		all = append(all, cmd)
	}
	return func() {
		for _, cmd := range all {
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
}
