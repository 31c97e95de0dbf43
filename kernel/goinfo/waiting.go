package goinfo

import "github.com/zeroframe/zeroframe/tracer"

// What a goroutine waits for. The runtime queues a sudog for each channel of a select, and one for
// any other channel, semaphore or condition. This file returns their addresses, and which of their
// words tell what they are; the host reads those.

// A Part is some words of the runtime's data: Size bytes from Off on.
type Part struct{ Off, Size uintptr }

// numParts is the number of parts of a runtime.g that [GPart] knows.
const numParts = 5

// NumParts is the number of parts of a runtime.g that say where it is and what it waits for. Any
// context.
func NumParts() int { return numParts }

// GPart returns part i of a runtime.g, 0 <= i < [NumParts]: the bounds of its stack, where it was
// left, its status with its number and the reason of its wait, its first sudog, and where it began.
// ok is false if this runtime has no such fields. Any context.
func GPart(i int) (p Part, ok bool) {
	parts := [numParts][2]int{{gStackLo, gStackHi}, {gSchedSP, gSchedBP}, {gStatus, gWaitReason},
		{gWaitingOn, gWaitingOn}, {gStartPC, gStartPC}}
	first, last := item(parts[i][0]), item(parts[i][1])
	if first == unknown || last == unknown {
		return Part{}, false
	}
	lo, hi := fieldAt(first).Off, fieldAt(last).Off+fieldAt(last).Size
	if hi <= lo || hi-lo > 128 {
		return Part{}, false // they are no longer next to each other
	}
	return Part{lo, hi - lo}, true
}

func fieldAt(v uint64) Part { return Part{uintptr(uint32(v)), uintptr(v >> 32)} }

// Sudog returns the address of the first sudog that the goroutine waits on, 0 if there is none.
// Kernel context.
func (g *G) Sudog() uintptr {
	s, _ := loadPtr(g.Addr, gWaitingOn)
	return s
}

// NextSudog returns the one after s, 0 after the last. Kernel context.
func NextSudog(s uintptr) uintptr {
	next, _ := loadPtr(s, sudogNext)
	return next
}

// SudogSize is the number of bytes of a sudog that say what it is for, 0 if that is not known.
func SudogSize() uintptr { return sizeTo(sudogChan) }

// ChannelSize is the number of bytes of a channel that say what it holds and who waits, 0 if that
// is not known.
func ChannelSize() uintptr { return sizeTo(chanSendq) }

// sizeTo is the end of the field, which is one of the last of its struct.
func sizeTo(i int) uintptr {
	v := item(i)
	if v == unknown {
		return 0
	}
	f := fieldAt(v)
	return f.Off + f.Size
}

// Channel returns the channel of a sudog, 0 if it is for none; Semaphore returns the word of the
// semaphore, or the list of the condition, of a sudog without a channel. Kernel context.
func Channel(s uintptr) uintptr { return firstWord(s, sudogChan) }

// Semaphore: see [Channel].
func Semaphore(s uintptr) uintptr { return firstWord(s, sudogElem) }

// firstWord reads a pointer at the beginning of a field: since Go 1.26 the two above are structs.
func firstWord(base uintptr, i int) uintptr {
	v := item(i)
	if v == unknown || base < firstPage || base%wordSize != 0 {
		return 0
	}
	w, _ := readWord(base + fieldAt(v).Off)
	return w
}

// TimerWhen returns where the timer of a channel stores its expiration time; ok is false if the
// channel is no timer's. Kernel context.
func TimerWhen(channel uintptr) (addr uintptr, ok bool) {
	t, _ := loadPtr(channel, chanTimer)
	v := item(timerWhen)
	if t < firstPage || t%wordSize != 0 || v == unknown {
		return 0, false
	}
	return t + fieldAt(v).Off, true
}

// Variables returns where the program's variables with pointers lie: those with an initial value,
// then those without, each from lo up to hi. ok is false if that is not known. Kernel context.
func Variables() (lo, hi [2]uintptr, ok bool) {
	m := tracer.ModuleData()
	for i, f := range [2][2]int{{moduleData, moduleEData}, {moduleBSS, moduleEBSS}} {
		lo[i], ok = loadPtr(m, f[0])
		if !ok {
			return lo, hi, false
		}
		hi[i], ok = loadPtr(m, f[1])
		if !ok || hi[i] < lo[i] || hi[i]-lo[i] > maxVariables || lo[i]%wordSize != 0 {
			return lo, hi, false
		}
	}
	return lo, hi, true
}

// maxVariables bounds the size of a program's variables that is believed.
const maxVariables = 64 << 20
