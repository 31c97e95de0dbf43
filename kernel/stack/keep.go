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
	arch.Keep(unsafe.Pointer(&Table), unsafe.Sizeof(Table))
	for i := range Table {
		s := &Table[i]
		arch.Keep(unsafe.Pointer(s), unsafe.Offsetof(s.Lo))
		if i < Count { // Show knows the bounds
			arch.Keep(unsafe.Pointer(&s.Limit), unsafe.Sizeof(s.Limit))
		}
	}
	arch.Keep(unsafe.Pointer(&areas), unsafe.Sizeof(areas))
	arch.Keep(unsafe.Pointer(&sizes), unsafe.Sizeof(sizes))
	arch.Keep(unsafe.Pointer(&boot.StackLo), unsafe.Sizeof(boot.StackLo))
	arch.Keep(unsafe.Pointer(&boot.StackHi), unsafe.Sizeof(boot.StackHi))
	arch.Keep(unsafe.Pointer(&Frames), unsafe.Sizeof(Frames))
	w := &Walker
	arch.Keep(unsafe.Pointer(w), unsafe.Offsetof(w.Plain))
	arch.Keep(unsafe.Pointer(&w.Marks), unsafe.Offsetof(w.Outer)-unsafe.Offsetof(w.Marks))
	arch.Keep(unsafe.Pointer(&Marks), unsafe.Sizeof(Marks))
	arch.Keep(unsafe.Pointer(unsafe.SliceData(Marks)),
		uintptr(len(Marks))*unsafe.Sizeof(tracer.Mark{}))
	arch.Keep(unsafe.Pointer(&morestack), unsafe.Sizeof(morestack))
	arch.Keep(unsafe.Pointer(&execute), unsafe.Sizeof(execute))
	arch.Keep(unsafe.Pointer(&gogo), unsafe.Sizeof(gogo))
	arch.Keep(unsafe.Pointer(&walkerAddr), unsafe.Sizeof(walkerAddr))
	arch.Keep(unsafe.Pointer(&Goexit), unsafe.Sizeof(Goexit))
	arch.Keep(unsafe.Pointer(&Running), unsafe.Sizeof(Running))
	arch.Keep(unsafe.Pointer(&watched), unsafe.Sizeof(watched))
	arch.Keep(unsafe.Pointer(&watches), unsafe.Sizeof(watches))
	arch.Keep(unsafe.Pointer(&policies), unsafe.Sizeof(policies))
	arch.Keep(unsafe.Pointer(&OverLimit), unsafe.Sizeof(OverLimit))
}
