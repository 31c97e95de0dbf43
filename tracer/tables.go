package tracer

import "unsafe"

// Memory is Size bytes at the address At.
type Memory struct{ At, Size uintptr }

func memoryOf[T any](v *T) Memory { return Memory{uintptr(unsafe.Pointer(v)), unsafe.Sizeof(*v)} }

// Tables returns where the tables lie that the package needs for a trace and never writes to. A
// kernel that keeps copies of what it needs in order to die keeps these, too. Any context.
func Tables() [9]Memory {
	return [...]Memory{
		memoryOf(&kindNames),
		memoryOf(&endNames),
		memoryOf(&levelNames),
		memoryOf(&traceKindNames),
		memoryOf(&contextNames),
		memoryOf(&StackNames),
		memoryOf(&vectorNames),
		memoryOf(&AMD64),
		memoryOf(&crcTable),
	}
}
