package eventstream

import "encoding/binary"

// Numbers reads the numbers (LEB128) that the data of records are made of. The first that
// is not there, or makes no sense, spoils it: all that follow are 0.
type Numbers struct {
	Data []byte // behind what has been read
	Bad  bool
}

// Number reads a number.
func (r *Numbers) Number() uint64 {
	v, n := binary.Uvarint(r.Data)
	if r.Bad = r.Bad || n <= 0; r.Bad {
		return 0
	}
	r.Data = r.Data[n:]
	return v
}

// Count reads how many things follow, of at least so many bytes each.
func (r *Numbers) Count(least int) int {
	n := r.Number()
	if r.Bad = r.Bad || n > uint64(len(r.Data)/least); r.Bad {
		return 0
	}
	return int(n)
}

// Bytes reads a length and as many bytes.
func (r *Numbers) Bytes() []byte {
	b := r.Data[:r.Count(1)]
	r.Data = r.Data[len(b):]
	return b
}
