package eventstream

// Putting records together again from their pieces, whatever wire they came by.

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"time"
)

// A Record is one that came whole.
type Record struct {
	// Kind says what it is, "profile.cpu" say.
	Kind string
	// ID numbers the records since the target's boot, from 1.
	ID uint32
	// Data are its bytes. They belong to who gets them.
	Data []byte
}

// A Damage is a record that did not come whole.
type Damage struct {
	Kind   string // "" if not even that is known
	ID     uint32
	Reason string // in words
}

// Error says which record it is and what became of it. Context: host.
func (d Damage) Error() string {
	name := fmt.Sprintf("record %d", d.ID)
	if d.Kind != "" {
		name += " (" + d.Kind + ")"
	}
	return name + " " + d.Reason
}

// Options say what is done with records.
type Options struct {
	// OnRecord is called for each record that came whole; nil: not.
	OnRecord func(Record)
	// OnDamage is called for each record that did not; nil: not.
	OnDamage func(Damage)
	// MaxBytes bounds the memory of unfinished records; 0: [DefaultMaxBytes]. The
	// oldest is given up first.
	MaxBytes int
	// Idle is the time after which a Text lets go of text that might have become a
	// piece, when nothing more comes; 0: never.
	Idle time.Duration
}

const (
	// DefaultMaxBytes is the memory that unfinished records may take: far more than a
	// target sends.
	DefaultMaxBytes = 256 << 20
	// maxOpen bounds the number of unfinished records; a target has one or two.
	maxOpen = 64
)

// A piece is what one line or frame says.
type piece struct {
	kind   string
	id, no uint32
	data   []byte
	last   bool
	length uint64 // of the record, in the last piece
	sum    uint32 // likewise
}

// unfinished is a record of which the last piece has not come.
type unfinished struct {
	kind string
	id   uint32
	next uint32 // the number of the piece to come
	lost uint32 // pieces
	data []byte
}

// assembler puts records together.
type assembler struct {
	opt    Options
	open   []*unfinished // the oldest first
	bytes  int           // in open
	newest uint32        // the highest ID since the boot
}

func (a *assembler) piece(p *piece) {
	i := a.find(p)
	if i < 0 {
		a.gap(p)
		a.open = append(a.open, &unfinished{kind: p.kind, id: p.id})
		i = len(a.open) - 1
	}
	u := a.open[i]
	if p.no < u.next {
		return // once more
	}
	u.lost += p.no - u.next
	u.next = p.no + 1
	if u.lost == 0 {
		u.data = append(u.data, p.data...)
		a.bytes += len(p.data)
	} else {
		a.bytes -= len(u.data)
		u.data = nil
	}
	if p.last {
		a.remove(i)
		a.finish(u, p)
		return
	}
	a.bound()
}

// find returns the index of the unfinished record that a piece belongs to, or -1.
func (a *assembler) find(p *piece) int {
	for i, u := range a.open {
		if u.id != p.id {
			continue
		}
		if u.kind == p.kind && (p.no > 0 || u.next <= 1) {
			return i
		}
		// Another boot numbers its records anew.
		a.remove(i)
		a.damage(u.kind, u.id, cut(u))
		return -1
	}
	return -1
}

// gap reports records of which not one piece came.
func (a *assembler) gap(p *piece) {
	switch {
	case p.id <= a.newest && p.no > 0:
		return // the rest of a damaged one
	case p.id > a.newest+1 && a.newest > 0:
		for id := a.newest + 1; id < p.id; id++ {
			if p.id-id > maxOpen {
				a.damage("", id, fmt.Sprintf("and the %d after it were lost", p.id-id-1))
				break
			}
			a.damage("", id, "was lost")
		}
	}
	a.newest = p.id
}

func (a *assembler) finish(u *unfinished, p *piece) {
	switch {
	case u.lost > 0:
		a.damage(u.kind, u.id, fmt.Sprintf("is damaged: %d of its %d pieces %s lost", u.lost, u.next,
			was(u.lost)))
	case uint64(len(u.data)) != p.length || crc32.ChecksumIEEE(u.data) != p.sum:
		a.damage(u.kind, u.id, "is damaged: its pieces do not belong together")
	case a.opt.OnRecord != nil:
		a.opt.OnRecord(Record{Kind: u.kind, ID: u.id, Data: u.data})
	}
}

func (a *assembler) remove(i int) {
	a.bytes -= len(a.open[i].data)
	a.open = slices.Delete(a.open, i, i+1)
}

// bound gives up the oldest records when there are too many.
func (a *assembler) bound() {
	limit := cmp.Or(a.opt.MaxBytes, DefaultMaxBytes)
	for len(a.open) > 0 && (a.bytes > limit || len(a.open) > maxOpen) {
		u := a.open[0]
		a.remove(0)
		a.damage(u.kind, u.id, "was given up: it and others take too much memory")
	}
}

// close ends the stream.
func (a *assembler) close() {
	for _, u := range a.open {
		a.damage(u.kind, u.id, cut(u))
	}
	a.open, a.bytes = nil, 0
}

func (a *assembler) damage(kind string, id uint32, reason string) {
	if a.opt.OnDamage != nil {
		a.opt.OnDamage(Damage{Kind: kind, ID: id, Reason: reason})
	}
}

func cut(u *unfinished) string {
	return fmt.Sprintf("was cut after %d bytes", len(u.data))
}

func was(n uint32) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
