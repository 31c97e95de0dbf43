// The format of an index file: what a look-up answers, for every address, found
// with a few short reads. All numbers of fixed size are little-endian; the others
// are variable-length as in package encoding/binary. In the file's order:
//
//	header   64 bytes: magic, version, place and checksum of the root, size of the
//	         file, its own checksum
//	blocks   of pieces, each of one unit's text, half a kilobyte or less
//	strings  in blocks of at most 4 KiB, longer ones in a block of their own
//	runs     table: from which address on which block answers
//	tables   of the blocks and of the string blocks: place, length, checksum
//	root     which file the index is of; the tables' lengths, the checksums of their
//	         pages, and the first address of each page of runs
//
// A block of pieces is its base, an address, and a stream of pieces, each told by what
// it differs in from the one before, so that a look-up decodes no more than it must.
// A piece is a range of addresses with one answer: a call, a file, a line. Calls
// form trees: a call has a name and, if it is inlined, the call around it with file
// and line; if not, the address that offsets count from. A string is referred to by
// its block and its offset there.
//
// Each part has a checksum that is verified when the part is read, so that opening
// an index reads header and root alone. Beyond checksums nothing is believed either:
// a number is compared with what it counts before it is used.

package symbol

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

const (
	indexMagic   = "zfindex\n"
	indexVersion = 5 // to be raised with any change of the format or of the answers

	indexHeaderSize = 64
	indexIDSize     = 32 // SHA-256

	indexBlockSize  = 512     // a block of pieces is closed beyond
	indexStringBits = 12      // of a string reference: the offset in its block
	indexMaxString  = 1 << 20 // longer names are nobody's
	indexMaxBlock   = 2 * indexMaxString

	tablePage  = 256 // entries
	blockEntry = 16  // offset, length, checksum
	runEntry   = 12  // address, block
)

// Flags of an index, in its root.
const (
	// indexPartial: what has no answer here may have one without the index.
	indexPartial = 1 << iota
)

// Flags of a call.
const (
	callInlined = 1 << iota // it is inlined into its parent
	callSymbol              // the address is that of a symbol
	callSelf                // offsets are 0: the function is not known
)

// noCall is what the first piece's call differs from. So no piece begins with 0, and a
// 0 can say that a call comes first.
const noCall = -2

// Flags of a piece, in the lowest bits of its first number: what has changed.
const (
	pieceCall = 1 << iota
	pieceFile
	pieceDisc
	pieceShift = iota
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func indexSum(b []byte) uint32 { return crc32.Checksum(b, crcTable) }

// errIndex says that an index file is not to be used.
var errIndex = errors.New("the index is damaged")

// An indexTable is a table of the index: where it is, and what the root says of its
// pages.
type indexTable struct {
	off   uint64
	count uint64
	sums  []uint32
}

func (t *indexTable) pages() uint64 { return (t.count + tablePage - 1) / tablePage }

// An indexRoot is the root, decoded.
type indexRoot struct {
	id                    [indexIDSize]byte
	flags                 byte
	runs, blocks, strings indexTable
	firsts                []uint64 // first address of each page of runs
	stringsOff            uint64   // where the string blocks begin: they are in one piece
	stringsLen            uint64
}

// encode returns the root's bytes.
func (r *indexRoot) encode() []byte {
	le := binary.LittleEndian
	b := append([]byte(nil), r.id[:]...)
	b = append(b, r.flags)
	b = le.AppendUint64(b, r.stringsOff)
	b = le.AppendUint64(b, r.stringsLen)
	for _, t := range []*indexTable{&r.runs, &r.blocks, &r.strings} {
		b = le.AppendUint64(b, t.off)
		b = le.AppendUint64(b, t.count)
		for _, s := range t.sums {
			b = le.AppendUint32(b, s)
		}
	}
	for _, a := range r.firsts {
		b = le.AppendUint64(b, a)
	}
	return b
}

// decodeRoot is encode's reverse. It fails unless the bytes are exactly a root.
func decodeRoot(b []byte, size uint64) (*indexRoot, error) {
	le := binary.LittleEndian
	r := &indexRoot{}
	if len(b) < indexIDSize+1+16 {
		return nil, errIndex
	}
	copy(r.id[:], b)
	r.flags = b[indexIDSize]
	b = b[indexIDSize+1:]
	r.stringsOff, r.stringsLen = le.Uint64(b), le.Uint64(b[8:])
	b = b[16:]
	if r.stringsOff > size || r.stringsLen > size-r.stringsOff {
		return nil, errIndex
	}
	for i, t := range []*indexTable{&r.runs, &r.blocks, &r.strings} {
		if len(b) < 16 {
			return nil, errIndex
		}
		t.off, t.count = le.Uint64(b), le.Uint64(b[8:])
		b = b[16:]
		entry := uint64(blockEntry)
		if i == 0 {
			entry = runEntry
		}
		if t.off > size || t.count > (size-t.off)/entry || t.pages() > uint64(len(b))/4 {
			return nil, errIndex
		}
		t.sums = make([]uint32, t.pages())
		for i := range t.sums {
			t.sums[i] = le.Uint32(b[4*i:])
		}
		b = b[4*len(t.sums):]
	}
	if uint64(len(b)) != 8*r.runs.pages() {
		return nil, errIndex
	}
	r.firsts = make([]uint64, r.runs.pages())
	for i := range r.firsts {
		r.firsts[i] = le.Uint64(b[8*i:])
	}
	return r, nil
}

// encodeHeader returns the header of an index of size bytes whose root, at off, is
// root.
func encodeHeader(size, off uint64, root []byte) []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 0, indexHeaderSize), indexMagic...)
	b = le.AppendUint32(b, indexVersion)
	b = le.AppendUint32(b, indexSum(root))
	b = le.AppendUint64(b, off)
	b = le.AppendUint64(b, uint64(len(root)))
	b = le.AppendUint64(b, size)
	b = append(b, make([]byte, indexHeaderSize-4-len(b))...)
	return le.AppendUint32(b, indexSum(b))
}

// decodeHeader returns where the root is and its checksum.
func decodeHeader(b []byte, size uint64) (off, n uint64, sum uint32, err error) {
	le := binary.LittleEndian
	if len(b) != indexHeaderSize || string(b[:len(indexMagic)]) != indexMagic || le.Uint32(b[8:]) != indexVersion ||
		le.Uint32(b[indexHeaderSize-4:]) != indexSum(b[:indexHeaderSize-4]) {
		return 0, 0, 0, errIndex
	}
	sum, off, n = le.Uint32(b[12:]), le.Uint64(b[16:]), le.Uint64(b[24:])
	if le.Uint64(b[32:]) != size || off > size || n > size-off {
		return 0, 0, 0, errIndex
	}
	return off, n, sum, nil
}
