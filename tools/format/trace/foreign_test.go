package trace

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// cProgram is the program of testdata/foreign, what it says about itself, and the
// sizes of its functions as kallsyms counts them, which debug/elf tells.
type cProgram struct {
	sym     *symbol.File
	path    string
	at      map[string]uint64 // by kind, function and, of equal names, line
	start   map[string]uint64
	span    map[uint64]uint64
	sameOne uint64 // the two functions called same
	sameTwo uint64
	err     error
}

var buildC = sync.OnceValue(func() (p cProgram) {
	dir, err := os.MkdirTemp("", "foreign")
	if err != nil {
		p.err = err
		return p
	}
	defer os.RemoveAll(dir) // what is open stays readable
	p.path = filepath.Join(dir, "c.elf")
	out, err := exec.Command("gcc", "-O1", "-g", "-no-pie", "-Wl,--build-id", "-o", p.path,
		"testdata/foreign/one.c", "testdata/foreign/two.c").CombinedOutput()
	if err != nil {
		p.err = fmt.Errorf("%w: %s", err, out)
		return p
	}
	if p.sym, p.err = symbol.Open(p.path); p.err != nil {
		return p
	}
	said, err := exec.Command(p.path).Output()
	if err != nil {
		p.err = err
		return p
	}
	p.at, p.start, p.span = make(map[string]uint64), make(map[string]uint64), make(map[uint64]uint64)
	for l := range strings.Lines(string(said)) {
		w := strings.Fields(l)
		addr, err := strconv.ParseUint(w[3], 0, 64)
		if err != nil {
			p.err = err
			return p
		}
		p.at[w[0]+" "+w[1]+":"+w[2]] = addr
	}
	file, err := elf.Open(p.path)
	if err != nil {
		p.err = err
		return p
	}
	defer file.Close()
	syms, err := file.Symbols()
	if err != nil {
		p.err = err
		return p
	}
	var text []elf.Symbol
	for _, s := range syms {
		if int(s.Section) < len(file.Sections) && file.Sections[s.Section].Flags&elf.SHF_EXECINSTR != 0 && s.Name != "" {
			text = append(text, s)
		}
	}
	slices.SortFunc(text, func(a, b elf.Symbol) int { return int(int64(a.Value) - int64(b.Value)) })
	for i, s := range text {
		p.start[s.Name] = s.Value
		for _, n := range text[i+1:] {
			if n.Value > s.Value {
				p.span[s.Value] = n.Value - s.Value
				break
			}
		}
		if s.Name == "same" && p.sameOne == 0 {
			p.sameOne = s.Value
		} else if s.Name == "same" {
			p.sameTwo = s.Value
		}
	}
	return p
})

func cImage(t testing.TB) *cProgram {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Fatalf("%v: run tools/setup.sh test, which installs it", err)
	}
	p := buildC()
	if p.err != nil {
		t.Fatal(p.err)
	}
	return &p
}

// where returns the address of a place that the program has told of.
func (p *cProgram) where(t testing.TB, key string) uint64 {
	t.Helper()
	a, ok := p.at[key]
	if !ok {
		t.Fatalf("the program has not told of %q: %v", key, p.at)
	}
	return a
}

// off is a place as Linux prints it.
func (p *cProgram) off(name string, start, addr uint64) string {
	return fmt.Sprintf("%s+%#x/%#x", name, addr-start, p.span[start])
}

// said is a trace of one of the formats, and what is to follow its lines: for
// each line of ours a part of it, in order.
type said struct {
	name string
	opt  Options
	in   string
	want []string // "line of the input<TAB>part of our line", all of ours
	log  string
}

