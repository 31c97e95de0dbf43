package trace

// What systems, and those who pass their logs on, do to a frame: each row is one kind of it.

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// kind is a log, the traces that are in it, in short, and lines of what is said of it.
type kind struct{ name, in, want, log string }

// kinds returns the rows: %[1]s is the pc in Linux's words, %[2]s and %[3]s are its callers,
// %[4]x, %[5]x and %[6]x their addresses, %[7]x, %[8]x and %[9]x their offsets.
func kinds() []kind {
	const three, callers = "linux: pc=leaf ra=hold ra=ends", "linux: ra=hold ra=ends"
	return []kind{
		// The first frame of a call trace is the pc that was printed above it.
		{"arc", "[ECR   ]: 0x00050200 => Invalid Write @ 0x00000000 by insn @ 0x%08[4]x\n[BLINK ]: %[2]s\n[ERET  ]: %[1]s\nStack Trace:\n  %[1]s\n  %[2]s\n  %[3]s\n", three, ""},
		{"loongarch", "pc %016[4]x ra %016[5]x tp 9000000100240000 sp 9000000100243d30\n   ra: %016[5]x %[2]s\n  ERA: %016[4]x %[1]s\nCall Trace:\n[<%016[4]x>] %[1]s\n[<%016[5]x>] %[2]s\n[<%016[6]x>] %[3]s\n", three, ""},
		{"mips", "epc   : %016[4]x %[1]s\nra    : %016[5]x %[2]s\nCall Trace:\n[<%016[4]x>] %[1]s\n[<%016[5]x>] %[2]s\n[<%016[6]x>] %[3]s\n", three, ""},
		{"openrisc", "   PC: %08[4]x    SR: 0000807f    SP: c1a2be4c\nCall trace:\n[<%08[4]x>] %[1]s\n[<%08[5]x>] %[2]s\n[<%08[6]x>] %[3]s\n", three, ""},
		{"csky", "PC: 0x%08[4]x (%[1]s)\nLR: 0x%08[5]x (%[2]s)\nSP: 0x9f1a3e20\nCall Trace:\n[<%08[4]x>] %[1]s\n[<%08[5]x>] %[2]s\n[<%08[6]x>] %[3]s\n", three, ""},
		{"riscv, by address alone", "epc : %016[4]x ra : %016[5]x sp : ff20000000013e00\nCall Trace:\n[<%016[4]x>]\n[<%016[5]x>]\n[<%016[6]x>]\n", "address: pc=leaf ra=hold ra=ends", ""},
		{"riscv, an exception within", "Call Trace:\n[<%016[5]x>] %[2]s\n[<ffffffff80000000>] ret_from_exception+0x0/0xc\n[<%016[4]x>] %[1]s\n", "linux: ra=hold ra='ret_from_exception' pc=leaf", "ret_from_exception+0x0"},
		{"arm64, an exception within", "Call trace:\n %[2]s\n el1h_64_irq+0x6c/0x70\n %[1]s\n %[3]s\n", "linux: ra=hold ra='el1h_64_irq' pc=leaf ra=ends", "el1h_64_irq+0x6c"},
		{"arm64, (P)", "Call trace:\n %[2]s (C)\n %[1]s (P)\n %[3]s (C)\n", "linux: ra=hold pc=leaf ra=ends", ""},
		{"arm, an interrupt within", "[<%08[5]x>] (middle) from [<%08[6]x>] (%[3]s)\n[<c0100b78>] (__irq_svc) from [<%08[4]x>] (%[1]s)\n", "linux: ra=ends pc=leaf", ""},
		{"powerpc, an interrupt within", "Call Trace:\n[c00000000fff] [%016[5]x] %[2]s (unreliable)\n--- interrupt: 900 at %[1]s\n", "linux: ra=hold pc=leaf", ""},
		{"not the pc of another trace", "RIP: 0010:%[1]s\nCall Trace:\n %[3]s\n %[1]s\n", "linux: pc=leaf ra=ends ra=leaf", ""},

		// Registers by name.
		{"parisc", " IAOQ[0]: %[1]s\n IAOQ[1]: %[1]s\n RP(r2): %[2]s\nBacktrace:\n [<%08[5]x>] %[2]s\n [<%08[6]x>] %[3]s\n", three, ""},
		{"sparc64", "TSTATE: 0000004411001601 TPC: %016[4]x TNPC: %016[5]x Y: 00000000    Not tainted\nTPC: <%[1]s>\nRPC: <%[2]s>\nI7: <%[3]s>\nCall Trace:\n[<%016[5]x>] %[2]s\nCaller[%016[6]x]: %[3]s\n",
			"linux: pc=leaf ra=hold", ""},
		{"sh", "PC is at %[1]s\nPR is at %[2]s\nPC  : %08[4]x SP  : 8fc3be94 SR  : 40008100\nCall trace:\n [<%08[6]x>] %[3]s\n", "linux: pc=leaf ra=ends", ""},
		{"s390", "Krnl PSW : 0704c00180000000 %016[4]x (%[1]s)\nCall Trace:\n [<%016[4]x>] %[1]s \n([<%016[5]x>] %[2]s)\nLast Breaking-Event-Address:\n [<%016[4]x>] %[1]s\n", "linux: pc=leaf ra=hold", ""},
		{"slub", "INFO: Allocated in %[2]s age=62 cpu=1 pid=39\n\t%[2]s\n\t%[3]s\n", callers, ""},
		{"preempt", "BUG: using smp_processor_id() in preemptible [00000000] code: sh/1\ncaller is %[2]s\nCall Trace:\n %[2]s\n %[3]s\n", callers, ""},

		// Around a frame.
		{"logfmt", "ts=1 level=err msg=\"[    1.000000] RIP: 0010:%[1]s\"\nts=1 level=err msg=\"[    1.000001] Call Trace:\"\nts=1 level=err msg=\"[    1.2]  %[2]s\"\nts=1 msg=\"\\t%[3]s\" level=err\n", three, ""},
		{"words and logfmt", "app: level=err msg=\"RIP: 0010:%[1]s\" x=1\napp: msg=\"[ 1.5]  %[2]s\" n=2\napp: msg=\" %[3]s\"\n", three, ""},
		{"cat -v", "RIP: 0010:%[1]s^M\n[    0.7] Call Trace:^M\n^I%[2]s^M\nM-BM- %[3]s^M$\n", three, ""},
		{"pictures", "[22:22:59:909] RIP: 0010:%[1]s␍␊\n[22:22:59:909] ␉%[2]s␍␊\n[22:22:59:909] [    0.7]  %[3]s␍␊\n", three, ""},
		{"Python's bytes", "b'[    0.7] RIP: 0010:%[1]s\\r\\n'\nb'[    0.7]  %[2]s\\r\\n'\nb'[    0.7]  %[3]s\\r\\n'\n", three, ""},
		{"lines in one string", "got: 'RIP: 0010:%[1]s\\nCall Trace:\\n %[2]s\\n %[3]s\\n'\n", three, ""},
		{"a mail", "> RIP: 0010:%[1]s\n> Call Trace:\n>  %[2]s\n> > %[3]s\n", three, ""},
		{"HTML", "RIP: 0010:[&lt;%016[4]x&gt;] %[1]s<br>\n&nbsp;[&lt;%016[5]x&gt;] <a href=\"/x.c#L1\">%[2]s</a>\n&nbsp;%[3]s<br/>\n", three, ""},
		{"no-break spaces", "\u00a0RIP: 0010:%[1]s\u00a0\n\u00a0 %[2]s\n \u202f\u2007%[3]s\n", three, ""},
		{"Latin-1", "RIP: 0010:%[1]s\n\xa0 %[2]s\n\xa0%[3]s\xa0\n", three, ""},
		{"a byte order mark", "\ufeffRIP: 0010:%[1]s\n %[2]s\n %[3]s\n", three, ""},
		{"colours as text", "\\x1b[31mRIP: 0010:%[1]s\\x1b[0m\n^[[31m %[2]s^[[0m\n\\u001b[1m %[3]s\\u001b[0m\n", three, ""},
		{"two consoles", "[ 3.1] NIP [%016[4]x] %[1]s[ 3.1] NIP [%016[4]x] %[1]s\n[ 3.2] Call Trace:\n[ 3.2] [c0000000f1f0fa70] [c0000000f1f0fa70] [%016[5]x] [%016[5]x] %[2]s %[2]s\n[    3.3]  %[3]s[    3.3]  %[3]s\n", three, ""},
		{"Markdown's links", "RIP: 0010:[ [<%016[4]x>](<%016[4]x>]) %[1]s\n [ [<%016[5]x>](<%016[5]x>]) %[2]s\n [%[3]s](https://elixir.bootlin.com/linux/a_b)\n", three, ""},
		{"Markdown's escapes", "RIP: 0010:\\[\\<%016[4]x\\>\\] %[1]s\n \\[\\<%016[5]x\\>\\] %[2]s\n `%[3]s`\n", three, ""},
		{"what follows in a call trace", "RIP: 0010:%[1]s\nCall Trace:\n %[2]s some words\n %[3]s: file.c:12\n", three, ""},

		// Other systems.
		{"asterinas", "Printing stack trace:\n   1: fn 0xffffffff88000000 - pc 0x%016[5]x / registers:\n\n     rax                0x1; rdx                0x8;\n\n   2: fn 0xffffffff88000000 - pc 0x%016[6]x / registers:\n", "address: ra=hold ra=ends", ""},
		{"redox", "TRACE: FFFFFF000009E6E0\n  FP ffffff000009e6e0: PC %016[5]x\n    FFFFFFFF88000000+000F\n  FP ffffff000009e7e0: PC %016[6]x\n", "address: ra=hold ra=ends", ""},
		{"a list of pcs", "fault at pc=0x%08[4]x\nbacktrace:\n  pc=0x%08[4]x\n  pc=0x%08[5]x sp=0x20001000\n  pc=0x%08[6]x\n", "address: pc=leaf ra=hold ra=ends", ""},
		{"saved rip", "rip = 0x%08[4]x in leaf; saved rip = 0x%08[5]x\n", "address: pc=leaf ra=hold", ""},
		{"netbsd", "cpu0: Begin traceback...\nmiddle() at netbsd:middle+0x%[8]x\nends() at netbsd:ends+0x%[9]x\ncpu0: End traceback...\n", "freebsd: ra=hold ra=ends", ""},
		{"netbsd, a trap", "trap() at netbsd:ends+0x%[9]x\n--- trap (number 6) ---\nleaf() at netbsd:leaf+0x%[7]x\nmiddle() at netbsd:middle+0x%[8]x\n", "freebsd: ra=ends pc=leaf ra=hold", ""},
		{"openbsd", "kernel: page fault trap, code=0\nStopped at      leaf+0x%[7]x:   movl    0x4(%%rax),%%r12d\n    TID    PID    UID     PRFLAGS     PFLAGS  CPU  COMMAND\nleaf(ffff800000045880) at leaf+0x%[7]x\nmiddle(0,1) at middle+0x%[8]x sys/netinet/in.c:908\nends() at ends+0x%[9]x\nend trace frame: 0x78891bbf9c70, count: 1\n",
			"freebsd: pc=leaf ra=hold ra=ends", ""},
		{"openbsd, asked", "ddb{0}> trace\nleaf(0) at leaf+0x%[7]x\nmiddle(0) at middle+0x%[8]x\n", "freebsd: pc=leaf ra=hold", ""},
		{"haiku", "stack trace for thread 12 \"sh\"\n    kernel stack: 0xffffffff81d0b000 to 0xffffffff81d10000\nframe                       caller             <image>:function + offset\n 0 ffffffff81d0fbc8 (+  24) %016[6]x   <kernel_x86_64> ends + 0x%04[9]x\nkernel iframe at 0xffffffff81d0fc38 (end = 0xffffffff81d0fd00)\n rax 0x0 rbx 0x1\n 1 ffffffff81d0fc10 (+  80) %016[4]x   <kernel_x86_64> leaf + 0x%04[7]x\n 2 ffffffff81d0fd00 (+ 208) %016[5]x   <kernel_x86_64> middle + 0x%04[8]x\n",
			"haiku: ra=ends pc=leaf ra=hold", ""},
		{"old glibc", "*** Error in `./c.elf': double free or corruption ***\n======= Backtrace: =========\n/lib64/libc.so.6(+0x7f1e4)[0x7f0e81234567]\n./c.elf[0x%[5]x]\n/x/c.elf[0x%[6]x]\n[0x7ffe12345678]\n======= Memory map: ========\n", "glibc: ra='?' ra=hold ra=ends ra='?'", ""},
		{"esp-idf, joined", "Backtrace:0x%08[4]x:0x3ffb10000x%08[5]x:0x3ffb1020\n0x%08[6]x:0x3ffb1040 |<-CORRUPTED\n", "esp-idf: pc=leaf pc=middle pc=after", ""},
		{"esp8266", "epc1=0x%08[4]x epc2=0x00000000 epc3=0x00000000 excvaddr=0x00000000 depc=0x00000000\n", "address: pc=leaf", ""},
		{"esp-rs", "panicked at src/main.rs:31:5:\nboom\n\nBacktrace:\n\n0x%08[4]x\n0x%08[4]x - leaf\n    at ??:??\n", "esp-idf: pc=leaf", ""},
		{"seccomp", "audit: type=1326 audit(1764151872.123:99): auid=4294967295 pid=34 comm=\"c\" exe=\"/bin/c.elf\" sig=31 arch=c000003e syscall=9 compat=0 ip=0x%08[4]x code=0x80000000\n", "address: pc=leaf", ""},

		{"openbsd, an instruction that ends in a bracket", "Stopped at      leaf+0x%[7]x:\tmovl    $0x3,0x1fd5(%%rip)\nleaf(0,5) at leaf+0x%[7]x\nmiddle(0,5) at middle+0x%[8]x\n", "freebsd: pc=leaf ra=hold", ""},
		{"freebsd, the trap's", "instruction pointer\t= 0x20:0x%[4]x\nstack pointer\t        = 0x28:0xfffffe0051d3a8f0\nKDB: stack backtrace:\n#0 0x%016[5]x at middle+0x%[8]x\n", "freebsd: pc=leaf ra=hold", ""},
		{"powerpc, the instruction", "BUG: Kernel NULL pointer dereference on write at 0x00000014\nFaulting instruction address: 0x%[4]x\n", "address: pc=leaf", ""},
		{"mips, the instruction", "CPU 0 Unable to handle kernel paging request at virtual address 00000014, epc == %016[4]x, ra == %016[5]x\n", "address: pc=leaf ra=hold", ""},
		{"tock", "  Program counter: 0x%08[4]x\n", "address: pc=leaf", ""},
		{"xen, without registers", "(XEN) Xen call trace:\n(XEN)    [<%016[4]x>] R %[1]s\n(XEN)    [<%016[5]x>] S %[2]s\n(XEN)    [<%016[6]x>] F %[3]s\n", "address: pc=leaf ra=hold ra=ends", ""},
		{"kfence, a page fault", "BUG: KFENCE: use-after-free read in %[1]s\n\nUse-after-free read at 0xffff88803ff00000 (in kfence-#7):\n %[1]s\n %[2]s\n", "linux: pc=leaf ra=hold", ""},
		{"kfence, a call", "BUG: KFENCE: invalid free in %[2]s\n\nInvalid free of 0xffff88803ff00000:\n %[2]s\n %[3]s\n", callers, ""},
		{"an NMI's stack", "RIP: 0010:%[1]s\nCall Trace:\n <NMI>\n ? %[3]s\n ? %[1]s\n ? %[1]s\n </NMI>\n <TASK>\n %[2]s\n %[1]s\n", "linux: pc=leaf scan=ends scan=leaf scan=leaf ra=hold ra=leaf", ""},
		{"lockdep's last", "irq event stamp: 7\nhardirqs last  enabled at (7): [<%016[5]x>] %[2]s\nhardirqs last disabled at (6): %[3]s\n", callers, ""},
		{"kvm's hypervisor", "kvm [1]: nVHE hyp panic at: [<%016[4]x>] %[1]s!\nkvm [1]: nVHE call trace:\nkvm [1]:  [<%016[5]x>] %[2]s\nkvm [1]: ---[ end nVHE call trace ]---\n", "linux: pc=leaf ra=hold", ""},
		{"traps, a short address", "traps: c.elf[4243] general protection fault ip:%[4]x sp:7ffd3b0a3d10 error:0 in c.elf[401000+1000]\n", "fault: pc=leaf", ""},
		{"lldb", "* thread #1, name = 'c.elf', stop reason = signal SIGSEGV: invalid address (fault address: 0x4)\n  * frame #0: 0x%016[4]x c.elf`leaf + %[7]d\n    frame #1: 0x%016[5]x c.elf`middle(n=3) + %[8]d\n    frame #2: 0x%016[6]x c.elf`ends\n",
			"lldb: pc=leaf ra=hold ra=ends", ""},
		{"lldb, below a signal", "  * frame #0: 0x00007ffff7e0ad60 libc.so.6`raise + 268\n    frame #1: 0x00007ffff7dbbf90 libc.so.6`__restore_rt\n    frame #2: 0x%016[4]x c.elf`leaf + %[7]d\n    frame #3: 0x%016[5]x c.elf`middle + %[8]d\n",
			"lldb: pc='raise' ra='__restore_rt' pc=leaf ra=hold", ""},
		{"valgrind", "==9== Invalid write of size 4\n==9==    at 0x%[4]X: leaf (in /tmp/c.elf)\n==9==  Address 0x4 is not stack'd\n", "valgrind: pc=leaf", ""},

		// What no reader knows is counted, and what is none is not.
		{"another register", "RIP: 0010:%[1]s\nQQ: %[2]s\nQR= %[3]s\n", "linux: pc=leaf", "2 lines look like frames and are not resolved, the first is \"QQ: middle+0x"},
		{"another list", "RIP: 0010:%[1]s\n  3) %016[5]x\n  at [ends+0x%[9]x]\n", "linux: pc=leaf", "2 lines look like frames and are not resolved, the first is \"3) 0"},
		{"glog", "RIP: 0010:%[1]s\n    @     0x%[5]x middle\n    @     0x%[6]x (unknown)\n", "linux: pc=leaf", "2 lines look like frames and are not resolved, the first is \"@"},
		{"op-tee", "RIP: 0010:%[1]s\nE/TC:? 0 Call stack:\nE/TC:? 0  0x%08[5]x\n", "linux: pc=leaf", "a line looks like a frame and is not resolved, \"E/TC:? 0  0x"},
		{"nuttx", "RIP: 0010:%[1]s\nbacktrace| 3: 0x%08[5]x 0x%08[6]x\n", "linux: pc=leaf", "a line looks like a frame and is not resolved, \"3: 0x"},
		{"illumos", "RIP: 0010:%[1]s\nffffff00083e9a40 unix:middle+%[8]x ()\n", "linux: pc=leaf", "a line looks like a frame and is not resolved, \"ffffff00083e9a40 unix:middle+"},
		{"python", "RIP: 0010:%[1]s\n  Binary file \"/x/c.elf\", at middle+0x%[8]x [0x7f5e3c2011e9]\n", "linux: pc=leaf", "a line looks like a frame and is not resolved, \"Binary file "},
		{"frames with their lines", "RIP: 0010:%[1]s\nin middle+0x%[8]x sema.go:163\nin hold sema.go:29 in middle+0x%[8]x\n  #2 ends+0x%[9]x at /x/c.c:7\n", "linux: pc=leaf", ""},
		{"text behind a frame", "RIP: 0010:%[1]s\n%[2]s was the last one\n", "linux: pc=leaf", "a line looks like a frame and is not resolved, \"middle+0x"},
		{"a function that is not there", "RIP: 0010:%[1]s\nCall Trace:\n %[2]s\n nosuch+0x1/0x2\n", "linux: pc=leaf ra=hold ra='nosuch'", "a line looks like a frame and is not resolved, \"nosuch+0x1\": the ELF file has no such place"},
		{"sentences", "RIP: 0010:%[1]s\ncalling  middle+0x0/0x10 @ 1\ninitcall middle+0x0/0x10 returned 0 after 3 usecs\nlast function: middle+0x0/0x10\nhello %[2]s in a sentence\nregion 0x%08[4]x reserved\n%016[4]x T leaf\n1: %016[4]x    54 FUNC    GLOBAL DEFAULT    1 leaf\n[ 1.0] calling  %[2]s @ 1\nStack: %016[4]x %016[5]x\n12: %016[4]x 00 00 00 00 00 00 00 00 %016[5]x %016[6]x %016[6]x %016[6]x\n",
			"linux: pc=leaf", ""},
	}
}

