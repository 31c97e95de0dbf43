package trace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
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
		{"KFENCE", "BUG: KFENCE: use-after-free read in %[2]s\n\nUse-after-free read at 0xffff88803ff00000 (in kfence-#7):\n %[3]s\n", "linux: pc=middle ra=ends"},
		{"CFI", "CFI failure at %[1]s (target: %[3]s; expected type: 0xa540670c)\nCall Trace:\n %[2]s\n", "linux: pc=leaf ra=hold"},
		{"stack protector", "Kernel panic - not syncing: stack-protector: Kernel stack is corrupted in: %[3]s\nCall Trace:\n %[2]s\n", "linux: ra=hold"},
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

// TestForeignLinuxPrefix: the end of the room before a function is the function's first byte, which
// no call is before; what is in it is of no line.
func TestForeignLinuxPrefix(t *testing.T) {
	p := cImage(t)
	for _, tt := range []struct{ in, want string }{
		{"__pfx_leaf+0x10/0x10", "leaf"}, {"__cfi_leaf+0x5/0x5", "leaf"},
	} {
		r := filter(t, Options{Symbols: p.sym, Foreign: true}, []byte("Call Trace:\n <TASK>\n ? "+tt.in+"\n "+p.off("middle", p.start["middle"], p.where(t, "ra hold:29"))+"\n </TASK>\n"))
		if len(r.traces) != 1 || !strings.Contains(r.out.String(), tt.want+"+0x0 ") {
			t.Errorf("%s: %s; want %s+0x0", tt.in, r.out.Bytes(), tt.want)
		}
	}
}

// TestForeignLinuxNames: a place has the name that the trace gives it, where the address
// has another name too, or none.
func TestForeignLinuxNames(t *testing.T) {
	im := aliases{testImage()}
	in := "RIP: 0010:second+0x4/0x40\nCall Trace:\n first+0x30/0x40\n"
	r := filter(t, Options{Symbols: im, Foreign: true}, []byte(in))
	want := "RIP: 0010:second+0x4/0x40\n    second+0x4 x.c:7\nCall Trace:\n first+0x30/0x40\n    first+0x30\n"
	if r.out.String() != want {
		t.Errorf("output = %q; want %q", r.out.Bytes(), want)
	}
}

// aliases is an image with two names for one function, behind whose end is padding.
type aliases struct{ *fakeImage }

func (aliases) Named(name string) []lookup.Named {
	if name != "first" && name != "second" {
		return nil
	}
	return []lookup.Named{{Start: 0x200100, Size: 0x10, Span: 0x40}}
}

func (aliases) IsText(addr uint64) bool { return addr-0x200100 < 0x40 }

func (aliases) Lookup(addr uint64, ret bool) []lookup.Call {
	if addr >= 0x200110 {
		return []lookup.Call{{}}
	}
	return []lookup.Call{{Function: "first", Offset: addr - 0x200100, File: "x.c", Line: 7}}
}

// TestForeignLinuxBuild: where the trace says of which builds the kernel and the modules
// are, those of others are refused.
func TestForeignLinuxBuild(t *testing.T) {
	p := cImage(t)
	other := strings.Repeat("5a", 20)
	frame := p.off("leaf", p.start["leaf"], p.where(t, "pc leaf:18"))
	who := func(build string) string {
		return "CPU: 1 PID: 7 Comm: insmod Tainted: G  O  6.12.0 #3 " + build + "\nRIP: 0010:" + frame + "\n"
	}
	module := func(build string) string { return "Call Trace:\n " + frame + " [thing " + build + "]\n" }
	kernel, thing := p.sym, asModule{p.sym}
	for _, tt := range []struct {
		name, in string
		given    lookup.Resolver
		force    bool
		found    bool
	}{
		{"kernel", who(p.sym.BuildID()), kernel, false, true},
		{"another kernel", who(other), kernel, false, false},
		{"no build behind another", "CPU: 0 PID: 1 Comm: init Not tainted 6.1.0 #1 " + other + "\n" + who(""), kernel, false, true},
		{"another kernel, forced", who(other), kernel, true, true},
		{"module", module(p.sym.BuildID()), thing, false, true},
		{"another module", module(other), thing, false, false},
		{"another module, forced", module(other), thing, true, true},
		{"a kernel of which nothing is said", who("PREEMPT"), kernel, false, true},
	} {
		r := filter(t, Options{Symbols: tt.given, Foreign: true, Force: tt.force}, []byte(tt.in))
		if got := r.stats.Foreign > 0; got != tt.found || r.stats.Mismatch == tt.found || strings.Contains(r.log.String(), other) == tt.found {
			t.Errorf("%s: %+v, %q\n%s", tt.name, r.stats, r.log.Bytes(), r.out.Bytes())
		}
	}
	// Of several files the one of the build is taken, and one that can be found.
	all := Options{Foreign: true, Images: func() *lookup.Images {
		return &lookup.Images{Given: []lookup.Resolver{aliases{testImage()}}, Find: func(build, name string) lookup.Resolver {
			if build == p.sym.BuildID() {
				return p.sym
			}
			return nil
		}}
	}}
	if r := filter(t, all, []byte(who(p.sym.BuildID()))); r.stats.Foreign != 1 || r.stats.Mismatch || r.log.Len() > 0 {
		t.Errorf("a kernel that is found by its build: %+v, %s", r.stats, r.log.Bytes())
	}
}

