package tracer

import "unsafe"

// The walk. A compiler that keeps frame pointers turns each stack into a linked list: the word at
// FP is the caller's FP, the word above it the return address into the caller. The walk follows
// that list but checks everything. Before it uses a record, the record must be aligned, lie with
// both of its words in the current stack, and be above the previous record; before it uses a return
// address, that must lie in the text. So a walk reads only inside the table of stacks, each stack
// only upwards and only once, and ends after a bounded number of steps whatever the memory holds.
//
// The list ends where the entry stub made it end, at the top of the stack: a record of two zeros,
// or, on CPUs whose calls push the return address, a frame pointer of 0 with a return address of 0
// above the last record. Zeros anywhere else mean that the stack was overwritten, and are no end.
//
// The walk leaves one stack for another only through a trap frame or a function that is marked for
// it (marks.go). A trap's entry code makes its stack look like this (addresses grow upwards), then
// sets FP to the record:
//
//	     PC, SP   of the interrupted code, the pc exact; LR too where there is one.
//	              Arch.Trap says where each of them is and where the record ends
//	+24  error    the CPU's error code, or 0
//	+16  vector   the trap's number
//	 +8  TrapMark in the place of a return address
//	 +0  FP       the interrupted frame pointer, in the place of a saved one
//
// TrapMark is no address, so it stops the fast loop just as any bad return address would, and trap
// frames cost the common case nothing.
//
// A kernel may also put such a record where no trap made one: a switch by a call (VectorCall), the
// entry of a system call (VectorSyscall), the stack on which a signal handler starts
// (VectorSignal).

// TrapMark takes the place of the return address in a trap record: the bytes "zf1trap" with 0xf1 on
// top, which no canonical address has.
const TrapMark uintptr = 0xf1_7061_7274_3166_7a

// Offsets in a trap record that are the same on each CPU, in bytes.
const (
	trapVector = 16
	trapError  = 24
)

// maxTrapWords is the largest number of words of a trap record.
const maxTrapWords = 9

// inLR, in the place of an address, says that the return address is in LR.
const inLR = 1

// Walker holds what a walk needs and what it finds. It can be reused; Walk resets the results.
type Walker struct {
	// Arch is the CPU whose stacks are walked; nil: Native.
	Arch *Arch
	// Stacks is the table of stacks, at most MaxStacks.
	Stacks []Stack
	// TextLo and TextHi bound the text: TextLo <= pc < TextHi.
	TextLo, TextHi uintptr
	// Load reads the word at an 8-byte aligned address. With nil the walk reads memory directly,
	// which is fastest; then the handlers of page faults and general protection faults must consult
	// Fixup.
	Load func(addr uintptr) (word uintptr, ok bool)
	// SPDelta, when not nil, returns the size in bytes of the function's frame at an exact pc, as
	// in Go's pcsp table: the distance from SP up to the return address, or with a link register to
	// the caller's SP. It makes the first frame on each stack right even if the function has no
	// record: in leaves, prologues, epilogues.
	SPDelta func(pc uintptr) (delta uintptr, ok bool)
	// Returns, when not nil, reports whether ra, found where SPDelta says, can be the return
	// address of the function at an exact pc, or of an address that is no code. If SP is moved by
	// hand (FuncFlagSPWrite), or code was overwritten, any word may lie there. See
	// [PCTable.Returns].
	Returns func(pc, ra uintptr) bool
	// Plain ignores SPDelta: frame pointers only.
	Plain bool
	// Marks are the functions in which a walk needs a rule. They do not overlap. Do not change a
	// table that a walk has used; replace it.
	Marks []Mark
	// Saved, when not nil, tells where the code that a RuleSaved function left goes on. ra is the
	// last frame's address, in that function; slot is the address of the word above the last return
	// address, which was the function's stack pointer in its call (Go's mcall keeps the g there);
	// it may be in no stack. The results are the arguments of WalkCaller: pc a return address, sp
	// and fp the values of SP and FP there. They must lie in a stack that the walk has not visited.
	// pc is 0 if no code waits there any more: the walk is then complete, with EndZero.
	Saved func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool)
	// Switching, when not nil, is asked about an exact pc in a RuleSaved function, with SP and FP
	// there. If the function is just then between two stacks, so that the two registers do not
	// belong together, it answers as Saved does. Otherwise ok is false.
	Switching func(pc, sp, fp uintptr) (ra, rsp, rbp uintptr, ok bool)
	// Entry, when not nil, is asked about an exact pc with EntryLo <= pc < EntryHi: the entry and
	// exit code of traps and system calls, in which SP, FP and the pc tables may not belong
	// together. rec is the address of the trap record that led there, 0 for the pc that the walk
	// starts with.
	Entry func(pc, sp, fp, rec uintptr) (at Interrupted, state EntryState)
	// EntryLo and EntryHi bound that code.
	EntryLo, EntryHi uintptr
	// Unknown, when not nil, is called for a trap record that leads to no stack of the table, with
	// SP there. It may fill in a row for that stack, provided that the walk has not seen the row.
	Unknown func(rec, sp uintptr)
	// Frames receives the frames, innermost first. Its length is the limit of the walk, unless
	// Outer is set. FP is set for each kind but Trap, SP only for PC, Vector and Error only for
	// Trap; other fields keep their old values.
	Frames []Frame
	// Outer, when not 0, makes the walk go on to its end whatever the length of Frames, and keep
	// both ends of a deep stack (ends.go): the Outer outermost frames, 3 at least, and the
	// len(Frames) - 2*Outer innermost, 2 at least. A folded frame counts as one. Each stack of the
	// table is read once, so their sizes bound the walk.
	Outer int

	// N is the number of frames in Frames.
	N int
	// LeftOut is the number of frames left out because of Outer, before Frames[len(Frames) -
	// 2*Outer].
	LeftOut uint64
	// End says why the walk stopped.
	End End
	// EndValue is the offending value: the frame pointer for misaligned, outside, backward and
	// unreadable, the return address for text, the stack pointer for revisit (the frame pointer if
	// that alone led back).
	EndValue uintptr

	c      chaser
	first  int    // index of the first frame of the current place
	deep   bool   // Frames has been full
	left   uint64 // bit i: the walk has been on stack i
	marked reach  // of all Marks
	exact  reach  // of those with RuleExact
	table  struct {
		at uintptr // the Marks that the two were computed from: an address, and a length
		n  int
	}
}

