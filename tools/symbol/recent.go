// What batches were answered lately. The traces of a log are much alike, batch after batch: a unit
// of DWARF need not be read again for them.

package symbol

import (
	"slices"
	"sync"

	"github.com/zeroframe/zeroframe/tools/lookup"
)

const (
	recentAnswers = 1 << 13 // that are kept, at most
	recentCalls   = 8       // of one
)

// A recent keeps answers of the infoSource. A later one takes the place of an earlier one.
type recent struct {
	mu   sync.Mutex
	list []recentAnswer // by slot; nil until there is one
}

type recentAnswer struct {
	pc, entry uint64
	frames    []lookup.Call // nil: there is none
}

func (r *recent) slot(pc uint64) *recentAnswer {
	return &r.list[pc*0x9e3779b97f4a7c15>>(64-13)]
}

// recall answers what of b is kept.
func (r *recent) recall(b *batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		return
	}
	for i := range b.asked {
		a := &b.asked[i]
		if a.known || b.again(i) {
			continue
		}
		if s := r.slot(a.pc); s.pc == a.pc && s.frames != nil {
			b.answer(i, slices.Clone(s.frames), s.entry)
		}
	}
}

// keep keeps the answers of b that were found now.
func (r *recent) keep(b *batch) {
	if len(b.todo) > recentAnswers {
		return // hardly any would be left
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = make([]recentAnswer, recentAnswers)
	}
	for _, i := range b.todo {
		if a := &b.asked[i]; a.known && len(a.frames) > 0 && len(a.frames) <= recentCalls {
			*r.slot(a.pc) = recentAnswer{a.pc, a.addr - a.frames[0].Offset, slices.Clone(a.frames)}
		}
	}
}
