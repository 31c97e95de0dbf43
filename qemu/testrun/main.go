package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const usageText = `Usage: testrun [flags] test|all|repeat

  test    gofmt, go vet, every fuzz target, every test that long.txt does not name
  all     go vet of zf for other hosts, every test that long.txt names, and the race detector's tests
  repeat  "make test" again and again; every second run has busy loops beside it

Flags:

`

// raced are the tests that run with the race detector: those of packages that start goroutines, and
// only those that do where the others are long.
var raced = [][]string{
	{"-run=Concurrent|AtOnce|Example", "./tools/symbol"},
	{"-run=AtOnce|Idle|Follow|Late|Live", "./tools/format/trace"},
	{"./tools/symbol/argument", "./qemu/await", "./tools/symbol/buildid", "./tools/machine/doctor",
		"./tools/symbol/dwarf", "./tools/format/eventstream",
		"./tools/format/foreign", "./tools/machine/gotest", "./tools/postmortem/heap",
		"./tools/format/input", "./tools/postmortem/locks",
		"./qemu/lossy", "./tools/symbol/mapfile", "./tools/receive",
		"./tools/format/source", "./tools/format/terminal", "./tools/postmortem/why"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout))
}

// command runs with the given arguments and returns the exit status.
func command(ctx context.Context, args []string, out io.Writer) int {
	fs := flag.NewFlagSet("testrun", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fuzzTime := fs.Duration("fuzztime", time.Second, "run each fuzz target for `TIME`")
	n := fs.Int("n", 8, "repeat `N` times")
	table := fs.String("o", "test-repeat.txt", "write the table of repeat to `FILE`")
	loops := fs.Int("loops", 4, "run `N` busy loops beside every second run of repeat")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usageText)
		fs.SetOutput(out)
		fs.PrintDefaults()
		return 0
	}
	list, lerr := readLong()
	if err == nil {
		err = lerr
	}
	if err == nil && fs.NArg() != 1 {
		err = errors.New("want one of test, all and repeat")
	}
	if err == nil && (*n < 1 || *fuzzTime <= 0 || *loops < 0) {
		err = errors.New("-n and -fuzztime must be more than 0")
	}
	if err == nil {
		r := &results{out: out}
		switch fs.Arg(0) {
		case "test":
			r.check(ctx, "gofmt", gofmt)
			r.check(ctx, "go vet", vet)
			r.fuzz(ctx, *fuzzTime)
			r.goTest(ctx, nil, "-skip="+list.pattern(), "./...")
			r.twice(list)
			return r.end()
		case "all":
			r.check(ctx, "zf for other hosts", crossVet)
			r.goTest(ctx, nil, append([]string{"-run=" + list.pattern()}, list.packages()...)...)
			r.missing(list)
			for _, tests := range raced {
				r.goTest(ctx, []string{"CGO_ENABLED=1"}, append([]string{"-race", "-skip=" + list.pattern()},
					tests...)...)
			}
			return r.end()
		case "repeat":
			return repeat(ctx, *n, *loops, *table, out)
		}
		err = fmt.Errorf("unknown %q; want one of test, all and repeat", fs.Arg(0))
	}
	fmt.Fprintf(os.Stderr, "testrun: %v; -h lists the flags\n", err)
	return 2
}

// check runs a check that is no test.
func (r *results) check(ctx context.Context, name string,
	run func(context.Context) ([]byte, error)) {
	started := time.Now()
	out, err := run(ctx)
	if err != nil {
		r.failure(name, time.Since(started), fmt.Sprintf("%s%v\n", out, err))
		return
	}
	r.passed++
	fmt.Fprintf(r.out, "ok  \t%s\t%.1fs\n", name, time.Since(started).Seconds())
}

func gofmt(ctx context.Context) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "gofmt", "-l", ".").CombinedOutput()
	if err == nil && len(out) > 0 {
		err = fmt.Errorf("not formatted: run gofmt -w %s", strings.Join(strings.Fields(string(out)), " "))
	}
	return out, err
}

func vet(ctx context.Context) ([]byte, error) {
	return exec.CommandContext(ctx, "go", "vet", "./...").CombinedOutput()
}