// captures are traces of the C program in all formats. Their lines are as the
// formats' sources and documents have them, with the addresses that the program
// itself has told.
func captures(t testing.TB) []said {
	p := cImage(t)
	leaf, hold, mid, ends := p.where(t, "pc leaf:18"), p.where(t, "ra hold:29"), p.where(t, "ra main:70"), p.where(t, "ra ends:56")
	same1, same2 := p.where(t, "pc same:41"), p.where(t, "pc same:6")
	fn := func(name string, addr uint64) string { return p.off(name, p.start[name], addr) }
	s1, s2 := p.off("same", p.sameOne, same1), p.off("same", p.sameTwo, same2)
	const (
		atLeaf = "leaf+0x|one.c:18"
		atHold = "hold (inlined)|one.c:29"
		inMid  = "middle+0x|one.c:35"
		inMain = "main+0x|one.c:70"
		inEnds = "ends+0x|one.c:56"
	)
	const slide = 0x2a000000
	all := []said{{
		name: "linux x86",
		in: "[    1.100000] BUG: kernel NULL pointer dereference, address: 0000000000000000\n" +
			"[    1.100001] RIP: 0010:" + fn("leaf", leaf) + "\n" +
			"[    1.100002] Code: 48 89 e5 <0f> 0b\n" +
			"[    1.100003] Call Trace:\n[    1.100003]  <TASK>\n" +
			"[    1.100004]  ? " + fn("ends", ends) + "\n" +
			"[    1.100005]  " + fn("middle", hold) + "\n" +
			"[    1.100006]  " + fn("main", mid) + "\n" +
			"[    1.100007]  " + s1 + "\n<4>[    1.100007][  T123]  " + s2 + "\n" +
			"[    1.100008]  do_thing+0x10/0x20 [thing]\n[    1.100009]  </TASK>\n" +
			"[    1.100010] RIP: 0033:0x7f0000001000\n",
		want: []string{"RIP: 0010\t" + atLeaf, "? ends\t" + inEnds, "middle\t" + atHold, "middle\t" + inMid, "main\t" + inMain,
			s1 + "\tsame+0x|one.c:", s2 + "\tsame+0x|two.c:"},
		log: "give thing.ko too",
	}, {
		name: "linux warn",
		in: "WARNING: CPU: 0 PID: 1 at kernel/x.c:12 " + fn("leaf", leaf) + "\r\n" +
			"Modules linked in:\r\nWARNING: kernel/x.c:12 at " + fn("leaf", leaf) + ", CPU#1: init/1\r\n" +
			"hello " + fn("leaf", leaf) + " in a sentence\r\n",
		want: []string{"WARNING: CPU\t" + atLeaf, "WARNING: kernel\t" + atLeaf},
	}, {
		name: "linux arm64",
		in: "pc : " + fn("leaf", leaf) + "\nlr : " + fn("middle", hold) + "\nsp : ffff800010003c00\n" +
			"Call trace:\n " + fn("leaf", leaf) + " (P)\n " + fn("middle", hold) + "\n",
		want: []string{"pc :\t" + atLeaf, "lr :\t" + atHold, "lr :\t" + inMid, " " + fn("leaf", leaf) + "\t" + atLeaf,
			fn("middle", hold) + "\t" + atHold, "middle\t" + inMid},
	}, {
		name: "linux old, moved: the bias is learnt from a pair",
		in: "ip is lost\npc=" + fmt.Sprintf("%#x", leaf+slide) + "\n" +
			fmt.Sprintf(" [<%016x>] %s\n", mid+slide, fn("main", mid)) +
			fmt.Sprintf(" [<%016x>] ? %s\n", ends+slide, fn("ends", ends)) +
			fmt.Sprintf("pc=%#x\n [<%016x>]\n", leaf+slide, hold+slide) +
			"Linux version 6.1 boots again\n" + fmt.Sprintf("pc=%#x\n", leaf+slide) + fmt.Sprintf("pc=%#x\n", leaf),
		want: []string{"main\t" + inMain, "? ends\t" + inEnds, fmt.Sprintf("pc=%#x\t", leaf+slide) + atLeaf,
			fmt.Sprintf("[<%016x>]\t", hold+slide) + atHold, "[<\t" + inMid, fmt.Sprintf("pc=%#x\t", leaf) + atLeaf},
	}, {
		name: "linux, moved: Kernel Offset",
		in: "---[ end trace ]---\nKernel Offset: 0x2a000000 from 0xffffffff81000000 (relocation range: 0xffffffff80000000-0xffffffffbfffffff)\n" +
			fmt.Sprintf("Call Trace:\n 0x%016x\n", hold+slide) + fmt.Sprintf("RIP: 0010:0x%016x\n", leaf+slide) +
			"Kernel Offset: disabled\n" + fmt.Sprintf("RIP: 0010:0x%016x\n", leaf),
		want: []string{fmt.Sprintf("0x%016x\t", hold+slide) + atHold, "0x\t" + inMid, "RIP\t" + atLeaf, "RIP\t" + atLeaf},
	}, {
		name: "another build",
		in:   fmt.Sprintf("zf1 pc=%#x\n ", leaf) + fn("leaf", leaf) + "\n leaf+0x1/0x999\n nosuch+0x1/0x2\n",
		want: []string{"leaf\tleaf+0x"},
		log:  "-force",
	}, {
		name: "linux arm, old x86, PowerPC",
		in: fmt.Sprintf("PC is at %s\nLR is at %s\npc : [<%08x>]    lr : [<%08x>]    psr: 60000013\nsp : c0d01e58  ip : c0d01e78  fp : c0d01e74\n",
			fn("leaf", leaf), fn("middle", hold), leaf, hold) +
			fmt.Sprintf("[<%08x>] (leaf) from [<%08x>] (%s)\n", leaf, hold, fn("middle", hold)) +
			fmt.Sprintf("RIP: 0010:[<%016x>]  [<%016x>] %s\nRIP  [<%016x>] %s\nNIP [%016x] %s\nLR [%016x] %s\n[c00000000fff] [%016x] %s (unreliable)\n",
				leaf, leaf, fn("leaf", leaf), leaf, fn("leaf", leaf), leaf, fn("leaf", leaf), ends, fn("ends", ends), ends, fn("ends", ends)),
		want: []string{"PC is\t" + atLeaf, "LR is\t" + atHold, "LR is\t" + inMid,
			"pc :\t" + fmt.Sprintf("%08x:", leaf), "pc :\t" + atLeaf, "pc :\t" + fmt.Sprintf("%08x:", hold), "pc :\t" + atHold, "pc :\t" + inMid,
			"from\t" + atHold, "from\t" + inMid,
			"RIP: 0010:[\t" + atLeaf, "RIP  [\t" + atLeaf, "NIP\t" + atLeaf, "LR [\t" + inEnds, "(unreliable)\t" + inEnds},
	}, {
		name: "markup, relocated",
		in: "[12.3] {{{reset}}}\n" + fmt.Sprintf("{{{module:1:libc.so:elf:83238ab56ba10497}}}\n{{{module:7:kernel:elf:%s}}}\n", p.sym.BuildID()) +
			"{{{mmap:0x7acba69d5000:0x5a000:load:1:rx:0x1000}}}\n" +
			"{{{mmap:0x9000401000:0x1000:load:7:rx:0x401000}}}\n" +
			fmt.Sprintf("  {{{bt:0:%#x:pc}}} x\n  {{{bt:1:%#x:ra}}}\n {{{bt:2:%#x}}}\n", leaf+0x9000000000, hold+0x9000000000, ends+0x9000000000) +
			fmt.Sprintf("at {{{pc:%#x}}} called by {{{pc:%#x:ra}}}\n{{{bt:3:0x7acba69d5010:ra}}}\nname {{{symbol:ends}}}\n", leaf+0x9000000000, mid+0x9000000000) +
			fmt.Sprintf("{{{reset}}}\n{{{pc:%#x}}}\n{{{pc:%#x}}}\n", leaf+0x9000000000, leaf),
		want: []string{"bt:0\t" + atLeaf, "bt:1\t" + atHold, "bt:1\t" + inMid, "bt:2\t" + inEnds,
			"at {\t{{{pc:", "at {\t" + atLeaf, "at {\t:ra}}}:", "at {\t" + inMain, "symbol\tends+0x0|one.c:", fmt.Sprintf("{{{pc:%#x\t", leaf) + atLeaf},
		log: "libc.so",
	}, {
		name: "tinygo",
		in:   fmt.Sprintf("panic: runtime error at 0x%016x: nil pointer dereference\n", leaf),
		want: []string{"panic\t" + atLeaf},
	}, {
		name: "esp-idf",
		// The target has taken 3 off each already.
		in: fmt.Sprintf("abort() was called at PC 0x%08x on core 0\r\n\r\n\r\nBacktrace: 0x%08x:0x3ffb5060 0x%08x:0x3ffb5080 |<-CORRUPTED\r\n", mid-3, leaf, hold-3) +
			fmt.Sprintf("PC      : 0x%08x  PS      : 0x00060330  A0      : 0x800d1f51\r\n", leaf) +
			fmt.Sprintf("MEPC    : 0x%08x  RA      : 0x%08x  SP      : 0x3fc8f000\r\n", leaf, ends),
		want: []string{"abort\t" + inMain, "Backtrace\t:0x3ffb5060:", "Backtrace\t" + atLeaf, "Backtrace\t:0x3ffb5080:", "Backtrace\t" + atHold, "Backtrace\t" + inMid,
			"PC  \t" + atLeaf, "MEPC\t0x", "MEPC\t" + atLeaf, "MEPC\t0x", "MEPC\t" + inEnds},
	}, {
		name: "zephyr arm",
		in: "[00:00:05.979,000] \x1b[1;31m<err> os: ***** BUS FAULT *****\x1b[0m\n" +
			fmt.Sprintf("E: r3/a4:  0x24060000 r12/ip:  0x0003026a r14/lr:  0x%08x\n", hold) +
			fmt.Sprintf("[00:00:05.979,000] \x1b[1;31m<err> os: Faulting instruction address (r15/pc): 0x%08x\x1b[0m\n", leaf) +
			fmt.Sprintf("E: call trace:\nE:      0: lr: 0x%08x\nE:      1: lr: 0x%08x\nE: \n", leaf, ends),
		want: []string{"r14\t" + atHold, "r14\t" + inMid, "Fault\t" + atLeaf, "0: lr\t" + atLeaf, "1: lr\t" + inEnds},
	}, {
		name: "zephyr risc-v, x86, arm64",
		in: fmt.Sprintf("E:   mepc: %08x\nE: call trace:\nE:       0: fp: 80012340 ra: %08x\nE:       1: fp: 80012360 ra: %08x [ends+0x8]\nE: \n", leaf, leaf, ends) +
			fmt.Sprintf("<err> os: call trace:\n<err> os:      0: 0x%016x\n<err> os: done\n<err> os:      0: 0x%016x\n", ends, ends) +
			fmt.Sprintf("E: call trace:\nE:      0: fp: 0x0000000000500000 lr: 0x%016x\nE: #1 0x%08x\n", ends, mid),
		want: []string{"mepc\t" + atLeaf, "0: fp: 8\t" + atLeaf, "1: fp\t" + inEnds, "os:      0\t" + inEnds, "0: fp: 0x\t" + inEnds, "#1\t" + inMain},
		log:  "zf: a line looks like a frame and is not resolved, \"0: 0x", // below a line that ends the list
	}, {
		name: "gdb",
		in: fmt.Sprintf("#0  0x%016x in ?? ()\n#1  0x%016x in ?? ()\n    more\n#2  0x%016x in ?? () from /lib/x.so\n#3  <signal handler called>\n#4  0x%016x in ?? ()\n#5  0x%016x in ?? ()\n",
			leaf, ends, hold, same1, mid) +
			fmt.Sprintf("#0  hold (n=1) at one.c:29\n#1  0x%016x in middle (n=1) at one.c:35\n#2  0x%016x in ends ()\n#9  0x%016x in out of order ()\n", hold-1, ends, ends),
		want: []string{"#0\t" + atLeaf, "#1\t" + inEnds, "#2\t" + atHold, "#2\t" + inMid, "#4\tsame+0x|one.c:", "#5\t" + inMain,
			"in middle\t" + atHold, "in middle\t" + inMid, "in ends\t" + inEnds},
		log: "zf: a line looks like a frame and is not resolved, \"#9  0x",
	}, {
		name: "windbg",
		in: " # Child-SP          RetAddr               Call Site\n" +
			fmt.Sprintf("00 00000043`2f2ff5a8 %s     app!leaf+0x%x\n", tick(hold+slide), leaf-p.start["leaf"]) +
			"01 (Inline Function) --------`--------     app!hold+0x2\n" +
			fmt.Sprintf("02 00000043`2f2ff5b0 %s     app!middle+0x%x\n", tick(mid+slide), hold-p.start["middle"]) +
			"03 00000043`2f2ff5e0 00000000`00000000     0x402bd\n\n" +
			"Child-SP          RetAddr           : Args to Child                                                           : Call Site\n" +
			fmt.Sprintf("fffff803`4c4c0f58 %s : 00000000`0000000a 00000000`00000000 00000000`00000002 00000000`00000000 : nt!KiPageFault+0x42e (TrapFrame @ fffff803`4c4c0f60)\n", tick(leaf+slide)) +
			fmt.Sprintf("fffff803`4c4c0f58 %s : 00000000`0000000a 00000000`00000000 00000000`00000002 00000000`00000000 : app!leaf+0x%x\n", tick(ends+slide), leaf-p.start["leaf"]) +
			"fffff803`4c4c0f58 00000000`00000000 : 00000000`0000000a 00000000`00000000 00000000`00000002 00000000`00000000 : app!ends\nend\n",
		want: []string{"00 0\t" + atLeaf, "02 0\t" + atHold, "02 0\t" + inMid, "03 0\t" + inMain, "app!leaf\t" + atLeaf, "app!ends\t" + inEnds},
	}, {
		name: "guess",
		opt:  Options{Guess: true},
		in:   fmt.Sprintf("word 0x%x and %016x, not 0x10\n", leaf, leaf),
		want: []string{"word\t0x", "word\t" + atLeaf + "|(guess)", "word\t0000", "word\t" + atLeaf + "|(guess)"},
	}, {
		name: "no guess",
		in:   fmt.Sprintf("word 0x%x and %016x\nip=10.0.0.1 rip=0x10\n", leaf, leaf),
	}, {
		name: "bias",
		opt:  Options{Bias: new(uint64)},
		in:   fmt.Sprintf("Kernel Offset: 0x1000 from 0x0\nrip=%#x lost\nrip=%#x\n", leaf, leaf+slide),
		want: []string{fmt.Sprintf("rip=%#x\t", leaf+slide) + atLeaf},
	}}
	*all[len(all)-1].opt.Bias = slide
	for i := range all {
		all[i].opt.Foreign, all[i].opt.Symbols = true, p.sym
	}
	return all
}

