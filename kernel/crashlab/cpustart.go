package main

import (
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/crashlab/golab"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Crashes of another CPU in its first instructions (boot/ap_amd64.s): the first one that is started
// hangs or faults there, and is left out. Then the first CPU crashes, with the remaining ones. The
// code is put after the instruction by which a CPU says how far it has come, or, in 64-bit mode, in
// place of the code that it would jump to.

// A startCrash is one kind of these. Crash lab only.
type startCrash struct {
	name string
	mode uint8
	code string
	help string
}

// startCrashes is their table. Crash lab only.
var startCrashes = [...]startCrash{
	{"start-16", boot.AP16, hang, "the second CPU hangs in its first instructions, in 16-bit mode"},
	{"start-32", boot.AP32, hang, "the same in 32-bit mode"},
	{"start-64", boot.AP64, hang, "the same in 64-bit mode"},
	{"start-fault-32", boot.AP32, undefined, "it has a fault there in 32-bit mode"},
	{"start-fault-64", boot.AP64, undefined, "the same in 64-bit mode"},
	{"start-triple", boot.AP16, triple, "a triple fault in 16-bit mode: the machine resets"},
}

// Code that is the same in all modes, except the last.
const (
	hang      = "\xf4\xeb\xfd"                 // HLT; JMP to that
	undefined = "\x0f\x0b"                     // UD2
	triple    = "\x0f\x01\x1e\x00\x0c\x0f\x0b" // LIDT 0xc00, where zeros are; UD2
)

//go:linkname startHook github.com/zeroframe/zeroframe/kernel/smp.startHook
var startHook = breakStart // crash lab only

// broken is set once a CPU was broken. Crash lab only.
var broken bool

// breakStart changes the page in which the second CPU will start. For the kind that does not crash,
// it changes the counter of time of each CPU.
//
//go:noinline
func breakStart(page uintptr) {
	kind, ok := wanted()
	if ok && ascii.Same(kind, golab.Skewed) {
		skew()
		return
	}
	c := startKind(kind)
	if !ok || c == nil || broken {
		return
	}
	broken = true
	const room = 0xc00 // of the page
	at := func(i int) *byte { return (*byte)(arch.Pointer(arch.Virtual(page + uintptr(i)))) }
	put := func(i int, s string) {
		for k := range len(s) {
			*at(i + k) = s[k]
		}
	}
	if c.mode == boot.AP64 {
		put(room, mark64)
		put(room+len(mark64), c.code)
		*(*uint32)(arch.Pointer(arch.Virtual(page + boot.APJump64))) = uint32(page + room)
		return
	}
	for i := range 16 {
		*at(room + i) = 0
	}
	mark := mark16
	if c.mode == boot.AP32 {
		mark = mark32
	}
	for i := range room {
		k := 0
		for k < len(mark) && *at(i + k) == mark[k] {
			k++
		}
		if k == len(mark) {
			put(i+k, c.code)
		}
	}
}

// skew makes the counter of the CPU that will start be off by its number times 2^33 ticks, behind
// if the number is odd, ahead if not. QEMU's CPUs share one counter and ignore writes to it, so the
// offset that is added to the counter is made wrong, and must be found and corrected.
//
//go:noinline
func skew() {
	n := uint64(percpu.Count() - 1)
	off := n << 33
	if n%2 != 0 {
		off = -off
	}
	percpu.At(uint32(n)).CounterOffset = off
}

// The instructions by which a CPU says that it has reached a mode.
const (
	mark16 = "\xc6\x06" + stageAt + "\x01"
	mark32 = "\xc6\x83" + stageAt + "\x00\x00\x02"
	mark64 = "\xc6\x83" + stageAt + "\x00\x00\x03"

	stageAt = "\xe0\x0f" // boot.APStage
)

const _ = uint(boot.APStage-0xfe0) + uint(0xfe0-boot.APStage) + uint(boot.AP16-1) +
	uint(boot.AP64-3)

// startKind returns the row of that kind, or nil.
func startKind(kind []byte) *startCrash {
	for i := range startCrashes {
		if c := &startCrashes[i]; named(kind, "cpu.", c.name) {
			return c
		}
	}
	return nil
}
