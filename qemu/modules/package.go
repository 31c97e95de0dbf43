package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/zeroframe/zeroframe/tools/image"
)

// The kernel gets so many times what the host has needed, and a time that suffices for a small
// package at least: emulation is some ten times slower, and more so on a busy host.
const (
	slower = 30
	least  = 5 * time.Minute
)

// try runs the tests of a package on both sides.
func (s *settings) try(ctx context.Context, l *list, m module, p image.TestPackage, d *folder) (row, error) {
	r := row{module: m.String(), pkg: p.ImportPath}
	if l.left[p.ImportPath] != "" {
		r.left = true
		return r, nil
	}
	host, err := s.test(ctx, "go", m, p, d, s.timeout)
	if err != nil {
		return r, err
	}
	if err := d.restore(); err != nil {
		return r, err
	}
	if host.built {
		guest, err := s.test(ctx, s.zf, m, p, d, max(least, slower*host.took), "-m", fmt.Sprint(s.memoryMiB))
		if err != nil {
			return r, err
		}
		r.compare(host, guest)
		return r, nil
	}
	r.compare(host, &result{})
	return r, nil
}

// test runs `go test` or `zf test`. That tests fail is no error.
func (s *settings) test(ctx context.Context, command string, m module, p image.TestPackage, d *folder, limit time.Duration, flags ...string) (*result, error) {
	args := append([]string{"test", "-json", "-count=1", "-vet=off", "-short", "-timeout", limit.String()}, flags...)
	cmd := exec.CommandContext(ctx, command, append(append(args, m.flags...), p.ImportPath)...)
	cmd.Dir, cmd.Env = d.path, environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // zf ends its machine
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	where := "kernel"
	if command != s.zf {
		where = "host"
	}
	if err := s.log(p.ImportPath, where, append(out.Bytes(), stderr.Bytes()...)); err != nil {
		return nil, err
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	return readEvents(out.Bytes(), stderr.Bytes()), nil
}
