package receive

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/fleet"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// collector is a sink that keeps what it gets.
type collector struct {
	lines  []string
	traces []*Arrival
}

func (c *collector) Line(l *Line) {
	s := l.Machine + ": " + string(l.Text)
	if l.HasMeta {
		s = fmt.Sprintf("%s <%d> %d", s, l.Level, l.Number)
	}
	c.lines = append(c.lines, s)
}

func (c *collector) Trace(a *Arrival) { c.traces = append(c.traces, a) }

var (
	t0    = time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)
	alice = netip.MustParseAddrPort("10.0.0.7:6665")
	bob   = netip.MustParseAddrPort("[fd00::8]:4242")
)

func newTest(opt Options) (*Intake, *collector) {
	c := new(collector)
	return NewIntake(opt, c), c
}

func wantLines(t *testing.T, c *collector, want ...string) {
	t.Helper()
	if got := strings.Join(c.lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("lines:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

func TestPlainLines(t *testing.T) {
	in, c := newTest(Options{Names: map[netip.AddrPort]string{netip.AddrPortFrom(bob.Addr(), 0): "bob"}})
	in.Datagram(t0, alice, []byte("one\r\ntwo\n"))
	in.Datagram(t0, alice, []byte("thr"))
	in.Datagram(t0, bob, []byte("other\n"))
	in.Datagram(t0, alice, []byte("ee\nfour"))
	wantLines(t, c, "10.0.0.7: one", "10.0.0.7: two", "bob: other", "10.0.0.7: three")
	in.Tick(t0.Add(time.Second))
	wantLines(t, c, "10.0.0.7: one", "10.0.0.7: two", "bob: other", "10.0.0.7: three", "10.0.0.7: four")
	// A line that never ends is passed on in pieces, not kept.
	in.Datagram(t0, alice, bytes.Repeat([]byte("x"), 700))
	in.Datagram(t0, alice, bytes.Repeat([]byte("y"), 700))
	if n := len(in.machines[alice].partial); n != 700 {
		t.Errorf("%d bytes are kept of a line without an end, want the latest 700", n)
	}
}

func TestExtendedLines(t *testing.T) {
	in, c := newTest(Options{})
	send := func(s string) { in.Datagram(t0, alice, []byte(s)) }
	send("6,416,1758426,-;netpoll: local port 6665\n")
	send("6.1.0-13,4,417,1758430,c;with a release\n SUBSYSTEM=net\n")
	send("30,420,1,-,caller=T1;facility\n")
	send("30,420,1,-,caller=T1;facility\n")
	send("6,419,1,-;late\n")
	send("4,421,2,-,ncfrag=0/10;abcde")
	send("4,421,2,-,ncfrag=5/10;fghi\n")
	wantLines(t, c,
		"10.0.0.7: netpoll: local port 6665 <6> 416",
		"10.0.0.7: with a release <4> 417",
		"10.0.0.7:  SUBSYSTEM=net <4> 417",
		"10.0.0.7: facility <6> 420",
		"10.0.0.7: late <6> 419",
		"10.0.0.7: abcdefghi <4> 421")
	if s := in.Stats(); s.LostLines != 1 || s.Repeated != 1 {
		t.Errorf("lost %d, repeated %d; want 1 (number 418) and 1 (number 420)", s.LostLines, s.Repeated)
	}
	send("6,1,5,-;booted again\n")
	if s := in.Stats(); s.LostLines > 1 {
		t.Errorf("a reboot counts as %d lost lines", s.LostLines)
	}
	for _, s := range []string{";", "6,;", "6,1,2;x", "6,1,2,-,ncfrag=9;x", "6,99999999999999999999,2,-;x", "1024,1,2,-;x"} {
		c.lines = nil
		in.Datagram(t0, alice, []byte(s+"\n"))
		wantLines(t, c, "10.0.0.7: "+s)
	}
}

func TestFragmentsThatLie(t *testing.T) {
	in, c := newTest(Options{})
	for _, s := range []string{
		"4,1,2,-,ncfrag=0/99999999;huge",
		"4,1,2,-,ncfrag=9223372036854775807/2;wrap",
		"4,1,2,-,ncfrag=0/4;toolong",
	} {
		in.Datagram(t0, alice, []byte(s))
	}
	if s := in.Stats(); s.Impossible != 3 || len(c.lines) != 0 || in.held != 0 {
		t.Errorf("%d impossible, lines %q, %d bytes held; want 3, none, 0", s.Impossible, c.lines, in.held)
	}
	in.Datagram(t0, alice, []byte("4,1,2,-,ncfrag=0/8;half"))
	in.Tick(t0.Add(time.Minute))
	wantLines(t, c, "10.0.0.7: half <4> 1")
	if in.held != 0 {
		t.Errorf("%d bytes are held still", in.held)
	}
}

func testImage(t testing.TB) *fleet.Image {
	t.Helper()
	im, err := fleet.Self()
	if err != nil {
		t.Fatal(err)
	}
	return im
}

func TestTraceThroughLossAndDisorder(t *testing.T) {
	im := testImage(t)
	trace := im.Target(tracer.Text).Trace(tracer.KindFault, "nil pointer dereference", fleet.Deep(60))
	all := fleet.Datagrams(im.Build, 77, 1, trace)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		in, c := newTest(Options{})
		sent := append(append([][]byte(nil), all...), all...)
		r.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		for _, d := range sent {
			if r.IntN(10) < 3 {
				continue
			}
			in.Datagram(t0, alice, d)
			in.Datagram(t0, bob, d) // another machine, the same numbers
		}
		if len(c.traces) != 2 || !bytes.Equal(c.traces[0].Bytes, trace) || c.traces[0].Machine == c.traces[1].Machine {
			t.Fatalf("round %d: %d traces, want the same one of two machines", round, len(c.traces))
		}
		if in.held != 0 || in.Stats().Traces != 2 || in.Stats().Incomplete != 0 {
			t.Fatalf("round %d: %d bytes held, %+v", round, in.held, in.Stats())
		}
	}
}

func TestIncompleteTraceIsShown(t *testing.T) {
	im := testImage(t)
	trace := im.Target(tracer.Text).Trace(tracer.KindFault, "x", fleet.Deep(60))
	in, c := newTest(Options{})
	d := fleet.Datagrams(im.Build, 77, 1, trace)
	in.Datagram(t0, alice, d[0])
	in.Datagram(t0, alice, d[1])
	in.Tick(t0.Add(time.Second))
	if len(c.traces) != 0 {
		t.Fatal("it is given up too early")
	}
	in.Tick(t0.Add(3 * time.Second))
	if len(c.traces) != 1 || c.traces[0].Missing == 0 || !bytes.HasPrefix(trace, c.traces[0].Bytes) || len(c.traces[0].Bytes) < 1000 {
		t.Fatalf("want what came of the trace, have %d traces", len(c.traces))
	}
	// What comes later of it is no second trace.
	for _, d := range d {
		in.Datagram(t0, alice, d)
	}
	if len(c.traces) != 1 {
		t.Errorf("%d traces of one", len(c.traces))
	}
}

func TestHostileDatagrams(t *testing.T) {
	im := testImage(t)
	trace := im.Target(tracer.Text).Trace(tracer.KindFault, "x", fleet.Deep(60))
	d := fleet.Datagrams(im.Build, 77, 1, trace)
	in, c := newTest(Options{})
	in.Datagram(t0, alice, nil)
	in.Datagram(t0, alice, make([]byte, MaxDatagram+1))
	bad := bytes.Clone(d[0])
	bad[len(bad)-1] ^= 1
	in.Datagram(t0, alice, bad)
	// A part of another size, with a right CRC, after the first.
	in.Datagram(t0, alice, d[0])
	in.Datagram(t0, alice, fleet.Datagrams(im.Build, 77, 1, trace[:len(trace)/2+1])[1])
	// The same number from another build.
	in.Datagram(t0, alice, fleet.Datagrams("00ff", 77, 1, trace)[1])
	s := in.Stats()
	if s.Empty != 1 || s.TooLong != 1 || s.Damaged != 1 || s.Conflict != 2 || s.Rejected() != 5 {
		t.Errorf("%+v\nwant one empty, too long, damaged, and two contradictory", s)
	}
	for _, d := range d {
		in.Datagram(t0, alice, d)
	}
	if len(c.traces) != 1 || !bytes.Equal(c.traces[0].Bytes, trace) {
		t.Error("the trace did not survive the forgeries")
	}
}

// A flood of made-up addresses, each with an open trace, must neither take memory
// without bound nor drive out the machines that are known.
func TestFloodOfSources(t *testing.T) {
	im := testImage(t)
	in := NewIntake(Options{MaxMachines: 1000, MaxHeld: 1 << 20}, discard{})
	buf := make([]byte, datagram.MaxPayload)
	for range regularLines {
		in.Datagram(t0, alice, []byte("I am here\n"))
	}
	trace := im.Target(tracer.Text).Trace(tracer.KindFault, "x", fleet.Deep(60))
	all := fleet.Datagrams(im.Build, 77, 1, trace)
	in.Datagram(t0, alice, all[0])
	for i := range 20000 {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 6665)
		p := datagram.Part{Build: []byte(im.Build), Boot: uint64(i), Seq: 1}
		in.Datagram(t0, from, buf[:datagram.Write(buf, &p, trace, i%4)])
		if i%100 == 0 { // the known one goes on
			in.Datagram(t0, alice, []byte("still here\n"))
		}
		if in.held > 1<<20 {
			t.Fatalf("%d bytes held after %d machines", in.held, i)
		}
	}
	if n := len(in.machines); n > 1000 {
		t.Errorf("%d machines are known, want at most 1000", n)
	}
	if s := in.Stats(); s.Evicted < 18000 {
		t.Errorf("%d machines were forgotten, want near 19000", s.Evicted)
	}
	if in.machines[alice] == nil {
		t.Error("the flood has driven out a regular")
	}
	in.Close()
	if in.held != 0 || in.opened.Len() != 0 {
		t.Errorf("after Close %d bytes are held", in.held)
	}
}

func TestOopsIsGathered(t *testing.T) {
	in, c := newTest(Options{Oops: true})
	in.Datagram(t0, alice, []byte("usb 1-1: new device\n"))
	for _, s := range strings.SplitAfter(oopsText, "\n") {
		in.Datagram(t0, alice, []byte(s))
	}
	in.Datagram(t0, alice, []byte("after\n"))
	wantLines(t, c, "10.0.0.7: usb 1-1: new device", "10.0.0.7: after")
	if len(c.traces) != 1 || string(c.traces[0].Bytes) != oopsText || !c.traces[0].Oops {
		t.Fatalf("want the oops as one arrival, have %d", len(c.traces))
	}
	if in.held != 0 {
		t.Errorf("%d bytes held", in.held)
	}
	// One that is cut is passed on when nothing more comes.
	in.Datagram(t0, alice, []byte("BUG: unable to handle page fault\n"))
	in.Tick(t0.Add(time.Minute))
	if len(c.traces) != 2 {
		t.Error("a cut oops is lost")
	}
}

const oopsText = `[    2.100000] BUG: kernel NULL pointer dereference, address: 0000000000000008
[    2.100001] #PF: supervisor write access in kernel mode
[    2.100002] Oops: 0002 [#1] PREEMPT SMP PTI
[    2.100003] CPU: 0 PID: 1 Comm: swapper/0 Not tainted 6.1.0 #1 aa23f7a1231c229de205662d5a9e0d4c580f19a1
[    2.100004] RIP: 0010:do_init_module+0x4c/0x1f0 [sample]
[    2.100005] Call Trace:
[    2.100006]  <TASK>
[    2.100007]  ? show_regs+0x10/0x20
[    2.100008]  load_module+0x2115/0x22d0
[    2.100009]  __do_sys_init_module.cold+0x17a/0x1b0
[    2.100010]  do_syscall_64+0x3b/0x90
[    2.100011]  </TASK>
[    2.100012] RIP: 0033:0x7f1e2b3c4d5e
[    2.100013] ---[ end trace 0000000000000000 ]---
`

// The path of a log line, and of a datagram that was here before, allocates nothing.
func TestNoAllocation(t *testing.T) {
	im := testImage(t)
	in := NewIntake(Options{Oops: true}, discard{})
	d := fleet.Datagrams(im.Build, 77, 1, im.Target(tracer.Text).Trace(tracer.KindFault, "x", fleet.Deep(9)))
	for _, d := range d {
		in.Datagram(t0, alice, d)
	}
	line := fleet.Line(1, 2)
	extended := []byte("6,416,1758426,-;netpoll: local port 6665\n")
	if n := testing.AllocsPerRun(1000, func() {
		in.Datagram(t0, alice, line)
		in.Datagram(t0, alice, extended)
		in.Datagram(t0, bob, line)
		in.Datagram(t0, alice, d[0])
	}); n != 0 {
		t.Errorf("%v allocations for 4 datagrams", n)
	}
}

type discard struct{}

func (discard) Line(*Line)     {}
func (discard) Trace(*Arrival) {}