// tick writes an address as WinDbg does.
func tick(a uint64) string { return fmt.Sprintf("%08x`%08x", a>>32, a&0xffffffff) }

// TestForeign: each format's lines are followed by what their addresses are, and
// by nothing else, however the input comes in; and the result stays as it is when
// it goes through again.
func TestForeign(t *testing.T) {
	for _, c := range captures(t) {
		t.Run(c.name, func(t *testing.T) {
			r := filter(t, c.opt, []byte(c.in))
			checkForeign(t, &c, r)
			for step := range 8 {
				var parts [][]byte
				for part := range slices.Chunk([]byte(c.in), step+1) {
					parts = append(parts, part)
				}
				if s := filter(t, c.opt, parts...); !bytes.Equal(s.out.Bytes(), r.out.Bytes()) || s.stats != r.stats || s.log.String() != r.log.String() {
					t.Errorf("in steps of %d: %s; want %s", step+1, s.out.Bytes(), r.out.Bytes())
				}
			}
			again := filter(t, c.opt, r.out.Bytes())
			if !bytes.Equal(again.out.Bytes(), r.out.Bytes()) {
				t.Errorf("again: %s; want %s", again.out.Bytes(), r.out.Bytes())
			}
			off := c.opt
			off.Foreign = false
			if s := filter(t, off, []byte(c.in)); s.out.String() != c.in || s.stats.Foreign != 0 {
				t.Errorf("without Foreign: %s; want the input", s.out.Bytes())
			}
		})
	}
}

