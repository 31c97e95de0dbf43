package lookup

// Which place of a stack a death is told by: one of the program's own, for what died in the
// runtime or in the standard library is the fault of who called it.
//
// A panic runs the deferred functions on top of the stack that it came from, so a stack may have
// several, with a runtime.gopanic each:
//
//	runtime.gopanic      of the second panic
//	main.f.func1         a deferred function, which has panicked
//	runtime.gopanic      of the first
//	runtime.panicIndex
//	main.f               where it all began
//
// The first panic is what is to be mended, and the second may only be the first once more: so the
// outermost is named first. That holds, too, for whatever else has ended a deferred function.

// A Place is a call in a stack: the index of its frame and that of the call in it.
type Place struct{ Frame, Call int }

// A Blame says which places of a stack to name.
type Blame struct {
	// Owner says whose First is. If it is the runtime, the standard library or nobody, the place of
	// the program cannot be told.
	Owner Owner
	// First is where it began: the innermost call of the program that the first panic came through.
	First Place
	// Then is, if Again is set, where the program was in the end: in a function that was deferred;
	// or, of the kernel's own death, what it did it for.
	Then  Place
	Again bool
}

// Told reports whether First is to be named.
func (b *Blame) Told() bool { return b.Owner == Kernel || b.Owner >= Module }

// Blame says which places to name of a stack of n frames, whose calls at returns, innermost
// first. kernel says that the kernel has died of its own code, if that is what ran.
func (o *Owners) Blame(n int, at func(frame int) []Call, kernel bool) (b Blame) {
	each := func(do func(c *Call, p Place)) {
		for i := range n {
			for k, calls := 0, at(i); k < len(calls); k++ {
				do(&calls[k], Place{i, k})
			}
		}
	}
	each(func(c *Call, _ Place) { o.Learn(c) })
	var last, innermost Owner // the best since the latest panic; of the first not the runtime's
	var first Place           // the call of innermost
	each(func(c *Call, p Place) {
		if c.Function == "runtime.gopanic" {
			last = Nobody
		}
		of := o.Of(c)
		if innermost <= Runtime {
			innermost, first = of, p
		}
		if of <= last {
			return
		}
		if last = of; of == Program && b.Owner == Program { // of an earlier panic
			if !b.Again {
				b.Then, b.Again = b.First, true
			}
			b.First = p
		} else if of > b.Owner {
			b.Owner, b.First = of, p
		}
	})
	if kernel && innermost == Kernel && b.Owner > Kernel {
		b = Blame{Kernel, first, b.First, b.Owner >= Module}
	}
	return b
}
