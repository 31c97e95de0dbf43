package linux

import (
	"encoding/binary"
	"syscall"
)

// turns lets several workers read from an empty pipe, or write to a full one: the worker that has
// waited longest goes on first.
func (m *model) turns() {
	for range 10 {
		w := m.workers[0]
		m.do(0, nil, "pipe2", syscall.SYS_PIPE2, at(0), 0)
		first := len(m.slots)
		for end := range 2 {
			m.slots = append(m.slots, slot{kind: []kind{pipeRead, pipeWrite}[end]})
			for side, room := range w.room {
				m.slots[first+end].fd[side] = int(binary.LittleEndian.Uint32(room[4*end:]))
			}
		}
		// The waiters make one call, worker 0 the other.
		read, write := fd(first), fd(first+1)
		name, number, end, n := "read", syscall.SYS_READ, read, 1
		counter, other, answer := "write", syscall.SYS_WRITE, write
		if m.r.IntN(2) == 0 {
			m.do(0, nil, "write", syscall.SYS_WRITE, write, at(0), pipeSize)
			name, number, end, n = "write", syscall.SYS_WRITE, write, pageSize
			counter, other, answer = "read", syscall.SYS_READ, read
		}
		waiters := m.r.Perm(len(m.workers) - 1)
		for _, i := range waiters {
			m.do(i+1, nil, name, uintptr(number), end, at(0), n)
		}
		for left := len(waiters); left > 0; {
			k := 1 + m.r.IntN(left)
			m.do(0, nil, counter, uintptr(other), answer, at(0), k*n)
			left -= k
		}
		for _, s := range m.slots[first:] {
			syscall.Close(s.fd[1])
			closeFD(uintptr(s.fd[0]))
		}
		m.slots = m.slots[:first]
	}
}