// checkForeign compares the lines that were added with the expected ones.
func checkForeign(t *testing.T, c *said, r *run) {
	t.Helper()
	in := strings.SplitAfter(c.in, "\n")
	want := c.want
	last := ""
	for l := range strings.Lines(r.out.String()) {
		if len(in) > 0 && l == in[0] {
			last, in = l, in[1:]
			continue
		}
		if !strings.HasPrefix(l, callIndent) || strings.HasSuffix(last, "\r\n") != strings.HasSuffix(l, "\r\n") {
			t.Errorf("%q is not a line of ours behind %q", l, last)
		}
		if len(want) == 0 {
			t.Errorf("after %q: %q; want nothing more", last, l)
			continue
		}
		line, ours, _ := strings.Cut(want[0], "\t")
		ok := strings.Contains(last, line)
		for part := range strings.SplitSeq(ours, "|") {
			ok = ok && strings.Contains(l, part)
		}
		if !ok {
			t.Errorf("after %q: %q; want %q after %q", last, l, ours, line)
		}
		want = want[1:]
	}
	if len(want) > 0 || strings.Join(in, "") != "" {
		t.Errorf("missing: %q and of the input %q\n%s", want, in, r.out.Bytes())
	}
	if !strings.Contains(r.log.String(), c.log) || c.log == "" && r.log.Len() > 0 {
		t.Errorf("log = %q; want %q", r.log.String(), c.log)
	}
	if (r.stats.Foreign > 0) != (len(c.want) > 0) {
		t.Errorf("%d addresses counted; want lines %q", r.stats.Foreign, c.want)
	}
}

