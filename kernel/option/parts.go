package option

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/parts"
)

// A part is one of the kernel's that options need (package parts).
type part struct {
	name   string // the word of zf build -parts
	linked bool
}

// The parts. Never written.
var (
	dump    = part{"dump", parts.Dump}
	monitor = part{"monitor", parts.Monitor}
	network = part{"network", parts.Network}
	observe = part{"observe", parts.Observe}
	shares  = part{"shares", parts.Shares}
	sockets = part{"sockets", parts.Sockets}
)

// allParts has each of them. Never written.
var allParts = [...]*part{&dump, &monitor, &network, &observe, &shares, &sockets}

// PrintParts prints a line with the parts that the image is without, if there are any. It begins
// with the line break that ends the previous line. Early context.
func PrintParts() {
	before := "\nparts   without "
	for _, p := range allParts {
		if !p.linked {
			console.String(before)
			console.String(p.name)
			before = ", "
		}
	}
}

// missing returns the part that an option, or the word monitor, needs and the image is without;
// nil: none.
func missing(word, name []byte) *part {
	p := &monitor
	if len(name) > 0 {
		r := rowOf(name)
		if r == nil || r.needs == nil {
			return nil
		}
		p = r.needs
	} else if !ascii.Same(word, "monitor") {
		return nil
	}
	if p.linked {
		return nil
	}
	return p
}
