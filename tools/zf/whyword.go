package main

// `zf why`: how the answer is written.

import (
	"fmt"
	"io"

	"github.com/zeroframe/zeroframe/tools/format/render"
)

// writeWrapped writes lines with names out of the image, broken between words.
func writeWrapped(w io.Writer, lines []string) {
	s := render.Short{Width: columns}
	for _, line := range lines {
		for _, l := range s.Wrap(printable(line), "    ") {
			fmt.Fprintln(w, l)
		}
	}
}
