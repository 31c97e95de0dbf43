package monitor

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
)

// The monitor's command about watched places (fault/watch.go).

func runWatch(args []byte) {
	if len(args) == 0 {
		listWatches()
		return
	}
	if name, rest := Word(args); ascii.Same(name, "off") {
		endWatches(rest)
		return
	}
	sum := join(args)
	n := 0
	for n < len(sum) && sum[n] != ':' {
		n++
	}
	addr, ok := address(sum[:n])
	if !ok {
		return
	}
	if wrong := fault.AddWatch(addr, sum[min(n+1, len(sum)):]); wrong != "" {
		console.Line(wrong)
		return
	}
	fault.TakeWatches()
	listWatches()
}

// endWatches ends the watch with the number in args, or all.
func endWatches(args []byte) {
	if len(args) == 0 {
		for i := range uint64(arch.NumWatches) {
			fault.RemoveWatch(i)
		}
	} else if i, ok := Number(args); !ok || !fault.RemoveWatch(i) {
		console.Bytes(args)
		console.String(" is no number of a watched place; `watch` lists them\n")
		return
	}
	fault.TakeWatches()
	listWatches()
}

func listWatches() {
	none := true
	for i := range arch.NumWatches {
		w, v, known := fault.WatchAt(i)
		if w.Size == 0 {
			continue
		}
		none = false
		console.Printf("  %d  %x  %d", uint64(i), uint64(w.Addr), uint64(w.Size))
		if w.Reads {
			console.String(" bytes, reads and writes")
		} else {
			console.String(" bytes, writes")
		}
		if known {
			console.Printf("; holds %x", v)
		}
		console.String("\n")
	}
	if none {
		console.String("nothing is watched\n")
	}
}
