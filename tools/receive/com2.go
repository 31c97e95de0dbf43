package receive

import (
	"context"
	"crypto/ecdh"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/format/input"

	format "github.com/zeroframe/zeroframe/tracer/dump"
)

// The memory of a machine that has died, from its second serial port (core=com2): of a file, or
// live of a device. Nothing is answered there, so what is damaged on the way is missing.

// readCom2 reads one dump and writes it to the folder.
func (c *config) readCom2(ctx context.Context, stdin io.Reader, key *ecdh.PrivateKey,
	m *messages) error {
	in, err := input.Open(ctx, c.com2, input.Options{Baud: c.baud, Reconnect: input.Never,
		Stdin: stdin, Note: m.say})
	if err != nil {
		return err
	}
	defer in.Close()
	defer context.AfterFunc(ctx, func() { in.Close() })()
	var d *Assembly
	var failed error
	var told uint32
	var seal *Session
	var skipped int64
	s := Stream{Packet: func(h *format.Header, p []byte) bool {
		body := p[format.HeaderSize:]
		if d == nil {
			a, ok := format.ParseAnnounce(body)
			if h.Kind != format.KindAnnounce || !ok {
				return true
			}
			s, why := (&cores{key: key}).session(&a)
			if why != "" {
				failed = errors.New("the memory is there, " + why)
				return false
			}
			seal = s
			path := FileName(c.cores, filepath.Base(c.com2), h.Dump)
			if d, failed = Open(path, h.Dump, &a); failed != nil {
				failed = fmt.Errorf("%s: %w", path, failed)
				return false
			}
			m.say(fmt.Sprintf("the memory of a machine that has died comes, %d MiB, to %s",
				a.Pages>>8, d.Path()))
			return true
		}
		if h.Kind == format.KindAnnounce || h.Dump != d.ID {
			return true
		}
		if seal != nil {
			var err error
			if body, err = seal.Open(p); err != nil {
				skipped += int64(len(p))
				return true
			}
		}
		if failed = d.Add(h, body); failed != nil && !errors.Is(failed, ErrNonsense) {
			return false
		}
		failed = nil
		if tenth := uint32(uint64(d.Pages) * 10 / uint64(d.Announce.Pages)); tenth > told {
			told = tenth
			m.say(fmt.Sprintf("%d of %d pages", d.Pages, d.Announce.Pages))
		}
		return d.End == nil
	}}
	err = s.Read(in)
	switch {
	case d == nil && failed == nil && err == nil:
		return fmt.Errorf(
			"%s: there is no dump of a machine's memory: want what its second serial port has sent with core=com2", c.com2)
	case d == nil:
		return errors.Join(failed, err)
	case failed != nil:
		d.Drop()
		return failed
	}
	if err != nil && ctx.Err() == nil {
		m.say(fmt.Sprintf("%s: %v", c.com2, err))
	}
	if err := d.Finish(false); err != nil {
		return err
	}
	lost := ""
	if skipped += s.Skipped; skipped > 0 {
		lost = fmt.Sprintf(" (%d bytes of the line were damaged)", skipped)
	}
	m.say(fmt.Sprintf("the memory of the machine is in %s: %s%s", d.Path(), d.Summary(), lost))
	return nil
}
