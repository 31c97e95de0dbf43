package trace

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestLack: a trace of which the ELF file has nothing is one sentence, which says how many
// frames it has and which file is wanted, however many modules and traces there are.
func TestLack(t *testing.T) {
	build := strings.Repeat("5a", 20)
	linux := "BUG: kernel NULL pointer dereference, address: 0000000000000008\n" +
		"CPU: 1 PID: 7 Comm: insmod Tainted: G  O  6.1.0-18-amd64 #1 Debian 6.1.76-1 " + build + "\n" +
		"RIP: 0010:do_it+0x10/0x40\nCall Trace:\n <TASK>\n ? die+0x1/0x20\n do_init_module+0x4c/0x1f0\n </TASK>\n"
	modules := linux
	for i := range 15 {
		modules += fmt.Sprintf(" probe+0x1/0x2 [drv%d]\n", i)
	}
	const not = ": not resolved; give "
	for _, tt := range []struct{ name, in, want string }{
		{"linux", linux, "there is a Linux trace of 3 frames, but the ELF file is build 1" + not +
			"vmlinux of release 6.1.0-18-amd64 (build ID " + build + ") (-force resolves what has the name)"},
		{"linux, no build ID in the file", linux, "there is a Linux trace of 3 frames, but the ELF file does not hold its names" + not +
			"vmlinux of release 6.1.0-18-amd64 (build ID " + build + ")"},
		{"linux, twice", linux + linux, "there are 2 Linux traces of 6 frames, but the ELF file is build 1" + not +
			"vmlinux of release 6.1.0-18-amd64 (build ID " + build + ") (-force resolves what has the name)"},
		{"linux, another module", "Call Trace:\n probe+0x1/0x2 [drv " + build + "]\n", "there is a Linux trace of 1 frame, but the drv.ko given is build 4, not " + build + not +
			"drv.ko (-force resolves what has the name)"},
		{"linux, no build", "Linux version 6.12.1 (x@y)\nCall Trace:\n do_it+0x1/0x2\n", "there is a Linux trace of 1 frame, but the ELF file does not hold its names" + not +
			"vmlinux of release 6.12.1"},
		{"linux, modules", modules, "there is a Linux trace of 18 frames, but the ELF file is build 1" + not +
			"vmlinux of release 6.1.0-18-amd64 (build ID " + build + "), drv0.ko, drv1.ko, drv10.ko, drv11.ko, drv12.ko and 10 others (-force resolves what has the name)"},
		{"linux, another size", "RIP: 0010:main.f1+0x1/0x40\nCall Trace:\n gone+0x1/0x2\n", "there is a Linux trace of 2 frames, but its function main.f1 has " +
			"0x40 bytes, and that of the ELF file 0x100" + not + "vmlinux (-force resolves what has the name)"},
		{"go", "panic: x\n\ngoroutine 1 [running]:\nmain.a(...)\n\t/x/a.go:3\nmain.main()\n\t/x/a.go:9 +0x1d\n\ngoroutine 7 [select]:\nmain.b()\n\t/x/a.go:11 +0x2\n",
			"there are 2 Go traces of 2 frames, but the ELF file does not hold their names" + not + "the Go program that ran"},
		{"tinygo", "panic: runtime error at 0x00001234: nil pointer dereference\n", "there is a TinyGo trace of 1 frame, but the ELF file does not hold its names" + not +
			"the program that ran, with its symbols"},
		{"markup", "{{{module:0:app.so:elf:aa}}}\n{{{mmap:0x500000:0x1000:load:0:rx:0x1000}}}\n{{{bt:0:0x500010}}}\n{{{bt:1:0x500020}}}\n",
			"there is a markup trace of 2 frames, but the ELF file does not hold its names" + not + "app.so of build aa"},
		{"esp-idf", "Backtrace: 0x400d1234:0x3ffb0000 0x400d5678:0x3ffb0020\n", "there is an ESP-IDF trace of 2 frames, but the ELF file does not hold its names" + not +
			"the ELF file of the firmware that ran (build/PROJECT.elf)"},
		{"zephyr", "E: call trace:\nE:      0: fp: 0x20001000 lr: 0x08001235\nE:      1: fp: 0x20001010 lr: 0x08001301\n",
			"there is a Zephyr trace of 2 frames, but the ELF file does not hold its names" + not + "the zephyr.elf that ran"},
		{"gdb", "#0  0x0000000000501136 in leaf () at a.c:3\n#1  0x0000000000501150 in main () at a.c:9\n",
			"there is a gdb trace of 2 frames, but the ELF file does not hold its names" + not + "the program that ran, with its symbols"},
	} {
		im := image("1", "/x/vmlinux", 0x200000, "main.f0", "main.f1")
		switch tt.name {
		case "linux, no build ID in the file":
			im.build = ""
		case "linux, another module":
			im = image("4", "/x/drv.ko", 0x200000, "probe")
		}
		r := filter(t, Options{Symbols: im, Foreign: true}, []byte(tt.in))
		if r.log.String() != "zf: "+tt.want+"\n" || r.stats.Lost == 0 || r.stats.Foreign != 0 || !bytes.Equal(r.out.Bytes(), []byte(tt.in)) {
			t.Errorf("%s: %+v\n got %q\nwant %q\n%s", tt.name, r.stats, r.log.String(), tt.want, r.out.Bytes())
		}
	}
	// A library's frame in no file is nothing that somebody must know.
	r := filter(t, Options{Symbols: testImage(), Foreign: true}, []byte("#0  0x0000000000200110 in main.f1 ()\n#1  0x00007f0000000001 in start ()\n"))
	if r.log.Len() > 0 || r.stats.Lost > 0 || r.stats.Foreign != 1 {
		t.Errorf("a library's frame: %+v, %q", r.stats, r.log.Bytes())
	}
}
