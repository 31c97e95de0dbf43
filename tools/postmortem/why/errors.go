package why

import (
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// An error that a program has died of is a value like others, but its first word, which is compared
// with nil, only says which type it has. The story of an error is that of its second word: who made
// it. One that wraps another is read down to the innermost one, and then it is asked why the code
// has come to where that was made: which comparison has decided it, and who made what was compared.

// anError is an error as it is in memory.
type anError struct {
	kind string // its type
	data uint64 // its second word
	word place  // where that is
}

// readErrors returns the names of the types that are errors, by the address of the type and by that
// of its itab. It reads them once: the linker has a symbol go:itab.TYPE,error for each that is made
// an error.
func (w *Why) readErrors() map[uint64]string {
	if w.errors != nil {
		return w.errors
	}
	w.errors = map[uint64]string{}
	for _, v := range w.vars {
		name, ok := strings.CutPrefix(v.name, "go:itab.")
		if name, ok2 := strings.CutSuffix(name, ",error"); ok && ok2 {
			w.errors[v.addr] = name
			if typ, ok := w.loaded(bytesAt(v.addr+8, 8)); ok { // abi.ITab: Inter, Type
				w.errors[typ] = name
			}
		}
	}
	return w.errors
}

// errorsAt returns those of n interfaces from an address on that are errors.
func (w *Why) errorsAt(addr, n uint64) (all []anError) {
	for i := range n {
		typ, _ := w.at.word(addr + 16*i)
		data, ok := w.at.word(addr + 16*i + 8)
		if kind := w.readErrors()[typ]; ok && kind != "" {
			all = append(all, anError{kind, data, bytesAt(addr+16*i+8, 8)})
		}
	}
	return all
}

// unwrap returns the errors that an error has in it.
func (w *Why) unwrap(e anError) (all []anError) {
	if e.data == 0 {
		return nil
	}
	for _, f := range w.members(strings.ReplaceAll(strings.TrimPrefix(e.kind, "*"), "%2e", ".")) {
		first, n := e.data+uint64(f.ByteOffset), uint64(1)
		switch f.Type.String() {
		case "error":
		case "struct []error":
			n, _ = w.at.word(first + 8)
			first, _ = w.at.word(first)
		default:
			continue
		}
		all = append(all, w.errorsAt(first, min(n, 3))...)
	}
	return all
}

// text returns what an error of the standard library says, as far as its fields have it.
func (w *Why) text(e anError) string {
	if e.data == 0 {
		return e.kind + ", a nil pointer"
	}
	switch e.kind {
	case "*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "*fmt.fmtError":
		return fmt.Sprintf("%s %.60q", e.kind, w.at.text(e.data))
	}
	return e.kind
}

// tellers are functions by which programs say an error and end, or fail: where they take their
// arguments, as the place of the slice's pointer in Go's internal ABI; below 0: none.
var tellers = func() map[string]*int {
	all := map[string]*int{}
	for _, of := range []struct {
		names  string
		prefix string
		first  int
	}{
		{"Fatal Fatalln Panic Panicln", "log.", 0},
		{"Fatalf Panicf", "log.", 2},
		{"Fatal Fatalln Panic Panicln", "log.(*Logger).", 1},
		{"Fatalf Panicf", "log.(*Logger).", 3},
		{"Fatal Error", "testing.(*common).", 1},
		{"Fatalf Errorf", "testing.(*common).", 3},
		{"Fail FailNow", "testing.(*common).", -1},
	} {
		for name := range strings.FieldsSeq(of.names) {
			all[of.prefix+name] = &of.first
		}
	}
	return all
}()

// abiOrder are the registers in which Go's internal ABI hands over words.
var abiOrder = []int{rax, rbx, rcx, rdi, rsi, 8, 9, 10, 11}

// ofError tells of a death that an error is about: one that the program has panicked with, or has
// given to a function that says it. told is false if there is none.
func (w *Why) ofError(s *Story, v *event) (told bool, err error) {
	names := w.readErrors()
	switch first := tellers[v.function]; {
	case first != nil && *first < 0:
	case first != nil:
		path, err := w.pathTo(v.count, windows[0])
		if err != nil {
			return false, err
		}
		at := len(path) - 1
		list, n := path[at].gpr[abiOrder[*first]], path[at].gpr[abiOrder[*first+1]]
		found := w.errorsAt(list, min(n, 16))
		// Of two a test has wanted the one, and the condition tells.
		if len(found) > 0 && (len(found) == 1 || !isAssertion(v)) {
			return true, w.errorStory(s, path, at, found[0])
		}
	case v.function == fnPanic && names[v.args[rax]] != "" && !w.stackOfRuntime(v):
		path, err := w.pathTo(v.count, windows[0])
		if err != nil {
			return false, err
		}
		return true, w.errorStory(s, path, len(path)-1,
			anError{names[v.args[rax]], v.args[rbx], register(rbx)})
	}
	return false, nil
}

// comparedError tells of an error that was compared with nil. told is false if it was something
// else, or the error's other word is not found.
func (w *Why) comparedError(s *Story, path []entry, at int, from []place) (told bool, err error) {
	if len(from) == 0 {
		return false, nil
	}
	kind := w.readErrors()[w.value(path, at, from[0])]
	if kind == "" {
		return false, nil
	}
	i, p, ok := w.dataOf(path, at, from[0])
	if !ok {
		return false, nil
	}
	return true, w.errorStory(s, path, i, anError{kind, w.value(path, i, p), p})
}

// value returns what a place had in front of path[at]; of memory, what it has now.
func (w *Why) value(path []entry, at int, p place) uint64 {
	switch p.kind {
	case inRegister:
		return path[at].gpr[p.reg] & mask(min(max(p.size, 1), 8))
	case inMemory:
		v, _ := w.at.word(p.addr)
		return v & p.mask()
	}
	return 0
}

// dataOf finds the second word of an interface whose first one is in a place: beside it in memory,
// or in the next register of the ABI where a function has returned or begun.
func (w *Why) dataOf(path []entry, at int, p place) (int, place, bool) {
	for range 16 {
		if p.kind == inMemory && !path[at].inStack(p) {
			return at, bytesAt(p.addr+8, 8), true
		}
		d, ok := w.lastDef(path, at, p)
		begin := -1
		if ok {
			begin = d.index
		}
		sp := path[at].gpr[rsp]
		for i := at - 1; i > begin && p.kind == inRegister; i-- {
			start, _ := w.file.FuncStart(path[i].pc)
			returned := path[i].inst.Op == x86asm.RET && path[i+1].gpr[rsp] == sp
			k := i + 1
			if entered := path[i].pc == start && path[i].gpr[rsp] >= sp; entered {
				k = i
			} else if !returned {
				continue
			}
			for n, r := range abiOrder[:len(abiOrder)-1] {
				if r == p.reg {
					return k, register(abiOrder[n+1]), true
				}
			}
		}
		if !ok || d.effect.how != copied {
			return 0, p, false
		}
		p, at = d.source, d.index
	}
	return 0, p, false
}

// inStack reports whether a place is near the stack pointer.
func (e *entry) inStack(p place) bool {
	return p.addr-e.gpr[rsp] < 1<<16
}

// errorStory tells where an error came from, whose second word is a place in front of path[at].
func (w *Why) errorStory(s *Story, path []entry, at int, e anError) error {
	what := "the error " + w.text(e)
	ends := []anError{e}
	for range 8 {
		if last := ends[len(ends)-1]; last.kind == "*io/fs.PathError" && last.data != 0 &&
			len(ends) == 1 {
			return w.ofPath(s, path, at, last, what)
		}
		var inner []anError
		for _, e := range ends {
			in := w.unwrap(e)
			for _, e := range in {
				what += ", in it " + w.text(e)
			}
			if len(in) == 0 {
				in = []anError{e}
			}
			inner = append(inner, in...)
		}
		same := len(inner) == len(ends) && inner[len(inner)-1].word == ends[len(ends)-1].word
		if ends = inner[:min(len(inner), 3)]; same {
			break
		}
	}
	for i, e := range ends {
		if i > 0 { // reading at the second one needs the path again
			what = "the error " + w.text(e)
			var err error
			if path, at, err = w.pathAgain(path, at); err != nil {
				return err
			}
		}
		if done, err := w.made(s, path, at, e, what); err != nil {
			s.Culprit, s.Unfinished = nil, true
			return err
		} else if done {
			break
		}
	}
	return nil
}

// ofPath is for an error about a file: what it came of is the file's name.
func (w *Why) ofPath(s *Story, path []entry, at int, e anError, what string) error {
	name := bytesAt(e.data+16, 8) // fs.PathError: Op, Path, Err
	return w.followAs(s, path, at, name, fmt.Sprintf("%s about the file %.60q", what,
		w.at.text(name.addr)))
}

// made adds a cause: who made an error. done is set if the story ends with it: of several errors
// one has its culprit.
func (w *Why) made(s *Story, path []entry, at int, e anError, what string) (done bool, err error) {
	for i := range w.deaths {
		if v := &w.deaths[i]; strings.HasPrefix(strings.TrimPrefix(e.kind, "*"), "runtime.") &&
			v.function == fnPanic && v.args[rbx] == e.data && e.data != 0 && w.stackOfRuntime(v) {
			s.Causes = append(s.Causes, Cause{What: what, End: "it was recovered from a panic",
				Hops: []Hop{}})
			return true, w.of(s, v)
		}
	}
	c := Cause{What: what}
	sentinel := false
	c.Hops, c.End, err = w.chain(s, path, at, e.word, func(h *Hop) bool {
		if h.to.kind == inMemory {
			n := w.Name(h.to.addr)
			sentinel = n != "" && !strings.Contains(n, "..stmp")
		}
		return sentinel || h.Own && strings.HasPrefix(h.By, "runtime.mallocgc")
	})
	if err != nil {
		c.End, c.Untold = unfinished, true
		s.Causes = append(s.Causes, c)
		return false, err
	}
	n := len(c.Hops)
	if sentinel && n > 1 {
		c.Hops = c.Hops[:n-1]
		n--
	}
	c.Untold = strings.HasPrefix(c.End, cannotTell)
	for e.data == 0 && n > 1 && c.Hops[n-1].Function == c.Hops[n-2].Function {
		n-- // where the pointer became an error, not where it became nil
	}
	// Who made it is the last place of the program's own code on the way.
	for n > 0 && !c.Hops[n-1].Own {
		n--
	}
	if n == 0 || c.Untold {
		c.Untold = true
		s.Causes = append(s.Causes, c)
		return false, nil
	}
	c.Hops = c.Hops[:n]
	maker := &c.Hops[n-1]
	switch maker.How = "error"; {
	case sentinel:
		c.End = "the package's variable has it"
	case c.End == "":
		c.End = "it was made there"
	}
	s.Causes = append(s.Causes, c)
	s.Culprit = maker
	if e.data == 0 {
		return true, nil // nobody was asked: a nil pointer has become an error
	}
	return true, w.whyThere(s, maker)
}
