package qemu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestPhotosOfCPUs: of a death on a machine with three CPUs, the codes of all three traces take
// turns on the screen, and a folder of pictures of them is read back.
func TestPhotosOfCPUs(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	cfg := withVGA
	cfg.Kernel, cfg.CPUs, cfg.Append = path, 3, "crash=cpu.nil-write panic=halt"
	vm, _ := start(t, cfg, "")
	_, codes := turnToSecond(t, vm)
	pictures := shootCodes(t, vm, codes)
	vm.Kill()
	dir := t.TempDir()
	for i := range pictures {
		var b bytes.Buffer
		if err := png.Encode(&b, pictures[i].image()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", len(pictures)-i)), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	cmd := exec.Command(zfCommand(t), "symbolize", "-json", "-e", path, dir)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("zf symbolize: %v\n%s", err, stderr.Bytes())
	}
	var cpus []int
	for line := range bytes.Lines(out) {
		var tr struct {
			Kind    string
			Seq     uint64
			CPU     *int
			Of      uint64
			Damaged bool
			Frames  []struct{ Address string }
		}
		if err := json.Unmarshal(line, &tr); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if tr.CPU == nil || tr.Damaged || len(tr.Frames) == 0 {
			t.Errorf("%s: want a whole trace of a CPU", line)
			continue
		}
		cpus = append(cpus, *tr.CPU)
		if first := len(cpus) == 1; first != (tr.Kind == "fault") || first != (tr.Of == 0) {
			t.Errorf("trace %d is %s, of trace %d; want first the death, then those that belong to it", tr.Seq, tr.Kind, tr.Of)
		}
	}
	t.Logf("%d codes are of CPUs %v", codes, cpus)
	if slices.Sort(cpus); !slices.Equal(cpus, []int{0, 1, 2}) {
		t.Errorf("traces of CPUs %v; want one of each of three", cpus)
	}
}
