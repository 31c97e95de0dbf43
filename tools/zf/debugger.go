//go:build !lean

package main

// The debugger's half of zf: what is made of Delve's packages and a few others that take long to
// start. `make build` makes two programs, so that `zf run` starts without them: zf (-tags lean,
// handover.go), and zf-debugger, which has it all and takes zf's place when it is wanted.

import (
	"encoding/json"
	"os"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// debugger returns the help and the function of a command of the debugger's half.
func debugger(name string) (text string, run func(*call) error) {
	switch name {
	case "replay":
		return replayText, runReplay
	case "why":
		return whyText, runWhy
	case "profile":
		return profileText, runProfile
	case "handles":
		return handlesText, runHandles
	case "leaks":
		return leaksText, runLeaks
	case "report":
		return reportText, runReport
	case "core":
		return coreText, runCore
	case "trace":
		return timelineText, runTrace
	case "goroutines":
		return goroutinesText, runGoroutines
	case "print":
		return printText, runPrint
	case "heap":
		return heapText, runHeap
	case "waits":
		return waitsText, runWaits
	case "dlv":
		return dlvText, runDlv
	case "gdb":
		return gdbText, runGDB
	case "completion":
		return completionText, runCompletion
	}
	panic("no command " + name)
}

// lean says that this program has all, and hands nothing over.
const lean = false

func (c *call) handOver() error { panic("there is nobody to hand over to") }

// answerQuestion answers the question on standard input and ends the process, if zf has started it
// for that.
func answerQuestion(args []string) {
	if len(args) != 1 || args[0] != answerWord {
		return
	}
	var q deadQuestion
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		os.Exit(exitUsage)
	}
	if err := json.NewEncoder(os.Stdout).Encode(q.answer()); err != nil {
		os.Exit(exitUsage)
	}
	os.Exit(exitOK)
}

func (q *deadQuestion) answer() (a deadAnswer) {
	if q.Core != "" {
		a.Heap = heapOf(q.Core, q.ELF)
		return a
	}
	sym, err := symbol.Open(q.ELF)
	if err != nil {
		return a
	}
	defer sym.Close()
	a.Lines, a.JSON = listWaits(&trace.List{Traces: q.Traces, All: q.All, Running: q.Running,
		Symbols: sym})
	return a
}
