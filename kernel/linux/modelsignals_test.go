package linux

import (
	"encoding/binary"
	"syscall"
	"unsafe"
)

// usr2Action is what SIGUSR2 does, of this package and of Linux.
var usr2Action [2]action

// signals blocks signals, waits for them and sends them; it also sleeps until a signal ends the
// sleep.
func (m *model) signals() {
	m.setTimes()
	const usr1, usr2 = 1 << (syscall.SIGUSR1 - 1), 1 << (syscall.SIGUSR2 - 1)
	set := func(w *worker, sets ...uint64) {
		v := sets[m.r.IntN(len(sets))]
		for _, room := range w.room {
			clear(room[:8])
			binary.LittleEndian.PutUint64(room[8:], v)
		}
	}
	for range 500 {
		i := m.oneIdle()
		w, idle := m.workers[i], 0
		for _, w := range m.workers {
			if !w.waits {
				idle++
			}
		}
		first8 := func(int64) int { return 8 }
		switch m.r.IntN(9) {
		case 8: // ignored for a moment, it is no longer pending
			for side, room := range w.room {
				clear(room[64:160])
				room[64] = sigIgnore
				*(*action)(unsafe.Pointer(&room[128])) = usr2Action[side]
			}
			m.do(i, nil, "rt_sigaction", syscall.SYS_RT_SIGACTION, int(syscall.SIGUSR2), at(64), 0, 8)
			m.do(i, nil, "rt_sigaction", syscall.SYS_RT_SIGACTION, int(syscall.SIGUSR2), at(128), 0, 8)
		case 0, 1:
			set(w, 0, usr1, usr2, usr1|usr2, usr1|unblockable)
			m.do(i, first8, "rt_sigprocmask", syscall.SYS_RT_SIGPROCMASK, m.r.IntN(4), at(8), at(0), 8)
		case 2:
			set(w, 0)
			m.do(i, first8, "rt_sigpending", syscall.SYS_RT_SIGPENDING, at(0), 8)
		case 3, 4:
			var time any = at([]int{noTime, noTime, badTime}[m.r.IntN(3)])
			if idle > 1 && m.r.IntN(2) == 0 {
				time = 0
			}
			set(w, usr1, usr2, usr1|usr2)
			m.do(i, nil, "rt_sigtimedwait", syscall.SYS_RT_SIGTIMEDWAIT, at(8), 0, time, 8)
		case 5:
			if idle == 1 {
				continue
			}
			if w.th.Mask&usr1 != 0 {
				continue // it has to end
			}
			set(w, 1<<20) // seconds
			for _, room := range w.room {
				clear(room[16:40])
			}
			m.do(i, func(r int64) int {
				for _, room := range w.room { // a moment has passed with Linux
					if binary.LittleEndian.Uint64(room[32:]) > 0 {
						binary.LittleEndian.PutUint64(room[32:], 0)
						binary.LittleEndian.PutUint64(room[24:], binary.LittleEndian.Uint64(room[24:])+1)
					}
				}
				return 40
			}, "nanosleep", syscall.SYS_NANOSLEEP, at(8), at(24))
		default:
			to := m.r.IntN(len(m.workers))
			m.do(i, nil, "tgkill", syscall.SYS_TGKILL, pids{}, tid(to), []int{int(syscall.SIGUSR1), int(syscall.SIGUSR2), 0, 65}[m.r.IntN(4)])
		}
	}
	for j, w := range m.workers {
		for sig := int(syscall.SIGUSR1); w.waits; sig ^= int(syscall.SIGUSR1 ^ syscall.SIGUSR2) {
			m.do(m.oneIdle(), nil, "tgkill", syscall.SYS_TGKILL, pids{}, tid(j), sig)
		}
	}
}
