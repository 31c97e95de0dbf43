package receive

import "runtime"

// runtimeMem tells how much was allocated in between.
type runtimeMem struct{ start uint64 }

func (m *runtimeMem) before() {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	m.start = s.TotalAlloc
}

func (m *runtimeMem) grown() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.TotalAlloc - m.start
}
