package fault

import (
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

// codeTrace is a trace in codeBytes.
type codeTrace struct {
	at, n int
	plan  qr.Plan
}

// Panic path only.
var (
	toCodes    bool // what the writer writes goes into codeBytes
	codeBytes  [codeRoom]byte
	codeLen    int // bytes that are in use
	codeFull   bool
	codeTraces [maxCodeTraces]codeTrace
	nCodes     int // traces there are
	code       qr.Code
)

// codeByte takes a byte of a trace.
func codeByte(b byte) {
	if codeFull = codeFull || codeLen >= len(codeBytes); !codeFull {
		codeBytes[codeLen] = b
		codeLen++
	}
}

// keepCodes keeps the trace of a stage, which has been written, for the screen. If the stage
// before has died before it could do that, its trace comes first.
func keepCodes(s Stage, d *Details) {
	if !screen.Crashed() || s > StageAddresses || screen.CodeRoom() == 0 {
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
	if codeFull || nCodes == len(codeTraces) {
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
	codeTraces[nCodes%maxCodeTraces] = codeTrace{at, codeLen - at - crcBytes, plan}
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
	for k := 0; k < nCodes && k < len(codeTraces); k++ {
		t := &codeTraces[k]
		if i >= t.plan.Parts {
			i -= t.plan.Parts
			continue
		}
		drawing = true
		trace := codeBytes[t.at:][:t.n]
		crc := codeBytes[t.at+t.n:][:crcBytes]
		if code.Part(t.plan, i, trace, uint32(crc[0])<<24|uint32(crc[1])<<16|uint32(crc[2])<<8|uint32(crc[3])) {
			screen.DrawCode(&code)
		}
		drawing = false
		return
	}
}
