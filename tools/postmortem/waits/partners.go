package waits

import (
	"fmt"
	"slices"
	"strings"
)

// Who may still end a wait for a channel, a group or a condition: a goroutine whose frames come
// to the operation once they go on. That it exists does not say that it goes on; that none exists
// says that nothing which is on a stack now will do it.

// ends are the kinds of waits that operations end.
var ends = map[string]Kind{"send": Receive, "close": Receive, "receive": Send, "Done": WaitGroup,
	"Signal": Cond}

// partners notes of each object that is waited for who comes to what would end the wait.
func (p *program) partners(all []*Goroutine) {
	if p.code == nil {
		return
	}
	waited := make(map[object][]*Object)
	for _, o := range objects(all) {
		waited[object{o.Kind, o.Addr}] = append(waited[object{o.Kind, o.Addr}], o)
	}
	for _, g := range all {
		points, _ := p.points(g)
		for i, q := range points {
			if q == nil {
				continue
			}
			for _, op := range q.Later {
				addr, ok := q.Of(op)
				if !ok {
					continue
				}
				for _, o := range waited[object{ends[op.What], addr}] {
					if slices.ContainsFunc(o.Partners, func(x Partner) bool { return x.ID == g.ID }) {
						continue
					}
					file, line, fn := p.t.BinInfo().PCToLine(op.At)
					at := ""
					if fn != nil {
						at = fmt.Sprintf("%s %s:%d", g.frames[i].Current.Fn.Name,
							file[strings.LastIndexByte(file, '/')+1:], line)
					}
					o.Partners = append(o.Partners, Partner{g.ID, op.What, at})
				}
			}
		}
	}
}

// channelState says what a channel holds.
func (p *program) channelState(o *Object) {
	if o.Addr == 0 {
		return
	}
	if !p.has(o.Addr, "runtime.hchan.qcount") || !p.has(o.Addr, "runtime.hchan.timer") {
		o.outside = true // it may be a timer's
		return
	}
	n, size := p.get(o.Addr, "runtime.hchan.qcount"), p.get(o.Addr, "runtime.hchan.dataqsiz")
	closed := p.get(o.Addr, "runtime.hchan.closed") != 0
	timer := p.get(o.Addr, "runtime.hchan.timer")
	o.DeadlineAt = p.at(timer, "runtime.timer.when")
	switch {
	case closed:
		o.State, o.free = "closed", true
	case timer != 0 && p.has(timer, "runtime.timer.when") && p.get(timer, "runtime.timer.when") == 0:
		o.State = "of a timer that is stopped"
	case timer != 0:
		o.State, o.timer = "of a timer", true
	case size == 0:
		o.State = "unbuffered"
	case o.Kind == Send && n == size:
		o.State = fmt.Sprintf("full, %d of %d", n, size)
	case n == 0:
		o.State = fmt.Sprintf("empty, 0 of %d", size)
	default:
		o.State, o.free = fmt.Sprintf("%d of %d", n, size), true
	}
}

// states fills in what the objects hold.
func (p *program) states(all []*Goroutine) {
	for _, o := range objects(all) {
		switch o.Kind {
		case Send, Receive:
			p.channelState(o)
		case Spin:
			if p.bytes(o.Addr&^7, 8) != nil {
				o.State = fmt.Sprintf("%#x", p.uint(o.Addr, 4))
			}
		case WaitGroup:
			if !p.has(o.Addr, "sync.WaitGroup.state") {
				o.outside = true // it may be done
				continue
			}
			n := int32(p.get(o.Addr, "sync.WaitGroup.state") >> 32)
			o.State, o.free = fmt.Sprintf("%d not done", n), n == 0
		}
	}
}
