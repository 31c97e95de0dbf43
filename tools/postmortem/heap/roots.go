package heap

// What the collector starts from: package variables, goroutines' stacks, and what finalizers,
// cleanups and weak pointers need. A stack is read word by word from its stack pointer on; of a
// goroutine that ran, the registers and what the thread had on other stacks, too.

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// Root is something outside the heap that holds objects. Host.
type Root struct {
	Name string // "main.cache", "goroutine 18 main.worker"

	slots []uint32 // whom it points to
	typed []typed  // where there is a variable with a type
}

// typed is a value of a type in memory that is a root.
type typed struct {
	t godwarf.Type
	b []byte
}

// module is a part of the program that is loaded as a whole; an ordinary one has one.
type module struct{ types, etypes uint64 }

// Limits of roots.
const (
	maxModules     = 1 << 10
	maxSection     = 1 << 32
	maxStack       = 1 << 30
	maxTypedStacks = 10000 // goroutines whose variables are looked at
	maxTypedFrames = 64    // of each, the innermost
	maxSpecials    = 1 << 24
	maxThreads     = 1 << 16
	systemStack    = 32 << 10 // bytes of a thread's own stack that are read
)

// readModules reads where types lie.
func (h *Heap) readModules() error {
	return h.eachModule(func(r *record) error {
		h.modules = append(h.modules, module{r.word("types"), r.word("etypes")})
		return r.err
	})
}

// eachModule calls f with the runtime's record of each module, until it returns an error.
func (h *Heap) eachModule(f func(r *record) error) error {
	r := h.variable("runtime.firstmoduledata")
	for range maxModules {
		if err := f(r); err != nil {
			return err
		}
		next := r.word("next")
		if next == 0 {
			return r.err
		}
		r = h.record(r.t, next)
	}
	return nil
}

// readRoots finds all of them.
func (h *Heap) readRoots() error {
	if err := h.packageVariables(); err != nil {
		return err
	}
	if err := h.stacks(); err != nil {
		return err
	}
	return h.allSpecials()
}

// root adds one.
func (h *Heap) root(r Root) {
	if len(r.slots) > 0 || len(r.typed) > 0 {
		slices.Sort(r.slots)
		r.slots = slices.Compact(r.slots)
		h.roots = append(h.roots, r)
	}
}

// packageVariables reads the data and the BSS by the runtime's own bitmaps.
func (h *Heap) packageVariables() error {
	return h.eachModule(func(r *record) error {
		for _, part := range [][3]string{{"data", "edata", "gcdatamask"}, {"bss", "ebss", "gcbssmask"}} {
			from, to := r.word(part[0]), r.word(part[1])
			bitCount, data := r.word(part[2]+".n"), r.word(part[2]+".bytedata")
			if r.err != nil {
				return r.err
			}
			if to < from || to-from > maxSection || bitCount > (to-from)/8+1 {
				return fmt.Errorf("the core is corrupt: variables lie from %#x to %#x, with %d bits", from,
					to, bitCount)
			}
			b, mask := make([]byte, to-from), make([]byte, (bitCount+7)/8)
			if err := h.readPages(b, from); err != nil {
				return err
			}
			if err := h.read(mask, data); err != nil {
				return err
			}
			h.section(b, mask, bitCount, from)
		}
		return nil
	})
}

// section makes a root of each variable in some bytes that has pointers.
func (h *Heap) section(b, mask []byte, bitCount, from uint64) {
	var now Root
	var end uint64 // of the variable
	for w := uint64(0); w < bitCount && 8*w+8 <= uint64(len(b)); w++ {
		if mask[w/8]&(1<<(w%8)) == 0 {
			continue
		}
		addr := from + 8*w
		if addr >= end {
			h.root(now)
			now, end = h.variableAt(addr)
			if t, ok := h.layout.variables[now.Name]; ok && end <= from+uint64(len(b)) {
				if s := h.at[now.Name]; s.addr >= from && s.addr+s.size == end {
					now.typed = append(now.typed, typed{h.typeAt(t), b[s.addr-from : end-from]})
				}
			}
		}
		h.hold(&now, binary.LittleEndian.Uint64(b[8*w:]))
	}
	h.root(now)
}

// variableAt names the variable that an address is in, and says where it ends.
func (h *Heap) variableAt(addr uint64) (Root, uint64) {
	i := sort.Search(len(h.symbols), func(i int) bool { return h.symbols[i].addr > addr }) - 1
	if i >= 0 && addr < h.symbols[i].addr+h.symbols[i].size {
		s := h.symbols[i]
		return Root{Name: s.name}, s.addr + s.size
	}
	return Root{Name: "data without a name"}, addr + 8
}

