package memdump

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
	"github.com/zeroframe/zeroframe/tracer/dump"
)

// Sending by network. There are no interrupts here: the card is polled between packets. Each wait
// is bounded by the clock and, in case the clock stands still, by the number of turns.

const (
	announceEvery = 200e6      // ns
	maxTurns      = 50_000_000 // of the loop while the clock stands still
	receiveAtOnce = 8          // frames that are received between two packets
)

// A netLink is the state of the sending.
type netLink struct {
	flight   dump.Flight
	epoch    byte
	welcome  bool
	refused  bool
	done     bool
	broken   bool // the card accepts no frames
	heard    uint64
	nextSend uint64 // by the rate
	answer   dump.Answer
}

// sendByNet sends everything, reports the result, and returns whether the receiver has all of it.
func sendByNet() (all bool) {
	if !netconsole.BeginDump(&space().net) {
		return false
	}
	began := clock.Now()
	l := &space().link
	l.heard = began
	l.epoch, l.welcome, l.refused, l.done, l.broken, l.nextSend = 1, false, false, false, false, 0
	console.FreshLine()
	console.String("core: sending the memory by network\n")
	announced, last, turns := uint64(0), began, 0
	for !l.done {
		now := clock.Now()
		if turns++; now != last {
			last, turns = now, 0
		}
		l.takeAnswers(now)
		switch {
		case l.broken:
			result(began, ": the network card takes no frames any more")
			return false
		case l.refused:
			console.String("core: the receiver takes none (any more); zf receive -cores FOLDER does\n")
			return false
		case now-l.heard > patient || turns > maxTurns:
			if !l.welcome {
				console.String("core: nobody has answered; zf receive -cores FOLDER would\n")
			} else {
				result(began, ": no more answers")
			}
			return false
		case now-began > limit && items.why == dump.EndWhole:
			cutItems(dump.EndTime)
		case now-began > limit+patient:
			result(began, ": its time is over")
			return false
		}
		if !l.welcome {
			if announced == 0 || now-announced > announceEvery {
				announced = now
				l.announce()
			}
			arch.Pause()
			continue
		}
		l.turn(now)
	}
	switch {
	case items.why == dump.EndTime:
		result(began, ": its time is over (core.time=)")
	case items.unreadable > 0:
		result(began, ", all that can be read")
	default:
		result(began, "")
	}
	return true
}

// turn sends a packet, if the rate and the window allow one.
func (l *netLink) turn(now uint64) {
	if now < l.nextSend {
		arch.Pause()
		return
	}
	if item, ok := l.flight.Lost(now); ok {
		l.send(item, now)
		return
	}
	if items.ended && l.flight.Empty() {
		l.done = true
		return
	}
	if !l.flight.Room() || items.ended {
		arch.Pause()
		return
	}
	item, s := l.flight.Add()
	nextItem(s)
	l.send(item, now)
}

// announce sends the announcement.
func (l *netLink) announce() {
	p := netconsole.DumpPayload()
	n := putAnnounce(p[dump.HeaderSize:])
	l.flight.Sent++
	n = dump.Finish(p,
		&dump.Header{Kind: dump.KindAnnounce, Epoch: l.epoch, Dump: number, Sent: l.flight.Sent}, n)
	l.broken = !netconsole.SendDump(n)
}

// send sends an item, for the first time or again.
func (l *netLink) send(item uint32, now uint64) {
	s := l.flight.Slot(item)
	p := netconsole.DumpPayload()
	n := putItem(p[dump.HeaderSize:], s)
	h := dump.Header{Kind: s.Kind, Epoch: l.epoch, Dump: number, Item: item,
		Sent: l.flight.Number(item, now)}
	n = finish(p, &h, n)
	l.broken = !netconsole.SendDump(n)
	// Time that was lost waiting for answers is not made up for.
	l.nextSend = max(l.nextSend, now-min(now, burst)) + uint64(n)*1e9/rate
}

// burst is how much lost time may be made up for, in nanoseconds.
const burst = 1e6

// takeAnswers handles all datagrams that the card has received.
func (l *netLink) takeAnswers(now uint64) {
	for range receiveAtOnce {
		p, more := netconsole.ReceiveDump()
		if !more {
			return
		}
		if p != nil {
			l.take(p, now)
		}
	}
}

// take handles a datagram.
func (l *netLink) take(p []byte, now uint64) {
	h, body, ok := dump.Parse(p)
	if !ok || h.Dump != number || h.Epoch != l.epoch {
		return
	}
	if h.Sealed {
		if body, ok = dump.Unseal(p, &h, &session.In); !ok {
			return
		}
	} else if sealed &&
		(h.Kind == dump.KindWelcome || h.Kind == dump.KindAnswer || l.welcome && h.Kind == dump.KindNo) {
		return // anybody could send that
	}
	switch h.Kind {
	case dump.KindWelcome:
		if l.welcome || len(body) != 4 {
			return
		}
		beginItems(dump.Uint32(body))
		l.welcome = true
		l.flight.Reset(now)
	case dump.KindAnswer:
		if !l.welcome || !dump.ParseAnswer(body, &l.answer) || !l.flight.Answer(&l.answer, now) {
			return
		}
	case dump.KindQuestion:
		if !l.welcome {
			return
		}
		l.epoch++
		l.welcome = false
	case dump.KindNo:
		l.refused = true
	default:
		return
	}
	l.heard = now
	netconsole.Heard()
}
