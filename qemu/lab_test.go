package qemu

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// What the end-to-end tests share: the crash lab's image, one boot of it, and
// the traces that it wrote, read back from the JSON that users get.

// module is the prefix of our own packages' function names.
const module = "github.com/zeroframe/zeroframe/"

// A labTrace is one object of zf's JSON (design, section 9).
type labTrace struct {
	Version      int               `json:"version"`
	Kind         string            `json:"kind"`
	Reason       string            `json:"reason"`
	Context      string            `json:"context"`
	Vector       *int              `json:"vector"`
	ErrorCode    *int              `json:"error_code"`
	FaultAddress string            `json:"fault_address"`
	BuildID      string            `json:"build_id"`
	Thread       int               `json:"thread"`
	Goroutine    int               `json:"goroutine"`
	CPU          *int              `json:"cpu"`
	Of           int               `json:"of"`
	Registers    map[string]string `json:"registers"`
	Complete     bool              `json:"complete"`
	End          string            `json:"end"`
	WalkEnd      string            `json:"walk_end"`
	Damaged      bool              `json:"damaged"`
	Previous     int               `json:"previous"`
	Frames       []labFrame        `json:"frames"`
	Stacks       []labStack        `json:"stacks"`
}

type labFrame struct {
	Kind     string `json:"kind"`
	Address  string `json:"address"`
	FP       string `json:"fp"`
	SP       string `json:"sp"`
	Stack    string `json:"stack"`
	Function string `json:"function"`
	Offset   int    `json:"offset"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Inlined  bool   `json:"inlined"`
	Repeat   int    `json:"repeat"`
	Elided   int    `json:"elided"`
	Source   string `json:"source"`
	Repaired bool   `json:"repaired"`
}

type labStack struct {
	Name       string `json:"name"`
	Size       int    `json:"size"`
	Used       int    `json:"used"`
	Overflowed bool   `json:"overflowed"`
}

// chain is the trace's functions, innermost first, as one line: a frame on
// another stack than the one before is preceded by the stack's name, "trap" is a
// boundary, our packages are named without the module's path, and N frames of
// the same function in a row are written name*N. "..." stands for frames left out.
func (t *labTrace) chain() string {
	var words []string
	stack, n := "", 1
	for i, f := range t.Frames {
		name := strings.TrimPrefix(f.Function, module)
		switch {
		case f.Kind == "trap":
			name = "trap"
		case name == "":
			name = "?"
		}
		if f.Elided > 0 {
			words = append(words, "...")
		}
		if f.Kind != "trap" && f.Stack != stack {
			stack = f.Stack
			words = append(words, stack+":")
		} else if i > 0 && f.Elided == 0 && f.Kind != "trap" && f.Function == t.Frames[i-1].Function && t.Frames[i-1].Kind != "trap" {
			n += 1 + f.Repeat
			words[len(words)-1] = fmt.Sprintf("%s*%d", name, n)
			continue
		}
		if n = 1 + f.Repeat; n > 1 {
			name = fmt.Sprintf("%s*%d", name, n)
		}
		words = append(words, name)
	}
	return strings.Join(words, " ")
}

// stack returns the row of the trace's stack table with that name.
func (t *labTrace) stack(name string) labStack {
	for _, s := range t.Stacks {
		if s.Name == name {
			return s
		}
	}
	return labStack{}
}

// boot runs the crash lab to its end with that kernel command line.
func boot(t *testing.T, cfg Config, cmdline string) (Result, string, error) {
	t.Helper()
	if cfg.Kernel == "" {
		cfg.Kernel, _ = lab(t, image.AllLoaders)
	}
	cfg.Append = cmdline
	vm, out := start(t, cfg, "")
	res, err := vm.Wait()
	return res, out.String(), err
}

// traces reads the traces in a serial log as zf does. Without symbols the frames are the
// kernel's own.
func traces(t *testing.T, symbols *symbol.File, serial string) []*labTrace {
	t.Helper()
	var js strings.Builder
	o := trace.Options{JSON: &js}
	if symbols != nil {
		o.Symbols = symbols
	}
	f, err := trace.NewFilter(io.Discard, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, serial); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var all []*labTrace
	for d := json.NewDecoder(strings.NewReader(js.String())); d.More(); {
		tr := new(labTrace)
		if err := d.Decode(tr); err != nil {
			t.Fatalf("JSON: %v in %s", err, js.String())
		}
		all = append(all, tr)
	}
	return all
}

// unfold returns the frames with each folded run in full. A run of more than most repeats
// ends them, and whole is false.
func unfold(frames []labFrame, most int) (all []labFrame, whole bool) {
	for _, f := range frames {
		n := f.Repeat
		f.Repeat = 0
		for range 1 + min(n, most) {
			all = append(all, f)
		}
		if n > most {
			return all, false
		}
	}
	return all, true
}
