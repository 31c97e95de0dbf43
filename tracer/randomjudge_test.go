package tracer

import "fmt"

// Why a frame, or an end, is justified: a finished walk is followed frame by frame, and each frame
// must follow from words in memory, the tables or an answer.

// Why a frame may follow from the one before.
const (
	byRecord   = iota // the frame record at its frame pointer
	byTable           // the return address where the tables say, or on top of the stack
	byTrap            // a trap record
	byContext         // the context in a trap record
	byExact           // a RuleExact function's return address
	bySaved           // an answer of Saved
	bySwitch          // a record on another stack, from a RuleSwitch function
	byRestorer        // a trap record after the restorer, which was left out
	byMoved           // a record that the tables find, of a stack that has been moved
	numReasons
)

// judge follows a finished walk, frame by frame.
type judge struct {
	*randomWorld
	wk     *Walker
	stack  int     // the last frame's
	been   uint    // stacks that the walk has been on, the present one too
	floor  uintptr // nothing below is older, on this stack
	oldest uintptr // the part of it that comes from the trap that the place was found by
	known  bool    // sp is the last frame's
	sp     uintptr
	rec    uintptr // of the last frame, if that is a Trap
}

func (r *randomWorld) justify(wk *Walker) string {
	j := judge{randomWorld: r, wk: wk}
	if wk.N < 1 || wk.N > len(wk.Frames) || wk.End < EndZero || wk.End >= NumEnds {
		return fmt.Sprintf("N, End = %d, %v", wk.N, wk.End)
	}
	f := &wk.Frames[0]
	if f.Kind != r.kind || f.Addr != r.pc || f.SP != r.sp || !j.pointerOf(f, r.fp, r.sp) || int(f.Stack) != j.locate(r.sp, r.fp) {
		return fmt.Sprintf("frame 0 = %+v", *f)
	}
	j.stack = NoStack
	j.enter(f, r.sp, 0)
	r.kinds[f.Kind]++
	for i := 1; i < wk.N; i++ {
		r.kinds[wk.Frames[i].Kind]++
		by := j.follows(i)
		if by < 0 {
			return fmt.Sprintf("nothing justifies frame %d, %+v, after %+v (stack %d, nothing older below %#x)", i, wk.Frames[i], wk.Frames[i-1], j.stack, j.floor)
		}
		r.by[by]++
	}
	if why := j.over(); why != "" {
		return fmt.Sprintf("the end %v %#x is wrong: %s", wk.End, wk.EndValue, why)
	}
	return ""
}

func (j *judge) on(a uintptr) int {
	for i := range j.stacks {
		if a >= j.stacks[i].Lo && a < j.stacks[i].Hi {
			return i
		}
	}
	return NoStack
}

// word reads a word of a stack.
func (j *judge) word(a uintptr) (v uintptr, ok bool) {
	if a%8 != 0 || j.on(a) == NoStack || j.noRead[a] {
		return 0, false
	}
	return j.peek(a), true
}

func (j *judge) locate(sp, fp uintptr) int {
	if s := j.on(sp); s != NoStack {
		return s
	}
	return j.on(fp)
}

func (j *judge) text(pc uintptr) bool { return pc >= testTextLo && pc < testTextHi }

func (j *judge) rule(f *Frame) Rule {
	a := f.Addr
	if f.Kind != PC {
		a--
	}
	for _, m := range testMarks {
		if a >= m.Lo && a < m.Hi {
			return m.Rule
		}
	}
	return 0
}

// slot returns where the return address of a function with a known stack pointer lies.
func (j *judge) slot(f *Frame, sp uintptr) (uintptr, bool) {
	if !j.text(f.Addr) {
		return sp, true
	}
	if j.wk.SPDelta == nil || j.wk.Plain {
		return 0, false
	}
	pc := f.Addr
	if f.Kind == RA {
		pc--
	}
	d, ok := j.delta(pc)
	return sp + d, ok && sp+d >= sp
}

// pointerOf reports whether the frame has the frame pointer fp, or one that shows that it belongs
// to a stack that has moved. sp is the frame's stack pointer.
func (j *judge) pointerOf(f *Frame, fp, sp uintptr) bool {
	if f.FP == fp {
		return true
	}
	if f.Kind != RA || !j.text(f.Addr) || fp == 0 || (f.FP-fp)%stackGranule != 0 {
		return false
	}
	if s := &j.stacks[max(f.Stack, 0)]; f.Stack == NoStack || fp >= s.Lo && fp+8 < s.Hi {
		return false
	}
	slot, ok := j.slot(f, sp)
	if ok && slot-8 == f.FP && f.FP >= sp && j.on(f.FP) == int(f.Stack) {
		j.by[byMoved]++
		return true
	}
	return false
}

