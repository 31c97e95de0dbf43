package handle

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// Kind is the kind of the record that a snapshot is.
const Kind = "resource"

const magic = "zfres1\n"

// Snapshot is what the log knew at a time.
type Snapshot struct {
	Reason  string        // why it was sent: "exit", "death", "program", "monitor", ...
	BuildID string        // of the image, in hexadecimal
	Now     time.Duration // when, since boot
	Boot    time.Time     // by the target's clock

	Events    uint64 // since boot, of which Log has the latest
	RingRoom  uint64 // how many the ring can hold
	Entries   uint64 // in the table of what is open, those of closed things included
	TableRoom uint64
	Overflow  uint64 // things that were opened when the table was full: they are missing
	Forgotten uint64 // closed things that gave up their place: a second close of them is stray

	Kinds   []Stats
	Open    []Handle
	Doubles []Double
	Log     []Event // the oldest first

	Stacks *eventstream.Depot
	names  map[lookup.Question][]Call
}

// Stats are the sums of one kind, as in JSON.
type Stats struct {
	ID        uint64 `json:"-"`
	Name      string `json:"name"` // "fd"
	Open      uint64 `json:"open"` // now
	Most      uint64 `json:"most"` // at a time
	Opens     uint64 `json:"opened"`
	Closes    uint64 `json:"closed"`
	Doubles   uint64 `json:"doubles"`
	Strays    uint64 `json:"strays"`
	Bytes     uint64 `json:"bytes,omitempty"` // sum of sizes, whatever they mean
	MostBytes uint64 `json:"most_bytes,omitempty"`
}

// Place says when and from where something was done.
type Place struct {
	Time   time.Duration `json:"time_ns"`          // since boot
	Thread uint64        `json:"thread,omitempty"` // 0 if there was none
	Stack  uint32        `json:"stack"`            // in Stacks; 0 if not known
}

// Handle is something that is open.
type Handle struct {
	Kind, Key, Size uint64
	Owner           uint64 // the thread that waits, for a kind where several may
	Place
}

// Double is a close of what was closed.
type Double struct {
	Kind, Key, Size uint64 `json:"-"`

	Opened Place `json:"opened"`
	First  Place `json:"first"`
	Second Place `json:"second"`
}

// Event is an entry of the log.
type Event struct {
	What            Action
	Kind, Key, Size uint64
	Place
}

// Action is what an event says.
type Action uint64

// The actions: numbers of kernel/observe/handle.
const (
	Opened Action = iota + 1
	Closed
	Noted
	ClosedTwice
	ClosedUnknown
)

// String returns the action in words.
func (a Action) String() string {
	if uint64(a) < uint64(len(actionNames)) && actionNames[a] != "" {
		return actionNames[a]
	}
	return fmt.Sprintf("event %d", uint64(a))
}

var actionNames = [...]string{
	Opened: "open", Closed: "close", Noted: "note", ClosedTwice: "second close",
	ClosedUnknown: "close of unknown",
}

// The kernel's kinds, as it numbers them.
const (
	kindPages = iota + 1
	kindMaps
	kindFDs
	kindThreads
	kindTimers
	kindFutexes
)

// HasBytes reports whether the sizes of a kind are bytes.
func HasBytes(kind uint64) bool {
	return kind != kindFDs && kind != kindThreads && kind != kindTimers && kind != kindFutexes
}

// ErrNoSnapshot is wrapped by Read's error for what is no snapshot at all.
var ErrNoSnapshot = errors.New("this is no snapshot of resources")

// Read reads a snapshot: the data of a record of that kind, or a file that
// [Snapshot.WithNames] made of it. It may be any bytes.
func Read(data []byte) (*Snapshot, error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return nil, ErrNoSnapshot
	}
	r := &reader{Numbers: eventstream.Numbers{Data: data[len(magic):]}}
	s := &Snapshot{}
	s.Reason = r.text()
	s.BuildID = hex.EncodeToString(r.Bytes())
	s.Now = r.ns()
	s.Boot = time.Unix(0, int64(r.Number()))
	for _, p := range []*uint64{&s.Events, &s.RingRoom, &s.Entries, &s.TableRoom, &s.Overflow,
		&s.Forgotten} {
		*p = r.Number()
	}
	for range r.Count(10) {
		k := Stats{ID: r.Number(), Name: r.text()}
		for _, p := range []*uint64{&k.Opens, &k.Closes, &k.Doubles, &k.Strays, &k.Open, &k.Most,
			&k.Bytes, &k.MostBytes} {
			*p = r.Number()
		}
		s.Kinds = append(s.Kinds, k)
	}
	r.last = 0
	for range r.Count(7) {
		s.Open = append(s.Open, Handle{Kind: r.Number(), Key: r.Number(), Size: r.Number(),
			Owner: r.Number(), Place: r.place()})
	}
	r.last = 0
	for range r.Count(12) {
		s.Doubles = append(s.Doubles, Double{r.Number(), r.Number(), r.Number(), r.place(), r.place(),
			r.place()})
	}
	r.last = 0
	for range r.Count(7) {
		s.Log = append(s.Log, Event{What: Action(r.Number()), Kind: r.Number(), Key: r.Number(),
			Size: r.Number(), Place: r.place()})
	}
	image := r.Bytes()
	if r.Bad {
		return nil, errors.New(
			"the snapshot is damaged: it ends in the middle, or its numbers do not fit each other")
	}
	var err error
	if s.Stacks, err = eventstream.Read(image); err != nil {
		return nil, fmt.Errorf("the snapshot's stacks: %w", err)
	}
	if len(r.Data) > 0 {
		return s, s.readNames(r.Data)
	}
	return s, nil
}

// Kind returns the sums of a kind.
func (s *Snapshot) Kind(id uint64) Stats {
	for _, k := range s.Kinds {
		if k.ID == id {
			return k
		}
	}
	return Stats{ID: id, Name: fmt.Sprintf("kind%d", id)}
}

// reader reads a snapshot's fields.
type reader struct {
	eventstream.Numbers
	last time.Duration // the time before
}

// text reads a string, as it can be shown.
func (r *reader) text() string { return printable(string(r.Bytes())) }

func (r *reader) ns() time.Duration { return time.Duration(r.Number()) }

func (r *reader) place() Place {
	v := r.Number()
	r.last += time.Duration(v>>1) ^ -time.Duration(v&1)
	stack := uint32(r.Number())
	return Place{r.last, r.Number(), stack}
}

// printable replaces what is no plain character: names come from the target.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, s)
}