// TestForeignKinds: each kind makes its traces, and what is left is said.
func TestForeignKinds(t *testing.T) {
	p := cImage(t)
	leaf, hold, ends := p.where(t, "pc leaf:18"), p.where(t, "ra hold:29"), p.where(t, "ra ends:56")
	fn := func(name string, addr uint64) string { return p.off(name, p.start[name], addr) }
	for _, tt := range kinds() {
		in := fmt.Sprintf(tt.in, fn("leaf", leaf), fn("middle", hold), fn("ends", ends), leaf, hold, ends,
			leaf-p.start["leaf"], hold-p.start["middle"], ends-p.start["ends"])
		in, _, _ = strings.Cut(in, "%!(EXTRA")
		opt := Options{Symbols: p.sym, Foreign: true}
		r := filter(t, opt, []byte(in))
		var got []string
		for _, tr := range r.traces {
			got = append(got, outline(tr))
		}
		log := r.log.String()
		if strings.Join(got, "|") != tt.want || !strings.Contains(log, tt.log) || (log == "") != (tt.log == "") || (r.stats.Left > 0) != (tt.log != "") {
			t.Errorf("%s: %q, %q, %+v; want %q, %q\n%s", tt.name, got, log, r.stats, tt.want, tt.log, r.out.Bytes())
		}
		if again := filter(t, opt, r.out.Bytes()); !bytes.Equal(again.out.Bytes(), r.out.Bytes()) || again.stats.Left != r.stats.Left {
			t.Errorf("%s, again: %+v; want %+v\n%s", tt.name, again.stats, r.stats, again.out.Bytes())
		}
	}
}