// enter begins a place at f.
func (j *judge) enter(f *Frame, sp, floor uintptr) bool {
	s := int(f.Stack)
	if s != NoStack && s != j.stack {
		if j.been&(1<<s) != 0 {
			return false
		}
		j.been |= 1 << s
		floor = 0
	}
	j.oldest = floor
	if s != NoStack && j.stacks[s].Contains(sp) {
		floor = max(floor, (sp+7)&^7)
	}
	j.stack, j.floor, j.known, j.sp = s, floor, true, sp
	return true
}

// follows returns why frame i follows from the one before, or -1.
func (j *judge) follows(i int) int {
	f, b := &j.wk.Frames[i], &j.wk.Frames[i-1]
	last := i == j.wk.N-1
	if b.Kind == Trap {
		bp, ok0 := j.word(j.rec)
		sp, ok1 := j.word(j.rec + 56)
		want := PC
		if b.Vector == VectorCall {
			want = RA
		}
		if !ok0 || !ok1 || f.Kind != want || f.Addr != b.Addr || f.SP != sp || int(f.Stack) != j.locate(sp, bp) || !j.pointerOf(f, bp, sp) {
			return -1
		}
		if !j.enter(f, sp, j.rec+AMD64.Trap.Size-16) && !(last && j.wk.End == EndRevisit) {
			return -1
		}
		return byContext
	}
	if f.Kind == Trap {
		if j.trap(f, b, b.FP) {
			return byTrap
		}
		// The restorer has a record of its own, below the trap's.
		next, ok := j.word(b.FP)
		ra, _ := j.word(b.FP + 8)
		if s, good := j.record(b, b.FP); ok && good && j.rule(&Frame{Kind: PC, Addr: ra}) == RuleRestorer {
			j.move(s, b.FP+16)
			if j.trap(f, b, next) {
				return byRestorer
			}
		}
		return -1
	}
	rule := j.rule(b)
	if slot, ok := j.slot(b, j.sp); ok && j.known && slot != b.FP+8 && slot >= j.floor {
		ra, ok := j.word(slot)
		if ok && j.on(slot) == j.stack && ra == f.Addr && int(f.Stack) == j.stack && f.FP == b.FP {
			if f.Kind == PC && rule == RuleExact && f.SP == slot+8 {
				j.enter(f, f.SP, f.SP)
				return byExact
			}
			if f.Kind == RA && rule != RuleExact && j.text(ra) {
				j.floor, j.known = slot+8, false
				return byTable
			}
		}
	}
	if s, ok := j.record(b, b.FP); ok {
		next, ok0 := j.word(b.FP)
		ra, ok1 := j.word(b.FP + 8)
		if ok0 && ok1 && ra == f.Addr && int(f.Stack) == s {
			if f.Kind == PC && rule == RuleExact && f.SP == b.FP+16 && f.FP == next {
				j.enter(f, f.SP, f.SP)
				return byExact
			}
			if f.Kind == RA && rule != RuleExact && j.text(ra) && j.pointerOf(f, next, b.FP+16) {
				by := byRecord
				if s != j.stack {
					by = bySwitch
				}
				j.move(s, b.FP+16)
				return by
			}
		}
	}
	if rule == RuleSaved && f.Kind == RA && j.text(f.Addr) {
		for _, a := range j.asked {
			if !a.ok || a.pc != f.Addr || a.sp != f.SP || a.at != b.Addr || !a.exact && b.FP != 0 || a.exact && b.Kind != PC ||
				!j.pointerOf(f, a.fp, a.sp) || int(f.Stack) != j.locate(a.sp, a.fp) {
				continue
			}
			back := b.Kind == PC && int(f.Stack) == j.stack
			if !back && int(f.Stack) == j.stack {
				j.stack = NoStack // it must not have been there
			}
			floor := uintptr(0)
			if back {
				floor = j.oldest
			}
			if j.enter(f, f.SP, floor) || last && j.wk.End == EndRevisit {
				return bySaved
			}
		}
	}
	return -1
}

