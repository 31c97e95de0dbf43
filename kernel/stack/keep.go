package stack

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/tracer"
)

// Keep stores second copies of the table's bounds and names, and of the walker's settings
// (arch.Keep). Early context.
func Keep() {
	arch.KeepVar(&Table)
	for i := range Table {
		s := &Table[i]
		arch.Keep(unsafe.Pointer(s), unsafe.Offsetof(s.Lo))
		if i < Count { // Show knows the bounds
			arch.KeepVar(&s.Limit)
		}
	}
	arch.KeepVar(&areas)
	arch.KeepVar(&sizes)
	arch.KeepVar(&boot.StackLo)
	arch.KeepVar(&boot.StackHi)
	arch.KeepVar(&Frames)
	w := &Walker
	arch.Keep(unsafe.Pointer(w), unsafe.Offsetof(w.Plain))
	arch.Keep(unsafe.Pointer(&w.Marks), unsafe.Offsetof(w.Outer)-unsafe.Offsetof(w.Marks))
	arch.KeepVar(&Marks)
	arch.Keep(unsafe.Pointer(unsafe.SliceData(Marks)),
		uintptr(len(Marks))*unsafe.Sizeof(tracer.Mark{}))
	arch.KeepVar(&morestack)
	arch.KeepVar(&execute)
	arch.KeepVar(&gogo)
	arch.KeepVar(&walkerAddr)
	arch.KeepVar(&Goexit)
	arch.KeepVar(&Running)
	arch.KeepVar(&watched)
	arch.KeepVar(&watches)
	arch.KeepVar(&policies)
	arch.KeepVar(&OverLimit)
}
