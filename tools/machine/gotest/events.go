package gotest

// The events of -json are made by the toolchain's own converter, `go tool test2json`, which
// reads what the test binary prints with -test.v=test2json. What it cannot know, whether the
// machine that the binary ran on has failed, is put into its last event.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/machine/host"
)

// Verbose is the flag by which a test binary prints what the converter reads.
const Verbose = "-test.v=test2json"

// event is one of a test's events, or of a build's. Its fields and their order are those of
// cmd/internal/test2json and of `go help buildjson`.
type event struct {
	ImportPath  string   `json:",omitempty"`
	Time        string   `json:",omitempty"`
	Action      string   `json:",omitempty"`
	Package     string   `json:",omitempty"`
	Test        string   `json:",omitempty"`
	Elapsed     *float64 `json:",omitempty"`
	Output      *string  `json:",omitempty"`
	FailedBuild string   `json:",omitempty"`
	Key         string   `json:",omitempty"`
	Value       string   `json:",omitempty"`
	Path        string   `json:",omitempty"`
	OutputType  string   `json:",omitempty"`
}

// Lines lets several goroutines write to one writer: what each writes at a time stays
// together.
type Lines struct {
	W  io.Writer
	mu sync.Mutex
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.W.Write(p)
}

// Events turns the output of one package's tests into events. What is written to it is the
// output.
type Events struct {
	pkg     string
	started time.Time
	in      io.WriteCloser
	cmd     *exec.Cmd
	said    bytes.Buffer // by the converter, of its own
	done    chan error   // of read

	// Of read, until it is done.
	w     io.Writer
	last  []byte // the newest event, which may be the end
	write error  // the first of w
}

// NewEvents starts the converter for a package; the event that says so is written at once.
// Each event is one Write to w. The converter outlives ctx, until Close: the events of what has
// been interrupted have an end, too.
func NewEvents(ctx context.Context, pkg string, w io.Writer) (*Events, error) {
	e := &Events{pkg: pkg, started: time.Now(), w: w, done: make(chan error, 1)}
	e.cmd = host.Command(context.WithoutCancel(ctx), "go", "tool", "test2json", "-t", "-p", pkg)
	e.cmd.Stderr = &e.said
	in, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("go tool test2json: %w", err)
	}
	e.in = in
	go func() { e.done <- e.read(out) }()
	return e, nil
}

// read passes events on, all but the last.
func (e *Events) read(out io.Reader) error {
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			e.pass()
			e.last = line
			if bytes.Contains(line, []byte(`"Action":"start"`)) {
				e.pass()
			}
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// pass writes the event that was held.
func (e *Events) pass() {
	if len(e.last) > 0 && e.write == nil {
		_, e.write = e.w.Write(e.last)
	}
	e.last = nil
}

// Write takes output.
func (e *Events) Write(p []byte) (int, error) { return e.in.Write(p) }

// Close ends the output. passed is the package's result; failedBuild, if it is not "", names
// the package whose build has failed.
func (e *Events) Close(passed bool, failedBuild string) error {
	e.in.Close()
	err := <-e.done
	if werr := e.cmd.Wait(); err == nil && werr != nil {
		err = fmt.Errorf("go tool test2json: %w: %s", werr, bytes.TrimSpace(e.said.Bytes()))
	}
	if err == nil {
		e.end(passed, failedBuild)
	}
	e.pass()
	if err == nil {
		err = e.write
	}
	return err
}

// end makes the last event the end that the package has had.
func (e *Events) end(passed bool, failedBuild string) {
	var ev event
	if json.Unmarshal(e.last, &ev) != nil || ev.Test != "" || ev.Action != "pass" &&
		ev.Action != "fail" && ev.Action != "skip" {
		e.pass() // it is another
		elapsed := time.Since(e.started).Round(time.Millisecond).Seconds()
		ev = event{Time: time.Now().Format(time.RFC3339Nano), Package: e.pkg, Elapsed: &elapsed}
	} else if (ev.Action == "fail") != passed && failedBuild == "" {
		return
	}
	switch {
	case !passed:
		ev.Action = "fail"
	case ev.Action != "skip":
		ev.Action = "pass"
	}
	ev.FailedBuild = failedBuild
	e.last = encode(ev)
}

// encode returns an event as a line.
func encode(ev event) []byte {
	line, err := json.Marshal(ev)
	if err != nil {
		return nil // there is no such event
	}
	return append(line, '\n')
}

// Build takes the events of a build, as go test -c -json prints them, and passes them on.
type Build struct {
	// W gets each event by one Write; nil: none.
	W io.Writer
	// Failed is the first package whose build has failed, as the events name it.
	Failed string

	part []byte
}

// Write implements io.Writer.
func (b *Build) Write(p []byte) (int, error) {
	b.part = append(b.part, p...)
	for {
		i := bytes.IndexByte(b.part, '\n')
		if i < 0 {
			return len(p), nil
		}
		line := b.part[:i+1]
		b.part = b.part[i+1:]
		var ev event
		if json.Unmarshal(line, &ev) == nil && ev.Action == "build-fail" && b.Failed == "" {
			b.Failed = ev.ImportPath
		}
		if b.W != nil {
			if _, err := b.W.Write(line); err != nil {
				return 0, err
			}
		}
	}
}

// Fail writes the events of a failure that no compiler has told of: the lines of message.
func (b *Build) Fail(pkg, message string) error {
	if b.Failed == "" {
		b.Failed = pkg
	}
	for out := range strings.Lines("# " + pkg + "\n" + strings.TrimRight(message, "\n") + "\n") {
		if _, err := b.W.Write(encode(event{ImportPath: pkg, Action: "build-output",
			Output: &out})); err != nil {
			return err
		}
	}
	_, err := b.W.Write(encode(event{ImportPath: pkg, Action: "build-fail"}))
	return err
}
