package main

// What zf asks of zf-debugger while a machine runs or has died, and cannot hand over.

import "github.com/zeroframe/zeroframe/tools/format/wire"

// debuggerName is the program that has the debugger's half, and answerWord its argument that has it
// answer one question.
const (
	debuggerName = "zf-debugger"
	answerWord   = "-answer"
)

// deadQuestion is of a list of goroutines: who waits for whom? Or, with Core, of a full core: what
// is in its heap? It goes as JSON to standard input, its answer to standard output.
type deadQuestion struct {
	ELF  string // the image
	Core string

	Traces       []*wire.Trace
	All, Running int
}

type deadAnswer struct {
	Lines []string
	JSON  []byte
	Heap  string
}
