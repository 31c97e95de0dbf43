package main

// `zf stacks` is tools/symbol/stacks on a command line: a row for each of the kernel's stacks,
// or for each function asked for, and behind a bound that is missing, why.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/stacks"
)

const stacksText = `Stacks prints how deep each of the kernel's stacks can get, in bytes from its
top on, or how much stack each named FUNC can take, its return address included.
It is a bound that the code proves: from where the stack pointer is at each
instruction (Go's pc tables, call frame information, the instructions
themselves) and from who calls whom.

  zf stacks -e hello.elf
  zf stacks -e hello.elf -v -f fault.Panic
  zf stacks -e firmware.elf -f main -notes calls.txt

Where the code does not tell, there is no bound: "-", and below it the reasons:
recursion, an indirect call, a frame of variable size. NOTES bound or resolve
them, a line each:

  calls FUNC: TARGET...  whom the indirect calls in FUNC call: functions, @VAR
                         for those whose Go func values are in the variable VAR
  depth FUNC: N          at most N calls of FUNC are on a stack at a time
  ends FUNC...           calls nothing more, and does not return
  never FUNC...          is never called
  leaves FUNC...         goes on to another stack where it loads SP

The kernel's own notes are known. zf build makes these bounds the limits of the
kernel's stacks. A goroutine's stack grows as needed and needs no bound.

Exit status: 0 all are bounded, 1 not all, 2 wrong usage.`

// exitUnbounded is for a stack without a bound.
const exitUnbounded = 1

// stackRow is a line of the output.
type stackRow struct {
	Stack string        `json:"stack,omitempty"`
	Entry string        `json:"entry"`
	Bytes *uint64       `json:"bytes"`          // null: there is no bound
	Note  string        `json:"note,omitempty"` // where that is the bound
	Why   []string      `json:"why,omitempty"`
	Chain []stacks.Step `json:"chain,omitempty"`
}

func runStacks(c *call) error {
	var elf, notes string
	var funcs []string
	var verbose, asJSON bool
	if err := c.parse([]option{
		{&elf, "e", "the `ELF` file: an image, or another program for the 64-bit x86"},
		{&funcs, "f",
			"bound this `FUNC`, instead of the kernel's stacks; the end of its name\nwill do. May be given more than once"},
		{&notes, "notes", "read more notes from this `FILE`"},
		{&verbose, "v",
			"print the deepest chain of calls, with the bytes of each function, and\nall reasons"},
		{&asJSON, "json", "print one JSON object for each row"},
	}); err != nil {
		return err
	}
	switch {
	case elf == "":
		return c.wrong("-e ELF is missing: name the image")
	case c.NArg() > 0:
		return c.wrong("what is %q? functions are named with -f", c.Arg(0))
	}
	rows, err := stackRows(elf, notes, funcs)
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(c.stdout)
		enc.SetEscapeHTML(false)
		for i := range rows {
			err = errors.Join(err, enc.Encode(&rows[i]))
		}
	} else {
		_, err = c.stdout.Write(stackTable(rows, verbose))
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	if !slices.ContainsFunc(rows, func(r stackRow) bool { return r.Bytes == nil }) {
		return nil
	}
	if len(funcs) == 0 {
		if err := image.CheckKernelFlags(elf); err != nil {
			c.fail(fmt.Errorf("%s: %w", elf, err))
		}
	}
	return status(exitUnbounded)
}

