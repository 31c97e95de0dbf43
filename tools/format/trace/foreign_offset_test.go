package trace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
)

// TestForeignOffset: addresses that come before Linux says where it runs are resolved: in
// place where the log is there as a whole, and otherwise below the line that says it. Each
// boot has its own offset.
func TestForeignOffset(t *testing.T) {
	const boot = "[    0.000000] Linux version 6.1.0 (x@y)\n"
	log := func(bias int) string {
		return fmt.Sprintf("[    1.0] Call Trace:\n[    1.0]  [<%016x>]\n[    1.0]  [<%016x>]\n[    1.0] pc=0x7f0000001000\n", bias+0x200110, bias+0x200220) +
			fmt.Sprintf("[    1.0] Kernel Offset: %#x from 0x200000 (relocation range: 0x0-0x1)\n[    1.0] pc=%#x\n", bias, bias+0x200330)
	}
	// The first is so small that the addresses are some of other functions, too.
	in := log(0x1000) + boot + log(0x3000000) + boot + "pc=0x200110\n"
	im := image("1", "/x/vmlinux", 0x200000, "f0", "f1", "f2", "f3")
	names := func(out []byte) (all []string) {
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "    ") {
				all = append(all, strings.Join(strings.Fields(line), " "))
			}
		}
		return all
	}
	offsets := func() []foreign.KernelOffset {
		all, err := foreign.KernelOffsets(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	whole := filter(t, Options{Symbols: im, Foreign: true, Offsets: offsets}, []byte(in))
	three := []string{"f1+0x10 vmlinux.c:15", "f2+0x20 vmlinux.c:31", "f3+0x30 vmlinux.c:48"}
	want := slices.Concat(three, three, []string{"f1+0x10 vmlinux.c:16"})
	if got := names(whole.out.Bytes()); !slices.Equal(got, want) {
		t.Errorf("a file: %q; want %q", got, want)
	}
	in = boot + log(0x3000000)
	stream := filter(t, Options{Symbols: im, Foreign: true}, []byte(in))
	want = []string{"0000000003200110:", "f1+0x10 vmlinux.c:15 (above)", "0000000003200220:", "f2+0x20 vmlinux.c:31 (above)", "f3+0x30 vmlinux.c:48"}
	if got := names(stream.out.Bytes()); !slices.Equal(got, want) {
		t.Errorf("a stream: %q; want %q", got, want)
	}
	if at := bytes.Index(stream.out.Bytes(), []byte("(above)")); at < bytes.Index(stream.out.Bytes(), []byte("Kernel Offset")) {
		t.Errorf("a stream: the addresses are above the line that says the offset: %s", stream.out.Bytes())
	}
}
