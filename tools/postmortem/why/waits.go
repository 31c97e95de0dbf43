package why

import (
	"context"
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
)

// Who has made what a goroutine waits for what it is: the words of a lock, a channel or a deadline
// have their writers in the recording.

// Waited are the things that can be asked about.
type Waited string

// The things, by what lies at the address.
const (
	Mutex     Waited = "sync.Mutex"
	RWMutex   Waited = "sync.RWMutex"
	Once      Waited = "sync.Once"
	WaitGroup Waited = "sync.WaitGroup"
	Cond      Waited = "sync.Cond"
	Channel   Waited = "runtime.hchan"
	Deadline  Waited = "a deadline" // the word that has it
)

// An Act is what somebody has done to such a thing.
type Act struct {
	What string `json:"what"` // taken by, closed by, ...
	Written
	// Of several alike the latest is told; Times is how many there were.
	Times int `json:"times"`
}

// String says it in a line.
func (a *Act) String() string {
	t := a.What + " " + where(&a.Hop)
	if a.Times > 1 {
		t += fmt.Sprintf(", %d times", a.Times)
	}
	return fmt.Sprintf("%s, at instruction %d", t, a.Count)
}

// Acts returns what was done to the thing at an address in the first end instructions, as far as
// that says why somebody waits for it; the latest first. None: it cannot be told. Errors are the
// replay's.
func (w *Why) Acts(ctx context.Context, what Waited, addr, end uint64) (acts []Act, err error) {
	w.ctx = ctx
	field := func(name string) uint64 { return addr + uint64(w.fields[name]) }
	written := func(at, size uint64) (all []Written) {
		if err == nil {
			all, err = w.Writers(ctx, at, size, end, true)
		}
		if err == nil && len(all) == mostWriters {
			err = fmt.Errorf(
				"the word at %#x was written %d times and more: who has made it so cannot be told",
				at, mostWriters)
		}
		if err == nil && w.Begins > 0 {
			var v uint64
			if v, err = w.beginsWith(at, size); err == nil {
				all = append(all, Written{Hop: Hop{Count: w.Begins, How: howBefore, Value: v}})
			}
		}
		return all
	}
	if what != Deadline {
		if _, ok := w.fields[words[what]]; !ok {
			return nil, fmt.Errorf("the image's DWARF does not tell of %s", words[what])
		}
	}
	switch what {
	case Mutex:
		acts = taken(written(field("sync.Mutex.state"), 4))
	case Once:
		acts = taken(written(field("sync.Once.m")+uint64(w.fields["sync.Mutex.state"]), 4))
	case RWMutex:
		acts = takenReading(written(field("sync.RWMutex.readerCount"), 4))
	case WaitGroup:
		acts = counted(written(field("sync.WaitGroup.state"), 8))
	case Cond:
		acts = latest("signalled by",
			written(field("sync.Cond.notify")+uint64(w.fields["runtime.notifyList.notify"]), 4),
			func(v, before uint64) bool { return uint32(v) == uint32(before)+1 })
	case Channel:
		acts = latest("closed by", written(field("runtime.hchan.closed"), 4),
			func(v, _ uint64) bool { return v != 0 })
		up := func(v, before uint64) bool { return v == before+1 }
		down := func(v, before uint64) bool { return v+1 == before }
		count := written(field("runtime.hchan.qcount"), 8)
		acts = append(acts, latest("sent to last by", count, up)...)
		acts = append(acts, latest("received from last by", count, down)...)
		acts = append(acts, latest("made by", written(field("runtime.hchan.dataqsiz"), 8), nil)...)
	case Deadline:
		acts = latest("the deadline was set by", written(addr, 8),
			func(v, _ uint64) bool { return int64(v) > 0 })
	}
	if err != nil {
		return nil, err // the writes until then do not say who was the last
	}
	return acts, nil
}

// howBefore is how a word was written before the recording begins: nobody knows by whom.
const howBefore = "before"

// beginsWith returns what the size bytes at an address are where the recording begins.
func (w *Why) beginsWith(addr, size uint64) (v uint64, err error) {
	m, err := w.start()
	if err != nil {
		return 0, err
	}
	defer m.End()
	v, _ = m.word(addr)
	return v & mask(size), nil
}

// words are fields that have to be known.
var words = map[Waited]string{
	Mutex: "sync.Mutex.state", Once: "sync.Once.m", RWMutex: "sync.RWMutex.readerCount",
	WaitGroup: "sync.WaitGroup.state",
	Cond:      "runtime.notifyList.notify", Channel: "runtime.hchan.closed",
}

