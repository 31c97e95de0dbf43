//go:build !lean

package main

// `zf why -waits`: what a goroutine waits for, and who has made that what it is.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/postmortem/waits"
	"github.com/zeroframe/zeroframe/tools/postmortem/why"
	"github.com/zeroframe/zeroframe/tools/symbol"

	"github.com/zeroframe/zeroframe/qemu"
)

// whyEnd is where a recording ends, and what is needed to read the memory there.
type whyEnd struct {
	instructions uint64 // 0: not known
	elf, tmp     string
	sym          *symbol.File
}

// whyWaiting is a goroutine that waits, with what was done to what it waits for.
type whyWaiting struct {
	Goroutine int64           `json:"goroutine"`
	Function  string          `json:"function"` // the outermost
	At        string          `json:"at"`
	Waits     *waits.WaitsFor `json:"waits_for"`
	Acts      []why.Act       `json:"acts"`
	// Others are those who have it, where they are.
	Others []whyWaiting `json:"others,omitempty"`
}

// core makes a core of the machine at the end of the recording.
func (e *whyEnd) core(ctx context.Context, w *why.Why) (path string, err error) {
	if e.instructions < 2 {
		return "", fmt.Errorf(
			"where the recording ends is not known: this QEMU's log is of a format that zf cannot read")
	}
	c := &fullCore{path: filepath.Join(e.tmp, "why.core"), elf: e.elf, sym: e.sym}
	// In the midst of the last instruction it ends.
	return c.path, w.End(ctx, e.instructions-1, func(vm *qemu.VM) error {
		return c.quietly(vm.Memory())
	})
}

// waiting answers for a goroutine; 0: for all that wait, without who has done what.
func (e *whyEnd) waiting(ctx context.Context, w *why.Why,
	goroutine int64) (all []whyWaiting, err error) {
	path, err := e.core(ctx, w)
	if err != nil {
		return nil, err
	}
	g, err := waitsOf(e.elf, path, false, waits.Options{})
	if err != nil {
		return nil, err
	}
	for _, x := range g.Goroutines {
		if x.Wait == nil || x.System || goroutine != 0 && x.ID != goroutine {
			continue
		}
		v := whyWaiting{Goroutine: x.ID, Function: x.Function, At: x.At, Waits: x.JSON()}
		if goroutine != 0 {
			err = v.ask(ctx, w, g, x, e.instructions-1)
		}
		all = append(all, v)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// ask finds out who has done what.
func (v *whyWaiting) ask(ctx context.Context, w *why.Why, g *waits.Graph, x *waits.Goroutine,
	end uint64) error {
	type word struct {
		what why.Waited
		addr uint64
	}
	var words []word
	seen := map[int64]bool{x.ID: true}
	for _, o := range x.Wait.Objects {
		if what, ok := whyKinds[o.Kind]; ok && o.Addr != 0 {
			words = append(words, word{what, o.Addr})
		}
		if o.DeadlineAt != 0 {
			words = append(words, word{why.Deadline, o.DeadlineAt})
		}
		for _, id := range o.Holders {
			for _, y := range g.Goroutines {
				if y.ID == id && o.Certain && !seen[id] {
					seen[id] = true
					v.Others = append(v.Others, whyWaiting{Goroutine: id, Function: y.Function, At: y.At,
						Waits: y.JSON()})
				}
			}
		}
	}
	if y := x.Wait.IO; y != nil && y.DeadlineAt != 0 {
		words = append(words, word{why.Deadline, y.DeadlineAt})
	}
	for _, o := range words {
		acts, err := w.Acts(ctx, o.what, o.addr, end)
		if v.Acts = append(v.Acts, acts...); err != nil {
			return err
		}
	}
	return nil
}

var whyKinds = map[waits.Kind]why.Waited{
	waits.Mutex: why.Mutex, waits.RLock: why.RWMutex, waits.WLock: why.RWMutex,
	waits.WaitGroup: why.WaitGroup, waits.Once: why.Once,
	waits.Cond: why.Cond, waits.Receive: why.Channel, waits.Send: why.Channel,
}

// lines says it.
func (v *whyWaiting) lines(asked bool) []string {
	what := "does not wait"
	if v.Waits != nil {
		what = v.Waits.Text
	}
	lines := []string{fmt.Sprintf("goroutine %d (%s) %s", v.Goroutine, v.At, what)}
	for i := range v.Acts {
		lines = append(lines, v.Acts[i].String())
	}
	if asked && len(v.Acts) == 0 {
		lines = append(lines, "who has made that so cannot be told")
	}
	for i := range v.Others {
		lines = append(lines, v.Others[i].lines(false)...)
	}
	return lines
}

// answerWaits writes the answer for -waits.
func (f *whyFlags) answerWaits(ctx context.Context, w *why.Why, e *whyEnd, c *call) error {
	all, err := e.waiting(ctx, w, f.goroutine)
	f.clean()
	if f.json && (err == nil || len(all) > 0) {
		if all == nil {
			all = []whyWaiting{}
		}
		writeJSON(c.stdout, all)
	} else {
		for i := range all {
			writeWrapped(c.stdout, all[i].lines(f.goroutine != 0 && err == nil))
		}
	}
	switch {
	case errors.Is(err, waits.ErrNotBegun):
		err = fmt.Errorf("nobody waits: %w; without -waits it says what the machine died of", err)
	case err != nil:
		return f.failed(ctx, err, len(all) > 0)
	case len(all) > 0:
		return nil
	case f.goroutine != 0:
		err = fmt.Errorf(
			"goroutine %d does not wait, or is not there; -waits without -goroutine lists those that wait",
			f.goroutine)
	default:
		err = errors.New("no goroutine waits")
	}
	return failure{err, exitTrace}
}