// EntryState says how a walk passes entry code.
type EntryState uint8

const (
	// EntryNone: like any other code.
	EntryNone EntryState = iota
	// EntryRecord: the frame pointer leads to a record, and the pc tables are not valid.
	EntryRecord
	// EntryBare: the frame pointer leads to no record, because the entry has not made it yet or has
	// removed it. The walk goes on as if there were one with the Interrupted.
	EntryBare
)

// Interrupted is what a trap record says about the interrupted code.
type Interrupted struct {
	Vector, Error uint32
	PC, SP, FP    uintptr
	LR            uintptr // only with a link register
}

// place is where a walk stands before it follows records.
type place struct {
	kind       Kind // how pc was found; 0: its frame is already in the list, fp is a record's address
	pc, sp, fp uintptr
	lr         uintptr // at an exact pc, with a link register
	stack      int     // the stack of the place, or NoStack
	rec        uintptr // the trap record that led to it, or 0
	floor      uintptr // if that is the previous place's stack, too: nothing below is older
	fresh      bool    // the walk must not have been on the stack before, not even just now
}

// Walk walks from an exact pc with the stack pointer sp and the frame pointer fp. It sets Frames,
// N, End and EndValue.
func (w *Walker) Walk(pc, sp, fp uintptr) { w.walk(PC, pc, sp, fp, 0) }

// WalkLR is Walk for a CPU with a link register, which holds lr.
func (w *Walker) WalkLR(pc, sp, fp, lr uintptr) { w.walk(PC, pc, sp, fp, lr) }

// WalkCaller is Walk for code that is in a call: ra is the call's return address, sp and fp are the
// values of SP and FP there.
func (w *Walker) WalkCaller(ra, sp, fp uintptr) { w.walk(RA, ra, sp, fp, 0) }

func (w *Walker) walk(kind Kind, pc, sp, fp, lr uintptr) {
	w.N, w.End, w.EndValue, w.left, w.LeftOut, w.deep = 0, 0, 0, 0, 0, false
	if w.table.at != uintptr(unsafe.Pointer(unsafe.SliceData(w.Marks))) || w.table.n != len(w.Marks) {
		w.spans()
	}
	// Field by field: a literal is built elsewhere and copied, and the copy waits for the stores.
	var p place
	p.kind, p.pc, p.sp, p.fp, p.lr, p.stack = kind, pc, sp, fp, lr, w.locate(sp, fp)
	cur := NoStack
	for {
		w.first = w.N
		if p.kind != 0 && !w.add(p.kind, p.pc, p.sp, p.fp, p.stack) {
			break
		}
		if p.stack != NoStack && (p.stack != cur || p.fresh) {
			if w.left&(1<<uint(p.stack)) != 0 {
				w.stop(EndRevisit, p.sp)
				break
			}
			w.left |= 1 << uint(p.stack)
			p.floor = 0
		}
		cur = p.stack
		above := p.sp
		if p.kind != 0 && !(p.kind == RA && w.Plain && w.inText(p.pc)) { // frame pointers only
			var goOn bool
			if above, goOn = w.caller(&p); goOn {
				continue
			}
			if w.End != 0 {
				break
			}
		}
		goOn, rec := w.follow(&p, above)
		if goOn {
			continue
		}
		if rec == 0 || !w.trap(&p, rec) {
			break
		}
	}
	if w.Outer != 0 {
		w.ends()
	}
}