// latest makes an act of the latest write by the program's own code that is of a kind; of every
// write if that is nil. What another object that was there before has left does not count: a write
// of the runtime that has cleared it ends the search.
func latest(what string, all []Written, of func(v, before uint64) bool) []Act {
	for i := range all {
		v := &all[i]
		if v.cleared() {
			return nil
		}
		if v.Own && (of == nil || of(v.Value, valueBefore(all, i))) {
			return []Act{{What: what, Written: *v, Times: 1}}
		}
	}
	return nil
}

// cleared reports whether the word was cleared as memory, to be allocated or given back.
func (v *Written) cleared() bool {
	return v.Value == 0 && len(v.Stack) > 0 && strings.HasPrefix(v.Stack[0], "runtime.memclr")
}

const (
	locked     = 1       // the bit of sync.Mutex's state, internal/sync/mutex.go
	maxReaders = 1 << 30 // sync/rwmutex.go
)

// taken finds who has set the bit of a mutex that has not been cleared since.
func taken(all []Written) []Act {
	for i := range all {
		v := &all[i]
		if v.Value&locked == 0 {
			break // it is free
		}
		if v.How == howBefore {
			return nil
		}
		if i+1 == len(all) || all[i+1].Value&locked == 0 {
			return []Act{{What: "taken by", Written: *v, Times: 1}}
		}
	}
	return latest("given back by", all, func(v, before uint64) bool {
		return v&locked == 0 &&
			before&locked != 0
	})
}

// valueBefore is the value that a write has replaced.
func valueBefore(all []Written, i int) uint64 {
	if i+1 < len(all) {
		return all[i+1].Value
	}
	return 0
}

// writerOf finds who has taken a RWMutex for writing. The latest writes, so many as waiting says,
// are of those who wait behind it.
func writerOf(all []Written) (acts []Act, waiting int) {
	for i := range all {
		if int32(valueBefore(all, i)) >= 0 && all[i].How != howBefore {
			return []Act{{What: "taken for writing by", Written: all[i], Times: 1}}, i
		}
	}
	return nil, 0
}

// takenReading finds who has a RWMutex: who has taken it for writing, or waits for those who read,
// and these.
func takenReading(all []Written) (acts []Act) {
	if len(all) == 0 {
		return nil
	}
	readers, waiting := int32(all[0].Value), 0
	if readers < 0 {
		readers += maxReaders
		acts, waiting = writerOf(all)
		for i := range waiting { // a step up is of one who waits
			if int32(all[i].Value) > int32(all[i+1].Value) {
				readers--
			}
		}
	}
	if first := &all[len(all)-1]; first.How == howBefore {
		if first.Value != 0 {
			return acts // some readers have it since then, perhaps
		}
		all = all[:len(all)-1]
	}
	// A reader gives back what it has taken: what is left of a goroutine's steps up and down is what
	// it has.
	has := map[int64]int{}
	last := map[int64]*Written{}
	for i := range all {
		v := &all[i]
		switch int32(v.Value) - int32(valueBefore(all, i)) {
		case 1:
			if i < waiting {
				break
			}
			if has[v.Goroutine]++; has[v.Goroutine] > 0 && last[v.Goroutine] == nil {
				last[v.Goroutine] = v
			}
		case -1:
			has[v.Goroutine]--
		}
		if v.cleared() {
			break
		}
	}
	sum := int32(0)
	for _, n := range has {
		sum += int32(n)
		if n < 0 {
			return acts // one has given back what another one had
		}
	}
	if sum != readers {
		return acts
	}
	for i := range all { // in their order
		if v := last[all[i].Goroutine]; v == &all[i] {
			acts = append(acts, Act{What: "taken for reading by", Written: *v, Times: has[v.Goroutine]})
		}
	}
	return acts
}

// counted says who has added to a WaitGroup and who has taken from it, each place once.
func counted(all []Written) (acts []Act) {
	type place struct {
		what, function string
		line           int
	}
	at := map[place]int{}
	for i := range all {
		v := &all[i]
		if !strings.HasPrefix(v.By, "sync.(*WaitGroup).") {
			if v.cleared() || v.By == "" && v.Value == 0 {
				break // here it began
			}
			continue
		}
		n := int(int32(v.Value>>32) - int32(valueBefore(all, i)>>32))
		what := "added to by"
		if n < 0 {
			what, n = "done by", -n
		}
		if n == 0 || !v.Own {
			continue
		}
		p := place{what, v.Function, v.Line}
		if k, ok := at[p]; ok {
			acts[k].Times += n
			continue
		}
		at[p] = len(acts)
		acts = append(acts, Act{What: what, Written: *v, Times: n})
	}
	return acts
}

// End replays until end instructions have been run, and hands the machine to with, which may look
// at it.
func (w *Why) End(ctx context.Context, end uint64, with func(*qemu.VM) error) error {
	w.ctx = ctx
	w.say("the machine at its end")
	m, err := w.start()
	if err != nil {
		return err
	}
	defer m.End()
	if err := m.To(end); err != nil {
		return err
	}
	return with(m.VM)
}
