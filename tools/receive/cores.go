package receive

import (
	"crypto/ecdh"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	format "github.com/zeroframe/zeroframe/tracer/dump"

	"github.com/zeroframe/zeroframe/tools/dump"
)

// The memory of machines that have died (package tools/dump): it comes in datagrams of its own, which
// are answered, and goes to files in a folder. Without a folder a machine is told that nobody takes
// it, and goes on at once.

// Limits.
const (
	// maxCores is how many dumps may come at a time.
	maxCores = 8
	// answerEvery is how many packets are answered together, at most.
	answerEvery = 16
	// coreSilence is how long nothing comes before a dump is taken for cut short. Machines give
	// up earlier (core.wait=).
	coreSilence = 2 * time.Minute
	// saveEvery is how often what is known is written beside the file.
	saveEvery = 2 * time.Second
)

// cores are the dumps that come, in the goroutine of the intake.
type cores struct {
	folder string // "": none is taken
	answer func(to netip.AddrPort, p []byte)
	say    func(string)
	key    *ecdh.PrivateKey   // nil: none
	number uint64             // of the latest sealed answer
	open   map[uint64]*coming // by their numbers
	swept  time.Time          // when the folder was last looked through
	out    [format.MaxPacket]byte
}

// coming is a dump that comes.
type coming struct {
	d       *dump.Assembly
	seal    *dump.Session // nil: it is not sealed
	machine string
	from    netip.AddrPort
	epoch   byte
	answers format.Answer
	last    uint32                // number of the last item, 0: not known
	placed  [format.Window]uint32 // of the items from answers.Next on: how many pages precede them
	owed    int                   // packets that have not been answered
	heard   time.Time
	saved   time.Time
	done    bool
	failed  string // why nothing more is taken
}

// take takes a packet of a dump, from the machine with that name.
func (c *cores) take(now time.Time, from netip.AddrPort, machine string, b []byte) {
	h, body, ok := format.Parse(b)
	if !ok {
		return
	}
	in := c.open[h.Dump]
	if in != nil && in.from.Addr() != from.Addr() {
		return
	}
	switch {
	case h.Kind == format.KindAnnounce:
		c.announced(now, from, machine, &h, body, in)
	case in == nil:
		if c.folder != "" {
			c.send(from, &format.Header{Kind: format.KindQuestion, Epoch: h.Epoch, Dump: h.Dump}, 0)
		}
	case h.Epoch == in.epoch:
		if in.seal != nil {
			var err error
			if body, err = in.seal.Open(b); err != nil {
				return
			}
		}
		in.heard, in.from = now, from
		c.item(now, in, &h, body)
	}
}

// announced begins a dump, or goes on with it.
func (c *cores) announced(now time.Time, from netip.AddrPort, machine string, h *format.Header, body []byte, in *coming) {
	a, ok := format.ParseAnnounce(body)
	if !ok {
		return
	}
	if in == nil {
		switch {
		case c.folder == "":
			c.refuse(from, h, "")
			return
		case len(c.open) == maxCores:
			c.refuse(from, h, fmt.Sprintf("%s has a dump of its memory, but %d others come at this time", machine, maxCores))
			return
		}
		s, why := c.session(&a)
		if why != "" {
			c.refuse(from, h, machine+" has a dump of its memory, "+why)
			return
		}
		path := dump.FileName(c.folder, machine, h.Dump)
		d, err := dump.Open(path, h.Dump, &a)
		if err != nil {
			c.refuse(from, h, fmt.Sprintf("%s has a dump of its memory: %v", machine, err))
			return
		}
		in = &coming{d: d, machine: machine, seal: s}
		c.open[h.Dump] = in
		how := "comes"
		if a.Kept {
			how = "comes, which it has kept over a reset"
		}
		if d.Page > 0 {
			how = fmt.Sprintf("goes on behind %d pages", d.Page)
		}
		c.say(fmt.Sprintf("%s: the memory of the machine that has died %s, %d MiB, to %s", machine, how, a.Pages>>8, path))
	}
	if in.d.Announce != a {
		return
	}
	in.heard, in.from = now, from
	if in.epoch != h.Epoch || in.answers.Next == 0 {
		in.epoch, in.last, in.owed = h.Epoch, 0, 0
		in.answers = format.Answer{Next: 1}
	}
	format.PutUint32(c.out[format.HeaderSize:], in.d.Page)
	c.reply(in, format.KindWelcome, 4)
}

// session returns what opens the packets of a dump, or why it is not taken.
func (c *cores) session(a *format.Announce) (s *dump.Session, why string) {
	switch {
	case a.Sealed && c.key == nil:
		return nil, "encrypted with a key: -key FILE opens it"
	case !a.Sealed && c.key != nil:
		return nil, "which is not encrypted: with -key no other is taken"
	case !a.Sealed:
		return nil, ""
	}
	s, err := dump.NewSession(c.key, a)
	if err != nil {
		return nil, fmt.Sprintf("whose key is none: %v", err)
	}
	return s, ""
}

