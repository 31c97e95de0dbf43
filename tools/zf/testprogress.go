package main

// How far `zf test` is, on a terminal: one line on standard error, which what is printed wipes
// out, and which comes back when nothing has been printed for a second. Elsewhere nothing is
// said, as go test does.

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/image"
)

// testQuiet is how long nothing must have been printed.
const testQuiet = time.Second

// testProgress writes the line. A nil one writes nothing.
type testProgress struct {
	line progressLine
	of   int // packages
	tick *time.Ticker
	done chan struct{}

	mu      sync.Mutex
	tested  int
	now     []*testedPackage // in the order in which they began
	midLine bool             // what was printed last has not ended its line
	printed time.Time        // when that was
}

// testedPackage is a package that is built or tested.
type testedPackage struct {
	p      *testProgress // nil: nobody wants to know
	name   string
	since  time.Time
	booted bool
	build  image.Progress
	runs   string // with -record-failures, how many there were; "": not that
}

// showTests lets the tests of so many packages say on standard error how far they are, if that
// is a terminal. What s writes wipes that out.
func showTests(packages int, s *streams) *testProgress {
	if !isTerminal(s.stderr) {
		return nil
	}
	p := &testProgress{line: progressLine{w: s.stderr}, of: packages, tick: time.NewTicker(testQuiet / 4), done: make(chan struct{}), printed: time.Now()}
	go func() {
		for {
			select {
			case <-p.tick.C:
				p.show()
			case <-p.done:
				return
			}
		}
	}()
	s.stdout, s.stderr = overProgress{p, s.stdout}, overProgress{p, s.stderr}
	return p
}

// overProgress wipes the line out before it writes.
type overProgress struct {
	p *testProgress
	w io.Writer
}

func (o overProgress) Write(b []byte) (int, error) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	o.p.line.set("")
	o.p.midLine, o.p.printed = b[len(b)-1] != '\n', time.Now()
	return o.w.Write(b)
}

// begin says that a package's turn has come.
func (p *testProgress) begin(name string) *testedPackage {
	t := &testedPackage{p: p, name: name, since: time.Now()}
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.now = append(p.now, t)
	}
	return t
}

// change changes what is said of the package.
func (t *testedPackage) change(f func()) {
	if t.p != nil {
		t.p.mu.Lock()
		defer t.p.mu.Unlock()
		f()
	}
}

// follow lets a build tell.
func (t *testedPackage) follow(o *image.BuildOptions) {
	if t.p != nil {
		o.Progress = func(now image.Progress) { t.change(func() { t.build = now }) }
	}
}

// boots says that the package is built.
func (t *testedPackage) boots() {
	t.change(func() { t.booted, t.since = true, time.Now() })
}

// ran says how many runs there were, and how many of them have failed.
func (t *testedPackage) ran(done, of, failed int) {
	t.change(func() { t.runs = fmt.Sprintf("%d of %d runs, %d failed", done, of, failed) })
}

// end says that the package is done.
func (t *testedPackage) end() {
	t.change(func() {
		t.p.tested++
		t.p.now = slices.DeleteFunc(t.p.now, func(other *testedPackage) bool { return other == t })
	})
}

// String says what is done with the package, the name last, since a long line is cut.
func (t *testedPackage) String() string {
	switch {
	case t.runs != "":
		return fmt.Sprintf("%s (%v) %s", t.runs, time.Since(t.since).Truncate(time.Second), t.name)
	case t.booted:
		return fmt.Sprintf("testing (%v) %s", time.Since(t.since).Truncate(time.Second), t.name)
	case t.build.Kernel:
		return fmt.Sprintf("building (%d of %d packages) the runtime for the kernel", t.build.Done, t.build.Of)
	case t.build.Done > 0:
		return fmt.Sprintf("building (%d of %d packages) %s", t.build.Done, t.build.Of, t.name)
	}
	return "building " + t.name
}

// show writes the line if it is time.
func (p *testProgress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.midLine || len(p.now) == 0 || time.Since(p.printed) < testQuiet {
		return
	}
	line := ""
	if p.of > 1 {
		line = fmt.Sprintf("%d of %d tested; ", p.tested, p.of)
	}
	for i, t := range p.now {
		if i > 0 {
			line += "; "
		}
		line += t.String()
	}
	p.line.set(line)
}

// end ends it.
func (p *testProgress) end() {
	if p != nil {
		p.tick.Stop()
		close(p.done)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.now = nil
		p.line.set("")
	}
}
