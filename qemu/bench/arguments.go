package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// argsFigures is the line of figures of the test that this measurement is.
var argsFigures = regexp.MustCompile(`(?m)figures: (\d+) arguments, (\d+) shown; Delve (\d+), (\d+) of them shown, (\d+) differ; Go (\d+) words, (\d+) marked`)

// arguments measures how many of the arguments of a crash the trace has, by the test that
// holds them against Delve.
func (b *bench) arguments() error {
	b.progress("args.*: of 125 crashes of a generated program: how many of the arguments of the innermost 8 functions are in the trace, in percents of all (shown) and of those that Delve shows from the full core (delve); differ: those that the two show, and not the same; go: how many words of Go's own traceback have no ?")
	tests := "^TestCallArgumentsDelve$/^many$/^seeds$/^0-"
	if b.short {
		tests = "^TestCallArgumentsDelve$/^few$"
	}
	c := exec.Command("go", "test", "-count=1", "-v", "-run", tests, "./qemu")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("go test ./qemu: %w\n%.2000s", err, out)
	}
	m := argsFigures.FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("go test ./qemu has no figures: %.2000s", out)
	}
	var n [8]float64
	for i := 1; i < len(n); i++ {
		n[i], _ = strconv.ParseFloat(string(m[i]), 64)
	}
	b.figure("args.shown.percent", decimals(100*n[2]/n[1]))
	b.atLeast("args.delve.percent", 100*n[4]/n[3], 95)
	b.atMost("args.differ", n[5], 0)
	b.figure("args.go.percent", decimals(100*(n[6]-n[7])/n[6]))
	return nil
}