// TestParseBias: a number, or a function and where it was.
func TestParseBias(t *testing.T) {
	p := cImage(t)
	main := p.start["main"]
	tests := []struct {
		in   string
		want uint64
		err  string
	}{
		{"0x2a000000", 0x2a000000, ""},
		{"-0x1000", 1<<64 - 0x1000, ""},
		{fmt.Sprintf("main=%#x", main+0x5000), 0x5000, ""},
		{fmt.Sprintf("main+0x10=%x", main+0x5010), 0x5000, ""},
		{"", 0, "no address"},
		{"main", 0, "no address"},
		{"main=x", 0, "no address"},
		{"main+0xz=1", 0, "no offset"},
		{"nosuch=0x1", 0, "no function"},
		{"same=0x1", 0, "2 functions"},
	}
	for _, tt := range tests {
		got, err := foreign.ParseBias(tt.in, p.sym)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("ParseBias(%q) = %#x, %v; want %#x, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
	if _, err := foreign.ParseBias("main=0x1", testImage()); err == nil {
		t.Error("ParseBias of a name without names = nil; want an error")
	}
}

// TestForeignHostile: names out of the ELF file and words out of the trace drive
// no terminal.
func TestForeignHostile(t *testing.T) {
	in := "pc=0x201410\n{{{bt:0:0x201410:\x1b[2Jpc}}}\n{{{module:1:\x1b]0;x\x07:elf:00}}}\n{{{mmap:0x0:0x1000:load:1:rx:0x0}}}\n{{{pc:0x10}}}\n"
	r := filter(t, Options{Foreign: true, Symbols: testImage(), Sanitize: true, Color: true}, []byte(in))
	if r.stats.Foreign != 1 || strings.ContainsAny(string(terminal.WithoutColours([]byte(r.out.String()+r.log.String()))), "\x1b\x07") {
		t.Errorf("output = %q, log = %q", r.out.Bytes(), r.log.Bytes())
	}
}

// FuzzForeign: whatever comes, the input is all there and in its order, the output
// does not depend on how it came in and drives no terminal.
func FuzzForeign(f *testing.F) {
	for _, c := range captures(f) {
		f.Add([]byte(c.in), uint8(3))
	}
	f.Add([]byte("goroutine 1 [running]:\nmain.read(...)\n\t/x/main.go:23 +0x1d fp=0x1 sp=0x2 pc=0x401100\ncreated by main.main in goroutine 1\n\t/x.go:1 +0x1\n"), uint8(1))
	f.Add([]byte("goroutine 1 [running]:\nmiddle(0x1)\n\t/x/one.c:36 +0x2d\nmain.f3(0x1)\n\t/x/main.go:16 +0x10\n"), uint8(1))
	f.Add([]byte("zf1 begin 1 fault early thread=0 build="+testBuild+"\nzf1 #0 pc 0x200110 sp 0x10 fp 0x20 boot\npc=0x200110\nlr: 0x200210\n"), uint8(5))
	f.Fuzz(throughForeign(cImage(f).sym, testImage()))
}

// throughForeign is what a fuzz target runs with these images.
func throughForeign(syms ...lookup.Resolver) func(t *testing.T, in []byte, step uint8) {
	return func(t *testing.T, in []byte, step uint8) {
		var parts [][]byte
		for part := range slices.Chunk(in, int(step)+1) {
			parts = append(parts, part)
		}
		for _, sym := range syms {
			opt := Options{Symbols: sym, Foreign: true, Guess: true, Prefixes: step%2 == 0}
			whole, split := filter(t, opt, in), filter(t, opt, parts...)
			if whole.out.String()+whole.json.String() != split.out.String()+split.json.String() || whole.stats != split.stats || whole.log.String() != split.log.String() {
				t.Fatalf("in steps of %d: %q; want %q", int(step)+1, split.out.Bytes(), whole.out.Bytes())
			}
			rest := in
			for _, c := range whole.out.Bytes() {
				if len(rest) > 0 && rest[0] == c {
					rest = rest[1:]
				}
			}
			if len(rest) > 0 {
				t.Fatalf("out = %q; want all of %q in it", whole.out.Bytes(), in)
			}
			if whole.stats.Traces+whole.stats.Foreign == 0 && !bytes.Equal(whole.out.Bytes(), in) {
				t.Fatalf("nothing found, but out = %q; want %q", whole.out.Bytes(), in)
			}
			opt.Sanitize = true
			for _, c := range filter(t, opt, in).out.String() {
				if terminal.IsControl(c) && !strings.ContainsRune("\n\r\t\b", c) {
					t.Fatalf("%q in the output", c)
				}
			}
		}
	}
}

// BenchmarkForeign: a log without traces costs little.
func BenchmarkForeign(b *testing.B) {
	sym := testImage()
	log := bytes.Repeat([]byte("[   12.345678] usb 1-1: new high-speed USB device number 2 using xhci_hcd (0123)\n"), 1000)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		filter(b, Options{Symbols: sym, Foreign: true}, log)
	}
}

// TestForeignModule: with a module's file the frames of the module are resolved,
// and those of the kernel and of other modules are not, though the names are there.
func TestForeignModule(t *testing.T) {
	p := cImage(t)
	path := filepath.Join(t.TempDir(), "my-thing.ko")
	if out, err := exec.Command("gcc", "-O1", "-g", "-c", "-ffunction-sections", "-o", path, "testdata/foreign/one.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sym, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	// The linked program has the same functions. Here each is a section: its span
	// is its size.
	place := func(name string, addr uint64) string {
		n := sym.Named(name)
		if len(n) != 1 {
			t.Fatalf("Named(%s) = %+v; want one", name, n)
		}
		return fmt.Sprintf("%s+%#x/%#x", name, addr-p.start[name], n[0].Size)
	}
	leaf, hold := place("leaf", p.where(t, "pc leaf:18")), place("middle", p.where(t, "ra hold:29"))
	c := said{
		in: "RIP: 0010:" + leaf + " [my_thing]\n " + hold + " [my_thing]\n " + leaf + "\n " + leaf + " [other]\n" +
			" main+0x8/0x1000 [my_thing]\n",
		want: []string{"RIP\tleaf+0x|one.c:18", "middle\thold (inlined)|one.c:29", "middle\tmiddle+0x|one.c:35", "main+\tmain+0x8"},
		log:  "zf: 3 of the 5 frames of a Linux trace are resolved: the rest is not in the ELF file; give vmlinux and other.ko too (-e can be repeated)\n",
	}
	checkForeign(t, &c, filter(t, Options{Foreign: true, Symbols: sym}, []byte(c.in)))
}
