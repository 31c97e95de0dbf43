package qemu

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestFlightRecorder: what a program's own flight recorder has can be had from a core, up to the
// death, whichever the death is; Go's own tools read it.
func TestFlightRecorder(t *testing.T) {
	t.Parallel()
	image := program(t, "flight")
	mark := regexp.MustCompile(`Category="mark" Message="(\d+)"`)
	for _, tt := range []struct{ how, options string }{
		{"panic", ""},
		{"throw", ""},
		{"write", fmt.Sprintf("watch=%#x watch.panic=on", address(t, image, "main.last"))}, // the kernel ends it in the middle
	} {
		for _, cpus := range []string{"1", "3"} {
			t.Run(tt.how+"/"+cpus, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				core, file := filepath.Join(dir, "core"), filepath.Join(dir, "out")
				out, err := zfRun(t, "-q", "-smp", cpus, "-core", core, "-append", tt.options, image, "--", tt.how).CombinedOutput()
				if code := exitCode(t, err); code != 1 && code != 2 {
					t.Fatalf("zf run: status %d, %s", code, out)
				}
				if out, err := exec.Command(zfCommand(t), "trace", "-flight", "-e", image, "-o", file, core).CombinedOutput(); err != nil {
					t.Fatalf("zf trace -flight: %v\n%s", err, out)
				}
				text, err := exec.Command("go", "tool", "trace", "-d=parsed", file).CombinedOutput()
				if err != nil {
					t.Fatalf("go tool trace: %v\n%s", err, text)
				}
				all := mark.FindAllSubmatch(text, -1)
				for i, m := range all {
					if string(m[1]) != fmt.Sprint(i) {
						t.Fatalf("mark %s stands where %d is wanted", m[1], i)
					}
				}
				if len(all) != 200 {
					t.Errorf("the trace has %d marks, want 200", len(all))
				}
			})
		}
	}
}
