package observe

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/observe/probe"
	"github.com/zeroframe/zeroframe/kernel/parts"
)

// Probes (package probe): loading their table, and sending the counts.

// StartProbes arms the probes of the table in the boot archive at lo, if there is one, and reports
// whether there is. Early context, before the RAM is given away.
func StartProbes(lo, hi uintptr) bool {
	if !parts.Observe {
		return false
	}
	at, size := inArchive(lo, hi, probe.File)
	if size == 0 {
		return false
	}
	if wrong := probe.Start(at, size, image.TextLo, image.TextHi, image.BuildID(),
		mem.Contiguous); wrong != "" {
		console.String("probes: ")
		console.Line(wrong)
	}
	return true
}

// PrintProbes prints the boot report's line about them.
func PrintProbes() {
	if !probe.On() {
		return
	}
	functions, places := probe.Places()
	console.Printf("\nprobes  %d functions, %d places", uint64(functions), uint64(places))
}

// inArchive finds a file in the cpio archive (newc format) at lo, and returns where its contents
// are; size is 0 if it is not there.
func inArchive(lo, hi uintptr, name string) (at, size uintptr) {
	const header, sizeField, nameField = 110, 54, 94
	for lo+header <= hi {
		size32, ok1 := ascii.Hex(bytesAt(lo+sizeField, 8))
		n32, ok2 := ascii.Hex(bytesAt(lo+nameField, 8))
		size, n := uintptr(size32), uintptr(n32)
		if !ok1 || !ok2 || n > hi-lo || size > hi-lo {
			return 0, 0
		}
		data := (lo + header + n + 3) &^ 3
		if data > hi || size > hi-data {
			return 0, 0
		}
		if n > 0 && ascii.Same(bytesAt(lo+header, n-1), name) {
			return data, size
		}
		lo = (data + size + 3) &^ 3
	}
	return 0, 0
}

// bytesAt returns n bytes of an archive.
func bytesAt(a, n uintptr) []byte { return unsafe.Slice((*byte)(arch.Pointer(a)), n) }

// sendingProbes is set while the counts are sent: if that faults, the crash sends none. Under the
// kernel lock; the panic path takes none.
var sendingProbes bool

// SendProbes sends the counts: when the machine ends, and after an NMI's trace. Kernel
// context.
func SendProbes() {
	if !probe.On() || sendingProbes {
		return
	}
	sendingProbes = true
	w := eventstream.Begin(probe.Kind)
	probe.Write(w, clock.TSCHz())
	w.End()
	sendingProbes = false
}
