package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/wire"
)

// outline is a trace in short: its format, and of each frame its kind and innermost function.
func outline(t *wire.Trace) string {
	s := t.Format + ":"
	for i := range t.Frames {
		f := &t.Frames[i]
		name := "?"
		if len(f.Calls) > 0 {
			name = f.Calls[0].Function
		}
		if f.Quoted {
			name = "'" + name + "'"
		}
		s += " " + f.Kind.String() + "=" + name
	}
	return s
}

// TestGroup: the lines of each format make the traces that they are.
func TestGroup(t *testing.T) {
	want := map[string][]string{
		"linux x86":   {"linux: pc=leaf scan=ends ra=hold ra=main ra=same ra=same ra='do_thing'"},
		"linux warn":  {"linux: pc=leaf", "linux: pc=leaf"},
		"linux arm64": {"linux: pc=leaf ra=hold"},
		"linux old, moved: the bias is learnt from a pair": {"linux: ra=main scan=ends pc=leaf ra=hold pc=leaf"},
		"linux, moved: Kernel Offset":                      {"linux: ra=hold pc=leaf pc=leaf"},
		"another build":                                    {"linux: ra=leaf ra='leaf' ra='nosuch'"},
		"linux arm, old x86, PowerPC":                      {"linux: pc=leaf ra=hold pc=leaf pc=leaf pc=leaf ra=ends"},
		"markup, relocated": {
			"markup: pc=leaf ra=hold ra=ends pc=leaf ra=main ra='?' pc=ends pc=leaf"},
		"tinygo":                    {"tinygo: pc=leaf"},
		"esp-idf":                   {"esp-idf: pc=leaf pc=hold pc=leaf pc=leaf"},
		"zephyr arm":                {"zephyr: pc=leaf ra=ends"},
		"zephyr risc-v, x86, arm64": {"zephyr: pc=leaf ra=ends", "zephyr: ra=ends", "zephyr: ra=ends ra=main"},
		"gdb":                       {"gdb: pc=leaf ra=ends ra=hold pc=same ra=main", "gdb: pc=hold ra=ends"},
		"windbg":                    {"windbg: pc=leaf ra=hold ra=main", "windbg: pc=leaf ra=ends"},
		"guess":                     {"address: pc=leaf"},
		"no guess":                  nil,
		"bias":                      {"address: pc=leaf"},
	}
	for _, c := range captures(t) {
		r := filter(t, c.opt, []byte(c.in))
		var got []string
		for _, tr := range r.traces {
			got = append(got, outline(tr))
			if tr.Kind != tr.Format || tr.Fatal() || tr.Complete() {
				t.Errorf("%s: kind %q, fatal %v, complete %v", c.name, tr.Kind, tr.Fatal(), tr.Complete())
			}
		}
		if w, ok := want[c.name]; !ok || !slices.Equal(got, w) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, w)
		}
		if n := bytes.Count(r.json.Bytes(), []byte("\n")); n != len(r.traces) {
			t.Errorf("%s: %d lines of JSON for %d traces", c.name, n, len(r.traces))
		}
	}
}

