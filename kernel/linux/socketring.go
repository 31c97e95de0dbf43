package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

const (
	// ringPages is so many that the largest datagram of UDP fits, with its header.
	ringPages = 17
	ringSize  = ringPages * pageSize
)

// ring holds what a socket has received and nobody has taken, in page frames, which it
// has only as long as there is something in them (but for one).
type ring struct {
	pages   [ringPages]uintptr
	head, n uintptr // first byte and number of bytes
}

func (r *ring) room() uintptr { return ringSize - r.n }

// add appends n bytes at from, which is the program's or (own) the kernel's, as far as
// there is room. errno is set if it was something else that has set an end to it.
func (r *ring) add(from, n uintptr, own bool) (done uintptr, errno int64) {
	for done < n && r.n < ringSize {
		at := (r.head + r.n) % ringSize
		page := &r.pages[at/pageSize]
		if *page == 0 {
			if *page = mem.Frame(); *page == 0 {
				errno = -eNOMEM
				break
			}
		}
		part := min(n-done, ringSize-r.n, pageSize-at%pageSize)
		to := *page + at%pageSize
		if !copyFrom(to, from+done, part, own) {
			errno = -eFAULT
			break
		}
		r.n += part
		done += part
	}
	return done, errno
}

// cut takes the last n bytes back.
func (r *ring) cut(n uintptr) { r.n -= n }

// set32 changes four bytes, which are there, off bytes behind the first one.
func (r *ring) set32(off uintptr, v uint32) {
	for i := range uintptr(4) {
		at := (r.head + off + i) % ringSize
		arch.Store8(r.pages[at/pageSize]+at%pageSize, byte(v>>(8*i)))
	}
}

// peek copies n bytes, which are there, from off bytes behind the first one.
func (r *ring) peek(to, off, n uintptr, own bool) bool {
	for n > 0 {
		at := (r.head + off) % ringSize
		part := min(n, pageSize-at%pageSize)
		from := r.pages[at/pageSize] + at%pageSize
		if own {
			arch.CopyUser(to, from, part)
		} else if !copyOut(to, from, part) {
			return false
		}
		to, off, n = to+part, off+part, n-part
	}
	return true
}

// take removes the first n bytes, and gives back the frames that they leave.
func (r *ring) take(n uintptr) {
	for n > 0 {
		part := min(n, pageSize-r.head%pageSize)
		page := r.head / pageSize
		r.head = (r.head + part) % ringSize
		r.n -= part
		n -= part
		// The end may be in the page where the beginning was.
		if r.head/pageSize != page && r.n <= ringSize-pageSize {
			mem.FreeFrame(r.pages[page])
			r.pages[page] = 0
		}
	}
}

// free gives all frames back.
func (r *ring) free() {
	percpu.AssertLocked()
	for i := range r.pages {
		if r.pages[i] != 0 {
			mem.FreeFrame(r.pages[i])
			r.pages[i] = 0
		}
	}
	r.head, r.n = 0, 0
}
