package receive

import (
	"crypto/ecdh"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	format "github.com/zeroframe/zeroframe/tracer/dump"
)

// The memory of machines that have died (dump.go): it comes in datagrams of its own,
// which are answered, and goes to files in a folder. Without a folder a machine is told that nobody
// takes it, and goes on at once.

// Limits.
const (
	// maxCores is how many dumps may come at a time, maxOfSource how many of them from one source.
	maxCores, maxOfSource = 64, 8
	// answerEvery is how many packets are answered together, at most.
	answerEvery = 16
	// coreSilence is how long nothing comes before a dump is taken for cut short. Machines give
	// up earlier (core.wait=). emptyWait is that of one that was only announced, doneWait that of one
	// that has ended and whose last answers may have been lost.
	coreSilence, emptyWait, doneWait = 2 * time.Minute, 10 * time.Second, 15 * time.Second
	// staleAfter is how long nothing has come of a dump when another announcement of it is believed.
	staleAfter = 10 * time.Second
	// saveEvery is how often what is known is written beside the file.
	saveEvery = 2 * time.Second
	// refusedEvery is how often people are told of what is refused.
	refusedEvery = time.Minute
)

// cores are the dumps that come, in the goroutine of the intake.
type cores struct {
	folder  string // "": none is taken
	quota   int64  // bytes that the folder may take
	used    int64  // that it takes, as far as is known
	answer  func(to netip.AddrPort, p []byte)
	say     func(string)
	key     *ecdh.PrivateKey // nil: none
	number  uint64           // of the latest sealed answer
	open    map[coreKey]*coming
	swept   time.Time // when the folder was last looked through
	told    time.Time // when people were last told of a refusal
	refused int       // since then
	out     [format.MaxPacket]byte
}

// A coreKey says which dump a packet is of: nobody at another address can take one over.
type coreKey struct {
	dump uint64
	addr netip.Addr
}

// coming is a dump that is announced. An announcement proves nothing: it has a file from the first
// item on, which with a key only the machine can have made.
type coming struct {
	d        *Assembly // nil: nothing has come yet
	announce format.Announce
	id       uint64
	seal     *Session // nil: it is not sealed
	machine  string
	from     netip.AddrPort
	epoch    byte
	claimed  byte   // the epoch that was announced last; an item of it begins it
	page     uint32 // of how many pages, in the order of sending, nothing is missing in what was left
	answers  format.Answer
	last     uint32                // number of the last item, 0: not known
	placed   [format.Window]uint32 // of the items from answers.Next on: how many pages precede them
	owed     int                   // packets that have not been answered
	heard    time.Time
	saved    time.Time
	done     bool // nothing more is taken
}

// take takes a packet of a dump, from the machine with that name.
func (c *cores) take(now time.Time, from netip.AddrPort, machine string, b []byte) {
	h, body, ok := format.Parse(b)
	if !ok {
		return
	}
	in := c.open[coreKey{h.Dump, from.Addr()}]
	switch {
	case h.Kind == format.KindAnnounce:
		c.announced(now, from, machine, &h, body, in)
	case in == nil:
		if c.folder != "" {
			c.send(from, &format.Header{Kind: format.KindQuestion, Epoch: h.Epoch, Dump: h.Dump}, 0)
		}
	case h.Epoch == in.epoch || h.Epoch == in.claimed:
		if in.seal != nil {
			var err error
			if body, err = in.seal.Open(b); err != nil {
				return
			}
		}
		if in.d == nil && !c.begin(now, in) {
			return
		}
		if h.Epoch != in.epoch {
			in.epoch, in.last, in.owed = h.Epoch, 0, 0
			in.answers = format.Answer{Next: 1}
		}
		in.heard, in.from = now, from
		c.item(now, in, &h, body)
	}
}

