//go:build !arm64

package tracer

// The CPU's name does not come from package runtime: that package's tests have their own variant of
// it, and a kernel that imports the other one cannot be linked with them.

const onARM64 = false
