//go:build lean

package main

// zf without the debugger's half (debugger.go), which starts in half the time. What it does not
// have, zf-debugger does in its place: the whole of a command, if its flags say that it is needed,
// else the answer to a question (question.go). To hand over too much costs milliseconds, and is
// never wrong.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// lean says that this program hands over.
const lean = true

// dead is what a prompt's commands are about; prompts are of the debugger's half.
type dead struct{}

// debugger returns the help and the function of a command of the debugger's half: it is not here.
func debugger(string) (text string, run func(*call) error) { return "", (*call).handOver }

// handOver has zf-debugger do the command in this process's place.
func (c *call) handOver() error {
	path, err := image.Companion(c.interruptible(), "tools/zf", debuggerName,
		func() { c.say("building %s, once", debuggerName) })
	if err != nil {
		return err
	}
	c.deaf()
	return fmt.Errorf("%s: %w", path, become(path))
}

// ask asks zf-debugger. What is wrong with that is said once.
func ask(q deadQuestion) (a deadAnswer) {
	if err := q.ask(&a); err != nil {
		askFailed.Do(func() {
			fmt.Fprintf(os.Stderr, "zf: note: what %s knows of this is not known: %v\n", debuggerName, err)
		})
	}
	return a
}

var askFailed sync.Once

func (q *deadQuestion) ask(a *deadAnswer) error {
	// While a machine is waited for, nothing is built.
	path, err := image.Companion(context.Background(), "tools/zf", debuggerName, nil)
	if err != nil {
		return err
	}
	asked, err := json.Marshal(q)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, answerWord)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), os.Stderr
	apart(cmd) // ^C is for zf, and this leaves no file behind
	answered, err := cmd.Output()
	if err != nil {
		return err
	}
	return json.Unmarshal(answered, a)
}

// listWaits is that of lists.go.
func listWaits(l *trace.List) (lines []string, json []byte) {
	sym, ok := l.Symbols.(*symbol.File)
	if !ok {
		return nil, nil
	}
	a := ask(deadQuestion{ELF: sym.Name(), Traces: l.Traces, All: l.All, Running: l.Running})
	return a.Lines, a.JSON
}

// heapOf is that of heap.go.
func heapOf(path, elf string) string { return ask(deadQuestion{ELF: elf, Core: path}).Heap }

// isPhoto reports whether an input may be one of package photo's.
func isPhoto(path string) bool {
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return err == nil && fi.IsDir()
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 8)
	n, _ := f.Read(head)
	head = bytes.TrimSpace(head[:n])
	return slices.ContainsFunc([]string{"\x89PNG", "\xff\xd8\xff", "25"},
		func(begin string) bool { return bytes.HasPrefix(head, []byte(begin)) })
}

// What follows is of commands that have been handed over.

var (
	errHandedOver = errors.New("this command is " + debuggerName + "'s")
	errFollows    = errHandedOver
)

func answerQuestion([]string) {}

func (f *flight) armProfiles(*machine, *symbol.File, *streams) {}

func (c *fullCore) sayWaits(string) {}

func staticPlace(string, string, error) (addr, size uint64, err error) {
	return 0, 0, errHandedOver
}

func readPhotos([]string, func(string)) (in io.ReadCloser, unread bool, err error) {
	return nil, true, errHandedOver
}
