// Package outbox sends files out of the machine when the program ends: those that the program made
// or changed, at the paths of the options outbox=. Each is a record of kind [FileKind] of the event
// stream (package eventstream).
//
// Context: kernel, except Start.
package outbox

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
	"github.com/zeroframe/zeroframe/tracer/stream"
)

// FileKind is the kind of a record that is a file: its path, a zero byte, and its bytes.
const FileKind = "file"

// started is when the program was started, in nanoseconds since the epoch. Set once at boot.
var started int64

// room is where Send builds a path. Under the kernel lock.
var room [vfs.PathMax + 1 + vfs.NameMax]byte

// Start marks all present files as not the program's. Early context.
func Start() { started = clock.Wall() }

// Send sends each file that the program made or changed, at or below the path of an option outbox=.
// Kernel context.
func Send() {
	if _, ok := option.Value("outbox"); !ok {
		return
	}
	var names vfs.Names
	for {
		dir, id, name, ok := names.Next()
		if !ok {
			break
		}
		// The host has what is still a share's.
		if vfs.Mode(id)&vfs.S_IFMT != vfs.S_IFREG || vfs.ShareOf(id) != 0 ||
			vfs.Stat(id).Ctime < started {
			continue
		}
		if path := fullPath(dir, name); wanted(path) {
			w := eventstream.Begin(FileKind)
			w.Bytes(path)
			w.Byte(0)
			sendBytes(w, id)
			w.End()
		}
	}
	eventstream.Flush()
}

// fullPath returns the path of a name in a directory, nil if it is too long.
func fullPath(dir vfs.ID, name []byte) []byte {
	percpu.AssertLocked()
	path, e := vfs.Path(dir, room[:vfs.PathMax])
	if e != 0 {
		return nil
	}
	end := vfs.PathMax
	if len(path) > 1 { // the root's path already has the slash
		room[end] = '/'
		end++
	}
	for i, c := range name {
		room[end+i] = c
	}
	return room[vfs.PathMax-len(path) : end+len(name)]
}

// wanted reports whether an option outbox= names the path, or a directory above it.
func wanted(path []byte) bool {
	for value, line, ok := option.Next(option.Line(),
		"outbox"); ok; value, line, ok = option.Next(line, "outbox") {
		n := len(value)
		if n > 0 && len(path) >= n && ascii.Equal(path[:n], value) &&
			(len(path) == n || path[n] == '/' || value[n-1] == '/') {
			return true
		}
	}
	return false
}

// sendBytes sends the contents of a file.
func sendBytes(w *stream.Writer, id vfs.ID) {
	for off := int64(0); ; {
		addr, n := vfs.Page(id, off)
		if n == 0 {
			return
		}
		if addr == 0 {
			for range n {
				w.Byte(0)
			}
		} else {
			w.Bytes(unsafe.Slice((*byte)(arch.Pointer(addr)), n))
		}
		off += int64(n)
	}
}
