package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

const (
	// ringPages is enough for the largest UDP datagram with its header.
	ringPages = 17
	ringSize  = ringPages * pageSize
)

// ring holds what a socket has received, or the contents of a pipe, until somebody takes it. It is
// made of page frames, which it has only while they hold something (except for one).
type ring struct {
	pages   [ringPages]uintptr
	head, n uintptr // first byte, and number of bytes
}

func (r *ring) room() uintptr { return ringSize - r.n }

// at returns where the bytes at offset off lie, and how many lie together.
func (r *ring) at(off uintptr) (addr, n uintptr) {
	at := (r.head + off) % ringSize
	return r.pages[at/pageSize] + at%pageSize, min(r.n-off, pageSize-at%pageSize)
}

// space returns where bytes can be appended, and how many fit together; addr is 0 if there is no
// memory for them.
func (r *ring) space() (addr, n uintptr) {
	at := (r.head + r.n) % ringSize
	page := &r.pages[at/pageSize]
	if *page == 0 {
		if *page = mem.Frame(); *page == 0 {
			return 0, 0
		}
	}
	return *page + at%pageSize, min(ringSize-r.n, pageSize-at%pageSize)
}

// add appends n bytes at from, in the program's memory or (own) in the kernel's, as many as fit.
// errno is set if anything but lack of room stopped it.
func (r *ring) add(from, n uintptr, own bool) (done uintptr, errno int64) {
	for done < n && r.n < ringSize {
		to, part := r.space()
		if to == 0 {
			return done, -eNOMEM
		}
		part = min(part, n-done)
		if !copyFrom(to, from+done, part, own) {
			return done, -eFAULT
		}
		r.n += part
		done += part
	}
	return done, 0
}

// cut removes the last n bytes.
func (r *ring) cut(n uintptr) { r.n -= n }

// peek copies n bytes, which must be there, from offset off.
func (r *ring) peek(to, off, n uintptr, own bool) bool {
	for n > 0 {
		from, part := r.at(off)
		part = min(part, n)
		if own {
			arch.CopyUser(to, from, part)
		} else if !copyOut(to, from, part) {
			return false
		}
		to, off, n = to+part, off+part, n-part
	}
	return true
}

// take removes the first n bytes, and frees the frames that become empty.
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

// free frees all frames.
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

// set overwrites n bytes at offset off, which must be there, with the kernel's bytes at from.
func (r *ring) set(off, from, n uintptr) {
	for n > 0 {
		to, part := r.at(off)
		part = min(part, n)
		arch.CopyUser(to, from, part)
		off, from, n = off+part, from+part, n-part
	}
}
