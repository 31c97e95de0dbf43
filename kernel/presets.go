package kernel

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/crashlog"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// What a program expects to find in any file tree, and the loader's archives may bring
// in another form: they are read afterwards. (Package fs makes the folders and devices.)

// makePresets makes these files, as far as there is memory for them. Early context.
func makePresets() {
	linkExecutable()
	const dir, hosts = "/etc", "127.0.0.1 localhost\n::1 localhost\n"
	now := clock.Wall()
	vfs.Mkdir(vfs.Root, ascii.Bytes(dir), 0o755, now)
	if id, e := vfs.Open(vfs.Root, ascii.Bytes("/etc/hosts"), vfs.O_CREAT|vfs.O_WRONLY, 0o644, now); e == 0 {
		vfs.WriteAt(id, ascii.Bytes(hosts), 0, now)
		vfs.Release(id)
	}
}

// The link /proc/self/exe, which os.Executable reads: os.Args[0], from the root. A
// program has no file of its own unless whoever booted it has packed one there.

// executable holds the link's target. Set once at boot.
var executable [vfs.PathMax]byte

// linkExecutable makes the link, unless the name is too long.
func linkExecutable() {
	name, given := option.Value("arg0")
	if !given {
		name = ascii.Bytes(defaultArg0)
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
	vfs.Mkdir(vfs.Root, ascii.Bytes(dir), 0o555, now)
	vfs.Symlink(executable[:n], vfs.Root, ascii.Bytes(link), now)
}

// storeRecord makes a file of the record, where Linux has them, for the program; and
// clears it.
func storeRecord(found crashlog.State) {
	if found == crashlog.Whole {
		now := clock.Wall()
		for _, dir := range [...]string{"/sys", "/sys/fs", "/sys/fs/pstore"} {
			vfs.Mkdir(vfs.Root, ascii.Bytes(dir), 0o755, now)
		}
		const name = "/sys/fs/pstore/dmesg-zeroframe-0"
		if id, e := vfs.Open(vfs.Root, ascii.Bytes(name), vfs.O_CREAT|vfs.O_WRONLY, 0o644, now); e == 0 {
			off := int64(0)
			for _, b := range [...][]byte{
				ascii.Bytes("previous boot died: "), crashlog.Bytes(crashlog.Reason), ascii.Bytes("\r\n"),
				crashlog.Bytes(crashlog.Trace), crashlog.Bytes(crashlog.Console),
			} {
				if n, e := vfs.WriteAt(id, b, off, now); e == 0 {
					off += int64(n)
				}
			}
			vfs.Release(id)
		}
	}
	crashlog.Clear()
}
