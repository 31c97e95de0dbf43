package trace

// Reports of programs, profilers and crash reporters. Their lines are of the form that the real
// tools print, as recorded from them (ASan, UBSan and TSan of gcc 12 and clang 19, glibc 2.36,
// rustc 1.95, perf and Linux 6.1 and 6.18, bpftrace 0.17, OpenJDK 17), or else as the sources
// that tools/format/foreign names write them; the addresses are those that the C program of
// testdata/foreign has told. TestReportsLive and the gate of `make test-symbol` run
// the tools themselves.

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A report is a capture, and the traces that it makes, in short.
type report struct {
	said
	traces []string
}

const slide = 0x55d0c0c00000

// reports returns the captures of all formats.
func reports(t testing.TB) []report {
	p := cImage(t)
	leaf, hold, mid, ends := p.where(t, "pc leaf:18"), p.where(t, "ra hold:29"), p.where(t, "ra main:70"), p.where(t, "ra ends:56")
	const (
		atLeaf = "leaf+0x|one.c:18"
		atHold = "hold (inlined)|one.c:29"
		inMid  = "middle+0x|one.c:35"
		inMain = "main+0x|one.c:70"
		inEnds = "ends+0x|one.c:56"
	)
	id := p.sym.BuildID()
	head, fileOff, textStart := ^uint64(0), uint64(0), uint64(0)
	for _, s := range p.sym.Loaded() {
		head = min(head, s.Addr)
		if s.Exec {
			fileOff, textStart = s.Addr-s.Offset, s.Addr
		}
	}
	off := func(name string, addr uint64) uint64 { return addr - p.start[name] }
	const libc = "#3 0x7fc922c45249  (/lib/x86_64-linux-gnu/libc.so.6+0x27249)"
	f := fmt.Sprintf
	all := []report{{said{
		name: "asan, gcc",
		in: f("=================================================================\n==31880==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000020 at pc %#x bp 0x7ffe97d53240 sp 0x7ffe97d53238\n", leaf) +
			f("READ of size 4 at 0x602000000020 thread T0\n    #0 %#x  (/tmp/x/c.elf+%#x)\n", leaf+slide, leaf) +
			f("    #1 %#x  (/tmp/x/c.elf+%#x)\n    #2 %#x  (/tmp/x/c.elf+%#[4]x)\n    %s\n\n", hold-1+slide, hold-1, mid-1+slide, mid-1, libc),
		want: []string{"ERROR\tleaf+0x", "#0\t" + atLeaf, "#1\t" + atHold, "#1\t" + inMid, "#2\t" + inMain},
	}, []string{"sanitizer: pc=leaf pc=hold pc=main pc='?'"}}, {said{
		name: "asan, clang, two stacks",
		in: f("    #0 %#x  (/tmp/x/c.elf+%#x) (BuildId: %s)\n    #1 0x7f947064d249  (/lib/libc.so.6+0x27249) (BuildId: 93ac61ec5a8eb1396f9fbd350e3169a558528a40)\n\n", leaf+slide, leaf, id) +
			f("allocated by thread T0 here:\n    #0 %#x in malloc (/tmp/x/renamed+%#x) (BuildId: %s)\n    #1 %#x in main /src/one.c:70:3\n\n", ends-1+slide, ends-1, id, mid) +
			f("SUMMARY: AddressSanitizer: heap-use-after-free (/tmp/x/c.elf+%#x) (BuildId: %s)\n", leaf, id),
		want: []string{"#0\t" + atLeaf, "#0\t" + inEnds},
	}, []string{"sanitizer: pc=leaf pc='?'", "sanitizer: pc=ends"}}, {said{
		name: "tsan",
		in: f("WARNING: ThreadSanitizer: data race (pid=32036)\n  Write of size 4 at 0x5555569e4698 by main thread:\n    #0 <null> <null> (c.elf+%#x) (BuildId: %s)\n", leaf, id) +
			f("    #1 main <null> (c.elf+%#x)\n    #2 <null> <null> (libc.so.6+0x27249)\n\n  Previous write of size 4 at 0x5555569e4698 by thread T1:\n    #0 hold /src/one.c:29 (c.elf+%#x)\n", mid-1, hold-1),
		want: []string{"#0\t" + atLeaf, "#1\t" + inMain, "#0\thold (inlined)| at 0x", "#0\tmiddle+0x| at 0x"},
	}, []string{"sanitizer: pc=leaf pc=main pc='?'", "sanitizer: pc=hold"}}, {said{
		name: "ubsan",
		in: f("u.c:2:60: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'\n    #0 %#x  (/tmp/x/c.elf+%#x)\n    #1 %#x  (/tmp/x/c.elf+%#[4]x)\r\n",
			leaf+slide, leaf, mid-1+slide, mid-1),
		want: []string{"#0\t" + atLeaf, "#1\t" + inMain},
	}, []string{"sanitizer: pc=leaf pc=main"}}, {said{
		name: "another build",
		in:   f("    #0 %#x  (/tmp/x/c.elf+%#x) (BuildId: 93ac61ec5a8eb1396f9fbd350e3169a558528a40)\n", leaf, leaf),
		log:  "the c.elf given is build " + id + ", not 93ac61ec5a8eb1396f9fbd350e3169a558528a40: not resolved; give c.elf of build 93ac61ec5a8eb1396f9fbd350e3169a558528a40",
	}, []string{"sanitizer: pc='?'"}}, {said{
		name: "another program",
		in:   f("    #0 %#x  (/tmp/x/nosuch+%#x)\n    #1 0x7fc922c45249  (/lib/libc.so.6+0x27249)\n", leaf, leaf),
		log:  "there is a sanitizer trace of 2 frames, but the ELF file does not hold its names: not resolved; give nosuch\n",
	}, []string{"sanitizer: pc='?' pc='?'"}}, {said{
		name: "coredumpctl",
		in: "           PID: 1234 (c.elf)\n        Signal: 11 (SEGV)\n    Executable: /usr/bin/c.elf\n       Message: Process 1234 (c.elf) of user 0 dumped core.\n                \n" +
			f("                Module /usr/bin/c.elf with build-id %s\n                Found module linux-vdso.so.1 with build-id: 0123456789abcdef\n                Stack trace of thread 1234:\n", id) +
			f("                #0  0x%016x leaf (c.elf + %#x)\n                #1  0x%016x __restore_rt (libc.so.6 + 0x3c050)\n                #2  0x%016x n/a (c.elf + %#x)\n", leaf+slide, leaf-head, uint64(0x7fc922c45249), leaf+slide, leaf-head) +
			f("                #3  0x%016x n/a (c.elf + %#x)\n                \n                Stack trace of thread 1240:\n                #0  0x%016x n/a (/usr/bin/c.elf + %#x)\n", mid+slide, mid-head, leaf+slide, leaf-head),
		want: []string{"#0\t" + atLeaf, "#2\t" + atLeaf, "#3\t" + inMain, "#0\t" + atLeaf},
	}, []string{"coredump: pc=leaf ra='__restore_rt' pc=leaf ra=main", "coredump: pc=leaf"}}, {said{
		name: "glibc",
		in: f("boom: ./c.elf(middle+%#x)[%#x]\n/usr/bin/c.elf(+%#x)[%#x]\n./c.elf() [%#x]\n/lib/x86_64-linux-gnu/libc.so.6(__libc_start_main+0x85)[0x7f3d0b26e305]\n./c.elf(_start+0x21)[0x%x]\n",
			off("middle", hold), hold+slide, mid, mid+slide, ends, p.start["_start"]+0x21+slide),
		want: []string{"boom\t" + atHold, "boom\t" + inMid, "(+0x\t" + inMain, "() [\t" + inEnds},
	}, []string{"glibc: ra=hold ra=main ra=ends ra='__libc_start_main' ra=_start"}}, {said{
		name: "fault",
		in: f("[ 1260.435219] c.elf[31943]: segfault at 8 ip %016x sp 00007ffe417ea7d0 error 4 in c.elf[%x,%x+1000] likely on CPU 1 (core 1, socket 0)\n", leaf+slide, leaf-fileOff, textStart+slide) +
			f("[ 1261.000000] c.elf[1]: segfault at 8 ip %016x sp 00007ffe417ea7d0 error 4 in c.elf[%x+1000]\n", leaf+slide, textStart+slide) +
			f("[ 1262.000000] traps: c.elf[1] general protection fault ip:%x sp:7ffe417ea7d0 error:0 in c.elf[%x+1000]\n", leaf+slide, textStart+slide) +
			f("[ 1263.000000] x[1]: segfault at 8 ip %016x sp 00007ffe417ea7d0 error 4 in libx.so[%x+1000]\n", leaf+slide+0x100000, textStart+slide+0x100000) +
			f("[ 1264.000000] c.elf[9]: unhandled level 2 translation fault (11) at 0x00000000, esr 0x92000006, in c.elf[%x+1000]\npc : %016x\n", textStart+2*slide, leaf+2*slide),
		want: []string{"1260\t" + atLeaf, "1261\t" + atLeaf, "1262\t" + atLeaf, "pc :\t" + atLeaf},
	}, []string{"fault: pc=leaf", "fault: pc=leaf", "fault: pc=leaf", "fault: pc='?' pc=leaf"}}, {said{
		name: "perf script",
		in: f("spin 32159 [001]  1262.528037:    5000000 cpu-clock:ppp: \n\t    %12x leaf+%#x (/tmp/c.elf)\n\t    %12x [unknown] (/tmp/c.elf)\n", leaf-fileOff, off("leaf", leaf), hold-fileOff) +
			f("\t    %12x main+%#x (/tmp/c.elf)\n\t           2724a __libc_start_call_main+0x7a (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\n", mid-fileOff, off("main", mid)) +
			f("spin 32159 [001]  1262.543113:    5000000 cpu-clock:ppp: \n\tffffffff810020e7 do_syscall_64+0x57 ([kernel.kallsyms])\n\t    %12x ends+0x%x (/tmp/c.elf)\n\n", ends+slide, off("ends", ends)) +
			f("spin 1/2 1262.5: PERF_RECORD_MMAP2 1/2: [%#x(0x1000) @ %#x fe:00 10185064 3249428521]: r-xp /tmp/c.elf\nspin 32159  1262.6: 1 cycles: \n\t    %12x [unknown] (/tmp/c.elf)\n", textStart+3*slide, textStart-fileOff, leaf+3*slide),
		want: []string{"leaf+\t" + atLeaf, "unknown\t" + atHold, "unknown\t" + inMid, "main+\t" + inMain, "ends+\t" + inEnds, "unknown\t" + atLeaf},
	}, []string{"perf: pc=leaf ra=hold ra=main ra='__libc_start_call_main'", "perf: pc='do_syscall_64' ra=ends", "perf: pc=leaf"}}, {said{
		name: "bpftrace",
		in:   f("Attaching 1 probe...\n\n@[\n    leaf+%d\n    middle+%d\n    nosuch+107\n    main+%d\n    %#x\n]: 3\n@[\n    %#[4]x\n    ends+%[5]d\n]: 1\n and a+1 is\n    nosuch+12\n", off("leaf", leaf), off("middle", hold), off("main", mid), ends, off("ends", p.start["ends"]+4)),
		want: []string{"leaf+\t" + atLeaf, "middle+\t" + atHold, "middle+\t" + inMid, "main+\t" + inMain, "0x\t" + inEnds, "0x\tafter+0x0", "ends+\tends+0x"},
	}, []string{"bpftrace: pc=leaf ra=hold ra='nosuch' ra=main ra=ends", "bpftrace: pc=after ra=ends"}}, {said{
		name: "rust",
		in: f("thread 'main' panicked at r.rs:1:57:\nindex out of bounds: the len is 3 but the index is 6\nstack backtrace:\n   0:     %#x - <unknown>\n   1:     %#x - r::main::h086b0cfd890a8ea9\n", hold, mid) +
			f("                               at /tmp/r.rs:3:67\n   2:     %#x - core::ops::FnOnce::call_once::h53821fd6a436237b\n   3:     0x7f0000001000 - <unknown>\n", mid),
		want: []string{"0:\t" + atHold, "0:\t" + inMid, "1:\t" + inMain},
	}, []string{"rust: ra=hold ra=main ra='?'"}}, {said{
		name: "chromium and android",
		in: f("[1:2:1125/1:FATAL:x.cc(12)] Check failed: x.\n#0 %#x base::debug::CollectStackTrace()\n#1 %#x <unknown>\n#2 0x7f...\n#2 0x7f0000001000 (/usr/lib/libc.so.6+0x3bd8f)\n#3 %#x (/opt/c.elf+%#x)\n\n", ends, hold, mid+slide, mid) +
			f("backtrace:\n      #00 pc %016x  /system/lib64/c.elf (leaf+%d) (BuildId: %s)\n      #01 pc %016x  /data/app/base.apk!c.elf (offset 0x1000)\n      #02 pc 0000000000091234  /apex/libc.so (__libc_init+100)\n", leaf, off("leaf", leaf), id, mid-1),
		want: []string{"#0\t" + inEnds, "#1\t" + atHold, "#1\t" + inMid, "#3\t" + inMain, "#00\t" + atLeaf, "#01\t" + inMain},
	}, []string{"chromium: ra=ends ra=hold ra='?' ra=main", "android: pc=leaf pc=main pc='__libc_init'"}}, {said{
		name: "hotspot",
		in: f("#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n# Problematic frame:\n# C  [c.elf+%#x]  leaf+%#x\n#\n\n", leaf-head, off("leaf", leaf)) +
			f("Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)\nC  [c.elf+%#x]  leaf+%#x\nC  [c.elf+%#x]\nj  Crash.boom(I)I+0\nV  [libjvm.so+0x8a1b2c]  JavaCalls::call_helper(JavaValue*)+0x2ec\n", leaf-head, off("leaf", leaf), mid-head),
		want: []string{"# C\t" + atLeaf, "C  [c.elf\t" + atLeaf, "]\n\t" + inMain},
	}, []string{"hotspot: pc=leaf", "hotspot: pc=leaf ra=main ra='JavaCalls::call_helper(JavaValue*)'"}}, {said{
		name: "minidump_stackwalk",
		in: f("Crash reason:  SIGSEGV\nThread 0 (crashed)\n 0  c.elf + %#x\n    rax = 0x0000000000000000   rip = 0x%016x\n    Found by: given as instruction pointer in context\n 1  c.elf!middle + %#x\n    Found by: call frame info\n 2  c.elf!main [one.c : 70 + 0x3]\n 3  libc.so.6 + 0x2d1e2\n", leaf-head, uint64(0x7f0000001000), off("middle", hold)) +
			f("\nThread 1\n 0  c.elf + %#x\n\nLoaded modules:\n%#x - %#x  c.elf  ???  (main)\n0x7f0000000000 - 0x7f0000000fff  libc.so.6  ???\n0|0|c.elf||||%#x\n0|1|c.elf|main|one.c|70|0x3\n", leaf-head, head+slide, head+slide+0x4fff, leaf-head),
		want: []string{" 0  c\t" + atLeaf, " 1\t" + atHold, " 1\t" + inMid, " 0  c\t" + atLeaf, "0|0\t" + atLeaf},
	}, []string{"minidump: pc=leaf ra=hold ra='main' ra='?'", "minidump: pc=leaf", "minidump: pc=leaf ra='main'"}}, {said{
		name: "windows",
		in: f("STACK_TEXT:  \n00000000`0012f8b0 %s     : 00000000`0000000a 00000000`00000000 00000000`00000002 00000000`00000000 : c+0x%x\n", tick(mid+slide), leaf-head) +
			f("0000008c`6d8ff8c0 00007ff7`9d2112d4     : 00000000`0000000a 00000000`00000000 00000000`00000002 00000000`00000000 : c+0x%x\n", mid-head) +
			"0000008c`6d8ff8c0 00000000`00000000     : 00000000`0000000a 00000000`00000000 00000000`00000002 00000000`00000000 : ntdll!RtlUserThreadStart+0x21\n",
		want: []string{"c+\t" + atLeaf, "c+\t" + inMain},
	}, []string{"windbg: pc=leaf ra=main ra='ntdll!RtlUserThreadStart'"}}, {said{
		name: "macos",
		in: "Thread 0 Crashed:: Dispatch queue: com.apple.main-thread\n" +
			f("0   c.elf                         \t       0x%x 0x%x + %d\n1   c.elf                         \t       0x%x main + %d (one.c:70)\n2   dyld                          \t       0x18f7b3154 start + 2476\n\n", leaf+slide, head+slide, leaf-head, mid+slide, off("main", mid)) +
			f("Binary Images:\n       0x%x -        0x%x c.elf (*) <12345678-1234-1234-1234-123456789abc> /Users/x/c.elf\n", head+slide, head+slide+0x3fff) +
			f("Thread 1:\n0   c.elf                         \t       0x%x 0x%x + %d\n", leaf+slide, head+slide, leaf-head),
		want: []string{"0   c\t" + atLeaf, "1   c\tmain+0x| at 0x", "0   c\t" + atLeaf},
	}, []string{"macos: pc=leaf ra=main ra='start'", "macos: pc=leaf"}}, {said{
		name: "macos, ips",
		in: "{\"app_name\":\"c.elf\",\"timestamp\":\"2026-11-25 10:00:00.00 +0100\",\"bug_type\":\"309\"}\n{\n  \"procPath\" : \"\\/Users\\/x\\/c.elf\",\n" +
			f("  \"threads\" : [{\"triggered\":true,\"id\":1,\"frames\":[{\"imageOffset\":%d,\"symbol\":\"leaf\",\"symbolLocation\":16,\"imageIndex\":1},{\"imageOffset\":%d,\"imageIndex\":1},{\"imageOffset\":9,\"imageIndex\":0}]},\n  {\"id\":2,\"frames\":[{\"imageOffset\":%[1]d,\"imageIndex\":1}]}],\n", leaf-head, mid-head) +
			"  \"usedImages\" : [\n  {\n    \"base\" : 6702432256,\n    \"path\" : \"\\/usr\\/lib\\/dyld\",\n    \"name\" : \"dyld\"\n  },\n  {\n    \"base\" : 4333600768,\n    \"path\" : \"\\/Users\\/x\\/c.elf\",\n    \"name\" : \"c.elf\"\n  }\n],\n  \"x\" : 1\n}\n",
		want: []string{"],\tc.elf + ", "],\t" + atLeaf, "],\tc.elf + ", "],\t" + inMain, "],\tc.elf + ", "],\t" + atLeaf},
	}, []string{"macos: pc=leaf ra=main ra='?'", "macos: pc=leaf"}}, {said{
		name: "macos, panic",
		in: f("panic(cpu 0 caller 0xffffff8012345678): Kernel trap at 0xffffff8012345678, type 14=page fault\nBacktrace (CPU 0), Frame : Return Address\n0xffffffa0b1c3b3d0 : 0x%016x mach_kernel : main + 0x%x\n0xffffffa0b1c3b3e0 : 0x%016x \n", mid+0x1b800000, off("main", mid), ends+0x1b800000) +
			f("      Kernel Extensions in backtrace:\nKernel slide:     0x000000001b800000\n"),
		want: []string{"main +\t" + inMain, "b3e0\t" + inEnds},
	}, []string{"macos: ra=main ra=ends"}}, {said{
		name: "freebsd",
		in: f("KDB: stack backtrace:\n#0 0x%016x at main+0x%x\n#1 0x%016x at nosuch+0x151\n", mid, off("main", mid), ends) +
			f("db> bt\nTracing pid 0 tid 100000 td 0xffffffff81a\nends() at ends+0x4/frame 0xfffffe0000000000\n--- trap 0xc, rip = 0x%x, rsp = 0xfffffe00, rbp = 0xfffffe00 ---\nleaf() at leaf+0x%x/frame 0xfffffe0000000010\nmain() at main+0x%x/frame 0xfffffe0000000020\n", leaf, off("leaf", leaf), off("main", mid)),
		want: []string{"#0\t" + inMain, "#1\t" + inEnds, "ends()\tends+0x4", "leaf()\t" + atLeaf, "main()\t" + inMain},
	}, []string{"freebsd: ra=main ra=ends", "freebsd: pc=ends pc=leaf ra=main"}}, {said{
		name: "crash and drgn",
		in: f("PID: 1      TASK: ffff88003f8a8000  CPU: 0    COMMAND: \"sh\"\n #0 [ffff88003f8a7d18] middle at %016x\n    [exception RIP: leaf+%d]\n    RIP: %016x  RSP: ffff88003f8a7e58  RFLAGS: 00010246\n #1 [ffff88003f8a7e80] main at %016x\n #2 [ffff88003f8a7e90] probe at ffffffffa0001234 [drv]\n\n", hold, off("leaf", leaf), leaf, mid) +
			f("#0  %s\n#1  %s\n#2  main (one.c:70:3)\n#3  0x7f0000001000\n", p.off("leaf", p.start["leaf"], leaf), p.off("middle", p.start["middle"], hold)),
		want: []string{"#0\t" + atHold, "#0\t" + inMid, "exception\t" + atLeaf, "RIP: \t" + atLeaf, "#1\t" + inMain, "#0  leaf\t" + atLeaf, "#1  middle\t" + atHold, "#1\t" + inMid},
	}, []string{"crash: ra=hold pc=leaf ra=main ra='probe'", "linux: pc=leaf ra=hold"}}, {said{
		name: "syzkaller",
		in:   f("BUG: KASAN: slab-use-after-free in leaf+0x%x/0x%x one.c:18\nCall Trace:\n <TASK>\n hold one.c:29 [inline]\n %s one.c:35\n %s wrong.c:1\n", off("leaf", leaf), p.span[p.start["leaf"]], p.off("middle", p.start["middle"], hold), p.off("main", p.start["main"], mid)),
		want: []string{"BUG\tleaf+0x", "middle+\thold (inlined)| at 0x", "middle+\tmiddle+0x| at 0x", "main+\t" + inMain + "|(the trace says wrong.c:1)"},
	}, []string{"linux: ra=hold ra=main"}}, {said{
		name: "edk2",
		in: f("!!!! X64 Exception Type - 0E(#PF - Page-Fault)  CPU Apic ID - 00000000 !!!!\r\nRIP  - %016X, CS  - 0000000000000038, RFLAGS - 0000000000010206\r\n!!!! Find image based on IP(0x%X) /build/DEBUG/c.dll (ImageBase=%016X, EntryPoint=000000007E2A1000) !!!!\r\n", leaf+0x7e000000, leaf+0x7e000000, 0x7e000000) +
			f("PC 0x%012X (0x0000BF7E0000+0x%08X) [ 0] c.dll\r\nPC 0x%012X (0x0000BF7E0000+0x%08X) [ 1] c.dll\r\nPC 0x0000BF7F1234 (0x0000BF7F0000+0x00001234) [ 2] Shell.dll\r\n", leaf+0xbf7e0000, leaf, mid+0xbf7e0000, mid),
		want: []string{"Find\t" + atLeaf, "[ 0]\t" + atLeaf, "[ 1]\t" + inMain},
	}, []string{"edk2: pc=leaf", "edk2: pc=leaf ra=main ra='?'"}}, {said{
		name: "coreboot",
		in:   f("Unexpected Exception: 6 @ 10:%08x - Halting\nCode: 0 eflags: 00010002 cr2: 00000000\nUnexpected Exception:\n13 @ 10:%016x - Halting\n", leaf, leaf),
		want: []string{"Exception: 6\t" + atLeaf, "13 @\t" + atLeaf},
	}, []string{"coreboot: pc=leaf", "coreboot: pc=leaf"}}, {said{
		name: "maps before, maps behind",
		in: f("%x-%x r-xp %08x 08:01 1234   /usr/bin/c.elf\npc=%#x\nlr=%#x\n", textStart+slide, textStart+slide+0x1000, textStart-fileOff, leaf+slide, mid+slide) +
			f("another process\npc=%#x\n%x-%x r-xp %08x 08:01 1234                   /usr/bin/c.elf (deleted)\n", leaf+2*slide, textStart+2*slide, textStart+2*slide+0x1000, textStart-fileOff),
		want: []string{"pc=\t" + atLeaf, "lr=\t" + inMain, "deleted\t0", "deleted\t" + atLeaf + "|(above)"},
	}, []string{"address: pc=leaf ra=main pc=leaf"}}, {said{
		name: "docker, journald, and text in text",
		in: f("{\"log\":\"    #0 %#x  (/tmp/x/c.elf+%#x)\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-25T10:00:00.000000000Z\"}\n", leaf, leaf) +
			f("{\"log\":\"    #1 %#x  (/tmp/x/c.elf+%#x)\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-25T10:00:00.000000001Z\"}\n", mid-1, mid-1) +
			f("{ \"PRIORITY\" : \"2\", \"MESSAGE\" : \"Process 1 (c.elf) dumped core.\\n\\nStack trace of thread 1:\\n#0  0x%016x \\u006ceaf (c.elf + %#x)\\n#1  0x%016x n\\/a (c.elf + %#x)\", \"_PID\":\"1\" }\n", leaf+slide, leaf-head, mid+slide, mid-head) +
			f("{\"MESSAGE\":%s,\"X\":[1,2]}\n", asBytes(f("\x1b[1m./c.elf(+%#x)[%#x]\x1b[0m", mid, mid+slide))) +
			f("{\"log\":\"{\\\"msg\\\":\\\"RIP: 0010:leaf+%#x/%#x\\\"}\\n\"}\n{\"log\":\"pc=%#x\"\n", off("leaf", leaf), p.span[p.start["leaf"]], 0x10),
		want: []string{"#0\t" + atLeaf, "#1\t" + inMain, "PRIORITY\t#0  0x", "PRIORITY\t" + atLeaf, "PRIORITY\t#1  0x", "PRIORITY\t" + inMain, "X\t" + inMain, "msg\t" + atLeaf},
	}, []string{"sanitizer: pc=leaf pc=main", "coredump: pc=leaf ra=main", "glibc: ra=main", "linux: pc=leaf"}}}
	for i := range all {
		all[i].opt.Foreign, all[i].opt.Symbols = true, p.sym
	}
	return all
}

