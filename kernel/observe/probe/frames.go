package probe

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
)

// The open calls: a stack of them for each goroutine, and for each other stack that a thread's g is
// on (a signal handler's).

// The numbers of calls and stacks that fit.
const (
	maxOpen   = 1 << 16
	maxStacks = 1 << 13
	numHeads  = 1 << 12
)

// openCall is a call that has begun.
type openCall struct {
	off      uintptr // how far its return address is below the stack's upper end
	began    uint64
	spent    uint64 // ProbeTicks of the CPU at that time
	function uint32
	caller   uint32 // 1 + number of its row by callers, or 0
	outer    uint32 // 1 + number of the next one outwards, or of the next free one
	cpu      uint32 // on which it began
}

// stack is a stack with open calls.
type stack struct {
	key  uintptr // address of the g, plus 1 if it is not the g's own stack
	id   uint64  // of the goroutine: a g is used again
	top  uint32  // 1 + number of the innermost call
	next uint32  // 1 + number of the next stack with that hash, or of the next free one
}

// Under the kernel lock.
var (
	open, gs, heads uintptr // arrays
	freeOpen        uint32
	freeStack       uint32
)

func openAt(i uint32) *openCall {
	return (*openCall)(arch.Pointer(open + uintptr(i-1)*unsafe.Sizeof(openCall{})))
}

func stackAt(i uint32) *stack {
	return (*stack)(arch.Pointer(gs + uintptr(i-1)*unsafe.Sizeof(stack{})))
}

// setFrames takes the memory.
func setFrames(memory func(size uintptr) uintptr) bool {
	open = memory(maxOpen * unsafe.Sizeof(openCall{}))
	gs = memory(maxStacks * unsafe.Sizeof(stack{}))
	heads = memory(numHeads * 4)
	if open == 0 || gs == 0 || heads == 0 {
		return false
	}
	for i := uint32(1); i < maxOpen; i++ {
		openAt(i).outer = i + 1
	}
	for i := uint32(1); i < maxStacks; i++ {
		stackAt(i).next = i + 1
	}
	freeOpen, freeStack = 1, 1
	return true
}

// place returns the stack that the interrupted code is on, and where its stack pointer is there:
// the larger off, the further inwards.
func place(f *arch.TrapFrame) (key, off uintptr, id uint64) {
	g, _ := tracer.ReadWord(f.TLS - 8)
	if g == 0 {
		return 1, -f.SP, 0
	}
	lo, _ := tracer.ReadWord(g)
	hi, _ := tracer.ReadWord(g + 8)
	if f.SP-lo >= hi-lo {
		return g | 1, -f.SP, 0
	}
	id, _ = goinfo.ID(g)
	return g, hi - f.SP, id
}

func headOf(key uintptr) *uint32 { return headAt(key >> 4 * 0x9e37_79b1 >> 8 % numHeads) }

func headAt(h uintptr) *uint32 { return (*uint32)(arch.Pointer(heads + h*4)) }

// stackOf returns the number of the stack with that key, 0 if it has no open call. It closes the
// calls of an earlier goroutine with the same g.
func stackOf(key uintptr, id uint64) uint32 {
	for i := *headOf(key); i != 0; i = stackAt(i).next {
		s := stackAt(i)
		if s.key != key {
			continue
		}
		if s.id != id {
			for s.top != 0 {
				unwind(s)
			}
			s.id = id
		}
		return i
	}
	return 0
}

// newStack is stackOf for a stack without an open call; 0 if there is no room.
func newStack(key uintptr, id uint64) uint32 {
	percpu.AssertLocked()
	i := freeStack
	if i == 0 {
		return 0
	}
	s := stackAt(i)
	freeStack = s.next
	head := headOf(key)
	s.key, s.id, s.top, s.next = key, id, 0, *head
	*head = i
	return i
}

// dropStack frees a stack that has no open call any more.
func dropStack(i uint32) {
	percpu.AssertLocked()
	s := stackAt(i)
	if s.top != 0 {
		return
	}
	for at := headOf(s.key); *at != 0; at = &stackAt(*at).next {
		if *at == i {
			*at = s.next
			break
		}
	}
	s.next = freeStack
	freeStack = i
}

// pop removes the innermost call.
func pop(s *stack) {
	percpu.AssertLocked()
	i := s.top
	o := openAt(i)
	s.top = o.outer
	o.outer = freeOpen
	freeOpen = i
}

// unwind removes a call that will not return.
func unwind(s *stack) {
	countsOf(openAt(s.top).function).unwound++
	pop(s)
}

// enter records that a function was called.
func enter(function uint32, f *arch.TrapFrame, now uint64) {
	percpu.AssertLocked()
	c := countsOf(function)
	c.calls++
	key, off, id := place(f)
	i := stackOf(key, id)
	if i == 0 {
		if i = newStack(key, id); i == 0 {
			c.untimed++
			return
		}
	}
	s := stackAt(i)
	for s.top != 0 && openAt(s.top).off >= off {
		unwind(s)
	}
	n := freeOpen
	if n == 0 {
		c.untimed++
		dropStack(i)
		return
	}
	o := openAt(n)
	freeOpen = o.outer
	r := percpu.This()
	*o = openCall{off: off, began: now, spent: r.ProbeTicks, cpu: r.Number, function: function,
		caller: callerOf(function, f), outer: s.top}
	s.top = n
}

// leave records that a function is about to return, or to end in a jump.
func leave(function uint32, kind uint8, f *arch.TrapFrame, now uint64) {
	c := countsOf(function)
	if kind == Tail {
		c.tails++
	} else {
		c.returns++
	}
	key, off, id := place(f)
	i := stackOf(key, id)
	if i == 0 {
		return
	}
	s := stackAt(i)
	for s.top != 0 {
		o := openAt(s.top)
		if o.off < off {
			break
		}
		if o.off == off && o.function == function {
			c.time(o, now)
			pop(s)
			break
		}
		unwind(s)
	}
	dropStack(i)
}
