package tracer

import "unsafe"

// Memory is Size bytes at the address At.
type Memory struct{ At, Size uintptr }

// Tables returns where the tables lie that the package needs for a trace and never writes to. A
// kernel that keeps copies of what it needs in order to die keeps these, too. Any context.
func Tables() [9]Memory {
	return [...]Memory{
		{uintptr(unsafe.Pointer(&kindNames)), unsafe.Sizeof(kindNames)},
		{uintptr(unsafe.Pointer(&endNames)), unsafe.Sizeof(endNames)},
		{uintptr(unsafe.Pointer(&levelNames)), unsafe.Sizeof(levelNames)},
		{uintptr(unsafe.Pointer(&traceKindNames)), unsafe.Sizeof(traceKindNames)},
		{uintptr(unsafe.Pointer(&contextNames)), unsafe.Sizeof(contextNames)},
		{uintptr(unsafe.Pointer(&StackNames)), unsafe.Sizeof(StackNames)},
		{uintptr(unsafe.Pointer(&vectorNames)), unsafe.Sizeof(vectorNames)},
		{uintptr(unsafe.Pointer(&AMD64)), unsafe.Sizeof(AMD64)},
		{uintptr(unsafe.Pointer(&crcTable)), unsafe.Sizeof(crcTable)},
	}
}