// asBytes is a text as journalctl writes it if it has control characters.
func asBytes(s string) string {
	return strings.ReplaceAll(fmt.Sprint([]byte(s)), " ", ",")
}

// TestReports: the lines of each report are followed by what their addresses are and by
// nothing else, and they make the traces that they are.
func TestReports(t *testing.T) {
	for _, c := range reports(t) {
		t.Run(c.name, func(t *testing.T) {
			r := filter(t, c.opt, []byte(c.in))
			checkForeign(t, &c.said, r)
			var got []string
			for _, tr := range r.traces {
				got = append(got, outline(tr))
			}
			if !slices.Equal(got, c.traces) {
				t.Errorf("traces\n got %q\nwant %q", got, c.traces)
			}
			for step := range 5 {
				var parts [][]byte
				for part := range slices.Chunk([]byte(c.in), 7*step+1) {
					parts = append(parts, part)
				}
				if s := filter(t, c.opt, parts...); !bytes.Equal(s.out.Bytes(), r.out.Bytes()) || s.stats != r.stats || s.log.String() != r.log.String() {
					t.Errorf("in steps of %d: %s; want %s", 7*step+1, s.out.Bytes(), r.out.Bytes())
				}
			}
			if again := filter(t, c.opt, r.out.Bytes()); !bytes.Equal(again.out.Bytes(), r.out.Bytes()) {
				t.Errorf("again: %s; want %s", again.out.Bytes(), r.out.Bytes())
			}
		})
	}
}

// FuzzReports is FuzzForeign from the reports of programs, profilers and crash reporters on.
func FuzzReports(f *testing.F) {
	for _, c := range reports(f) {
		f.Add([]byte(c.in), uint8(3))
	}
	f.Add([]byte("  \"usedImages\" : [\n},\n{\n],\n\"frames\":[{\"imageIndex\":-1}]\n"), uint8(1))
	f.Add([]byte("#1 0x1 ((+0x)\n#0 (+0x1)\n #2 [ffffffff81000000] x at ffffffff81000000 [y]\n0x1 - 0x0  a  b\n00000000-00000001 r-xp 0 0:0 0 /\n"), uint8(1))
	f.Fuzz(throughForeign(cImage(f).sym, testImage()))
}
