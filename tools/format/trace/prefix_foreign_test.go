package trace

import (
	"fmt"
	"strings"
	"testing"
)

// TestPrefixLearnt: what stands in front of a line by which a trace begins is no part of
// the lines behind it, whoever has put it there.
func TestPrefixLearnt(t *testing.T) {
	p := cImage(t)
	leaf, hold, ends := p.where(t, "pc leaf:18"), p.where(t, "ra hold:29"), p.where(t, "ra ends:56")
	fn := func(name string, addr uint64) string { return p.off(name, p.start[name], addr) }
	log := "BUG: unable to handle page fault for address: ffffffffdeadbeef\nRIP: 0010:" + fn("leaf", leaf) + "\nCall Trace:\n <TASK>\n ? " +
		fn("ends", ends) + "\n " + fn("middle", hold) + "\n </TASK>\n---[ end trace 0000000000000000 ]---\n"
	gdb := fmt.Sprintf("#0  0x%016x in ?? ()\n#1  0x%016x in ?? ()\n", leaf, ends)
	zephyr := fmt.Sprintf("E: call trace:\nE:      0: lr: 0x%08x\n", leaf)
	for _, prefix := range []func(n int) string{
		func(n int) string { return fmt.Sprintf("[%5d.%06d] c0 %6d ", n*7, n, n*31) }, // Android's
		func(n int) string { return fmt.Sprintf("[%5d.%06d]  (%d)[%d:swapper/0]", n*7, n, n%4, n*31) },
		func(n int) string { return fmt.Sprintf("[    7.000000] [2026/11/21 17:55:%02d.123456]@%d ", n, n%4) },
		func(n int) string { return fmt.Sprintf("17%08d.%06d board kernel: ", n*n, n) },
		func(n int) string { return fmt.Sprintf("dmesg.txt:%d:[%5d.%06d] ", n+9, n*7, n) },
		func(n int) string { return fmt.Sprintf("> > [%5d.%06d] ", n*7, n) },
		func(n int) string { return fmt.Sprintf("(d%d) ", n%10) },
		func(n int) string { return "rack 3, board B> " },
	} {
		for in, want := range map[string]string{
			log: "linux: pc=leaf scan=ends ra=hold", gdb: "gdb: pc=leaf ra=ends", zephyr: "zephyr: pc=leaf",
		} {
			r := filter(t, Options{Symbols: p.sym, Foreign: true}, behind([]byte(in), prefix))
			if len(r.traces) != 1 || outline(r.traces[0]) != want {
				t.Errorf("%q: %s; want %s", prefix(1), r.json.Bytes(), want)
			} else if in == log && !strings.HasPrefix(r.traces[0].Reason, "BUG: ") {
				t.Errorf("%q: the reason is %q", prefix(1), r.traces[0].Reason)
			}
		}
	}
}

// TestPrefixNumber: a number in front of a warning is a prefix, and the beginning of a
// number that goes on is none.
func TestPrefixNumber(t *testing.T) {
	p := cImage(t)
	at := fmt.Sprintf("%#x\n", p.where(t, "pc leaf:18"))
	for _, prefix := range []string{"1234 ", "[   12.5] worker 3 ", "(3) "} {
		for _, line := range []string{prefix + at, at} {
			r := filter(t, Options{Symbols: p.sym, Foreign: true, Guess: true}, []byte(prefix+"WARNING: slow\n"+line))
			if len(r.traces) != 1 || !strings.Contains(r.out.String(), "leaf+0x") {
				t.Errorf("behind a warning behind %q: %q", prefix, r.out.Bytes())
			}
		}
	}
}

// TestLastLine: a log's last line counts, with or without its end; what was cut off by a
// lost connection does not.
func TestLastLine(t *testing.T) {
	p := cImage(t)
	log := fmt.Sprintf("boot\r\npc=%#x", p.where(t, "pc leaf:18"))
	r := filter(t, Options{Symbols: p.sym, Foreign: true}, []byte(log))
	rest, ok := strings.CutPrefix(r.out.String(), log+"\n    leaf+0x")
	if !ok || !strings.HasSuffix(rest, "\n") || r.stats.Foreign != 1 || len(r.traces) != 1 {
		t.Errorf("output = %q, %+v", r.out.Bytes(), r.stats)
	}
	if again := filter(t, Options{Symbols: p.sym, Foreign: true}, r.out.Bytes()); again.out.String() != r.out.String() {
		t.Errorf("again = %q", again.out.Bytes())
	}
	var out strings.Builder
	f, err := NewFilter(&out, Options{Symbols: p.sym, Foreign: true, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte(log))
	f.Cut()
	f.Close()
	if out.String() != log+"\n" && out.String() != log+"\r\n" {
		t.Errorf("after a cut: %q", out.String())
	}
}
