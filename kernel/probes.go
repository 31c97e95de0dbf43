package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/probe"
	"github.com/zeroframe/zeroframe/kernel/recordport"
)

// Probes (package probe): where their table comes from, and what becomes of the counts.

// startProbes arms the probes of the table in the boot archive, if there is one. Early
// context, before the RAM is given away.
func startProbes() {
	for i := range info.Modules() {
		m := &info.Modules()[i]
		at, size := inArchive(uintptr(m.Lo), uintptr(m.Hi), probe.File)
		if size == 0 {
			continue
		}
		if wrong := probe.Start(at, size, image.textLo, image.textHi, buildID(), mm.Contiguous); wrong != "" {
			console.String("probes: ")
			console.String(wrong)
			console.String("\n")
		}
		return
	}
}

// tellProbes is the boot report's line on them.
func tellProbes() {
	if !probe.On() {
		return
	}
	functions, places := probe.Places()
	console.String("\nprobes  ")
	console.Dec(uint64(functions))
	console.String(" functions, ")
	console.Dec(uint64(places))
	console.String(" places")
}

// inArchive finds a file in the cpio archive (newc format) at lo, and returns where its
// contents are; size is 0 if it is not there.
func inArchive(lo, hi uintptr, name string) (at, size uintptr) {
	const header, sizeField, nameField = 110, 54, 94
	for lo+header <= hi {
		size, ok1 := hexField(lo + sizeField)
		n, ok2 := hexField(lo + nameField)
		if !ok1 || !ok2 || n > hi-lo || size > hi-lo {
			return 0, 0
		}
		data := (lo + header + n + 3) &^ 3
		if data > hi || size > hi-data {
			return 0, 0
		}
		same := n == uintptr(len(name))+1
		for i := 0; same && i < len(name); i++ {
			same = *(*byte)(amd64.Pointer(lo + header + uintptr(i))) == name[i]
		}
		if same {
			return data, size
		}
		lo = (data + size + 3) &^ 3
	}
	return 0, 0
}

// hexField reads a number of eight hexadecimal digits.
func hexField(a uintptr) (v uintptr, ok bool) {
	for i := range uintptr(8) {
		c := *(*byte)(amd64.Pointer(a + i))
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | uintptr(c)
	}
	return v, true
}

// sendingProbes is set while the counts are sent: should that fault, the death sends none.
var sendingProbes bool

// sendProbes sends the counts: when the machine ends, and after an NMI's trace. Kernel
// context.
func sendProbes() {
	if !probe.On() || sendingProbes {
		return
	}
	sendingProbes = true
	w := recordport.Begin(probe.Kind)
	probe.Write(w, clock.TSCHz())
	w.End()
	sendingProbes = false
}