// stack is where one lies.
type stack struct{ lo, hi uint64 }

func (s stack) has(sp uint64) bool { return sp >= s.lo && sp < s.hi }

// stacks reads goroutines' stacks and threads' registers.
func (h *Heap) stacks() error {
	all := h.variable("runtime.allgs")
	list, err := h.pointersOf(all, "", "goroutines", 1<<26)
	if err != nil || h.claims < maxClaims && len(list) > maxTypedStacks {
		return err
	}
	gs, _, err := proc.GoroutinesInfo(h.target, 0, 0)
	if err != nil {
		return fmt.Errorf("no goroutines: %w", err)
	}
	byID := map[int64]*proc.G{}
	for _, g := range gs {
		byID[g.ID] = g
	}
	h.typedStacks = maxTypedStacks
	var known []stack
	for _, at := range list {
		s, err := h.goroutine(h.record(h.named("runtime.g"), at), byID)
		if err != nil {
			return err
		}
		known = append(known, s)
	}
	for _, t := range h.target.ThreadList() {
		h.thread(t, known)
	}
	return nil
}

// goroutine makes a root of one, and returns where its stack is; none of one that is dead.
func (h *Heap) goroutine(r *record, byID map[int64]*proc.G) (s stack, err error) {
	s = stack{r.word("stack.lo"), r.word("stack.hi")}
	id, status := int64(r.word("goid")), r.word("atomicstatus")&0xfff
	from, syscallsp := r.word("sched.sp"), r.word("syscallsp")
	if r.err != nil {
		return s, r.err
	}
	if status == proc.Gdead || status == proc.Gidle || s.hi <= s.lo || s.hi-s.lo > maxStack {
		return stack{}, nil
	}
	if status == proc.Gsyscall && syscallsp != 0 {
		from = syscallsp
	}
	name := fmt.Sprintf("goroutine %d", id)
	var frames []proc.Stackframe
	g := byID[id]
	if g != nil {
		if fn := g.StartLoc(h.target).Fn; fn != nil {
			name += " " + fn.Name
		}
		if h.typedStacks--; h.typedStacks >= 0 {
			frames = h.frames(g)
		}
		if g.Thread != nil { // it ran: sched.sp is of an earlier time
			from = lowestSP(frames, s)
		}
	}
	if from < s.lo || from > s.hi {
		from = s.lo
	}
	b := make([]byte, s.hi-from)
	if err := h.readPages(b, from); err != nil {
		h.Notes = append(h.Notes,
			fmt.Sprintf(
				"the stack of goroutine %d is not in the core: what only it holds counts as unreachable", id))
		return s, nil
	}
	root := Root{Name: name}
	for w := b; len(w) >= 8; w = w[8:] {
		h.hold(&root, binary.LittleEndian.Uint64(w))
	}
	for i := range frames {
		root.typed = append(root.typed, h.locals(g, frames[i:], from, b)...)
	}
	h.root(root)
	return s, nil
}

// hold notes that a root holds the object at an address, if there is one.
func (h *Heap) hold(r *Root, addr uint64) {
	if slot, _, ok := h.find(addr); ok {
		r.slots = append(r.slots, slot)
	}
}

// thread makes a root of a thread's registers, and of its stack if that is no goroutine's.
func (h *Heap) thread(t proc.Thread, known []stack) {
	regs, err := t.Registers()
	if err != nil {
		return
	}
	list, err := regs.Slice(false)
	if err != nil {
		return
	}
	root := Root{Name: fmt.Sprintf("registers of thread %d", t.ThreadID())}
	for _, r := range list {
		if r.Reg != nil {
			h.hold(&root, r.Reg.Uint64Val)
		}
	}
	sp := regs.SP()
	if !slices.ContainsFunc(known, func(s stack) bool { return s.has(sp) }) {
		// On a signal's stack lie the registers of what it has interrupted. Past the end of a stack lies
		// what is none.
		for at, end := sp&^7, min(sp+systemStack, h.endOfStack(sp)); at < end; at += 8 {
			w, err := h.load(at)
			if err != nil {
				break
			}
			h.hold(&root, w)
		}
	}
	h.root(root)
}