// stackRows computes the bounds.
func stackRows(elf, notes string, funcs []string) ([]stackRow, error) {
	sym, err := openSymbols(elf)
	if err != nil {
		return nil, err
	}
	defer sym.Close()
	kernel, own := stacks.KernelNotes(), &stacks.Notes{}
	if notes != "" {
		f, err := os.Open(notes)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if own, err = stacks.ParseNotes(f); err != nil {
			return nil, fmt.Errorf("%s: %w", notes, err)
		}
		kernel.Add(own)
	}
	if len(funcs) == 0 {
		if !stacks.HasKernel(sym) {
			return nil, fmt.Errorf("there is no kernel in %s; name functions with -f", elf)
		}
		p, err := stacks.New(sym, kernel)
		if err != nil {
			return nil, err
		}
		var rows []stackRow
		for _, s := range p.Stacks() {
			rows = append(rows, row(s.Name, s.Entry.Func, s.Bound))
		}
		return rows, nil
	}
	return funcRows(sym, kernel, own, funcs)
}

// funcRows bounds the functions named. What runs in kernel context has other notes than
// what has a runtime.
func funcRows(sym *symbol.File, kernel, own *stacks.Notes,
	funcs []string) (rows []stackRow, err error) {
	plain, err := stacks.New(sym, own)
	if err != nil {
		return nil, err
	}
	var inKernel *stacks.Program
	if stacks.HasKernel(sym) {
		if inKernel, err = stacks.New(sym, kernel); err != nil {
			return nil, err
		}
	}
	for _, name := range funcs {
		name, err := plain.Find(name)
		if err != nil {
			return nil, err
		}
		p := plain
		if inKernel != nil && stacks.KernelContext(name) {
			p = inKernel
		}
		r := row("", name, p.Bound(stacks.Entry{Func: name, Base: 8}))
		if r.Bytes == nil && inKernel != nil {
			if b, entry, ok := inKernel.OnStack(name); ok {
				why := r.Why[0]
				r = row("", name, b)
				if r.Note = "on the kernel's stacks; elsewhere there is no bound: " + why; entry != "" {
					r.Note = "as the entry of the kernel's stack " + entry
				}
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func row(stack, entry string, b stacks.Bound) stackRow {
	r := stackRow{Stack: stack, Entry: entry, Why: b.Why, Chain: b.Chain}
	if len(b.Why) == 0 {
		r.Bytes = &b.Bytes
	}
	return r
}

// stackWidth is how wide the table is, names that are longer aside.
const stackWidth = 80

// maxWhy is how many reasons are printed for one row, unless all are asked for.
const maxWhy = 5

// stackTable formats the rows.
func stackTable(rows []stackRow, verbose bool) []byte {
	var b strings.Builder
	head := "bound  stack     entry\n"
	if len(rows) > 0 && rows[0].Stack == "" {
		head = "bound  function\n"
	}
	b.WriteString(" " + head)
	for i := range rows {
		r := &rows[i]
		bound := "-"
		if r.Bytes != nil {
			bound = fmt.Sprint(*r.Bytes)
		}
		fmt.Fprintf(&b, "%6s  ", bound)
		if r.Stack != "" {
			fmt.Fprintf(&b, "%-8s  ", r.Stack)
		}
		b.WriteString(r.Entry + "\n")
		if r.Note != "" {
			wrap(&b, r.Note, 8, stackWidth)
		}
		for k, w := range r.Why {
			if k == maxWhy && !verbose {
				wrap(&b, fmt.Sprintf("and %d more; -v prints all", len(r.Why)-k), 8, stackWidth)
				break
			}
			wrap(&b, w, 8, stackWidth)
		}
		if verbose {
			for _, s := range r.Chain {
				fmt.Fprintf(&b, "%16d  %s\n", s.Bytes, s.Func)
			}
		}
	}
	return []byte(b.String())
}

// wrap writes text in lines of at most width columns, where its words are not longer,
// indented and once more from the second line on.
func wrap(b *strings.Builder, text string, indent, width int) {
	at := 0
	for _, w := range strings.Fields(text) {
		switch {
		case at == 0:
			b.WriteString(strings.Repeat(" ", indent))
			at = indent
		case at+1+len(w) > width:
			b.WriteString("\n" + strings.Repeat(" ", indent+2))
			at = indent + 2
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += len(w)
	}
	b.WriteByte('\n')
}
