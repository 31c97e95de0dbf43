// Many addresses at once, with an index: they rise, so that each block of it is read
// once.

package symbol

import "github.com/zeroframe/zeroframe/tools/lookup"

func (s indexSource) all(b *batch) {
	x := s.f.anyIndex()
	if x == nil || x.damaged.Load() {
		return
	}
	// To read all strings at once costs as much as to read so many on their own.
	const many = 256
	if len(b.asked) >= many && x.needStrings() != nil {
		x.damaged.Store(true)
		return
	}
	b.run(512, func() func(first, end int) {
		r := indexReader{x: x, wide: uint64(len(b.asked)) > x.root.blocks.count/32}
		var room []lookup.Call
		return func(first, end int) {
			for i := first; i < end && !x.damaged.Load(); i++ {
				if b.asked[i].known || b.again(i) {
					continue
				}
				if cap(room)-len(room) < 64 {
					room = make([]lookup.Call, 0, 1024)
				}
				start := len(room)
				frames, entry, _, err := r.lookup(b.asked[i].pc, room[start:])
				switch {
				case err != nil:
					x.damaged.Store(true)
					return
				case len(frames) == 0:
					b.asked[i].known = !x.partial()
					continue
				case len(frames) <= cap(room)-start:
					room = room[:start+len(frames)]
				}
				b.answer(i, frames[:len(frames):len(frames)], entry)
			}
		}
	})
}