// TestGroupLinux: why, who, the registers, and a frame that the file does not have; the
// second oops is another trace, and the pc printed behind the end none.
func TestGroupLinux(t *testing.T) {
	p := cImage(t)
	leaf, hold := p.where(t, "pc leaf:18"), p.where(t, "ra hold:29")
	fn := func(name string, addr uint64) string { return p.off(name, p.start[name], addr) }
	oops := func(pid int, why string) string {
		return "[    7.100000] BUG: " + why + "\n[    7.100000] #PF: error_code(0x0002) - not-present page\n[    7.100000] Oops: 0002 [#1] SMP\n" +
			fmt.Sprintf("[    7.100000] CPU: 0 PID: %d Comm: init Not tainted\n", pid) +
			"[    7.100000] RIP: 0010:" + fn("leaf", leaf) + "\n[    7.100000] RSP: 0018:ffffc90000013e00 EFLAGS: 00010246\n" +
			"[    7.100000] RAX: 0000000000000000 RBX: ffff888003c00000 RCX: 0000000000000007\n" +
			"[    7.100000] R10: 0000000000000001 CR2: 0000000000000010 CR3: 0000000002c0a000\n" +
			"[    7.100000] Call Trace:\n[    7.100000]  <TASK>\n[    7.100000]  " + fn("middle", hold) + "\n[    7.100000]  gone+0x5/0x10 [e1000e]\n" +
			"[    7.100000] RIP: 0033:0x7f0000001000\n[    7.100000] RAX: ffffffffffffffda RBX: 0000000000000001\n[    7.100000]  </TASK>\n" +
			"[    7.100000] Modules linked in: e1000e\n[    7.100000] ---[ end trace 0000000000000000 ]---\n" +
			"[    7.100000] RIP: 0010:" + fn("leaf", leaf) + "\n"
	}
	r := filter(t, Options{Symbols: p.sym, Foreign: true}, []byte(oops(41, "first")+"usb 1-1: new device\n"+oops(42, "second")))
	var got []map[string]any
	for line := range strings.Lines(r.json.String()) {
		var j map[string]any
		if err := json.Unmarshal([]byte(line), &j); err != nil {
			t.Fatal(err)
		}
		got = append(got, j)
	}
	if len(got) != 2 {
		t.Fatalf("%d traces: %s; want 2", len(got), r.json.Bytes())
	}
	for i, j := range got {
		regs := j["registers"].(map[string]any)
		frames := j["frames"].([]any)
		last := frames[len(frames)-1].(map[string]any)
		if j["kind"] != "linux" || j["reason"] != []string{"BUG: first", "BUG: second"}[i] || j["thread"] != float64(41+i) ||
			regs["rax"] != "0x0" || regs["cr2"] != "0x10" || regs["rsp"] != "0xffffc90000013e00" || len(regs) != 7 || len(frames) != 4 {
			t.Errorf("trace %d = %v", i, j)
		}
		if _, has := last["address"]; has || last["module"] != "e1000e" || last["quoted"] != true || last["function"] != "gone" {
			t.Errorf("last frame = %v; want the trace's words alone", last)
		}
		if _, has := frames[0].(map[string]any)["fp"]; has {
			t.Errorf("first frame = %v; no frame pointer is known", frames[0])
		}
	}
	k := string(render.K(r.traces[0]))
	for _, want := range []string{"linux: BUG: first\n", "gone+0x5 [e1000e]\n", "hold (inlined)\n"} {
		if !strings.Contains(k, want) || strings.Contains(k, "WARNING") {
			t.Errorf("K = %s; want %q in it", k, want)
		}
	}
}

// TestGroupGo: each goroutine is a trace, the first with the reason, and functions that
// are not in the file are there as the runtime printed them.
func TestGroupGo(t *testing.T) {
	path, sym := goProgram(t, func(s string) string { return s })
	log := goTraceback(t, path, "goroutines", "all")
	r := filter(t, Options{Symbols: sym, Foreign: true}, log)
	n := bytes.Count(log, []byte("\ngoroutine "))
	if n < 2 || len(r.traces) != n {
		t.Fatalf("%d traces of %d goroutines: %s", len(r.traces), n, r.json.Bytes())
	}
	for i, tr := range r.traces {
		head := "goroutine "
		if i == 0 {
			head = "panic: "
		}
		if tr.Format != foreign.FormatGo || tr.Goroutine == 0 || !strings.HasPrefix(tr.Reason, head) || len(tr.Frames) == 0 {
			t.Errorf("trace %d: %+v", i, tr)
		}
	}
	other := filter(t, Options{Symbols: cImage(t).sym, Foreign: true}, log)
	if len(other.traces) != n || !other.traces[0].Frames[0].Quoted || other.traces[0].Frames[0].Calls[0].File == "" {
		t.Errorf("with another program's ELF file: %s", other.json.Bytes())
	}
	if other.stats.Foreign != 0 || !bytes.Equal(other.out.Bytes(), log) {
		t.Errorf("with another program's ELF file: %+v, %s; want the text as it is", other.stats, other.out.Bytes())
	}
}

// TestGroupIdle: a trace is handed on when no more input comes, and a pause within it
// does not cut it.
func TestGroupIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan *wire.Trace, 2) // the timer's goroutine sends to it
		f, err := NewFilter(nil, Options{Symbols: testImage(), Foreign: true, Idle: DefaultIdle, OnTrace: func(tr *wire.Trace) { done <- tr }})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		f.Write([]byte("pc=0x200110\n"))
		time.Sleep(groupIdle*DefaultIdle - DefaultIdle/2)
		f.Write([]byte("lr=0x200210\n"))
		time.Sleep(groupIdle*DefaultIdle - 1)
		if len(done) > 0 {
			t.Errorf("%s is handed on while more of it may come", outline(<-done))
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if len(done) != 1 || outline(<-done) != "address: pc=main.f1 ra=main.f2" {
			t.Errorf("%d traces; want one of both lines", len(done))
		}
	})
}

// TestKWithoutReason: a trace that does not say why has no words for it.
func TestKWithoutReason(t *testing.T) {
	p := cImage(t)
	r := filter(t, Options{Symbols: p.sym, Foreign: true}, []byte(fmt.Sprintf("pc=%#x\n", p.where(t, "pc leaf:18"))))
	if len(r.traces) != 1 || !strings.HasPrefix(string(render.K(r.traces[0])), "address\nChildRBP ") {
		t.Errorf("%q", render.K(r.traces[0]))
	}
}