// record reports whether a frame record may lie at a, after frame b, and on which stack.
func (j *judge) record(b *Frame, a uintptr) (stack int, ok bool) {
	s := j.on(a)
	if s == NoStack || a%8 != 0 || j.stacks[s].Hi-a < 16 {
		return s, false
	}
	if s == j.stack {
		return s, a >= j.floor
	}
	return s, j.rule(b) == RuleSwitch && j.been&(1<<s) == 0
}

// move continues after a record.
func (j *judge) move(s int, floor uintptr) {
	j.stack, j.floor, j.known = s, floor, false
	j.been |= 1 << s
}

// trap reports whether f is the trap whose record is at a.
func (j *judge) trap(f, b *Frame, a uintptr) bool {
	s, ok := j.record(b, a)
	if !ok || int(f.Stack) != s || j.stacks[s].Hi-a < AMD64.Trap.Size {
		return false
	}
	var v [9]uintptr
	for i := range v {
		if v[i], ok = j.word(a + uintptr(i)*8); !ok {
			return false
		}
	}
	if v[1] != TrapMark || f.Vector != uint32(v[2]) || f.Error != uint32(v[3]) || f.Addr != v[4] {
		return false
	}
	j.move(s, 0)
	j.rec = a
	return true
}

// over returns the fault of the walk's end, or "".
func (j *judge) over() string {
	wk := j.wk
	f := &wk.Frames[wk.N-1]
	full := wk.N == len(wk.Frames)
	if f.Kind == Trap && wk.End != EndLimit {
		return "a trap is no end"
	}
	s, value := j.on(f.FP), wk.EndValue
	slack := func(a uintptr) bool {
		return j.on(a) == j.stack && j.stack != NoStack && j.stacks[j.stack].Hi-a <= topSlack
	}
	switch wk.End {
	case EndLimit:
		if !full {
			return "there is room"
		}
	case EndGoexit:
		if j.rule(f) != RuleExit || f.FP != 0 {
			return "not in goexit"
		}
	case EndZero:
		if f.FP != 0 {
			v0, ok0 := j.word(f.FP)
			v1, ok1 := j.word(f.FP + 8)
			if _, ok := j.record(f, f.FP); !ok || !ok0 || !ok1 || v0 != 0 || v1 != 0 || s == NoStack || j.stacks[s].Hi-f.FP > topSlack {
				if !j.told(f) {
					return "no record of zeros"
				}
			}
			return ""
		}
		if j.rule(f) == RuleStart || j.told(f) {
			return ""
		}
		above := j.floor
		if j.known {
			above = j.sp
			if slot, ok := j.slot(f, j.sp); ok {
				above = slot
			}
			if above < j.floor && j.stack != NoStack && j.stacks[j.stack].Contains(j.sp) {
				return "the zero is below the stack pointer"
			}
		}
		if v, ok := j.word(above); !ok || v != 0 || !slack(above) {
			return fmt.Sprintf("no zero at %#x", above)
		}
	case EndMisaligned:
		if value != f.FP || value%8 == 0 {
			return "not the frame pointer, or aligned"
		}
	case EndOutside:
		cut := s != NoStack && j.stacks[s].Hi-f.FP < AMD64.Trap.Size
		if value != f.FP || value != 0 && s == j.stack && s != NoStack && !cut {
			return "not the frame pointer, or inside"
		}
	case EndBackward:
		if value != f.FP || j.stack == NoStack || s == j.stack && value >= j.floor || s != j.stack && j.rule(f) != RuleSwitch {
			return "not the frame pointer, or above"
		}
	case EndText:
		v, ok := j.word(f.FP + 8)
		if !ok || v != value || j.text(v) {
			return "not the return address, or in the text"
		}
	case EndUnreadable:
		if len(j.noRead) == 0 {
			return "all can be read"
		}
	case EndRevisit:
		if j.been == 0 || j.on(value) == NoStack && j.locate(value, f.FP) == NoStack {
			return "no stack"
		}
	}
	return ""
}

// told reports whether Saved or Switching said that nothing is left.
func (j *judge) told(f *Frame) bool {
	for _, a := range j.asked {
		if a.ok && a.pc == 0 && a.at == f.Addr && j.rule(f) == RuleSaved && (a.exact && f.Kind == PC || f.FP == 0) {
			return true
		}
	}
	return false
}
