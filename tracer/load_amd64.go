package tracer

import "unsafe"

// The seam between the walk and memory that may not be there. The loads in
// load_amd64.s are the only instructions of this package that can fault, and a
// kernel whose #PF and #GP handlers consult Fixup turns such a fault into an
// answer. A host test has no such handler: it gives the walk a Load function,
// or memory that is there.

const haveChase = true

// chase is Walker.chase's loop in assembly; out is the first free frame, max
// how many there are.
//
//go:noescape
func chase(c *chaser, out unsafe.Pointer, max uintptr)

//go:noescape
func chaseFault(c *chaser, out unsafe.Pointer, max uintptr)

// ReadWord reads the 8-byte word at addr. ok is false, and the word 0, if the
// memory faulted; that needs a fault handler which honours Fixup. Any context.
//
//go:noescape
func ReadWord(addr uintptr) (word uintptr, ok bool)

func readWordFault(addr uintptr) (word uintptr, ok bool)

// fixups returns the entry addresses of the functions that may fault and of
// those that take over then.
func fixups() (chase, chaseFault, read, readFault uintptr)

// Fixup is for the handlers of #PF, #GP and #SS. If the fault at pc is one of this
// package's loads, it returns the address at which to resume: the load then
// reports that the memory cannot be read. Otherwise it returns 0. All registers
// must be as they were at the fault. Kernel context, early, goroutine.
func Fixup(pc uintptr) (resume uintptr) {
	c, cf, r, rf := fixups()
	w, wf, a, af := captureFixups()
	p, pf := packFixups()
	k, kf := callersFixups()
	switch {
	case pc-k < captureSize:
		return kf
	case pc-p < packedSize:
		return pf
	case pc-w < captureSize:
		return wf
	case pc-a < captureSize:
		return af
	case pc-c < fixupSize:
		return cf
	case pc-r < fixupSize:
		return rf
	}
	return 0
}

// capture is Capture.Walk.
//
//go:noescape
func capture(c *Capture, fp uintptr)

func captureFault(c *Capture, fp uintptr)

// recapture reports whether the records that c holds are still where they were.
//
//go:noescape
func recapture(c *Capture) (unchanged bool)

func recaptureFault(c *Capture) (unchanged bool)

// captureFixups is fixups for those two.
func captureFixups() (capture, captureFault, recapture, recaptureFault uintptr)

// pack is Packed.Walk's loop.
//
//go:noescape
func pack(p *Packed)

func packFault(p *Packed)

// packFixups is fixups for that.
func packFixups() (pack, packFault uintptr)

// packedSize is the length in bytes to which packed_amd64.s pads its loop.
const packedSize = 1024

// captureSize is the length in bytes to which capture_amd64.s pads both functions.
const captureSize = 512

// fixupSize is the length in bytes to which load_amd64.s pads both functions,
// so that an address within it belongs to no other.
const fixupSize = 256
