package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/screen"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/qr"
)

// The codes of a crash: beside its text the screen has a QR code with the trace, or several that
// take turns (package qr, which says what is in them). A trace is written once more for that, in
// the bare form, when it is out; a code is made when its page is shown.

const (
	// codeRoom is the room for the traces, in bytes; a trace takes some 500. What comes when
	// it is full is on the text pages alone.
	codeRoom = 24 << 10
	// maxCodeTraces bounds how many they are: those of all CPUs, and some goroutines'.
	maxCodeTraces = 96
)

// codeTrace is a trace in codeSpace.bytes.
type codeTrace struct {
	at, n int
	plan  qr.Plan
}

// Panic path only.
var (
	toCodes  bool // what the writer writes goes into codes().bytes
	codeLen  int  // bytes that are in use
	codeFull bool
	nCodes   int // traces there are
)

// codeSpace is what takes memory of that: only a machine with a screen gives it away. Panic path only.
type codeSpace struct {
	bytes  [codeRoom]byte
	traces [maxCodeTraces]codeTrace
	code   qr.Code
}

// CodesSize is the memory that codes need, in bytes.
const CodesSize = unsafe.Sizeof(codeSpace{})

// codesAt is where it is, 0: nowhere, and there are no codes. Set once at boot.
var codesAt uintptr

// UseCodes gives codes their memory, CodesSize bytes at an address. Early context.
func UseCodes(at uintptr) { codesAt = at }

func codes() *codeSpace { return (*codeSpace)(arch.Pointer(codesAt)) }

// codeByte takes a byte of a trace.
func codeByte(b byte) {
	if codeFull = codeFull || codeLen >= codeRoom; !codeFull {
		codes().bytes[codeLen] = b
		codeLen++
	}
}

// keepCodes keeps the trace of a stage, which has been written, for the screen. If the stage
// before has died before it could do that, its trace comes first.
func keepCodes(s Stage, d *Details) {
	if codesAt == 0 || !screen.Crashed() || s > StageAddresses || screen.CodeRoom() == 0 {
		return
	}
	if first := &stageDetails[0]; s == StageAddresses && nCodes == 0 && first.Begun && first.Seq != 0 {
		keepCode(s, first)
	}
	keepCode(s, d)
	writer.Whole() // what is written next builds on nothing that only the screen has
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

// crcBytes is the length of the CRC behind a bare trace. Each code has it in its head.
const crcBytes = 4

// endCodes makes the writer write to the wire again.
func endCodes() {
	if toCodes {
		toCodes = false
		writer.Form = savedForm
	}
}

// showCode draws the code of the page that is shown.
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
		if c.code.Part(t.plan, i, trace, uint32(crc[0])<<24|uint32(crc[1])<<16|uint32(crc[2])<<8|uint32(crc[3])) {
			screen.DrawCode(&c.code)
		}
		drawing = false
		return
	}
}