// announced notes that a dump is to come, or goes on.
func (c *cores) announced(now time.Time, from netip.AddrPort, machine string, h *format.Header,
	body []byte, in *coming) {
	a, ok := format.ParseAnnounce(body)
	if !ok {
		return
	}
	id := coreKey{h.Dump, from.Addr()}
	if in != nil {
		same, live := in.announce == a, in.d != nil && now.Sub(in.heard) < staleAfter
		switch {
		case live && !same:
			return
		case !live && (in.d != nil || !same): // another try (core=ram)
			c.end(id, in, true)
			in = nil
		}
	}
	if in == nil {
		if in = c.admit(now, from, machine, h, &a); in == nil {
			return
		}
		c.open[id] = in
	}
	if in.d == nil {
		in.epoch, in.from = h.Epoch, from
	}
	if int8(h.Epoch-in.epoch) >= 0 { // not one that somebody has kept
		in.claimed = h.Epoch
		page := in.page
		if in.d != nil {
			page = in.d.Page
		}
		format.PutUint32(c.out[format.HeaderSize:], page)
		c.reply(in, format.KindWelcome, h.Epoch, 4)
	}
}

// admit finds a place for a dump, or refuses it and returns nil.
func (c *cores) admit(now time.Time, from netip.AddrPort, machine string, h *format.Header,
	a *format.Announce) *coming {
	why := ""
	switch err := CheckAnnounce(a); {
	case c.folder == "":
	case err != nil:
		why = err.Error()
	case c.used >= c.quota:
		why = fmt.Sprintf("%s has %d MiB, which is all that -cores-size allows", c.folder, c.used>>20)
	case !c.room(from.Addr()):
		why = "too many others come at this time"
	default:
		var s *Session
		if s, why = c.session(a); why == "" {
			return &coming{
				announce: *a, id: h.Dump, seal: s, machine: machine, heard: now, from: from,
				answers: format.Answer{Next: 1},
				page:    Left(FileName(c.folder, machine, h.Dump), h.Dump, a),
			}
		}
	}
	if why != "" {
		why = fmt.Sprintf("%s has a dump of its memory, which is not taken: %s", machine, why)
		c.refuse(now, why)
	}
	c.send(from, &format.Header{Kind: format.KindNo, Epoch: h.Epoch, Dump: h.Dump},
		copy(c.out[format.HeaderSize:], why))
	return nil
}

// refuse tells people what is refused, but not more often than they can read.
func (c *cores) refuse(now time.Time, why string) {
	if c.refused++; now.Sub(c.told) < refusedEvery {
		return
	}
	if c.refused > 1 {
		why += fmt.Sprintf(" (and %d others before)", c.refused-1)
	}
	c.told, c.refused = now, 0
	c.say(why)
}

// source is what shares maxOfSource: an address, or a network of IPv6, of which one host has many.
func source(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() && !a.Is4In6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits)
	return p
}

// room makes room for one more from that address. Who has only announced a dump gives way.
func (c *cores) room(from netip.Addr) bool {
	ofSource := 0
	for id := range c.open {
		if source(id.addr) == source(from) {
			ofSource++
		}
	}
	crowded := ofSource >= maxOfSource
	if !crowded && len(c.open) < maxCores {
		return true
	}
	var idle coreKey
	for id, in := range c.open {
		if in.d == nil && (!crowded || source(id.addr) == source(from)) &&
			(c.open[idle] == nil || in.heard.Before(c.open[idle].heard)) {
			idle = id
		}
	}
	_, found := c.open[idle]
	delete(c.open, idle)
	return found
}

// begin begins the file of a dump, now that the first item has come, and reports whether there is
// one.
func (c *cores) begin(now time.Time, in *coming) bool {
	path := FileName(c.folder, in.machine, in.id)
	d, err := Open(path, in.id, &in.announce)
	if err != nil {
		c.refuse(now, fmt.Sprintf("%s has a dump of its memory, which is not taken: %s: %v",
			in.machine, path, err))
		c.reply(in, format.KindNo, in.claimed, 0)
		delete(c.open, coreKey{in.id, in.from.Addr()})
		return false
	}
	in.d = d
	how := "comes"
	if in.announce.Kept {
		how = "comes, which it has kept over a reset"
	}
	if d.Page > 0 {
		how = fmt.Sprintf("goes on after %d pages", d.Page)
	}
	c.say(fmt.Sprintf("%s: the memory of the machine that has died %s, %d MiB, to %s", in.machine, how,
		in.announce.Pages>>8, d.Path()))
	return true
}

