package image

// A package given as PATH@VERSION is built in a module made for it, as `go run`
// builds one: with the versions that its own module requires, and nothing of the
// module in the current folder.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fetch makes that module if Package has a version, and points the options at it.
// The function it returns removes what it has made.
func (o *BuildOptions) fetch(ctx context.Context) (cleanup func(), err error) {
	name, version, ok := strings.Cut(o.Package, "@")
	if !ok || strings.HasPrefix(name, ".") || filepath.IsAbs(name) {
		if o.Package == "" {
			return nil, fmt.Errorf("%w: no package given; name one, such as ./cmd/hello", ErrNoPackage)
		}
		return func() {}, nil
	}
	if name == "" || version == "" || strings.HasPrefix(name, "-") {
		return nil, fmt.Errorf("%w: %s; want PATH@VERSION, such as example.com/cmd@latest",
			ErrNoPackage, o.Package)
	}
	tmp, err := os.MkdirTemp("", "zf-fetch-")
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrOutput, err)
	}
	remove := func() { os.RemoveAll(tmp) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	if err := os.WriteFile(filepath.Join(tmp, "go.mod"), []byte("module zeroframe.invalid/fetch\n"),
		0o644); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrOutput, err)
	}
	// The output stays relative to where the user is.
	if o.Output == "" {
		o.Output = "."
	}
	if o.Output != os.DevNull && !filepath.IsAbs(o.Output) {
		slash := os.IsPathSeparator(o.Output[len(o.Output)-1])
		if o.Output, err = filepath.Abs(filepath.Join(o.Dir, o.Output)); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrOutput, err)
		}
		if slash {
			o.Output += string(filepath.Separator)
		}
	}
	given := o.Package
	o.Dir, o.Package = tmp, name
	o.Env = append(o.Env[:len(o.Env):len(o.Env)], "GOWORK=off", "GO111MODULE=on")
	cmd := o.goCommand(ctx, "0", "get", "-modfile=", "--", given)
	var msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &msg, &msg
	if err := cmd.Run(); err != nil {
		return nil, o.goError(ctx, err, fmt.Errorf("%w: %s%s", ErrNoPackage, given,
			goSaid(msg.Bytes(), errors.New("go get failed"))))
	}
	return remove, nil
}
