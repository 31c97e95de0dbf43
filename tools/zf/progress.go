package main

// How far something is, on a terminal: one line that is written over and in the end wiped out.
// What is done at once shows nothing.

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/doctor"
	"github.com/zeroframe/zeroframe/tools/image"
)

// progressAfter is how long something may take in silence.
const progressAfter = 300 * time.Millisecond

// wipeLine wipes out the line that the cursor is in.
const wipeLine = "\r\x1b[K"

// A progressLine is the line. Other output goes by its Write, which wipes it out.
type progressLine struct {
	w     io.Writer
	mu    sync.Mutex
	shown string
}

// set shows a text in place of the one before, cut to the width of a terminal; "" wipes it out.
func (l *progressLine) set(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := []rune(text); len(r) >= columns {
		text = string(r[:columns-4]) + "..."
	}
	if text != l.shown {
		l.wipe()
		io.WriteString(l.w, text)
		l.shown = text
	}
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

// showProgress lets a build say how far it is on stderr, if that is a terminal, and keep what
// it links. end is called when it has ended, before anything else is written.
func showProgress(o *image.BuildOptions, stderr io.Writer) (end func()) {
	if cache, err := doctor.CacheFolder(); err == nil {
		o.Keep = filepath.Join(cache, "linked")
	}
	if !isTerminal(stderr) {
		return func() {}
	}
	var mu sync.Mutex
	var now image.Progress
	name, silent, done := o.Package, true, false
	line := &progressLine{w: stderr}
	take := func(p image.Progress, late bool) {
		mu.Lock()
		defer mu.Unlock()
		if late {
			silent = false
		} else {
			now = p
		}
		if silent || done {
			return
		}
		text := "building " + name
		if now.Kernel {
			text = "building the runtime for the kernel"
		}
		if now.Done > 0 {
			text += fmt.Sprintf(": %d of %d packages", now.Done, now.Of)
		}
		line.set(text)
	}
	late := time.AfterFunc(progressAfter, func() { take(image.Progress{}, true) })
	o.Progress = func(p image.Progress) { take(p, false) }
	o.Stderr = line // compilers' messages come between
	return func() {
		late.Stop()
		mu.Lock()
		defer mu.Unlock()
		done = true
		line.set("")
	}
}
