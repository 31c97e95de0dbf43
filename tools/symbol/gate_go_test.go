package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// buildVariant builds the Go sample with flags of the go command.
func buildVariant(t *testing.T, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "prog.elf")
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), ".")...)
	cmd.Dir = "testdata/gosample"
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS=linux", "GOFLAGS=")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, msg)
	}
	return out
}

// TestGateGo holds the sample, built in several ways, against what it says of itself:
// one way at every address, the others at some, which `make test-symbol` makes all.
func TestGateGo(t *testing.T) {
	for i, flags := range append([][]string{{}, {"-gcflags=-N -l"}, {"-trimpath"}, {"-buildmode=pie"}}, moreGoFlags...) {
		for _, strip := range []bool{false, true} {
			name, with := "go build "+strings.Join(flags, " "), flags
			if strip {
				name, with = name+" stripped", append(flags[:len(flags):len(flags)], "-ldflags=-s -w")
			}
			t.Run(name, func(t *testing.T) {
				step := goStep
				if i == 0 && !strip {
					step = 1
				}
				path := buildVariant(t, with...)
				ref := path
				if strip {
					ref = buildVariant(t, flags...)
				}
				equalsRuntime(t, path, ref, step, !strings.Contains(name, "all="))
			})
		}
	}
}