// locate returns the stack of code with these two registers.
func (w *Walker) locate(sp, fp uintptr) int {
	if i := w.find(sp); i != NoStack {
		return i
	}
	// After an overflow SP is in the guard page, and the frame pointer still in the stack.
	return w.find(fp)
}

// caller adds the caller of the function at p if the frame-pointer chain does not pass by its
// return address and so would miss it. It returns the address of the function's return address, or
// of the word above it if the caller has been added. If the return address is an exact pc, or the
// function is between two stacks, it sets p to the next place instead.
func (w *Walker) caller(p *place) (above uintptr, goOn bool) {
	if p.kind == PC && w.Switching != nil && w.rule(PC, p.pc) == RuleSaved {
		pc, sp, fp, ok := w.Switching(p.pc, p.sp, p.fp)
		if goOn = w.goOnAt(p, pc, sp, fp, ok); goOn || w.End != 0 {
			return 0, goOn
		}
	}
	if p.kind == PC && w.Entry != nil && p.pc-w.EntryLo < w.EntryHi-w.EntryLo {
		at, state := w.Entry(p.pc, p.sp, p.fp, p.rec)
		switch state {
		case EntryRecord:
			return p.sp, false
		case EntryBare:
			if at.PC == p.pc && at.SP == p.sp {
				break // a nested trap has overwritten the trap's frame
			}
			return p.sp, w.interrupted(p, 0, &at)
		}
	}
	slot := w.returnSlot(p.kind, p.pc, p.sp)
	if slot == 0 {
		return p.sp, false
	}
	if slot == inLR {
		if p.kind == PC && w.inText(p.lr) {
			w.add(RA, p.lr, 0, p.fp, p.stack)
		}
		return p.sp, false
	}
	if p.kind == RA && !w.Plain && w.inText(p.pc) && slot-p.sp >= 8 && !w.holds(p.stack, p.fp&^7) &&
		w.moved(p.stack, p.fp, slot-8) {
		p.fp = slot - 8 // see atMoved
		w.Frames[w.N-1].FP = p.fp
	}
	if slot == p.fp+8 || !w.holds(p.stack, slot) || slot < p.floor {
		return slot, false
	}
	rule := w.rule(p.kind, p.pc)
	if rule != 0 && rule != RuleExact && !w.holds(p.stack, p.fp&^7) {
		// The function has changed SP without FP, or has no caller: the tables' SP is not valid.
		return p.sp, false
	}
	ra, ok := w.word(slot)
	if ok {
		ra, _ = TrueReturn(slot, ra)
	}
	switch {
	case ok && rule == RuleExact && ra != TrapMark:
		w.exactAt(p, ra, slot+8, p.fp)
		return 0, true
	case ok && p.kind == PC && rule == 0 && w.Returns != nil && !w.Returns(p.pc, ra):
		return p.sp, false
	case ok && w.inText(ra):
		w.add(RA, ra, 0, p.fp, p.stack)
		p.floor = slot + 8 // the caller's record is above the words that its call pushed
		return slot + 8, false
	}
	return slot, false
}

// exactAt sets p to the place of an exact pc further up on the same stack. With a link register,
// its SP and LR are not known, so a leaf there misses its caller.
func (w *Walker) exactAt(p *place, pc, sp, fp uintptr) {
	*p = place{kind: PC, pc: pc, sp: sp, fp: fp, stack: p.stack, floor: sp}
	if w.Arch.or().LinkRegister {
		p.sp = 0
	}
}

// trap sets p to the place that the trap record at rec interrupted. It reports whether the walk can
// go on there.
func (w *Walker) trap(p *place, rec uintptr) bool {
	// The whole record must be on the stack that it was found on.
	t := &w.Arch.or().Trap
	if hi := w.Stacks[p.stack].Hi; hi-rec < t.Size {
		w.stop(EndOutside, rec)
		return false
	}
	var v [maxTrapWords]uintptr
	for i := range v[:t.Size/8] {
		x, ok := w.word(rec + 8*uintptr(i))
		if !ok {
			w.stop(EndUnreadable, rec)
			return false
		}
		v[i] = x
	}
	if w.restorer(p) {
		w.N--
	}
	return w.interrupted(p, rec,
		&Interrupted{uint32(v[trapVector/8]), uint32(v[trapError/8]), v[t.PC/8], v[t.SP/8], v[0],
			v[t.LR/8]})
}

