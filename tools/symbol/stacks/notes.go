package stacks

// Notes are what the code alone does not tell, in lines of text. A note names
// functions as traces do; the prefix that a line "prefix" gives may be left out.
//
//	# a comment
//	prefix github.com/zeroframe/zeroframe/
//	calls FUNC: TARGET...    whom the indirect calls in FUNC call
//	depth FUNC: N            at most N calls of FUNC are on a stack at a time
//	ends FUNC...             calls nothing and does not return: it is to fault
//	never FUNC...           is not reached at all
//	leaves FUNC...           loads SP: what comes then is not on its caller's stack
//	stack NAME: FUNC OPTION...   an entry of one of the kernel's stacks
//
// FUNC of calls is the function that has the call in the source, be it inlined or
// not. A TARGET is
//
//	FUNC             a function
//	@VAR             the functions whose values are in the variable VAR of the image
//	given FUNC REG   what is passed to FUNC in register REG, wherever it is called
//	nothing          the call does not happen
//
// and the options of an entry are
//
//	base N       bytes that are on the stack when FUNC begins
//	at N         the entry begins N bytes below the stack's top, for what is above
//	fresh        FUNC begins elsewhere, loads SP with the stack's top and goes on
//	runs FUNC    what a FUNC that is given a function calls there
//	optional     an image may be without that function: it is of a part (package parts)
//	never FUNC...    is not reached from this entry (the last option)

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
)

// Notes are notes on a program. The zero value has none.
type Notes struct {
	prefix string
	calls  map[string][]target
	depth  map[string]int
	sets   map[string]map[string]bool // of functions: by "ends", "never", "leaves"
	stacks []stackNote
}

// target is whom an indirect call calls: a function, what is in a variable, or what
// is given to a function in a register.
type target struct {
	name, variable, given, reg string
}

type stackNote struct {
	name  string
	entry Entry
}

// ParseNotes reads notes. An error names the line. Host.
func ParseNotes(r io.Reader) (*Notes, error) {
	n := &Notes{calls: map[string][]target{}, depth: map[string]int{},
		sets: map[string]map[string]bool{"ends": {}, "never": {}, "leaves": {}}}
	s := bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		text, _, _ := strings.Cut(s.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if err := n.line(words); err != nil {
			return nil, fmt.Errorf("notes, line %d: %w", line, err)
		}
	}
	return n, s.Err()
}

func (n *Notes) line(words []string) error {
	kind, words := words[0], words[1:]
	if len(words) == 0 {
		return fmt.Errorf("%q wants more words", kind)
	}
	name, colon := strings.CutSuffix(words[0], ":")
	if colon != (kind == "calls" || kind == "depth" || kind == "stack") || colon && len(words) == 1 {
		return fmt.Errorf(
			"want `calls FUNC: TARGET...`, `depth FUNC: N`, `stack NAME: FUNC...`, `ends FUNC...`, `never FUNC...`, `leaves FUNC...` or `prefix PATH`")
	}
	switch kind {
	case "prefix":
		n.prefix = name
	case "ends", "never", "leaves":
		for _, w := range words {
			n.sets[kind][n.full(w)] = true
		}
	case "depth":
		v, err := strconv.Atoi(words[1])
		if err != nil || v < 1 || v > maxDepth || len(words) > 2 {
			return fmt.Errorf("depth %s: want one number from 1 to %d", name, maxDepth)
		}
		n.depth[n.full(name)] = v
	case "calls":
		return n.targets(n.full(name), words[1:])
	case "stack":
		return n.stack(name, words[1:])
	default:
		return fmt.Errorf("unknown note %q", kind)
	}
	return nil
}

// maxDepth bounds what a note may say of a recursion.
const maxDepth = 1 << 16

func (n *Notes) targets(name string, words []string) error {
	list := n.calls[name]
	if list == nil {
		list = []target{} // known, even if there is nothing
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "nothing":
		case w == "given":
			if i+2 >= len(words) {
				return fmt.Errorf("given wants a function and a register")
			}
			list = append(list, target{given: n.full(words[i+1]), reg: words[i+2]})
			i += 2
		case strings.HasPrefix(w, "@"):
			list = append(list, target{variable: n.full(w[1:])})
		default:
			list = append(list, target{name: n.full(w)})
		}
	}
	n.calls[name] = list
	return nil
}

func (n *Notes) stack(name string, words []string) error {
	e := Entry{Func: n.full(words[0])}
	words = words[1:]
	for i := 0; i < len(words); i++ {
		var err error
		w := words[i]
		switch {
		case w == "fresh":
			e.Fresh = true
			continue
		case w == "optional":
			e.Optional = true
			continue
		case i+1 >= len(words):
			return fmt.Errorf("stack %s: %s wants a value, or is no option", name, w)
		case w == "never":
			for _, f := range words[i+1:] {
				e.Never = append(e.Never, n.full(f))
			}
			i = len(words)
			continue
		case w == "base":
			e.Base, err = strconv.ParseUint(words[i+1], 10, 32)
		case w == "at":
			e.At, err = strconv.ParseUint(words[i+1], 10, 32)
		case w == "runs":
			e.Runs = n.full(words[i+1])
		default:
			return fmt.Errorf("stack %s: unknown option %s", name, w)
		}
		if err != nil {
			return fmt.Errorf("stack %s: %s: %q is no number of bytes", name, w, words[i+1])
		}
		i++
	}
	n.stacks = append(n.stacks, stackNote{name, e})
	return nil
}

// full returns the name with the prefix, unless it has it or is of another package:
// those of the standard library and of package main are written in full, and are
// told by their first element.
func (n *Notes) full(name string) string {
	for _, p := range []string{n.prefix, "runtime.", "main."} {
		if strings.HasPrefix(name, p) {
			return name
		}
	}
	return n.prefix + name
}

// Add adds the notes of m, which win where both say something. Host.
func (n *Notes) Add(m *Notes) {
	maps.Copy(n.calls, m.calls)
	maps.Copy(n.depth, m.depth)
	for kind, set := range m.sets {
		maps.Copy(n.sets[kind], set)
	}
	n.stacks = append(n.stacks, m.stacks...)
}
