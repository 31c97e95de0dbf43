package main

// How far a build is, on a terminal: one line that is written over and in the end wiped out. A
// build that is done at once shows nothing.

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/doctor"
	"github.com/zeroframe/zeroframe/tools/image"
)

// progressAfter is how long a build may take in silence.
const progressAfter = 300 * time.Millisecond

// wipeLine wipes out the line that the cursor is in.
const wipeLine = "\r\x1b[K"

// buildProgress writes the line.
type buildProgress struct {
	w    io.Writer
	name string // what is built

	mu    sync.Mutex
	late  *time.Timer
	now   image.Progress
	shown bool // there is a line to wipe out
	done  bool
}

// showProgress lets a build say how far it is on stderr, if that is a terminal, and keep what
// it links. end is called when it has ended, before anything else is written.
func showProgress(o *image.BuildOptions, stderr io.Writer) (end func()) {
	if cache, err := doctor.CacheFolder(); err == nil {
		o.Keep = filepath.Join(cache, "linked")
	}
	if !isTerminal(stderr) {
		return func() {}
	}
	p := &buildProgress{w: stderr, name: o.Package}
	p.late = time.AfterFunc(progressAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.late = nil
		p.show()
	})
	o.Progress = p.take
	o.Stderr = p // compilers' messages come between
	return p.end
}

// take takes how far the build is.
func (p *buildProgress) take(now image.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
	p.show()
}

// Write wipes the line out and writes something else.
func (p *buildProgress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	return p.w.Write(b)
}

// show writes the line if it is time. p.mu is held.
func (p *buildProgress) show() {
	if p.late != nil || p.done {
		return
	}
	what := p.name
	if p.now.Kernel {
		what = "the runtime for the kernel"
	}
	line := "building " + what
	if p.now.Done > 0 {
		line += fmt.Sprintf(": %d of %d packages", p.now.Done, p.now.Of)
	}
	if r := []rune(line); len(r) >= columns {
		line = string(r[:columns-4]) + "..."
	}
	p.wipe()
	io.WriteString(p.w, line)
	p.shown = true
}

// wipe wipes the line out. p.mu is held.
func (p *buildProgress) wipe() {
	if p.shown {
		io.WriteString(p.w, wipeLine)
		p.shown = false
	}
}

// end ends it.
func (p *buildProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late != nil {
		p.late.Stop()
	}
	p.wipe()
	p.done = true
}
