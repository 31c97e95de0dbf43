package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// hello is the program that zf run is timed with: the folder of a module of its own, as a
// user's is.
var hello = map[string]string{
	"go.mod":  "module example.com/hello\n\ngo 1.26\n",
	"main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n",
}

// coldRuns is how often commands are timed whose caches are empty.
var coldRuns = 5 // -short: 1

// commands times zf run as a user does: the first line after a change of nothing, and with
// empty caches beside go build of the same program.
func (b *bench) commands() error {
	b.progress("start.run.*: zf run of hello with fmt; warm: to its first line when all is built, and to hello; cold: to the first line with empty caches, over go build with an empty cache, by turns")
	zf, err := batch.BuildZF(context.Background(), b.dir)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "hello")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, text := range hello {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	cache := filepath.Join(b.dir, "caches")
	defer os.RemoveAll(cache)
	// timed runs a command, with empty caches or those that are there, and returns the times in
	// s to its first line, to hello and to its end.
	timed := func(empty bool, name string, args ...string) (line, said, end float64, err error) {
		if empty {
			if err := os.RemoveAll(cache); err != nil {
				return 0, 0, 0, err
			}
		}
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(cache, "go"), "XDG_CACHE_HOME="+cache, "CGO_ENABLED=0", "ZF_ACCEL=tcg", "GOFLAGS=")
		var msg bytes.Buffer
		told := &clock{begin: time.Now(), mark: []byte("hello")}
		first := &clock{begin: told.begin, mark: []byte("\n"), next: told}
		cmd.Stdout, cmd.Stderr = first, &msg
		if err := cmd.Run(); err != nil {
			return 0, 0, 0, fmt.Errorf("commands: %v: %w\n%s", cmd.Args, err, msg.Bytes())
		}
		return first.marked.Seconds(), told.marked.Seconds(), time.Since(told.begin).Seconds(), nil
	}
	var ratios, colds, builds, warms, hellos []float64
	for range coldRuns {
		_, _, built, err := timed(true, "go", "build", "-o", filepath.Join(b.dir, "hello.linux"), ".")
		if err != nil {
			return err
		}
		cold, _, _, err := timed(true, zf, "run", ".")
		if err != nil {
			return err
		}
		ratios, colds, builds = append(ratios, cold/built), append(colds, cold), append(builds, built)
	}
	for range runs {
		line, said, _, err := timed(false, zf, "run", ".")
		if err != nil {
			return err
		}
		if line == 0 || said == 0 {
			return fmt.Errorf("commands: zf run did not show its first line and hello")
		}
		warms, hellos = append(warms, line), append(hellos, said)
	}
	b.atMost("start.run.warm.first_line.s", median(warms), 0.45)
	b.figure("start.run.warm.hello.s", fmt.Sprintf("%.2f", median(hellos)))
	b.figure("start.run.cold.first_line.s", fmt.Sprintf("%.1f", median(colds)))
	b.figure("start.go_build.cold.s", fmt.Sprintf("%.1f", median(builds)))
	b.atMost("start.run.cold.ratio", median(ratios), 1.3)
	return nil
}