// endOfStack returns where the stack of a thread ends that has the address: that of its g0, or the
// one for signals. It is the end of memory if none has.
func (h *Heap) endOfStack(sp uint64) uint64 {
	first := h.variable("runtime.allm")
	if first.err != nil || len(first.b) < 8 {
		return 1<<64 - 1
	}
	m, g := h.named("runtime.m"), h.named("runtime.g")
	at := binary.LittleEndian.Uint64(first.b)
	for n := 0; at != 0 && n < maxThreads; n++ {
		r := h.record(m, at)
		for _, field := range []string{"g0", "gsignal"} {
			if a := r.word(field); a != 0 {
				x := h.record(g, a)
				if s := (stack{x.word("stack.lo"), x.word("stack.hi")}); s.has(sp) {
					return s.hi
				}
			}
		}
		if at = r.word("alllink"); r.err != nil {
			break
		}
	}
	return 1<<64 - 1
}

// frames is the stack of a goroutine; Delve's panics make it empty.
func (h *Heap) frames(g *proc.G) (frames []proc.Stackframe) {
	defer func() {
		if recover() != nil {
			frames = nil
		}
	}()
	frames, _ = inspect.Stack(h.target, g, maxTypedFrames)
	return frames
}

// lowestSP is the stack pointer of the innermost frame on a stack, its lower end if there is none.
func lowestSP(frames []proc.Stackframe, s stack) uint64 {
	sp := s.hi
	for i := range frames {
		if at := frames[i].Regs.SP(); s.has(at) {
			sp = min(sp, at)
		}
	}
	if sp == s.hi {
		return s.lo
	}
	return sp
}

// locals returns the variables of a frame that lie on the stack whose bytes are b, from address
// from on, and that live there according to the debug information.
func (h *Heap) locals(g *proc.G, frames []proc.Stackframe, from uint64, b []byte) (all []typed) {
	defer func() { recover() }()
	if frames[0].Current.Fn == nil || frames[0].SystemStack {
		return nil
	}
	scope := proc.FrameToScope(h.target, h.target.Memory(), g, 0, frames[0])
	vars, err := scope.LocalVariables(proc.LoadConfig{})
	if err != nil {
		return nil
	}
	args, err := scope.FunctionArguments(proc.LoadConfig{})
	if err == nil {
		vars = append(vars, args...)
	}
	for _, v := range vars {
		if v.Unreadable != nil || v.DwarfType == nil || v.Addr < from ||
			v.Flags&proc.VariableFakeAddress != 0 {
			continue
		}
		size := v.DwarfType.Size()
		if off := v.Addr - from; size > 0 && uint64(size) <= uint64(len(b)) &&
			off <= uint64(len(b))-uint64(size) {
			all = append(all, typed{v.DwarfType, b[off : off+uint64(size)]})
		}
	}
	return all
}

// Kinds of special records (runtime/mheap.go).
const (
	kindFinalizer = 2
	kindWeak      = 3
	kindCleanup   = 7
)

// allSpecials reads what the runtime keeps beside objects: for a finalizer the object's own
// pointers hold what they point to, though not the object.
func (h *Heap) allSpecials() error {
	special := h.named("runtime.special")
	final, cleanup, weak := Root{Name: "finalizers"},
		Root{Name: "cleanups"}, Root{Name: "weak pointers"}
	seen := 0
	for i := range h.spans {
		s := &h.spans[i]
		for at := s.specials; at != 0; {
			if seen++; seen > maxSpecials {
				return fmt.Errorf("the core is corrupt: the list of special records has no end")
			}
			r := h.record(special, at)
			next, kind, off := r.word("next"), r.word("kind"), r.word("offset")
			if r.err != nil {
				h.Notes = append(h.Notes, fmt.Sprintf("finalizers and their like cannot be read: %v", r.err))
				return nil
			}
			switch kind {
			case kindFinalizer:
				f := h.record(h.named("runtime.specialfinalizer"), at)
				h.hold(&final, f.word("fn"))
				h.hold(&final, f.word("fint"))
				h.hold(&final, f.word("ot"))
				if n := off / s.elem; n < s.count && !s.noscan {
					h.pointers(s, n, func(_, v uint64) { h.hold(&final, v) })
				}
			case kindCleanup:
				c := h.record(h.named("runtime.specialCleanup"), at)
				for _, f := range []string{"cleanup.ptr", "cleanup.fn", "fn"} { // the last is Go 1.25's
					if c.has(f) {
						h.hold(&cleanup, c.word(f))
					}
				}
			case kindWeak:
				h.hold(&weak, h.record(h.named("runtime.specialWeakHandle"), at).word("handle"))
			}
			at = next
		}
	}
	h.root(final)
	h.root(cleanup)
	h.root(weak)
	return nil
}
