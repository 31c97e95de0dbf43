package main

// How far something is, on a terminal: one line that is written over and in the end wiped out.
// What is done at once shows nothing.

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/machine/doctor"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// progressAfter is how long something may take in silence.
const progressAfter = 300 * time.Millisecond

// wipeLine wipes out the line that the cursor is in.
const wipeLine = "\r\x1b[K"

// A progressLine is the line. Other output goes by its Write, which wipes it out.
type progressLine struct {
	w     io.Writer
	began time.Time // what it is about

	mu     sync.Mutex
	shown  string
	said   time.Time // when often has shown something last
	closed bool
}

// set shows a text in place of the one before, cut to the width of a terminal; "" wipes it out.
func (l *progressLine) set(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := []rune(text); len(r) >= columns {
		text = string(r[:columns-4]) + "..."
	}
	if text != l.shown && !l.closed {
		l.wipe()
		io.WriteString(l.w, text)
		l.shown = text
	}
}

// often is for who calls it again and again: it shows a text when progressAfter has passed, and
// then not more often than every so long.
func (l *progressLine) often(every time.Duration, text func() string) {
	now := time.Now()
	l.mu.Lock()
	show := now.Sub(l.began) >= progressAfter && now.Sub(l.said) >= every
	if show {
		l.said = now
	}
	l.mu.Unlock()
	if show {
		l.set(text())
	}
}

// next wipes the line out. It is about something else from now on.
func (l *progressLine) next() {
	l.set("")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.said = time.Now(), time.Time{}
}

// close wipes the line out, for good.
func (l *progressLine) close() {
	l.set("")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// wipe wipes the line out. l.mu is held.
func (l *progressLine) wipe() {
	if l.shown != "" {
		io.WriteString(l.w, wipeLine)
		l.shown = ""
	}
}

func (l *progressLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wipe()
	return l.w.Write(b)
}

// showProgress is followBuild for a build that keeps what it makes.
func showProgress(o *image.BuildOptions, stderr io.Writer) (end func()) {
	keepBuild(o)
	return followBuild(o, stderr)
}

// keepBuild has a build keep what it makes, if there is a folder for that.
func keepBuild(o *image.BuildOptions) {
	if cache, err := doctor.CacheFolder(); err == nil {
		o.Keep = filepath.Join(cache, "linked")
	}
}

// followBuild lets a build say how far it is on stderr, if that is a terminal. end is called
// when the build has ended, before anything else is written.
func followBuild(o *image.BuildOptions, stderr io.Writer) (end func()) {
	if !isTerminal(stderr) {
		return func() {}
	}
	name, line := o.Package, &progressLine{w: stderr, began: time.Now()}
	late := time.AfterFunc(progressAfter, func() { line.set("building " + name) })
	o.Progress = func(p image.Progress) {
		line.often(0, func() string {
			text := "building " + name
			if p.Kernel {
				text = "building the runtime for the kernel"
			}
			if p.Done > 0 {
				text += fmt.Sprintf(": %d of %d packages", p.Done, p.Of)
			}
			return text
		})
	}
	o.Stderr = line // compilers' messages come between
	return func() {
		late.Stop()
		line.close()
	}
}
