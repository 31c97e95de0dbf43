package linux

import "encoding/binary"

// models are the parts of TestAgainstLinux.
var models = []struct {
	name    string
	seeds   int
	threads int
	run     func(m *model)
}{
	{"futex", 12, 5, (*model).futexes},
	{"files", 30, 4, (*model).files},
	{"signals", 12, 4, (*model).signals},
	{"edges", 20, 1, (*model).edges},
	{"locks", 30, 4, (*model).locks},
	{"turns", 20, 6, (*model).turns},
}

// Where times are in a worker's room.
const (
	noTime  = roomSize - 64 // over at once
	farTime = roomSize - 48 // 1,000 seconds
	badTime = roomSize - 32
)

func (m *model) setTimes() {
	for _, w := range m.workers {
		for side := range w.room {
			binary.LittleEndian.PutUint64(w.room[side][farTime:], 1<<40)
			binary.LittleEndian.PutUint64(w.room[side][badTime+8:], 1e9)
		}
	}
}

// futexes waits for words, and wakes waiters.
func (m *model) futexes() {
	const futex, private = 202, futexPrivate
	m.setTimes()
	waiting := map[int]int{} // by worker, the word
	for range 400 {
		i, ok := m.idle()
		if !ok {
			continue
		}
		word := m.r.IntN(3)
		for j, w := range m.workers {
			if !w.waits {
				delete(waiting, j)
			}
		}
		flags := private
		if m.r.IntN(8) == 0 {
			flags |= futexRealtime
		}
		count := m.r.IntN(5) - 1
		bits := []int{0, 1, 2, 3, 4, anyBits}[m.r.IntN(6)]
		switch m.r.IntN(6) {
		case 0, 1, 2:
			var time any = 0
			switch m.r.IntN(6) {
			case 0:
				time = at(noTime)
			case 1:
				time = at(farTime)
			case 2:
				time = at(badTime)
			}
			if len(waiting) == len(m.workers)-1 {
				continue // somebody has to wake them
			}
			op := []int{futexWait, futexWaitBitset}[m.r.IntN(2)]
			val := min(m.r.IntN(10), 1) ^ 1
			if _, _, waits := m.do(i, nil, "futex", futex, shared(4*word+min(m.r.IntN(20), 1)^1), op|flags, val, time, 0, bits); waits {
				waiting[i] = word
			}
		case 3, 4:
			op := []int{futexWake, futexWakeBitset}[m.r.IntN(2)]
			m.do(i, nil, "futex", futex, shared(4*word), op|flags, count, 0, 0, bits)
		case 5:
			m.do(i, nil, "futex", futex, shared(4*word), []int{2, 14, 50}[m.r.IntN(3)]|flags, count, 0, 0, 0)
		}
	}
	i := m.oneIdle()
	for word := range 3 {
		m.do(i, nil, "futex", futex, shared(4*word), futexWake|private, 100)
	}
}
