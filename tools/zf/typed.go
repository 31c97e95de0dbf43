package main

// The way of typed lines (zf symbolize -typed) into the filter.

import (
	"fmt"
	"io"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/typed"
)

// typedInput is a reader of typed lines as a sink.
type typedInput struct{ *typed.Reader }

// Cut does nothing: who types goes on.
func (typedInput) Cut() error { return nil }

// newTyped returns a reader of typed lines in front of the filter. It prompts who types at a
// terminal.
func newTyped(filter io.Writer, images func() *lookup.Images, f *symbolizeFlags, stdin io.Reader, stderr io.Writer) typedInput {
	opt := typed.Options{Images: images, Force: f.force, Log: stderr}
	if f.typed && f.input == "-" && isTerminal(stdin) {
		fmt.Fprintln(stderr, "zf symbolize: type the numbered lines of the screen; ^D ends")
		opt.Prompt = func(n int) { fmt.Fprintf(stderr, "%s> ", typed.Number(n)) }
	}
	return typedInput{typed.New(filter, opt)}
}
