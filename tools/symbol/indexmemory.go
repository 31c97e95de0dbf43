// An index in memory. Who looks up hundreds of thousands of addresses, batch after batch, has each
// unit of DWARF read again for each batch. To make an index costs as much as to read all units
// three times: so it is made, and kept as long as the file is open, when they have been read
// often enough that it is likely to pay. Its answers are the same.

package symbol

import (
	"errors"
	"io"
)

const (
	// manyAddresses is how many a batch must have, and those before it together four times, for an index to be
	// considered.
	manyAddresses = 4096
	// maxMemoryIndex bounds the .debug_info of which there is one, in bytes. The index is about
	// a 25th of it.
	maxMemoryIndex = 1 << 30
	// mostMemory is what it may have, in bytes.
	mostMemory = maxMemoryIndex / 8
)

var errMemory = errors.New("an index in memory would be too large")

// indexIfMany makes an index in memory if a batch of n addresses is one of many large ones. stop
// ends it, as nil never does.
func (f *File) indexIfMany(n int, stop <-chan struct{}) {
	if n < manyAddresses || f.unitsRead.Load() == 0 || f.asked.Load() < 4*manyAddresses || f.anyIndex() != nil {
		return
	}
	d := f.dwarfData()
	if d == nil || d.InParts() || d.InfoSize() > maxMemoryIndex || f.unitsRead.Load() < int64(d.CodeUnits())*3/2 {
		return
	}
	if !f.making.TryLock() {
		return // who makes it is not waited for
	}
	defer f.making.Unlock()
	if f.tried || f.anyIndex() != nil {
		return
	}
	m := new(memoryFile)
	var id [indexIDSize]byte // nobody else will see it
	err := f.buildIndex(m, id, nil, stop)
	if f.tried = !errors.Is(err, errStopped); err != nil || f.Incomplete() != nil {
		return
	}
	if x, err := readIndex(m, uint64(len(m.b)), id); err == nil {
		f.made.Store(x)
	}
}

// anyIndex returns the index that look-ups use: of a folder, or in memory; nil if there is none.
func (f *File) anyIndex() *index {
	if f.index != nil && !f.index.damaged.Load() {
		return f.index
	}
	if x := f.made.Load(); x != nil {
		return x
	}
	return f.index
}

// A memoryFile is a file in memory.
type memoryFile struct{ b []byte }

func (m *memoryFile) Write(p []byte) (int, error) {
	if len(m.b)+len(p) > mostMemory {
		return 0, errMemory
	}
	m.b = append(m.b, p...)
	return len(p), nil
}

// WriteAt writes over what is there.
func (m *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.b)) {
		return 0, io.ErrShortWrite
	}
	if n := copy(m.b[off:], p); n < len(p) {
		return n, io.ErrShortWrite
	}
	return len(p), nil
}

func (m *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.b)) {
		return 0, io.EOF
	}
	if n := copy(p, m.b[off:]); n < len(p) {
		return n, io.EOF
	}
	return len(p), nil
}
