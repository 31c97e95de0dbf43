package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/whole"
)

// records is what a command does with the records that a target sends between its text
// (tools/format/eventstream): each kind has a taker, and -records keeps them all as files.
type records struct {
	streams
	dir    string // of -records; "": none
	takers map[string]func(data []byte) error

	mu    sync.Mutex
	left  int   // records that nobody took
	bytes int   // in them
	err   error // the first of a taker
	seen  bool  // there was a record, whole or not
}

// flags adds the flags about records.
func (r *records) flags(fs *flag.FlagSet) {
	addFlags(fs,
		[]option{{&r.dir, "records",
			"keep each record that the target sends as a file in folder `DIR`,\nunder its number and kind"}})
}

// begin makes the folder for the records.
func (r *records) begin() error {
	if r.dir == "" {
		return nil
	}
	return os.MkdirAll(r.dir, 0o777)
}

// wrong makes the folder, and returns an error if no record can be kept in it.
func (r *records) wrong() error {
	if err := r.begin(); err != nil || r.dir == "" {
		return err
	}
	return whole.Try(filepath.Join(r.dir, "record"))
}

// take has f called with the data of each record of a kind. Its error is said, and
// makes the command fail.
func (r *records) take(kind string, f func(data []byte) error) {
	if r.takers == nil {
		r.takers = make(map[string]func([]byte) error)
	}
	r.takers[kind] = f
}

// text returns what takes the records out of a console's text, which it passes on to w;
// s is for the command's messages.
func (r *records) text(w io.Writer, s *streams) *eventstream.Text {
	r.mu.Lock()
	r.streams = *s
	r.mu.Unlock()
	opt := r.options()
	opt.Idle = trace.DefaultIdle
	return eventstream.NewText(w, opt)
}

// frames returns what reads the records of a second port.
func (r *records) frames() *eventstream.Frames { return eventstream.NewFrames(r.options()) }

// options are those for both kinds of readers.
func (r *records) options() eventstream.Options {
	return eventstream.Options{OnRecord: r.record, OnDamage: func(d eventstream.Damage) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = true
		r.say("%v", d)
	}}
}

// record gives a record to who wants it.
func (r *records) record(rec eventstream.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = true
	f := r.takers[rec.Kind]
	var err error
	if f != nil {
		err = f(rec.Data)
	}
	if r.dir != "" && err == nil {
		if err = r.begin(); err == nil {
			err = whole.WriteFile(filepath.Join(r.dir, fmt.Sprintf("%d-%s", rec.ID, fileName(rec.Kind))),
				rec.Data, 0o666)
		}
	} else if f == nil {
		r.left++
		r.bytes += len(rec.Data)
	}
	if err != nil {
		r.say("record %d (%s): %v", rec.ID, rec.Kind, err)
		if r.err == nil {
			r.err = err
		}
	}
}

// fileName returns a kind as it can be a part of a file's name, whoever wrote it.
func fileName(kind string) string {
	b := []byte(kind)
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' ||
			c == '-' || c == '_') {
			b[i] = '_'
		}
	}
	return string(b)
}

// any reports whether there was any record.
func (r *records) any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// end says what became of records that nobody asked for, and returns the first error.
func (r *records) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left > 0 {
		r.say("%d bytes in records that nobody asked for (%d) were left out; -records DIR keeps them",
			r.bytes, r.left)
	}
	return r.err
}