// TestForeignNoReturn: behind a call that does not return begins the next function, by which
// others than x86 name the return address. It is the caller's.
func TestForeignNoReturn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.elf")
	if out, err := exec.Command("gcc", "-O1", "-g", "-no-pie", "-falign-functions=1", "-fno-reorder-functions", "-o", path,
		"testdata/foreign/one.c", "testdata/foreign/two.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sym, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	after, leaf := sym.Named("after"), sym.Named("leaf")
	if len(after) != 1 || len(leaf) != 1 || len(sym.Lookup(after[0].Start, true)) == 0 || sym.Lookup(after[0].Start, true)[0].Function != "ends" {
		t.Fatalf("after = %+v, leaf = %+v: after does not begin where the call in ends returns", after, leaf)
	}
	next := fmt.Sprintf("after+0x0/%#x", after[0].Span)
	other := fmt.Sprintf("leaf+0x0/%#x", leaf[0].Span) // begins behind no call
	for _, tt := range []struct{ in, want string }{
		{"Call trace:\n " + next + "\n", "    ends+0x"},
		{fmt.Sprintf("[<%016x>] %s\n", after[0].Start, next), "    ends+0x"},
		{"[<c0100000>] (x) from [<" + fmt.Sprintf("%08x", after[0].Start) + ">] (" + next + ")\n", "    ends+0x"},
		{"ra    : " + next + "\n", "    ends+0x"},
		{"#0 0x1 at leaf+4\n" + fmt.Sprintf("#1 %#x at after\n", after[0].Start), "    ends+0x"},
		{fmt.Sprintf("#1 %#x at after+0\n", after[0].Start), "    ends+0x"},
		{"x() at leaf+0x4\nafter() at after\n", "    ends+0x"},
		{fmt.Sprintf("./c.elf(after+0x0)[%#x]\n", after[0].Start), "    ends+0x"},
		{"@[\n    leaf+4\n    after+0\n]: 2\n", "    ends+0x"},
		{fmt.Sprintf("Backtrace (CPU 0), Frame : Return Address\n0xffffffa0b1c3b3d0 : 0x%016x mach_kernel : after + 0x0\n", after[0].Start), "    ends+0x"},
		{"RIP: 0010:" + next + "\n", "    after+0x0"}, // exact
		{"Call trace:\n " + other + "\n", "    leaf+0x0"},
	} {
		r := filter(t, Options{Symbols: sym, Foreign: true}, []byte(tt.in))
		if out := r.out.String(); !strings.Contains(out, tt.want) || strings.Contains(tt.want, "ends") && strings.Contains(out, "    after+0x") {
			t.Errorf("%q; want %q in it\n%s", out, tt.want, r.log.Bytes())
		}
	}
}
