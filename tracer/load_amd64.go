package tracer

import "unsafe"

// The seam between the walk and memory that may be unmapped. The loads in load_amd64.s are the only
// instructions of this package that can fault. A kernel whose #PF and #GP handlers consult Fixup
// turns such a fault into an answer. A host test has no such handler, so it gives the walk a Load
// function, or mapped memory.

const haveChase = true

// chase is Walker.chase's loop in assembly; out is the first free frame, max the number of free
// frames.
//
//go:noescape
func chase(c *chaser, out unsafe.Pointer, max uintptr)

//go:noescape
func chaseFault(c *chaser, out unsafe.Pointer, max uintptr)

// ReadWord reads the 8-byte word at addr. ok is false, and the word 0, if the load faulted; that
// requires a fault handler that consults Fixup. Any context.
//
//go:noescape
func ReadWord(addr uintptr) (word uintptr, ok bool)

func readWordFault(addr uintptr) (word uintptr, ok bool)

// fixups returns the entry addresses of the functions that may fault and of those that take over.
func fixups() (chase, chaseFault, read, readFault uintptr)

// Fixup is for the handlers of #PF, #GP and #SS. If the fault at pc is one of this package's loads,
// it returns the address at which to resume: the load then reports that the memory cannot be read.
// Otherwise it returns 0. All registers must be unchanged since the fault. Kernel, early and
// goroutine context.
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

// recapture reports whether the records in c are still where they were.
//
//go:noescape
func recapture(c *Capture) (unchanged bool)

func recaptureFault(c *Capture) (unchanged bool)

// captureFixups is fixups for capture and recapture.
func captureFixups() (capture, captureFault, recapture, recaptureFault uintptr)

// pack is Packed.Walk's loop.
//
//go:noescape
func pack(p *Packed)

func packFault(p *Packed)

// packFixups is fixups for pack.
func packFixups() (pack, packFault uintptr)

// packedSize is the length in bytes to which packed_amd64.s pads its loop.
const packedSize = 1024

// captureSize is the length in bytes to which capture_amd64.s pads both functions.
const captureSize = 512

// fixupSize is the length in bytes to which load_amd64.s pads both functions, so that every address
// within it belongs to the function.
const fixupSize = 256
