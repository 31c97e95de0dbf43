package linux

import (
	"encoding/binary"
	"fmt"
	"maps"
	"syscall"
)

// edges reads and writes files that two epoll instances watch. The first reports changes: it may
// report more than Linux, but only true events, and never fewer. The second reports ready files, an
// event at a time, in turn.
func (m *model) edges() {
	const add, room = 1, 4096
	for obj := range 6 {
		m.newFile(0, 3*obj+1) // of any kind
	}
	watches := [2]int{}
	for k, events := range []uint32{epollEdge | epollIn | epollOut | epollRdhup, epollIn | epollOut | epollRdhup} {
		a, b, _ := m.do(0, nil, "new epoll_create1", syscall.SYS_EPOLL_CREATE1, 0)
		watches[k] = len(m.slots)
		m.made(a, b, slot{kind: epoll, obj: 100 + k})
		for j, s := range m.slots[:watches[0]] {
			if s.kind == epoll {
				continue
			}
			for _, room := range m.workers[0].room {
				binary.LittleEndian.PutUint32(room, events)
				binary.LittleEndian.PutUint64(room[4:], uint64(j))
			}
			m.do(0, nil, "epoll_ctl", syscall.SYS_EPOLL_CTL, fd(watches[k]), add, fd(j), at(0))
			m.do(0, nil, "fcntl", syscall.SYS_FCNTL, fd(j), 4, oNonblock)
		}
	}
	// told waits for n events, of both sides.
	told := func(instance, n int) (events [2]map[uint64]uint32) {
		a, b, _ := m.do(0, nil, "new epoll_wait", syscall.SYS_EPOLL_WAIT, fd(instance), at(room), n, 0)
		for side, n := range []int64{a, b} {
			events[side] = map[uint64]uint32{}
			for i := range n {
				e := m.workers[0].room[side][room+12*i:]
				events[side][binary.LittleEndian.Uint64(e[4:])] = binary.LittleEndian.Uint32(e)
			}
		}
		return events
	}
	failed := map[int]bool{} // for these, Linux reports an event although nothing has happened
	for range 400 {
		k := m.r.IntN(watches[0])
		s := &m.slots[k]
		if s.kind == epoll {
			continue
		}
		n, result := m.size(s), int64(0)
		if s.kind == pipeWrite || s.kind == counter && m.r.IntN(2) == 0 {
			m.fill(m.workers[0], n)
			result, _, _ = m.do(0, nil, "write", syscall.SYS_WRITE, fd(k), at(0), n)
		} else {
			result, _, _ = m.do(0, nil, "read", syscall.SYS_READ, fd(k), at(0), n)
		}
		failed[s.obj] = failed[s.obj] || result < 0
		if m.r.IntN(3) > 0 {
			continue
		}
		edge, level := told(watches[0], 30), told(watches[1], 30)
		if !maps.Equal(level[0], level[1]) {
			m.fail("ready are %v; with Linux %v", level[0], level[1])
		}
		for j := range m.slots {
			if ours, linux, is := edge[0][uint64(j)], edge[1][uint64(j)], level[0][uint64(j)]; linux&^ours != 0 && !failed[m.slots[j].obj] || ours&^is != 0 {
				m.fail("of fd%d(%d) it tells %#x; Linux %#x; ready is %#x", j, m.slots[j].kind, ours, linux, is)
			}
		}
		clear(failed)
		m.seen[fmt.Sprint(len(edge[1]), " edges")]++
		var turns [2]map[uint64]uint32
		for side := range turns {
			turns[side] = map[uint64]uint32{}
		}
		for range level[0] {
			for side, e := range told(watches[1], 1) {
				maps.Copy(turns[side], e)
			}
		}
		if !maps.Equal(turns[0], level[0]) || !maps.Equal(turns[1], level[0]) {
			m.fail("of %v, one at a time, it tells %v; Linux %v", level[0], turns[0], turns[1])
		}
	}
}
