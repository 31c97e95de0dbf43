package kernel

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/monitor"
	"github.com/zeroframe/zeroframe/kernel/resource"
	"github.com/zeroframe/zeroframe/kernel/stackid"
	"github.com/zeroframe/zeroframe/tracer"
)

// The monitor's command that lists what the log of resources has open.

// maxHandles bounds the lines of a list.
const maxHandles = 40

func monitorHandles(args []byte) {
	word, _ := monitor.Word(args)
	switch {
	case !resource.On():
		console.String("nothing is logged; the option record= says what is to be\n")
	case len(word) == 0:
		console.String("kind                         open     most    opened   doubles\n")
		for k := resource.Kind(1); k < resource.MaxKinds; k++ {
			if s := resource.Sums(k); s.Opens > 0 {
				handlesLine(k, &s)
			}
		}
	case Same(word, "send"):
		resource.Send("monitor")
	default:
		for k := resource.Kind(1); k < resource.MaxKinds; k++ {
			if name := resource.Name(k); len(name) > 0 && (sameBytes(name, word) || len(word) == len(name)+1 && startsWith(word, name)) {
				listHandles(k)
				return
			}
		}
		console.String("want a kind, `handles` lists them, or `handles send`\n")
	}
}

func handlesLine(k resource.Kind, s *resource.Sum) {
	name := resource.Name(k)
	console.Bytes(name)
	for i := len(name); i < resource.MaxName; i++ {
		console.Byte(' ')
	}
	for _, n := range [...]uint64{s.Open, s.Most, s.Opens, s.Doubles} {
		console.Byte(' ')
		console.DecPad(n, 9)
	}
	console.String("\n")
}

// listHandles writes a line for each that is open, the latest first.
func listHandles(k resource.Kind) {
	shown, left := 0, uint64(0)
	for i := resource.First(k); i != 0; {
		h := resource.At(i)
		i = h.Next
		if shown == maxHandles {
			left++
			continue
		}
		shown++
		console.String("  ")
		if k == resource.FDs || k == resource.Threads {
			console.Dec(h.Key)
		} else {
			console.Hex(h.Key)
		}
		console.String(" since ")
		seconds(h.Since)
		console.String(" s, thread ")
		console.Dec(uint64(h.Thread))
		console.String(", ")
		tellStack(h.Stack)
		console.String("\n")
	}
	if left > 0 {
		console.Dec(left)
		console.String(" more are not shown; `handles send` has all\n")
	}
	if shown == 0 {
		console.String("none\n")
	}
}

// tellStack writes where a stack of the depot is in the program's own code, or its first
// function.
func tellStack(id uint32) {
	c := stackid.Depot().Frames(id)
	walker.N = 0
	for walker.N < maxFrames {
		kind, addr, vector, ok := c.Next()
		if !ok {
			break
		}
		walker.Frames[walker.N] = tracer.Frame{Kind: kind, Addr: addr, Vector: vector}
		walker.N++
	}
	if tellFrames() {
		return
	}
	for i := 0; i < walker.N; i++ {
		if f := &walker.Frames[i]; f.Kind != tracer.Trap {
			tellPC(f.Addr, f.Kind != tracer.PC)
			return
		}
	}
	console.String("the stack is not known")
}
