package main

// What a machine says, on its way to the user.

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

// A screen is the way of a machine's text to the user: the records in it are taken out, its
// traces resolved, its lines ended as the program has ended them.
type screen struct {
	text   *eventstream.Text // takes what the machine says
	filter *trace.Filter
	ends   *lineEnds
	died   ending
	short  *short      // nil: all of a trace is shown
	oom    atomic.Bool // it has died for want of memory
	// program and errors take what comes by a port of the program's own, each of one stream; nil:
	// text gets it, too.
	program, errors *eventstream.Text
}

// newScreen returns a screen that writes to a writer, and to the log of -log. looks is what the
// writer looks like: a terminal, or none. With deaths it shows those in a few lines, and deaths
// gets all.
func (m *machine) newScreen(to, looks io.Writer, sym *symbol.File, cooked, quiet bool,
	deaths *deathLog, opt trace.Options) (*screen, error) {
	s := &screen{ends: &lineEnds{}}
	opt.Symbols, opt.Log, opt.Idle, opt.OnTrace = sym, m.stderr, trace.DefaultIdle, s.died.take
	opt.Color = wantColor(looks)
	if err := m.view.apply(&opt, opt.Color); err != nil {
		return nil, err
	}
	if deaths == nil {
		to = m.stamps(to)
		opt.Sanitize, opt.Columns = isTerminal(looks), columnsOf(looks)
	} else {
		s.short = m.newShort(to, looks, cooked, deaths)
		s.short.options(&opt)
		to, quiet = deaths, false
	}
	if deaths != nil || m.log.w != nil { // a file has no colours
		opt.Color, opt.Links = false, ""
	}
	if m.log.w != nil {
		to = io.MultiWriter(to, &m.log)
	}
	if s.ends.w = to; cooked {
		to = s.ends
	}
	if deaths != nil {
		s.short.all = to
	}
	if quiet {
		to = &withoutReport{w: to}
	}
	onTrace := opt.OnTrace
	opt.OnTrace = func(t *wire.Trace) {
		if t.Fatal() && t.Kind == tracer.KindOOM.String() {
			s.oom.Store(true)
		}
		onTrace(t)
	}
	var err error
	if s.filter, err = trace.NewFilter(to, opt); err != nil {
		return nil, err
	}
	s.short.follow(s.filter)
	s.text = m.records.text(s.filter, &m.streams)
	if deaths != nil && m.qemu.Port {
		s.program = m.records.text(output{s.short}, &m.streams)
		s.errors = m.records.text(errorsOutput{s.short}, &m.streams)
	}
	return s, nil
}

// close ends it.
func (s *screen) close() error {
	var err error
	if s.program != nil {
		err = errors.Join(s.program.Close(), s.errors.Close())
	}
	err = errors.Join(err, s.text.Close(), s.filter.Close(), s.ends.flush())
	if s.short != nil {
		err = errors.Join(err, s.short.close())
	}
	return err
}
