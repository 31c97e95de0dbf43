package qemu

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

const timedProgram = `package main

import (
	"fmt"
	"math/rand"
	"time"
)

var x int

func main() {
	start := time.Now()
	for i := range 300_000 {
		x += i
	}
	fmt.Println("loop", time.Since(start))
	results := make(chan string)
	for i := range 5 {
		go func() {
			time.Sleep(time.Duration(rand.Intn(1000)) * time.Millisecond)
			results <- fmt.Sprint(i, time.Since(start))
		}()
	}
	for range 5 {
		fmt.Println(<-results)
	}
	for range 100 {
		fmt.Println("line")
	}
	fmt.Println(time.Now().UTC())
}
`

// TestIcountCommand: with zf run -icount a program that sleeps by chance and measures time prints
// the same in each run, on a busy host too, with its boot report.
func TestIcountCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": timedProgram, "go.mod": "module example.com/timed\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command(zfCommand(t), "build", "-o", "timed.elf", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func() []byte {
		t.Helper()
		cmd := zfRun(t, "-icount", "timed.elf")
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out, &stderr)
		}
		return out
	}
	first := run()
	busy := exec.Command("/bin/sh", "-c", "while kill -0 $PPID; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer busy.Wait()
	defer busy.Process.Kill()
	for range 2 {
		if again := run(); !bytes.Equal(again, first) {
			t.Errorf("the first run says\n%s\nanother\n%s", first, again)
		}
	}
	if !regexp.MustCompile(`(?m)^loop \d.*\n(\d .*\n){5}(line\n){100}2026-01-01 00:00:0\d`).Match(first) {
		t.Errorf("the run says\n%s", first)
	}
}
