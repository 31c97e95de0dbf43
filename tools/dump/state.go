package dump

import (
	"bytes"
	"encoding/gob"
	"os"

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
		return err
	}
	return os.Rename(d.state()+".new", d.state())
}

// resume goes on with the dump that is there, if it is the one that is announced.
func (d *Assembly) resume(id uint64, a *dump.Announce) bool {
	b, err := os.ReadFile(d.state())
	if err != nil {
		return false
	}
	var k known
	if gob.NewDecoder(bytes.NewReader(b)).Decode(&k) != nil || k.ID != id || k.Announce != *a || k.CPUs == nil {
		return false
	}
	for n, c := range k.Chunks {
		if n > MaxMemory/dump.PageSize/chunkPages || len(c) != chunkPages/2 {
			return false
		}
	}
	if _, err := os.Stat(d.part()); err != nil && os.Rename(d.path, d.part()) != nil {
		return false
	}
	f, err := os.OpenFile(d.part(), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	if k.Chunks == nil {
		k.Chunks = map[uint64][]byte{}
	}
	k.End = nil
	d.known, d.file = k, f
	return true
}