// interrupted sets p to the place that a trap interrupted. rec is the address of the trap's record,
// or 0 if it has none. It reports whether the walk can go on there.
func (w *Walker) interrupted(p *place, rec uintptr, at *Interrupted) bool {
	if !w.add(Trap, at.PC, 0, 0, p.stack) {
		return false
	}
	f := &w.Frames[w.N-1]
	f.Vector, f.Error = at.Vector, at.Error
	kind, floor := PC, uintptr(0)
	if at.Vector == VectorCall {
		kind = RA
	}
	if rec != 0 {
		// If the trap interrupted its own stack, only what is above the trap record can be older
		// than the trap; if code made the record, that may begin in its last two words.
		floor = rec + w.Arch.or().Trap.Size - 16
	}
	stack := w.locate(at.SP, at.FP)
	if stack == NoStack && rec != 0 && w.Unknown != nil {
		w.Unknown(rec, at.SP)
		stack = w.locate(at.SP, at.FP)
	}
	*p = place{kind: kind, pc: at.PC, sp: at.SP, fp: at.FP, lr: at.LR, stack: stack, rec: rec,
		floor: floor}
	return true
}

// restorer reports whether the last frame is a return address on p's stack in a RuleRestorer
// function, so that no call led there. The first frame of the place is never one, as it was not
// found on the stack.
func (w *Walker) restorer(p *place) bool {
	first := w.first
	if p.kind != 0 {
		first++
	}
	if w.N <= first {
		return false
	}
	f := &w.Frames[w.N-1]
	return f.Kind == RA && w.rule(PC, f.Addr) == RuleRestorer
}

// returnSlot returns the address of the word with the return address of the function at pc with the
// stack pointer sp, inLR if the register has it, or 0 if it is not known.
func (w *Walker) returnSlot(kind Kind, pc, sp uintptr) uintptr {
	a := w.Arch.or()
	if !w.inText(pc) {
		// After a call or jump to an address that is no code (nil, data) nothing has run, so the
		// return address is still where the call left it.
		if a.LinkRegister {
			return inLR
		}
		return sp
	}
	if kind == PC && atThunk(pc) {
		return sp - 8
	}
	if w.SPDelta == nil || w.Plain {
		return 0
	}
	if kind == RA {
		pc-- // the call itself, which may be the function's last instruction
	}
	delta, ok := w.SPDelta(pc)
	switch {
	case !ok || sp+delta < sp:
		return 0
	case !a.LinkRegister:
		return sp + delta
	case delta != 0:
		return sp
	}
	return inLR
}

// add appends a frame, or ends the walk at the limit.
func (w *Walker) add(kind Kind, addr, sp, fp uintptr, stack int) bool {
	if w.N >= len(w.Frames) && !w.room() {
		w.stop(EndLimit, addr)
		return false
	}
	f := &w.Frames[w.N]
	w.N++
	f.Kind, f.Addr, f.SP, f.FP, f.Stack = kind, addr, sp, fp, int8(stack)
	f.Vector, f.Error, f.Step, f.Repeat = 0, 0, 0, 0
	return true
}

//go:noinline
func (w *Walker) stop(e End, v uintptr) { w.End, w.EndValue = e, v }

func (w *Walker) inText(pc uintptr) bool { return pc-w.TextLo < w.TextHi-w.TextLo }

// find returns the index of the stack that contains the address a, or NoStack.
func (w *Walker) find(a uintptr) int {
	for i := range w.Stacks[:min(len(w.Stacks), MaxStacks)] {
		if w.Stacks[i].Contains(a) {
			return i
		}
	}
	return NoStack
}

// atTop reports whether the word at a lies in stack i, close enough to the top that the entry stub
// may have written it.
func (w *Walker) atTop(i int, a uintptr) bool {
	return w.holds(i, a) && w.Stacks[i].Hi-a <= topSlack
}

// holds reports whether the word at a lies in stack i.
func (w *Walker) holds(i int, a uintptr) bool {
	return i != NoStack && a%8 == 0 && w.Stacks[i].Contains(a)
}

// record reads the two words at a.
func (w *Walker) record(a uintptr) (saved, ra uintptr, ok bool) {
	if w.Load == nil {
		saved, ok = ReadWord(a)
		ra, ok2 := ReadWord(a + 8)
		return saved, ra, ok && ok2
	}
	saved, ok = w.Load(a)
	ra, ok2 := w.Load(a + 8)
	return saved, ra, ok && ok2
}

func (w *Walker) word(a uintptr) (uintptr, bool) {
	if w.Load != nil {
		return w.Load(a)
	}
	return ReadWord(a)
}
