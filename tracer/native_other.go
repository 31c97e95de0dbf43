//go:build !arm64

package tracer

// The name of the CPU is not asked of package runtime: the tests of that have a variant of
// their own of it, and a kernel that imports the other cannot be linked with them.

const onARM64 = false