// asModule is an image under the name of a module.
type asModule struct{ *symbol.File }

func (asModule) Name() string { return "/lib/modules/thing.ko" }

func TestModuleName(t *testing.T) {
	for file, want := range map[string]string{
		"/lib/modules/6.1/kernel/drivers/net/snd-hda.ko": "snd_hda", "e1000e.ko.xz": "e1000e", "x/ext4.ko.zst": "ext4", "a.ko.gz": "a",
		"a.ko.debug": "a", "vmlinux": "", "a.xz": "", "a.ko/b": "", "a.ko.bz2": "", "": "",
	} {
		if got := foreign.ModuleName(file); got != want {
			t.Errorf("ModuleName(%q) = %q; want %q", file, got, want)
		}
	}
}

// TestForeignLinuxEnd: a word of the stack that is the end of a function is a return address
// for Linux, which names that function. The line is of the same one, not of what begins there.
func TestForeignLinuxEnd(t *testing.T) {
	p := cImage(t)
	path := filepath.Join(t.TempDir(), "ends")
	asm := filepath.Join(t.TempDir(), "ends.s")
	if err := os.WriteFile(asm, []byte(".file 1 \"ends.c\"\n.globl _start, before, after\n"+
		".type before, @function\nbefore:\n.loc 1 7\nnop\n.loc 1 8\nret\n.size before, .-before\n"+
		".type after, @function\nafter:\n_start:\n.loc 1 20\nnop\nret\n.size after, .-after\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-nostdlib", "-static", "-g", "-o", path, asm).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sym, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	leaf := p.span[p.start["leaf"]]
	last := p.sym.Lookup(p.start["leaf"]+leaf-1, false)
	if len(last) != 1 || last[0].Function != "leaf" {
		t.Fatalf("at the end of leaf is %+v", last)
	}
	for _, tt := range []struct {
		sym      *symbol.File
		in, want string
	}{
		{sym, " ? before+0x2/0x2\n", "before+0x2 ends.c:8"},
		{sym, " before+0x2/0x2\n", "before+0x2 ends.c:8"},
		{sym, " ? before+0x1/0x2\n", "before+0x1 ends.c:7"},
		{p.sym, fmt.Sprintf(" ? leaf+%#x/%#[1]x\n", leaf), fmt.Sprintf("leaf+%#x one.c:%d", leaf, last[0].Line)},
	} {
		r := filter(t, Options{Symbols: tt.sym, Foreign: true}, []byte("Call Trace:\n"+tt.in))
		_, got, _ := strings.Cut(r.out.String(), tt.in)
		if line := strings.Fields(got); len(line) > 1 {
			got = line[0] + " " + filepath.Base(line[1])
		}
		if got != tt.want || len(r.traces) != 1 || outline(r.traces[0]) == "" {
			t.Errorf("%q: %q; want %q", tt.in, got, tt.want)
		}
	}
}

// TestForeignLinuxDotted: on 64-bit PowerPC a trace may name functions with the dot of their
// code, where the file has the names of their descriptors.
func TestForeignLinuxDotted(t *testing.T) {
	sym, err := symbol.Open("../../symbol/testdata/powerpc64-elfv1")
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	n := sym.Named("loop")
	if len(n) != 1 {
		t.Fatalf("Named(loop) = %+v; want one", n)
	}
	const slide = 0x40000000
	for _, dot := range []string{"", "."} {
		in := fmt.Sprintf("NIP [%016x] %sloop+0x10/%#x\nCall Trace:\n[c000000001fffb00] [%016x] %[2]sloop+0x20/%#[3]x (unreliable)\n",
			n[0].Start+slide+0x10, dot, n[0].Span, n[0].Start+slide+0x20)
		r := filter(t, Options{Symbols: sym, Foreign: true}, []byte(in))
		want := "linux: pc=" + dot + "loop ra=" + dot + "loop"
		if len(r.traces) != 1 || outline(r.traces[0]) != want || r.log.Len() > 0 {
			t.Errorf("%q: %q; want %s\n%s", dot, r.log.Bytes(), want, r.out.Bytes())
		}
	}
}
