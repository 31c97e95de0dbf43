package receive

import (
	"bytes"
	"encoding/gob"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tracer/dump"
)

// A dump goes on where it was when its receiver is started anew: what is known of it is written
// beside it now and then. What comes again meanwhile is the same bytes at the same place.

func (d *Assembly) state() string { return d.path + ".state" }

// Save writes it. The file's own bytes are with the system already.
func (d *Assembly) Save() error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(&d.known); err != nil {
		return err
	}
	if err := os.WriteFile(d.state()+".new", b.Bytes(), 0o600); err != nil {
		os.Remove(d.state() + ".new")
		return err
	}
	return os.Rename(d.state()+".new", d.state())
}

// readState reads what is known of the dump that is there.
func (d *Assembly) readState() (k known, ok bool) {
	b, err := os.ReadFile(d.state())
	if err != nil || gob.NewDecoder(bytes.NewReader(b)).Decode(&k) != nil || k.CPUs == nil ||
		CheckAnnounce(&k.Announce) != nil {
		return k, false
	}
	if k.Chunks == nil {
		k.Chunks = map[uint64][]byte{}
	}
	for n, c := range k.Chunks {
		if n > MaxMemory/dump.PageSize/chunkPages || len(c) != chunkPages/2 {
			return k, false
		}
	}
	return k, true
}

// resume goes on with the dump that is there, if it is the one that is announced.
func (d *Assembly) resume(id uint64, a *dump.Announce) bool {
	k, ok := d.readState()
	if !ok || k.ID != id || k.Announce != *a {
		return false
	}
	if _, err := os.Stat(d.part()); err != nil && os.Rename(d.path, d.part()) != nil {
		return false
	}
	k.End = nil
	return d.reopen(k) == nil
}

// reopen opens the file of a dump of which that is known.
func (d *Assembly) reopen(k known) error {
	f, err := os.OpenFile(d.part(), os.O_RDWR, 0)
	if err == nil {
		d.known, d.file, d.resumed = k, f, true
	}
	return err
}

// Abandoned makes files of the dumps in a folder that a receiver has begun, of which nothing has
// been written since that time, and calls done for each with what it has, or why there is no file.
// A dump that has its name already, and only might have gone on, keeps it.
func Abandoned(folder string, since time.Time, done func(d *Assembly, err error)) {
	all, _ := filepath.Glob(filepath.Join(folder, "*.state"))
	for _, state := range all {
		d := &Assembly{path: strings.TrimSuffix(state, ".state")}
		if !old(state, since) || old(d.part(), since) != exists(d.part()) {
			continue
		}
		k, ok := d.readState()
		if !ok || !exists(d.part()) {
			os.Remove(state)
			continue
		}
		err := d.reopen(k)
		if err == nil {
			err = d.Finish(false)
		}
		done(d, err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// old reports whether there is a file that has not been written to since that time.
func old(path string, since time.Time) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.ModTime().Before(since)
}