func (c *cores) refuse(to netip.AddrPort, h *format.Header, why string) {
	if why != "" {
		c.say(why)
	}
	c.send(to, &format.Header{Kind: format.KindNo, Epoch: h.Epoch, Dump: h.Dump}, copy(c.out[format.HeaderSize:], why))
}

// item takes an item of a dump.
func (c *cores) item(now time.Time, in *coming, h *format.Header, body []byte) {
	a := &in.answers
	a.Latest = max(a.Latest, h.Sent)
	in.owed++
	n := h.Item - a.Next
	if n < format.Window && a.Behind[n/8]>>(n%8)&1 == 0 {
		if in.done {
			return
		}
		if err := in.d.Add(h, body); err != nil {
			c.fail(in, err)
			return
		}
		a.Behind[n/8] |= 1 << (n % 8)
		if h.Kind == format.KindEnd {
			in.last = h.Item
		}
		if p, _, ok := format.ParsePlace(body); ok && (h.Kind == format.KindData || h.Kind == format.KindZeros) {
			in.placed[h.Item%format.Window] = p.Page + 1
		}
		for a.Behind[0]&1 != 0 {
			in.next()
		}
	}
	if in.last != 0 && a.Next > in.last && !in.done {
		in.done = true
		c.finish(in, false)
	}
	if in.owed >= answerEvery {
		c.answerNow(in)
	}
	if now.Sub(in.saved) > saveEvery && !in.done {
		if !in.saved.IsZero() {
			if err := in.d.Save(); err != nil {
				c.fail(in, err)
			}
		}
		in.saved = now
	}
}

// next goes on to the next item.
func (in *coming) next() {
	a := &in.answers
	slot := &in.placed[a.Next%format.Window]
	if *slot > 0 {
		in.d.Page = max(in.d.Page, *slot-1) // that page may have more pieces
	}
	*slot = 0
	a.Next++
	for i := range a.Behind {
		a.Behind[i] >>= 1
		if i+1 < len(a.Behind) {
			a.Behind[i] |= a.Behind[i+1] << 7
		}
	}
}

// fail ends a dump that the disk does not take, or that makes no sense.
func (c *cores) fail(in *coming, err error) {
	in.d.Drop()
	if errors.Is(err, os.ErrClosed) {
		return
	}
	c.say(fmt.Sprintf("%s: the memory of the machine is lost: %v", in.machine, err))
	c.reply(in, format.KindNo, 0)
	in.done, in.failed = true, err.Error()
}

// finish ends the file.
func (c *cores) finish(in *coming, again bool) {
	if in.failed != "" {
		return
	}
	if err := in.d.Finish(again); err != nil {
		c.say(fmt.Sprintf("%s: %v", in.machine, err))
		return
	}
	c.say(fmt.Sprintf("%s: the memory of the machine is in %s: %s", in.machine, in.d.Path(), in.d.Summary()))
}

func (c *cores) answerNow(in *coming) {
	in.owed = 0
	n := format.PutAnswer(c.out[format.HeaderSize:], &in.answers)
	c.reply(in, format.KindAnswer, n)
}

// reply sends a packet that the machine believes.
func (c *cores) reply(in *coming, kind byte, n int) {
	h := format.Header{Kind: kind, Epoch: in.epoch, Dump: in.d.ID}
	if in.seal == nil {
		c.send(in.from, &h, n)
	} else if c.answer != nil {
		if c.number == 0 {
			c.number = uint64(time.Now().UnixNano()) // higher than any before it
		}
		c.number++
		c.answer(in.from, c.out[:in.seal.Finish(c.out[:], h, n, c.number)])
	}
}

func (c *cores) send(to netip.AddrPort, h *format.Header, n int) {
	if c.answer != nil {
		c.answer(to, c.out[:format.Finish(c.out[:], h, n)])
	}
}

// flush answers all that has not been answered: nothing more has come.
func (c *cores) flush() {
	for _, in := range c.open {
		if in.owed > 0 {
			c.answerNow(in)
		}
	}
}

// tick ends dumps of which nothing comes any more.
func (c *cores) tick(now time.Time) {
	for id, in := range c.open {
		if now.Sub(in.heard) > coreSilence {
			if !in.done {
				c.finish(in, false)
			}
			delete(c.open, id)
		}
	}
	if c.folder != "" && now.Sub(c.swept) > coreSilence {
		c.swept = now
		dump.Abandoned(c.folder, now.Add(-coreSilence), func(d *dump.Assembly, err error) {
			if err != nil {
				c.say(fmt.Sprintf("what another receiver has left of a dump in %s: %v", d.Path(), err))
				return
			}
			c.say(fmt.Sprintf("what another receiver has left of a dump is in %s: %s", d.Path(), d.Summary()))
		})
	}
}

// close ends all; they may go on.
func (c *cores) close() {
	for id, in := range c.open {
		if !in.done {
			c.finish(in, true)
		}
		delete(c.open, id)
	}
}
