package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/fs"
)

// What a program expects to find in any file tree, and the loader's archives may bring
// in another form: they are read afterwards. (Package fs makes the folders and devices.)

func path(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// makePresets makes these files, as far as there is memory for them. Early context.
func makePresets() {
	linkExecutable()
	const dir, hosts = "/etc", "127.0.0.1 localhost\n::1 localhost\n"
	now := clock.Wall()
	fs.Mkdir(fs.Root, path(dir), 0o755, now)
	if id, e := fs.Open(fs.Root, path("/etc/hosts"), fs.O_CREAT|fs.O_WRONLY, 0o644, now); e == 0 {
		fs.WriteAt(id, path(hosts), 0, now)
		fs.Release(id)
	}
}

// The link /proc/self/exe, which os.Executable reads: os.Args[0], from the root. A
// program has no file of its own unless whoever booted it has packed one there.

// executable holds the link's target.
var executable [fs.PathMax]byte

// linkExecutable makes the link, unless the name is too long.
func linkExecutable() {
	name, given := Option("arg0")
	if !given {
		name = path(defaultArg0)
	}
	n := 0
	if len(name) == 0 || name[0] != '/' {
		executable[0] = '/'
		n++
	}
	if n+len(name) > len(executable) {
		return
	}
	for _, c := range name {
		executable[n] = c
		n++
	}
	const dir, link = "/proc/self", "/proc/self/exe"
	now := clock.Wall()
	fs.Mkdir(fs.Root, path(dir), 0o555, now)
	fs.Symlink(executable[:n], fs.Root, path(link), now)
}
