package main

// The commands are built for every host that they are for. Their tests run on this one
// alone, and are left out: they need other programs, signals and terminals of this system.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ports are the hosts beside this one, GOOS/GOARCH: each system and each processor. No file of ours
// is for darwin/amd64 alone, so that one is left out: a port takes more than a minute.
var ports = []string{"darwin/arm64", "linux/arm64", "windows/amd64"}

// portable are the programs that users have on their hosts.
var portable = []string{"./tools/zf", "./tools/receive/zf-receive"}

// crossVet builds the programs for each port. Where files differ most, on Windows, it vets them,
// too, and of our module what they are made of: to vet takes as long as to build.
func crossVet(ctx context.Context) (out []byte, err error) {
	tmp, err := os.MkdirTemp("", "zf-ports-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	for _, port := range ports {
		goos, goarch, _ := strings.Cut(port, "/")
		run := func(args ...string) ([]byte, error) {
			cmd := exec.CommandContext(ctx, "go", args...)
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
			var msg bytes.Buffer
			cmd.Stderr = &msg
			said, err := cmd.Output()
			if err != nil {
				err = fmt.Errorf("%s: go %s: %w\n%s", port, args[0], err, msg.Bytes())
			}
			return said, err
		}
		if _, err := run(append([]string{"build", "-o", tmp + "/"}, portable...)...); err != nil {
			return nil, err
		}
		if goos == "windows" {
			if _, err := run("build", "-tags=lean", "-o", tmp+"/", portable[0]); err != nil {
				return nil, err
			}
			if err := vetOurs(run, filepath.Join(tmp, "overlay.json")); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// vetOurs vets what the programs are made of. The overlay is a file that leaves the tests out.
func vetOurs(run func(args ...string) ([]byte, error), overlay string) error {
	format := `{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{"\t"}}{{.Dir}}{{end}}{{end}}`
	list, err := run(append([]string{"list", "-deps", "-f", format}, portable...)...)
	if err != nil {
		return err
	}
	args, replace := []string(nil), map[string]string{}
	for line := range strings.Lines(string(list)) {
		pkg, dir, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		args = append(args, pkg)
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			return err
		}
		for _, test := range tests {
			replace[test] = "" // is not there
		}
	}
	if len(args) < 20 {
		return fmt.Errorf("%d packages of ours: %q", len(args), args)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		return err
	}
	if _, err := run(append([]string{"vet", "-overlay=" + overlay}, args...)...); err != nil {
		return err
	}
	return nil
}
