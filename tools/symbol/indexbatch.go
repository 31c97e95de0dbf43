// Many addresses at once, with an index: they rise, so that each block of it is read
// once.

package symbol

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// askIndex answers from the index. It reports false if some addresses are left: then
// they have no frames.
func (b *batch) askIndex() bool {
	x := b.f.index
	if x == nil || x.damaged.Load() {
		return false
	}
	// To read all strings at once costs as much as to read so many on their own.
	const many = 256
	if len(b.asked) >= many {
		if x.needStrings() != nil {
			x.damaged.Store(true)
			return false
		}
	}
	const share = 512
	var next atomic.Int32
	var left atomic.Bool
	work := func() {
		r := indexReader{x: x, wide: uint64(len(b.asked)) > x.root.blocks.count/32}
		var room []Frame
		for {
			first := share * (int(next.Add(1)) - 1)
			if first >= len(b.asked) || x.damaged.Load() {
				return
			}
			for i := first; i < min(first+share, len(b.asked)); i++ {
				if b.again(i) {
					continue
				}
				if cap(room)-len(room) < 64 {
					room = make([]Frame, 0, 1024)
				}
				start := len(room)
				frames, entry, _, err := r.lookup(b.asked[i].pc, room[start:])
				switch {
				case err != nil:
					x.damaged.Store(true)
					return
				case len(frames) == 0:
					if x.partial() {
						left.Store(true)
					}
					continue
				case len(frames) <= cap(room)-start:
					room = room[:start+len(frames)]
				}
				b.answer(i, frames[:len(frames):len(frames)], entry)
			}
		}
	}
	n := min(runtime.GOMAXPROCS(0), len(b.asked)/share+1)
	if n == 1 {
		work()
	} else {
		var wait sync.WaitGroup
		for range n {
			wait.Go(work)
		}
		wait.Wait()
	}
	return !left.Load() && !x.damaged.Load()
}
