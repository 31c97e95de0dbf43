package monitor

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/observe/stackid"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// The monitor's command that lists the open entries of the log of resources.

// maxHandles bounds the lines of a list.
const maxHandles = 40

func runHandles(args []byte) {
	word, _ := Word(args)
	switch {
	case !handle.On():
		console.String("nothing is logged; the option record= says what is to be\n")
	case len(word) == 0:
		console.String("kind                         open     most    opened   doubles\n")
		for k := handle.Kind(1); k < handle.MaxKinds; k++ {
			if s := handle.Sums(k); s.Opens > 0 {
				handlesLine(k, &s)
			}
		}
	case ascii.Same(word, "send"):
		handle.Send("monitor")
	default:
		for k := handle.Kind(1); k < handle.MaxKinds; k++ {
			if name := handle.Name(k); len(name) > 0 &&
				(ascii.Equal(name, word) || len(word) == len(name)+1 && startsWith(word, name)) {
				listHandles(k)
				return
			}
		}
		console.String("want a kind, `handles` lists them, or `handles send`\n")
	}
}

func handlesLine(k handle.Kind, s *handle.Sum) {
	name := handle.Name(k)
	console.Bytes(name)
	for i := len(name); i < handle.MaxName; i++ {
		console.Byte(' ')
	}
	for _, n := range [...]uint64{s.Open, s.Most, s.Opens, s.Doubles} {
		console.Printf(" %9d", n)
	}
	console.String("\n")
}

// listHandles writes a line for each open entry, the latest first.
func listHandles(k handle.Kind) {
	shown, left := 0, uint64(0)
	for i := handle.First(k); i != 0; {
		h := handle.At(i)
		i = h.Next
		if shown == maxHandles {
			left++
			continue
		}
		shown++
		console.String("  ")
		if k == handle.FDs || k == handle.Threads {
			console.Dec(h.Key)
		} else {
			console.Hex(h.Key)
		}
		console.String(" since ")
		seconds(h.Since, 0)
		console.Printf(" s, thread %d, ", uint64(h.Thread))
		printStack(h.Stack)
		console.String("\n")
	}
	if left > 0 {
		console.Printf("%d more are not shown; `handles send` has all\n", left)
	}
	if shown == 0 {
		console.String("none\n")
	}
}

// printStack writes where a stack of the depot is in the program's own code, or else its first
// function.
func printStack(id uint32) {
	c := stackid.Depot().Frames(id)
	stack.Walker.N = 0
	for stack.Walker.N < stack.MaxFrames {
		kind, addr, vector, ok := c.Next()
		if !ok {
			break
		}
		stack.Walker.Frames[stack.Walker.N] = tracer.Frame{Kind: kind, Addr: addr, Vector: vector}
		stack.Walker.N++
	}
	if printFrames() {
		return
	}
	for i := 0; i < stack.Walker.N; i++ {
		if f := &stack.Walker.Frames[i]; f.Kind != tracer.Trap {
			printPC(f.Addr, f.Kind != tracer.PC)
			return
		}
	}
	console.String("the stack is not known")
}
