package image

// A package without tests has nothing to boot, but go test counts its statements. So it is
// asked.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/machine/host"
)

// Untested returns the line that go test -cover has for a package without test files, and
// its coverage profile, of that mode. Nothing of the package is run.
func Untested(ctx context.Context, o BuildOptions, pkg,
	mode string) (line string, profile []byte, err error) {
	end, err := o.begin()
	if err != nil {
		return "", nil, err
	}
	defer end()
	out := filepath.Join(o.work, "profile")
	args := []string{"test", "-vet=off", "-count=1"}
	args = append(append(args, o.TestFlags...), o.Flags...)
	args = append(args, "-covermode="+mode, "-coverprofile="+out)
	if o.Tags != "" {
		args = append(args, "-tags="+o.Tags)
	}
	cmd := o.goCommand(ctx, "0", append(args, pkg)...)
	var said, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &msg
	if err := host.Run(ctx, cmd); err != nil {
		return "", nil, fmt.Errorf("go test -cover %s: %w: %s", pkg, err, strings.TrimSpace(msg.String()))
	}
	if profile, err = os.ReadFile(out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", nil, err
	}
	return said.String(), profile, nil
}
