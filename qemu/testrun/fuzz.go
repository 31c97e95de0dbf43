package main

// The packages with fuzz targets are compiled at once, with the fuzzer's instrumentation.
// Then each target runs for a short time, as many at once as there are processors.

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// fuzzTargets returns the names of the fuzz targets by folder. Folders named testdata may
// hold modules of their own.
func fuzzTargets(root string) (map[string][]string, error) {
	all := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range fuzzTarget.FindAllSubmatch(b, -1) {
			all[filepath.Dir(path)] = append(all[filepath.Dir(path)], string(m[1]))
		}
		return err
	})
	return all, err
}

// fuzz runs every target for the given time.
func (r *results) fuzz(ctx context.Context, each time.Duration) {
	started, n := time.Now(), 0
	targets, err := fuzzTargets(".")
	if err != nil || len(targets) == 0 {
		r.failure("fuzz", 0, fmt.Sprintf("%d packages with targets, %v\n", len(targets), err))
		return
	}
	tmp, err := os.MkdirTemp("", "zf-fuzz-")
	if err != nil {
		r.failure("fuzz", 0, err.Error()+"\n")
		return
	}
	defer os.RemoveAll(tmp)
	cache, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		r.failure("fuzz", 0, err.Error()+"\n")
		return
	}
	dir := filepath.Join(strings.TrimSpace(string(cache)), "fuzz", modulePath)
	for len(targets) > 0 {
		// A binary has the name of its package's folder, so those of one name are not built
		// together.
		batch := map[string]string{}
		for folder := range targets {
			batch[fuzzBinary(folder)] = folder
		}
		folders := slices.Sorted(maps.Values(batch))
		if out, err := fuzzBuild(ctx, tmp, folders); err != nil {
			r.failure("fuzz", time.Since(started), fmt.Sprintf("%s%v\n", out, err))
			return
		}
		var mu sync.Mutex // of r and n
		work := make(chan [2]string)
		var workers sync.WaitGroup
		for range runtime.NumCPU() {
			workers.Go(func() {
				for w := range work {
					folder, target := w[0], w[1]
					begin := time.Now()
					out, err := fuzzRun(ctx, filepath.Join(tmp, fuzzBinary(folder)), folder, target, dir, each)
					mu.Lock()
					n++
					if err != nil {
						r.failure(fmt.Sprintf("fuzz ./%s %s", folder, target), time.Since(begin),
							fmt.Sprintf("%s%v; the input is in %s/testdata/fuzz\n", out, err, folder))
					} else {
						r.passed++
					}
					mu.Unlock()
				}
			})
		}
		for _, folder := range folders {
			for _, target := range targets[folder] {
				work <- [2]string{folder, target}
			}
			delete(targets, folder)
		}
		close(work)
		workers.Wait()
	}
	fmt.Fprintf(r.out, "ok  \t%d fuzz targets, each for %v\t%.1fs\n", n, each,
		time.Since(started).Seconds())
}

// fuzzBuild compiles the packages' test binaries into a folder. Our own packages have the
// fuzzer's instrumentation, which guides it through them. `go test -fuzz` instruments the
// standard library, too, and compiles all of it anew for that.
func fuzzBuild(ctx context.Context, to string, folders []string) ([]byte, error) {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-gcflags=" + modulePath +
		"/...=-d=libfuzzer", "-o", to + "/"}
	for _, f := range folders {
		args = append(args, "./"+f)
	}
	return exec.CommandContext(ctx, "go", args...).CombinedOutput()
}

// fuzzBinary returns the name of a folder's binary.
func fuzzBinary(folder string) string {
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	return filepath.Base(folder) + ".test"
}

// fuzzRun runs one target of a folder's binary with one worker, since others run beside it.
// To minimize inputs that are merely interesting would take all the time. Go's cache keeps
// the interesting inputs.
func fuzzRun(ctx context.Context, binary, folder, target, cache string,
	each time.Duration) ([]byte, error) {
	cmd := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.fuzz=^"+target+"$",
		"-test.fuzztime="+each.String(),
		"-test.parallel=1", "-test.fuzzminimizetime=1x", "-test.timeout=10m",
		"-test.fuzzcachedir="+filepath.Join(cache, folder))
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	// The fuzzer may take the end of the time for a failure of the target (known of it):
	// then there is no failing input.
	if err != nil && deadline.Match(out) && !bytes.Contains(out, []byte("Failing input")) &&
		!bytes.Contains(out, []byte("panic:")) {
		err = nil
	}
	return out, err
}

var deadline = regexp.MustCompile(`(?m)^ *context deadline exceeded$`)
