//go:build !amd64

package tracer

// There is no thunk for other CPUs.

func exitThunkPC() uintptr { return 0 }

func exitBodyPC() uintptr { return 0 }

func hookFrame() (fp uintptr, moves bool) { return 0, false }
