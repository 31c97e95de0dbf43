package qemu

import (
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestNMISent: while the trace of an NMI is written and sent by network, the other CPUs stand still,
// because they might use the card, or die. Then the program goes on.
func TestNMISent(t *testing.T) {
	t.Parallel()
	path := built(t, image.BuildOptions{Package: "./testdata/held"})
	r := receive(t)
	vm, out := start(t, Config{Kernel: path, CPUs: 4, Net: "virtio", Append: "report=off " + r.option()}, "")
	out.For(t, "counting\r\n")
	if err := vm.InjectNMI(); err != nil {
		t.Fatal(err)
	}
	out.For(t, "counted meanwhile: 0\r\n")
	if res, err := vm.Wait(); err != nil || res.Outcome != Exited {
		t.Fatalf("the machine: %v, %v; want %v", res.Outcome, err, Exited)
	}
	a := r.sort(t, opened(t, path).BuildID())
	if want, _ := saidOf(out.String(), "counting"); a.traces != want || want == "" {
		t.Errorf("traces arrived:\n%s\nthe serial port has:\n%s", a.traces, want)
	}
}