// session returns what opens the packets of a dump, or why it is not taken.
func (c *cores) session(a *format.Announce) (s *Session, why string) {
	switch {
	case a.Sealed && c.key == nil:
		return nil, "encrypted with a key: -key FILE opens it"
	case !a.Sealed && c.key != nil:
		return nil, "which is not encrypted: with -key no other is taken"
	case !a.Sealed:
		return nil, ""
	}
	s, err := NewSession(c.key, a)
	if err != nil {
		return nil, fmt.Sprintf("whose key is none: %v", err)
	}
	return s, ""
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
		switch err := in.d.Add(h, body); {
		case errors.Is(err, ErrNonsense):
			return // perhaps not of this machine; it is not acknowledged
		case err != nil:
			c.fail(in, err)
			return
		}
		if h.Kind == format.KindData {
			if c.used += int64(len(body)); c.used > c.quota {
				c.say(fmt.Sprintf("%s: no more is taken of its memory: %s is full (-cores-size)",
					in.machine, c.folder))
				c.finish(in, false)
				c.reply(in, format.KindNo, in.epoch, 0)
				return
			}
		}
		a.Behind[n/8] |= 1 << (n % 8)
		if h.Kind == format.KindEnd {
			in.last = h.Item
		}
		if p, _, ok := format.ParsePlace(body); ok &&
			(h.Kind == format.KindData || h.Kind == format.KindZeros) {
			in.placed[h.Item%format.Window] = p.Page + 1
		}
		for a.Behind[0]&1 != 0 {
			in.next()
		}
	}
	if in.last != 0 && a.Next > in.last && !in.done {
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

// fail ends a dump that the disk does not take.
func (c *cores) fail(in *coming, err error) {
	in.done = true
	in.d.Drop()
	c.say(fmt.Sprintf("%s: the memory of the machine is lost: %v", in.machine, err))
	c.reply(in, format.KindNo, in.epoch, 0)
}

// finish ends the file.
func (c *cores) finish(in *coming, again bool) {
	in.done = true
	if in.d.Empty() {
		in.d.Drop()
		return
	}
	if err := in.d.Finish(again); err != nil {
		c.say(fmt.Sprintf("%s: %v", in.machine, err))
		return
	}
	c.say(fmt.Sprintf("%s: the memory of the machine is in %s: %s", in.machine, in.d.Path(),
		in.d.Summary()))
}

func (c *cores) answerNow(in *coming) {
	in.owed = 0
	n := format.PutAnswer(c.out[format.HeaderSize:], &in.answers)
	c.reply(in, format.KindAnswer, in.epoch, n)
}

// reply sends a packet that the machine believes.
func (c *cores) reply(in *coming, kind, epoch byte, n int) {
	h := format.Header{Kind: kind, Epoch: epoch, Dump: in.id}
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
		wait := coreSilence
		switch {
		case in.d == nil:
			wait = emptyWait
		case in.done:
			wait = doneWait
		}
		if now.Sub(in.heard) > wait {
			c.end(id, in, false)
		}
	}
	if c.folder != "" && now.Sub(c.swept) > coreSilence {
		c.swept = now
		c.measure()
		Abandoned(c.folder, now.Add(-coreSilence), func(d *Assembly, err error) {
			if err != nil {
				c.say(fmt.Sprintf("what another receiver has left of a dump in %s: %v", d.Path(), err))
				return
			}
			c.say(fmt.Sprintf("what another receiver has left of a dump is in %s: %s", d.Path(),
				d.Summary()))
		})
	}
}

// close ends all; they may go on.
func (c *cores) close() {
	for id, in := range c.open {
		c.end(id, in, true)
	}
}

// end ends one; with again, it may go on.
func (c *cores) end(id coreKey, in *coming, again bool) {
	if in.d != nil && !in.done {
		c.finish(in, again)
	}
	delete(c.open, id)
}

// measure looks how much the folder takes.
func (c *cores) measure() {
	c.used = 0
	files, _ := os.ReadDir(c.folder)
	for _, f := range files {
		if fi, err := f.Info(); err == nil {
			c.used += allocated(fi)
		}
	}
}
