package gotest

// A test that runs into its -timeout on an emulated machine may have nothing wrong with it.
// How much slower the machine is than this host is measured by the same work on both.

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

//go:embed work.go
var workSource string

// workMain does it on a machine, and prints the nanoseconds that it took at best.
const workMain = `package main

import (
	"fmt"
	"time"
)

func main() {
	best := time.Duration(1 << 62)
	for range 3 {
		began := time.Now()
		result = work()
		best = min(best, time.Since(began))
	}
	fmt.Printf("work %d %d\n", result, best.Nanoseconds())
}

var result uint64
`

// WriteWork writes the program that does the work, and says how long it took, into a folder,
// as a module of its own.
func WriteWork(dir string) error {
	for name, text := range map[string]string{
		"go.mod":  "module example.com/work\n\ngo 1.25\n",
		"main.go": workMain,
		"work.go": strings.Replace(workSource, "package gotest", "package main", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Slower returns how many times as long as this host a machine takes, from what the program
// of [WriteWork] has printed there. It does the work here, which takes some milliseconds.
func Slower(printed string) (times float64, ok bool) {
	best, sum := time.Duration(1<<62), uint64(0)
	for range 3 {
		began := time.Now()
		sum = work()
		best = min(best, time.Since(began))
	}
	var there uint64
	var ns int64
	if n, _ := fmt.Sscanf(printed, "work %d %d", &there, &ns); n != 2 || there != sum || ns <= 0 {
		return 0, false
	}
	return float64(ns) / float64(best.Nanoseconds()), true
}

// TimedOut reports whether a test binary has ended by its -timeout.
func TimedOut(output []byte) bool { return begins(output, "panic: test timed out after ") }

// TimeoutHint says what a -timeout is worth on a machine that takes so many times as long as
// this host; emulated is why. It is "" for a machine that is about as fast.
func TimeoutHint(timeout time.Duration, times float64, emulated bool) string {
	if times < 1.5 {
		return ""
	}
	why := "this machine"
	if emulated {
		why = "this machine is emulated, and"
	}
	enough := time.Duration(float64(timeout)*times).Truncate(time.Second) + time.Second
	return fmt.Sprintf("%s takes %.0f times as long as this host, as just measured: what go test does in %v may need -timeout %v", why, times, timeout, enough)
}
