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
	// someAddresses is how many a batch must have for an index to be considered, and manyAddresses how
	// many it and those before it, or those that are expected.
	someAddresses = 256
	manyAddresses = 4 * 4096
	// maxMemoryIndex bounds the .debug_info of which there is one, in bytes. The index is about
	// a 25th of it.
	maxMemoryIndex = 1 << 30
	// mostMemory is what it may have, in bytes.
	mostMemory = maxMemoryIndex / 8
	// memoryPart is what memory is taken in.
	memoryPart = 1 << 20
)

var errMemory = errors.New("an index in memory would be too large")

// Expect says that about n addresses more are likely to be looked up behind the next batch, in
// batches like that one. It is no promise, and answers do not depend on it. Context: host.
func (f *File) Expect(n int) { f.expected.Store(int64(n)) }

// indexPays reports whether it costs less to make an index in memory than to go on without: for a
// batch of n addresses, of which some are new, in so many units. Of what is expected a fourth is
// believed, and that as many of it are new.
func (f *File) indexPays(n, some, units int) bool {
	more := f.expected.Load()
	expected := int64(n)+more >= manyAddresses
	asked := n >= someAddresses && f.asked.Load() >= manyAddresses
	if !expected && !asked || f.anyIndex() != nil {
		return false
	}
	d := f.dwarfData()
	if d == nil || d.InParts() || d.InfoSize() > maxMemoryIndex {
		return false
	}
	all := int64(d.CodeUnits())
	coming := float64(units) * (1 + float64(more)/float64(4*n)*float64(some)/float64(n))
	return expected && coming > float64(3*all) || asked && f.unitsRead.Load() >= all*3/2
}

// makeIndex makes an index in memory and reports whether there is one. stop ends it, as nil never does.
func (f *File) makeIndex(stop <-chan struct{}) bool {
	if !f.making.TryLock() {
		return false // who makes it is not waited for
	}
	defer f.making.Unlock()
	if f.tried || f.anyIndex() != nil {
		return false
	}
	m := new(memoryFile)
	var id [indexIDSize]byte // nobody else will see it
	err := f.buildIndex(m, id, nil, stop)
	if f.tried = !errors.Is(err, errStopped); err != nil || f.Incomplete() != nil {
		return false
	}
	x, err := readIndex(m, uint64(m.size), id)
	if err == nil {
		f.made.Store(x)
	}
	return err == nil
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

// A memoryFile is a file in memory, in parts of which all but the last are full.
type memoryFile struct {
	parts [][]byte
	size  int
}

func (m *memoryFile) Write(p []byte) (int, error) {
	if m.size+len(p) > mostMemory {
		return 0, errMemory
	}
	m.size += len(p)
	for rest := p; len(rest) > 0; {
		if n := len(m.parts); n == 0 || len(m.parts[n-1]) == memoryPart {
			m.parts = append(m.parts, make([]byte, 0, memoryPart))
		}
		last := &m.parts[len(m.parts)-1]
		n := min(len(rest), memoryPart-len(*last))
		*last, rest = append(*last, rest[:n]...), rest[n:]
	}
	return len(p), nil
}

// each calls do with the piece of the file that is at an offset of p, and with that of p.
func (m *memoryFile) each(p []byte, off int64, do func(part, p []byte)) int {
	n := 0
	for at := off; n < len(p) && at >= 0 && at < int64(m.size); at = off + int64(n) {
		part := m.parts[at/memoryPart][at%memoryPart:]
		k := min(len(part), len(p)-n)
		do(part[:k], p[n:n+k])
		n += k
	}
	return n
}

// WriteAt writes over what is there.
func (m *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	n := m.each(p, off, func(part, p []byte) { copy(part, p) })
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func (m *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	n := m.each(p, off, func(part, p []byte) { copy(p, part) })
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
