package main

// The flag -debuginfod of the commands that resolve addresses: whether servers are asked for
// debug information that is not on this machine. Which ones, the environment says, as for every
// client (tools/symbol/buildid); without that nothing is sent.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
)

const debuginfodUsage = "ask the servers of $DEBUGINFOD_URLS for debug information that is not\nhere: `WHEN` is auto (if that is set) or off"

// The modes of -debuginfod.
const (
	debuginfodAuto = "auto"
	debuginfodOff  = "off"
)

// newDebuginfod returns the client that -debuginfod=mode asks for, or nil. On a terminal it
// says how far a download is.
func newDebuginfod(mode string, stderr io.Writer) (*buildid.Client, error) {
	switch mode {
	case debuginfodOff:
		return nil, nil
	case debuginfodAuto, "":
	default:
		return nil, fmt.Errorf("-debuginfod is auto or off, not %q", mode)
	}
	c, err := buildid.ClientFromEnvironment()
	if err != nil {
		return nil, fmt.Errorf("%w; -debuginfod=off asks nobody", err)
	}
	if c != nil && isTerminal(stderr) {
		c.Progress = (&progressLine{w: stderr, began: time.Now()}).showDownload
	}
	return c, nil
}

// showDownload shows how much of a file has come. A file that comes at once shows nothing.
func (l *progressLine) showDownload(url string, done, total int64) {
	if done == total {
		l.next()
		return
	}
	l.often(progressAfter/3, func() string {
		of := ""
		if total > 0 {
			of = " of " + megabytes(total)
		}
		return fmt.Sprintf("downloading %s%s: %s", megabytes(done), of, url)
	})
}

// fromServer opens the file of a build that a server has: one that resolves something; nil if
// there is none. What went wrong it says, once for each build.
func (x *opening) fromServer(id string) *symbol.File {
	if x.server == nil || id == "" {
		return nil
	}
	if _, failed := x.failed.Load(id); failed {
		return nil
	}
	for _, kind := range []string{buildid.DebugInfo, buildid.Executable} {
		path, err := x.server.Get(x.ctx, id, kind)
		if err == nil {
			var sym *symbol.File
			if sym, err = x.openIndexed(path); err == nil {
				return sym
			}
		}
		if !errors.Is(err, fs.ErrNotExist) && x.ctx.Err() == nil {
			x.say("note: %v", err)
			x.failed.Store(id, true)
			break
		}
	}
	return nil
}
