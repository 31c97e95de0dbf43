//go:build !lean

package main

// `zf why -var`: the place in memory that is asked for, and how the answer is written.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/why"
)

// writeWrapped writes lines with names out of the image, broken between words.
func writeWrapped(w io.Writer, lines []string) {
	s := render.Short{Width: columns}
	for _, line := range lines {
		for _, l := range s.Wrap(printable(line), "    ") {
			fmt.Fprintln(w, l)
		}
	}
}

// word returns where the word is that is asked for, and its size.
func (f *whyFlags) word(ctx context.Context, w *why.Why, end *whyEnd,
	c *call) (addr, size uint64, err error) {
	addr, size = f.addr, f.size
	if f.variable != "" {
		var n uint64
		if addr, n, err = f.place(ctx, w, end, c); err != nil {
			return 0, 0, err
		}
		if size == 0 {
			for size = 8; size > n; size /= 2 {
			}
			if size < n {
				c.say("note: %s has %d bytes; its first %d are asked for", printable(f.variable), n, size)
			}
		}
	}
	if size == 0 {
		size = 8
	}
	if addr%size != 0 {
		err = fmt.Errorf(
			"%d bytes at %#x are not at a multiple of their size; ask for less of them by -size", size, addr)
	}
	return addr, size, err
}

// place returns where the variable is that is asked for, and its size: a symbol's of the image, a
// part of one, or else what the expression means where the recording ends.
func (f *whyFlags) place(ctx context.Context, w *why.Why, end *whyEnd,
	c *call) (addr, size uint64, err error) {
	if f.goroutine == 0 {
		addr, size, err = w.Resolve(f.variable)
		if err == nil {
			return addr, size, nil
		}
		err = fmt.Errorf("%w%s", err, meant(f.variable, "", w.Variables()))
		if addr, size, err = staticPlace(end.elf, f.variable, err); !errors.Is(err, inspect.ErrFollows) {
			return addr, size, err
		}
	}
	path, err := end.core(ctx, w)
	if err != nil {
		return 0, 0, f.failed(ctx, err, false)
	}
	p, err := inspect.Open(path, end.elf, false)
	if err != nil {
		return 0, 0, err
	}
	defer p.Close()
	at := inspect.Place{Goroutine: f.goroutine, Frame: max(0, f.frame)}
	addr, size, err = p.Address(f.variable, at)
	if f.goroutine != 0 && f.frame < 0 {
		addr, size, at, err = firstFrame(p, f.variable, at, err)
	}
	if where, werr := p.Where(at); f.goroutine != 0 && werr == nil {
		c.say("note: frame %d of goroutine %d is %s:%d", at.Frame, at.Goroutine,
			printable(where.Function), where.Line)
	}
	return addr, size, nearName(err)
}

// firstFrame looks for an expression in the frames of a goroutine, from the innermost that is not
// the runtime's: the first in which its names mean something. wrong is what the innermost says.
func firstFrame(p *inspect.Program, expr string, at inspect.Place,
	wrong error) (addr, size uint64, _ inspect.Place, err error) {
	for first := at; ; at.Frame++ {
		where, err := p.Where(at)
		if err != nil {
			return 0, 0, first, cmp.Or(wrong, err)
		}
		if strings.HasPrefix(where.Function, "runtime.") {
			continue
		}
		addr, size, err = p.Address(expr, at)
		if no := (*inspect.NoName)(nil); !errors.As(err, &no) {
			return addr, size, at, err
		}
		if wrong == nil {
			wrong = err
		}
	}
}

// errFollows is returned for what lies behind a pointer.
var errFollows = inspect.ErrFollows

// staticPlace returns where a field of a package variable, or an element of its array, is in an
// image; a name without a package is main's. unknown says that the image has no such symbol.
func staticPlace(elf, expr string, unknown error) (addr, size uint64, err error) {
	i, err := inspect.OpenImage(elf)
	if err != nil {
		return 0, 0, err
	}
	defer i.Close()
	for _, prefix := range []string{"", "main."} {
		if prefix != "" && strings.HasPrefix(expr, prefix) {
			break
		}
		addr, size, err = i.Address(prefix + expr)
		if err == nil || errors.Is(err, inspect.ErrFollows) {
			return addr, size, err
		}
		// Of a name that there is not Delve says this; and a function is no variable.
		if !strings.Contains(err.Error(), "unable to find function context") &&
			!strings.Contains(err.Error(), "has no bytes") {
			unknown = err
		}
	}
	return 0, 0, unknown
}
