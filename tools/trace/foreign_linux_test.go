package trace

import (
	"fmt"
	"testing"
)

// TestForeignMachines: how Linux prints the place and the callers on each machine.
func TestForeignMachines(t *testing.T) {
	p := cImage(t)
	leaf, hold, ends := p.where(t, "pc leaf:18"), p.where(t, "ra hold:29"), p.where(t, "ra ends:56")
	fn := func(name string, addr uint64) string { return p.off(name, p.start[name], addr) }
	at, caller, other := fn("leaf", leaf), fn("middle", hold), fn("ends", ends)
	const want = "linux: pc=leaf ra=hold ra=ends"
	tests := []struct{ name, in, want string }{
		{"x86", "BUG: unable to handle page fault for address: ffffffffdeadbeef\nRIP: 0010:%[1]s\nCode: 0f 0b 48 89\nRSP: 0018:ffffc90000013e00 EFLAGS: 00010246\n" +
			"Call Trace:\n <TASK>\n %[2]s\n %[3]s\n </TASK>\n", want},
		{"x86 of 32 bits", "Oops: 0000 [#1] SMP\nEIP: %[1]s\nEFLAGS: 00010246 CPU: 0\nEAX: 00000000 EBX: c1234567\nCall Trace:\n %[2]s\n %[3]s\n", want},
		{"x86, 4.x", "IP: [<%016[4]x>] %[1]s\nCall Trace:\n [<%016[5]x>] %[2]s\n [<%016[6]x>] %[3]s\n", want},
		{"arm64", "pc : %[1]s\nlr : %[2]s\nx29: ffff80000803bd40 x28: 0000000000000000\nCall trace:\n %[1]s (P)\n %[2]s (L)\n %[3]s\n", want},
		{"arm", "PC is at %[1]s\nLR is at %[2]s\npc : [<%08[4]x>]    lr : [<%08[5]x>]    psr: 60000013\n" +
			"[<%08[4]x>] (leaf) from [<%08[5]x>] (%[2]s)\n[<%08[5]x>] (middle) from [<%08[6]x>] (%[3]s)\n", want},
		{"arm, 6.x", "PC is at %[1]s\nLR is at %[2]s\n leaf from %[2]s\n middle from %[3]s\n", want},
		{"riscv", "epc : %[1]s\n ra : %[2]s\nepc : %016[4]x ra : %016[5]x sp : ff20000000013e00\n[<%016[5]x>] %[2]s\n[<%016[6]x>] %[3]s\n", want},
		{"mips", "epc   : %08[4]x %[1]s\nra    : %08[5]x %[2]s\nCall Trace:\n[<%08[5]x>] %[2]s\n[<%08[6]x>] %[3]s\n", want},
		{"loongarch", "   pc %016[4]x ra %016[5]x tp 9000000100000000\n   ra: %016[5]x %[2]s\n  ERA: %016[4]x %[1]s\nCall Trace:\n[<%016[5]x>] %[2]s\n[<%016[6]x>] %[3]s\n", want},
		{"powerpc", "NIP [%016[4]x] %[1]s\nLR [%016[5]x] %[2]s\nCall Trace:\n[c000000001fffb00] [%016[5]x] %[2]s (unreliable)\n[c000000001fffb40] [%016[6]x] %[3]s\n", want},
		{"s390", "Krnl PSW : 0704c00180000000 %016[4]x (%[1]s)\nCall Trace:\n [<%016[5]x>] %[2]s\n([<%016[6]x>] %[3]s)\n", want},
		{"hung task", "INFO: task sh:1 blocked for more than 120 seconds.\nCall Trace:\n <TASK>\n %[2]s\n %[3]s\n", "linux: ra=hold ra=ends"},
		{"/proc/PID/stack", "[<0>] %[2]s\n[<0>] %[3]s\n", "linux: ra=hold ra=ends"},
		{"KASAN", "BUG: KASAN: slab-out-of-bounds in %[1]s\nRead of size 8 at addr ffff888003c00000 by task init/1\nCall Trace:\n <TASK>\n %[2]s\n %[3]s\n", "linux: ra=hold ra=ends"},
	}
	for _, tt := range tests {
		in := fmt.Sprintf(tt.in, at, caller, other, leaf, hold, ends)
		r := filter(t, Options{Symbols: p.sym, Foreign: true}, []byte(in))
		var got []string
		for _, tr := range r.traces {
			got = append(got, outline(tr))
		}
		if len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %q; want %q\n%s", tt.name, got, tt.want, r.out.Bytes())
		}
	}
}
