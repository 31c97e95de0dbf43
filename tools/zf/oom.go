package main

// What the heap of a machine has that has died for want of memory. The kernel leaves that machine
// standing (panic=keep), and its memory is read before it is ended.

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// mostHeapMiB is the RAM of the largest machine whose heap is read: that takes room on the disk and
// in memory.
const mostHeapMiB = 1 << 10

// canKeep is the function of a kernel that knows panic=keep.
const canKeep = "github.com/zeroframe/zeroframe/kernel/fault.keepOrQuit"

// readsHeap reports whether the heap is to be read when the machine has died for want of memory. An
// image that was there before may be of another version, whose kernel would complain.
func (m *machine) readsHeap(sym *symbol.File) bool {
	if m.qemu.CDROM != "" || m.record != "" || m.qemu.MemoryMiB > mostHeapMiB || m.debugged() {
		return false
	}
	_, _, knows := sym.Symbol(canKeep)
	return knows
}

// debugged reports whether a debugger may want to look at the machine.
func (m *machine) debugged() bool {
	extra := strings.Join(m.qemu.Extra, " ")
	return strings.Contains(" "+extra+" ", " -s ") || strings.Contains(extra, "-gdb")
}

// readHeap says what the heap of a machine has, if that has died for want of memory.
func (m *machine) readHeap(vm *qemu.VM, sym *symbol.File, out *screen) {
	if !m.keeps || !out.oom.Load() {
		return
	}
	if out.short != nil {
		out.short.hold()
	}
	dir, err := os.MkdirTemp("", "zf-heap-")
	if err != nil {
		return
	}
	defer os.RemoveAll(dir)
	line := progressLine{w: m.stderr, began: time.Now()}
	if isTerminal(m.stderr) {
		line.set("reading the heap")
	}
	defer line.close()
	path := m.core
	if path == "" {
		path = filepath.Join(dir, "core")
		c := &fullCore{streams: m.streams, path: path, elf: m.coreELF, sym: sym, force: m.force}
		if c.quietly(vm.Memory()) != nil {
			return
		}
	}
	m.heap = heapOf(path, m.coreELF)
}
