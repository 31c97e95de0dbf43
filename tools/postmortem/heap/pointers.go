package heap

// Where an object has pointers, the runtime keeps in one of three places (runtime/mbitmap.go):
//
//   - up to 512 bytes: in a bitmap at the end of the span, a bit a word of the span. Since Go
//     1.26 the mark bits of the object (spanInlineMarkBits) lie behind it, if it has 16 bytes
//     or more;
//   - up to 32 KiB: in the type, to which the object's first word points;
//   - above: in the type, to which the span points.
//
// A type's bitmap is of its first PtrBytes bytes, and repeats for an array.

import (
	"encoding/binary"
	"fmt"
)

// maxHeaderless is the largest object without a header, in bytes.
const maxHeaderless = 512

// headerSize is the size of a header.
const headerSize = 8

// maskOnDemand is abi.TFlagGCMaskOnDemand: the bitmap is made at the first use.
const maskOnDemand = 1 << 4

// rtype is what the collector wants to know of a type.
type rtype struct {
	addr      uint64
	size, ptr uint64 // bytes of it, and of what has pointers
	mask      []byte // nil: not known, and each word may be one
}

// rtype reads the runtime's descriptor of a type.
func (h *Heap) rtype(addr uint64) (*rtype, error) {
	if t, ok := h.masks[addr]; ok {
		if t == nil {
			return nil, fmt.Errorf("no type at %#x", addr)
		}
		return t, nil
	}
	h.masks[addr] = nil
	r := h.record(h.named("internal/abi.Type"), addr)
	t := &rtype{addr: addr, size: r.word("Size_"), ptr: r.word("PtrBytes")}
	data, flags := r.word("GCData"), r.word("TFlag")
	if r.err != nil {
		return nil, r.err
	}
	if t.size < 8 && t.ptr > 0 || t.size == 0 || t.ptr > t.size || t.ptr%8 != 0 ||
		t.size > maxSpanBytes {
		return nil, fmt.Errorf("the core is corrupt: a type at %#x has %d bytes, %d with pointers", addr,
			t.size, t.ptr)
	}
	if flags&maskOnDemand != 0 {
		if p, err := h.load(data); err == nil {
			data = p
		} else {
			data = 0
		}
	}
	if data > pageSize { // else it is being made, or was never used
		t.mask = make([]byte, (t.ptr/8+7)/8)
		if h.read(t.mask, data) != nil {
			t.mask = nil
		}
	}
	h.masks[addr] = t
	return t, nil
}

// header returns the type of an object that the runtime knows it of; nil if it does not. at is
// where in the object the value begins.
func (h *Heap) header(s *span, n uint64) (t *rtype, at uint64) {
	addr := s.largeType
	switch {
	case s.noscan || s.arena || s.elem <= maxHeaderless || s.content == nil:
		return nil, 0
	case s.small:
		addr, at = binary.LittleEndian.Uint64(s.content[n*s.elem:]), headerSize
	}
	if addr == 0 {
		return nil, at
	}
	t, err := h.rtype(addr)
	if err != nil {
		return nil, at
	}
	return t, at
}

// isPointer returns which words of an object hold pointers.
func (h *Heap) isPointer(s *span, n uint64) func(word uint64) bool {
	switch {
	case s.noscan || s.content == nil:
		return func(uint64) bool { return false }
	case s.arena:
		return func(uint64) bool { return true } // its own bitmap is not read
	case s.elem <= maxHeaderless:
		size := uint64(len(s.content))
		at := size - size/64
		if s.elem >= 16 {
			at -= h.inlineBits
		}
		first := n * s.elem / 8
		return func(w uint64) bool {
			w += first
			return at+w/8 < size && s.content[at+w/8]&(1<<(w%8)) != 0
		}
	}
	t, at := h.header(s, n)
	if t == nil {
		return func(uint64) bool { return false } // not set yet, and zero
	}
	return func(w uint64) bool {
		if 8*w < at {
			return false
		}
		w -= at / 8
		w %= t.size / 8
		if 8*w >= t.ptr {
			return false
		}
		return t.mask == nil || t.mask[w/8]&(1<<(w%8)) != 0
	}
}

// pointers calls f with each pointer of an object, and with its offset there.
func (h *Heap) pointers(s *span, n uint64, f func(off, value uint64)) {
	if s.noscan || s.content == nil {
		return
	}
	is := h.isPointer(s, n)
	b := s.content[n*s.elem : (n+1)*s.elem]
	for w := range s.elem / 8 {
		if v := binary.LittleEndian.Uint64(b[8*w:]); v >= pageSize && is(w) {
			f(8*w, v)
		}
	}
}
