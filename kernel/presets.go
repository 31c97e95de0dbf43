package kernel

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/crashlog"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Files that every program expects. The loader's archives and the host's folders may bring other
// versions, which stay. (Package vfs makes the folders and devices.)

// presets are these files. Never written.
var presets = [...]struct{ path, text string }{
	{"/etc/group", "root:x:0:\n"},
	{"/etc/hostname", linux.HostName + "\n"},
	{"/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 " + linux.HostName + "\n"},
	{"/etc/os-release", "NAME=Zeroframe\nID=zeroframe\nVERSION_ID=" + Version + "\nPRETTY_NAME=\"Zeroframe " + Version + "\"\n"},
	{"/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"},
	{"/etc/services", services},
}

// services are names of ports that package net does not know by itself (IANA: Service Name and
// Transport Protocol Port Number Registry), and the first of those that it knows.
const services = `ftp 21/tcp
ssh 22/tcp
telnet 23/tcp
smtp 25/tcp
domain 53/tcp
domain 53/udp
bootps 67/udp
bootpc 68/udp
tftp 69/udp
http 80/tcp
kerberos 88/tcp
kerberos 88/udp
pop3 110/tcp
sunrpc 111/tcp
sunrpc 111/udp
ntp 123/udp
imap2 143/tcp imap
snmp 161/udp
snmp-trap 162/udp
ldap 389/tcp
https 443/tcp
https 443/udp
syslog 514/udp
submission 587/tcp
ldaps 636/tcp
imaps 993/tcp
pop3s 995/tcp
mysql 3306/tcp
postgresql 5432/tcp
mdns 5353/udp
`

// makePresets makes these files, as far as there is memory for them. Early context.
func makePresets() {
	now := clock.Wall()
	for i := range presets {
		vfs.AddText(ascii.Bytes(presets[i].path), vfs.S_IFREG|0o644, ascii.Bytes(presets[i].text), now)
	}
}

// storeRecord makes the crash record a file for the program, where Linux has such files, and clears
// it.
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
				crashlog.Bytes(crashlog.Trace),
			} {
				off += writeRecord(id, b, off, now)
			}
			entries := crashlog.Bytes(crashlog.CPUs)
			lines, rest, _, ok := crashlog.Entry(entries)
			for ; ok; lines, rest, _, ok = crashlog.Entry(rest) {
				off += writeRecord(id, lines, off, now)
			}
			writeRecord(id, crashlog.Bytes(crashlog.Console), off, now)
			vfs.Release(id)
		}
	}
	crashlog.Clear()
}

// writeRecord writes b to the file at off, and returns the number of bytes.
func writeRecord(id vfs.ID, b []byte, off, now int64) int64 {
	n, e := vfs.WriteAt(id, b, off, now)
	if e != 0 {
		return 0
	}
	return int64(n)
}
