package main

// Recordings as somebody would send them who means harm. QEMU is a script here that says when it is
// called.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/record"
)

// hostile are machines with what harms, and what is said of them.
func hostile(victim string) []struct {
	meta record.Meta
	says string
} {
	extra := func(args ...string) record.Meta { return record.Meta{Extra: args} }
	return []struct {
		meta record.Meta
		says string
	}{
		{extra("-incoming", "exec:id >"+victim+"; cat"), `"-incoming"`},
		{extra("-chardev", "file,id=x,path="+victim), "the argument -chardev"},
		{extra("-chardev", "null,id=x,logfile="+victim), "the argument -chardev"},
		{extra("-D", victim), `"-D"`},
		{extra("--D", victim), `"--D"`},
		{extra("-pidfile", victim), `"-pidfile"`},
		{extra("-trace", "file="+victim), `"-trace"`},
		{extra("-drive", "file="+victim), `"-drive"`},
		{extra(victim), "would be a disk"},
		{extra("-blockdev", "driver=file,node-name=x,filename=/etc/shadow"), `"-blockdev"`},
		{extra("-device", "loader,file=/etc/shadow,addr=0x1000000"), "the argument -device"},
		{extra("-device", "e1000,romfile=/etc/shadow"), "the argument -device"},
		{extra("-device", "isa-debugcon,chardev=serial"), `joined with "serial"`},
		{extra("-global", "e1000.romfile="+victim), "the argument -global"},
		{extra("-monitor", "tcp:127.0.0.1:1"), "the argument -monitor"},
		{extra("-gdb", "tcp::1"), `"-gdb"`},
		{extra("-qmp", "unix:"+victim+",server=on"), `"-qmp"`},
		{extra("-readconfig", victim), `"-readconfig"`},
		{extra("-writeconfig", victim), `"-writeconfig"`},
		{extra("-plugin", victim), `"-plugin"`},
		{extra("-virtfs", "local,path=/,mount_tag=x,security_model=none"), `"-virtfs"`},
		{extra("-netdev", "user,id=n,guestfwd=tcp:10.0.2.9:1-cmd:id"), `"-netdev"`},
		{extra("-object", "filter-dump,id=x,netdev=net0,file="+victim), `"-object"`},
		{extra("-vnc", ":0"), `"-vnc"`},
		{extra("-daemonize"), `"-daemonize"`},
		{extra("-runas", "root"), `"-runas"`},
		{extra("-fw_cfg", "name=opt/x,file=/etc/shadow"), `"-fw_cfg"`},
		{extra("-smbios", "file=/etc/shadow"), `"-smbios"`},
		{extra("-smp", "4096"), `"-smp"`},
		{extra("-icount", "shift=0,rr=record,rrfile="+victim), `"-icount"`},
		{extra("-m", "1T"), "the argument -m"},
		{extra("-m", "1048576"), "more than 16384 MiB"},
		{extra("-\x1b[2J\x1b]0;x\a", "y"), `"-\x1b[2J\x1b]0;x\a"`},
		{record.Meta{Machine: "q35,dumpdtb=" + victim}, "the machine"},
		{record.Meta{Machine: "q35,firmware=" + victim}, "the machine"},
		{record.Meta{Machine: "virt"}, "the machine"},
		{record.Meta{CPU: "max,,path=" + victim}, "the processor"},
		{record.Meta{MemoryMiB: 1 << 20}, "1048576 MiB"},
		{record.Meta{MemoryMiB: -1}, "-1 MiB"},
		{record.Meta{Net: "vhost-user-net,chardev=x"}, "no network card"},
		{record.Meta{UEFI: true}, "UEFI firmware"},
		{record.Meta{Append: "a\x00b"}, "command line"},
		{record.Meta{Clock: time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)}, "the year 9000"},
	}
}

// recordingOf writes a recording of an image on such a machine.
func recordingOf(t *testing.T, elf string, meta record.Meta) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.zfr")
	meta.QEMU, meta.Name, meta.Command = "1.0", "a\x1b[2J\u202e.elf", "zf run"
	w, err := record.Create(path, meta, map[string]string{record.Image: elf})
	if err == nil {
		err = w.Close(&record.End{Outcome: qemu.Traced.String()})
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHostileRecordings: no command hands QEMU anything of such a recording; each says what it is.
func TestHostileRecordings(t *testing.T) {
	dir := t.TempDir()
	victim, called, fake := filepath.Join(dir, "victim"), filepath.Join(dir, "called"), filepath.Join(dir, "qemu")
	for name, text := range map[string]string{victim: "as it was", fake: "#!/bin/sh\necho \"$@\" >>" + called + "\necho QEMU emulator version 1.0\n"} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(qemu.Variable, fake)
	elf, page := guest(t), filepath.Join(dir, "page.html")
	for _, tt := range hostile(victim) {
		path := recordingOf(t, elf, tt.meta)
		for _, args := range [][]string{
			{"replay", path}, {"replay", "-force", "-q", path}, {"replay", "-reverse", "-gdb", "0", path}, {"why", path},
			{"report", "-o", page, path},
		} {
			code, stdout, stderr := zf(nil, args...)
			if code != exitUsage || !strings.Contains(stderr, printable(tt.says)) || !strings.Contains(stderr, "-trust-qemu-args") ||
				strings.ContainsAny(stdout+stderr, "\x1b\a") {
				t.Errorf("%+v: zf %q = %d, %q, %q; want %q", tt.meta, args[0], code, stdout, stderr, tt.says)
			}
		}
		if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "asks for more than the machine") {
			t.Errorf("%+v: the page does not say why nothing was looked for: %v", tt.meta, err)
		}
		code, stdout, stderr := zf(nil, "replay", "-info", path)
		if code != exitOK || !strings.Contains(stdout, "not trusted   ") || !strings.Contains(stdout, printable(tt.says)) || strings.ContainsAny(stdout, "\x1b\a\u202e") {
			t.Errorf("%+v: zf replay -info = %d, %q, %q; want %q", tt.meta, code, stdout, stderr, tt.says)
		}
	}
	if b, err := os.ReadFile(called); err == nil {
		t.Errorf("QEMU was called:\n%s", b)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "as it was" {
		t.Errorf("a file was changed: %q, %v", b, err)
	}
	// With the flag QEMU is asked.
	zf(nil, "replay", "-trust-qemu-args", recordingOf(t, elf, record.Meta{Extra: []string{"-D", "x"}}))
	if b, err := os.ReadFile(called); err != nil || !strings.Contains(string(b), "--version") {
		t.Errorf("with -trust-qemu-args QEMU was called with %q, %v", b, err)
	}
}

// TestForeignScript: gdb is told to trust the installed Go's commands, and nothing else that an ELF
// file names.
func TestForeignScript(t *testing.T) {
	for _, path := range []string{
		"/", "/tmp/x.py", "/tmp/src/runtime/runtime-gdb.py", "src/runtime/runtime-gdb.py", "/x:/src/runtime/runtime-gdb.py", "",
		"/golang.org/toolchain@x/../../src/runtime/runtime-gdb.py",
	} {
		if ofGo(path) {
			t.Errorf("gdb would run what %q says", path)
		}
	}
	if path, ok := runtimeScript(guest(t)); ok && !strings.HasSuffix(path, "/src/runtime/runtime-gdb.py") {
		t.Errorf("the image's own script is %q", path)
	}
}
