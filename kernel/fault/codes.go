package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/screen"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/qr"
)

// The codes of a crash: beside the text, the screen shows the trace as a QR code, or as several
// that take turns (package qr describes their contents). Each finished trace is written once more
// for the codes, in the bare form; a code is made when its page is shown.

const (
	// codeRoom is the room for the traces, in bytes; a trace takes some 500. Traces that do not fit
	// are on the text pages alone.
	codeRoom = 24 << 10
	// maxCodeTraces bounds the number of traces: those of all CPUs, and of some goroutines.
	maxCodeTraces = 96
)

// codeTrace is one trace in codeSpace.bytes.
type codeTrace struct {
	at, n int
	plan  qr.Plan
}

// Panic path only.
var (
	toCodes  bool // the writer's output goes into codes().bytes
	codeLen  int  // bytes in use
	codeFull bool
	nCodes   int // number of traces
)

// codeSpace is the memory that codes need; only a machine with a screen sets it aside. Panic path
// only.
type codeSpace struct {
	bytes  [codeRoom]byte
	traces [maxCodeTraces]codeTrace
	code   qr.Code
}

// CodesSize is the memory that codes need, in bytes.
const CodesSize = unsafe.Sizeof(codeSpace{})

// codesAt is the address of the codeSpace; 0 means that there are no codes. Set once at boot.
var codesAt uintptr

// UseCodes gives the codes CodesSize bytes of memory at an address. Early context.
func UseCodes(at uintptr) { codesAt = at }

func codes() *codeSpace { return (*codeSpace)(arch.Pointer(codesAt)) }

// codeByte stores one byte of a trace.
func codeByte(b byte) {
	if codeFull = codeFull || codeLen >= codeRoom; !codeFull {
		codes().bytes[codeLen] = b
		codeLen++
	}
}

// keepCodes keeps the trace of a stage, which has been written, for the screen. If the previous
// stage died before it could do that, its trace is kept first.
func keepCodes(s Stage, d *Details) {
	if codesAt == 0 || !screen.Crashed() || s > StageAddresses || screen.CodeRoom() == 0 {
		return
	}
	if first := &stageDetails[0]; s == StageAddresses && nCodes == 0 && first.Begun && first.Seq != 0 {
		keepCode(s, first)
	}
	keepCode(s, d)
	writer.Whole() // the next trace must not build on one that only the screen has
}

// keepCode keeps one trace.
func keepCode(s Stage, d *Details) {
	if codeFull || nCodes == maxCodeTraces {
		return
	}
	at := codeLen
	toCodes, savedForm = true, writer.Form
	writer.Form = tracer.Bare
	writer.Whole()
	startTrace(d)
	if d.silent {
		writer.Done()
	} else {
		s.row().log(d, true)
	}
	endCodes()
	plan := qr.PlanFor(codeLen-at-crcBytes, screen.CodeRoom())
	if codeFull || plan.Parts == 0 {
		codeLen = at
		return
	}
	codes().traces[nCodes%maxCodeTraces] = codeTrace{at, codeLen - at - crcBytes, plan}
	nCodes++
	drawing = true
	screen.Codes(plan.Parts)
	drawing = false
	if nCodes == 1 {
		showCode()
	}
}

// crcBytes is the length of the CRC at the end of a bare trace. Codes carry the CRC in their header
// instead.
const crcBytes = 4

// endCodes switches the writer back to the wire.
func endCodes() {
	if toCodes {
		toCodes = false
		writer.Form = savedForm
	}
}

// showCode draws the code of the current page.
func showCode() {
	i := screen.Code()
	for k := 0; k < nCodes && k < maxCodeTraces; k++ {
		c := codes()
		t := &c.traces[k]
		if i >= t.plan.Parts {
			i -= t.plan.Parts
			continue
		}
		drawing = true
		trace := c.bytes[t.at:][:t.n]
		crc := c.bytes[t.at+t.n:][:crcBytes]
		if c.code.Part(t.plan, i, trace,
			uint32(crc[0])<<24|uint32(crc[1])<<16|uint32(crc[2])<<8|uint32(crc[3])) {
			screen.DrawCode(&c.code)
		}
		drawing = false
		return
	}
}
