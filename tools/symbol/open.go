// What a program of somebody else's needs beyond Open, Lookup and Close.

package symbol

import (
	"context"
	"iter"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A Call is one call that an address is in: a function, a file, a line.
type Call = lookup.Call

// Options are how [OpenWith] opens a file. The zero value is what [Open] does.
type Options struct {
	// Stores are asked for debug information that is not on this machine, one after the other.
	Stores []Store
	// DebugDir is where this machine keeps debug files; "" stands for /usr/lib/debug.
	DebugDir string
}

// OpenWith is Open with options. ctx ends the waiting for stores, also in later look-ups.
// Context: host.
func OpenWith(ctx context.Context, path string, o Options) (*File, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	f.DebugDir = o.DebugDir
	f.UseStores(ctx, o.Stores...)
	return f, nil
}

// Frames is Lookup as an iterator: the calls that the instruction at addr is in, innermost first.
// Context: host.
func (f *File) Frames(addr uint64, ret bool) iter.Seq[Call] {
	return func(yield func(Call) bool) {
		for _, c := range f.Lookup(addr, ret) {
			if !yield(c) {
				return
			}
		}
	}
}

// LookupContext is LookupAll that gives up when ctx ends, within some milliseconds, and then
// returns the error of ctx and no answers. A look-up of a single address takes no longer than that.
// Context: host.
func (f *File) LookupContext(ctx context.Context, addrs []uint64, ret bool) ([][]Call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answers := f.lookupAll(addrs, ret, ctx.Done())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return answers, nil
}
