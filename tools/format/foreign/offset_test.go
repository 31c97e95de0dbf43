package foreign

import (
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestKernelOffsets: each boot has the first offset that its log says, wherever the pieces
// end in which it is read.
func TestKernelOffsets(t *testing.T) {
	is := func(bias uint64) KernelOffset { return KernelOffset{bias, 0x81000000, true} }
	const line = "x Kernel Offset: 0x1a000000 from 0x81000000 (relocation range: 0x0-0x1)\n"
	fill := strings.Repeat("usb 1-1: new device\n", 60_000) // more than is read at once
	for _, tt := range []struct {
		log  string
		want []KernelOffset
	}{
		{"", []KernelOffset{{}}},
		{line, []KernelOffset{is(0x1a000000)}},
		{strings.TrimSuffix(line, "\n"), []KernelOffset{is(0x1a000000)}},
		{"Kernel Offset: disabled\n" + line, []KernelOffset{{Known: true}}},
		{"Kernel Offset: is what\n" + line, []KernelOffset{is(0x1a000000)}},
		{"Linux version 6 Linux version\n" + line, []KernelOffset{{}, is(0x1a000000)}},
		{fill + line + fill + "Linux version 6\n" + fill + "Linux version 6\n" + line, []KernelOffset{is(0x1a000000), {}, is(0x1a000000)}},
		{strings.Repeat("x", 3<<20) + line, []KernelOffset{is(0x1a000000)}},
	} {
		if got, err := KernelOffsets(strings.NewReader(tt.log)); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%.60q: %v, %v; want %v", tt.log, got, err, tt.want)
		}
	}
	if _, err := KernelOffsets(iotest.ErrReader(iotest.ErrTimeout)); err != iotest.ErrTimeout {
		t.Errorf("the error is %v; want that of the reader", err)
	}
}
