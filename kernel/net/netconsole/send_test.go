package netconsole

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// wire is a card that stores the frames that it is given.
type wire struct {
	frames [][]byte
	dead   bool
}

// memory is the room for traces.
var memory [datagram.MaxTrace]byte

// connect starts the package anew with that option and a card.
func connect(t *testing.T, option string) *wire {
	t.Helper()
	if wrong, _ := Configure([]byte(option), nil); wrong != "" {
		t.Fatal(wrong)
	}
	config := state.config
	clear(line.frame.b[:])
	clear(trace.frame.b[:])
	line.n, line.number, line.held, line.busy = 0, 0, false, false
	keptAt = uintptr(unsafe.Pointer(&memory))
	trace.n, trace.seq, trace.sending, trace.cut = 0, 0, false, false
	clear(unsafe.Slice((*byte)(unsafe.Pointer(&state)), unsafe.Sizeof(state)))
	state.config, state.boot, state.ready = config, 0x1234, true
	line.frame.prepare(&state.config)
	trace.frame.prepare(&state.config)
	w := new(wire)
	oldTransmit, oldRestart := transmit, restart
	t.Cleanup(func() { transmit, restart = oldTransmit, oldRestart })
	transmit = func(frame uintptr, n int) bool {
		if w.dead {
			return false
		}
		w.frames = append(w.frames, bytes.Clone(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&frame))), n)))
		return true
	}
	restart = func() bool { return false }
	return w
}

// payloads checks each frame with gopacket, and returns the payloads.
func (w *wire) payloads(t *testing.T) (out []string) {
	t.Helper()
	for i, f := range w.frames {
		p := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
		if e := p.ErrorLayer(); e != nil {
			t.Fatalf("frame %d: %v", i, e.Error())
		}
		eth, ip, udp := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet), p.Layer(layers.LayerTypeIPv4).(*layers.IPv4), p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		udp.SetNetworkLayerForChecksum(ip)
		b := gopacket.NewSerializeBuffer()
		err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, udp, gopacket.Payload(udp.Payload))
		f = append(bytes.Clone(f), make([]byte, max(60-len(f), 0))...) // the card pads it
		if err != nil || !bytes.Equal(b.Bytes(), f) {
			t.Fatalf("frame %d: gopacket writes\n%x, the kernel\n%x (%v)", i, b.Bytes(), f, err)
		}
		if len(udp.Payload) > 1000 {
			t.Fatalf("frame %d carries %d bytes", i, len(udp.Payload))
		}
		out = append(out, string(udp.Payload))
	}
	return out
}

func say(s string) {
	for i := range len(s) {
		Byte(s[i])
	}
}

const plain = "@10.0.2.15/,7777@10.0.2.2/"

func TestFrame(t *testing.T) {
	w := connect(t, "5555@10.0.2.15/,7777@192.168.3.4/52:55:0a:00:02:02")
	say("x\r\n")
	w.payloads(t)
	p := gopacket.NewPacket(w.frames[0], layers.LayerTypeEthernet, gopacket.Default)
	eth, ip, udp := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet), p.Layer(layers.LayerTypeIPv4).(*layers.IPv4), p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	got := fmt.Sprint(eth.DstMAC, ip.SrcIP, ip.DstIP, uint16(udp.SrcPort), uint16(udp.DstPort), ip.TTL, ip.Flags)
	if want := "52:55:0a:00:02:02 10.0.2.15 192.168.3.4 5555 7777 64 DF"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	SetHardware(Hardware{1, 2, 3, 4, 5, 6})
	source := w.frames[0][6:12]
	say("y\n")
	if f := w.frames[1]; !bytes.Equal(f[:6], []byte{1, 2, 3, 4, 5, 6}) || !bytes.Equal(f[6:12], source) {
		t.Errorf("after SetHardware the frame begins with %x; want 010203040506 and the same source", f[:12])
	}
	if w.frames[0][ipID+1] == w.frames[1][ipID+1] {
		t.Error("two datagrams have the same identification")
	}
}

// TestZeroChecksum: a checksum that comes out as 0 is sent as 0xffff (RFC 768).
func TestZeroChecksum(t *testing.T) {
	w := connect(t, plain)
	seen := false
	for i := 0; i < 1<<16 && !seen; i++ {
		w.frames = w.frames[:0]
		Byte(byte(i))
		Byte(byte(i >> 8))
		say("\n")
		f := w.frames[len(w.frames)-1]
		if f[udpCheck] == 0 && f[udpCheck+1] == 0 {
			t.Fatalf("%d: no checksum", i)
		}
		seen = f[udpCheck] == 0xff && f[udpCheck+1] == 0xff
	}
	if !seen {
		t.Error("no text had the checksum 0")
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("0123456789", 250)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"lines", "one\r\ntwo\nthree\r\n", []string{"one\n", "two\n", "three\n"}},
		{"an empty line", "\r\n\r\n", []string{"\n", "\n"}},
		{"a carriage return of its own", "10 %\r20 %\r\r\n", []string{"10 %\r20 %\r\n"}},
		{"no end", "prompt> ", nil},
		{"bytes", "\x00\x1b[1m\xff\n", []string{"\x00\x1b[1m\xff\n"}},
		{"as long as a datagram", long[:995] + "\n", []string{long[:995] + "\n"}},
		{"longer", long + "\nnext\n", []string{long[:996], long[996:1992], long[1992:] + "\n", "next\n"}},
	} {
		w := connect(t, plain)
		say(tt.text)
		if got := w.payloads(t); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}
	w := connect(t, plain)
	say("prompt> ")
	Flush()
	Flush()
	say("answer\n")
	if got := fmt.Sprintf("%q", w.payloads(t)); got != `["prompt> " "answer\n"]` {
		t.Errorf("flushed: %s", got)
	}
}

// TestRelease: with r, the kernel's version precedes each header.
func TestRelease(t *testing.T) {
	w := connect(t, "+r@10.0.2.15/,@10.0.2.2/")
	state.nRelease = copy(state.release[:], "1.2.3")
	say("one\ntwo\n")
	for i, p := range w.payloads(t) {
		if want := fmt.Sprintf("1.2.3,6,%d,", i); !strings.HasPrefix(p, want) {
			t.Errorf("%q; want %s", p, want)
		}
	}
}

func TestExtended(t *testing.T) {
	w := connect(t, "+@10.0.2.15/,@10.0.2.2/")
	say("one\r\ntab\tü\\\n")
	say(strings.Repeat("\x01", 600) + "end\n")
	say("half")
	Flush()
	var text string
	for i, p := range w.payloads(t) {
		header, body, ok := strings.Cut(p, ";")
		f := strings.Split(header, ",")
		if !ok || len(f) != 4 || f[0] != "6" || f[1] != fmt.Sprint(i) || strings.Trim(f[2], "0123456789") != "" {
			t.Fatalf("datagram %d: %q", i, p)
		}
		if f[3] == "c" {
			body = strings.TrimSuffix(body, "\n")
		} else if f[3] != "-" || !strings.HasSuffix(body, "\n") {
			t.Fatalf("datagram %d: %q", i, p)
		}
		text += body
	}
	if want := "one\n" + `tab\x09\xc3\xbc\x5c` + "\n" + strings.Repeat(`\x01`, 600) + "end\nhalf"; text != want {
		t.Errorf("%q; want %q", text, want)
	}
}

// trace1 writes an urgent trace as the first stage does.
func trace1(text string) (inTime bool) { return traceAs(text, true) }

func traceAs(text string, urgent bool) (inTime bool) {
	Begin(true, urgent)
	for i := range len(text) {
		Byte(text[i]) // the console's bytes are not log lines
		Keep(text[i])
	}
	return End() && Send()
}

// arrived concatenates the pieces of each trace and counts its parity pieces; all other payloads
// are log lines.
func arrived(t *testing.T, payloads []string) (traces []string, cut bool, lines []string) {
	t.Helper()
	var parity []int
	for _, b := range payloads {
		p, why := datagram.Parse([]byte(b))
		if why != datagram.None {
			lines = append(lines, b)
			continue
		}
		if p.Boot != 0x1234 {
			t.Fatalf("boot %x; want 1234", p.Boot)
		}
		for int(p.Seq) > len(traces) {
			traces, parity = append(traces, ""), append(parity, 0)
		}
		if p.Parity {
			if int(p.Total) != len(traces[p.Seq-1]) || p.Cut != cut {
				t.Fatalf("parity of %d bytes, cut: %v, behind %d, %v", p.Total, p.Cut, len(traces[p.Seq-1]), cut)
			}
			parity[p.Seq-1]++
			continue
		}
		traces[p.Seq-1] += string(p.Chunk)
		cut = p.Cut
	}
	for i, tr := range traces {
		if tr == "" {
			continue // none of it was sent
		}
		if _, _, want := datagram.Plan(len(tr)); parity[i] != want {
			t.Fatalf("trace %d of %d bytes has %d parity pieces; want %d", i+1, len(tr), parity[i], want)
		}
	}
	return traces, cut, lines
}

func TestTraces(t *testing.T) {
	w := connect(t, plain)
	say("before\nbegun")
	long := strings.Repeat("zf1 #7 ra 0x286646 fp 0x381e78 boot\r\n", 100)
	say("\r") // FreshLine's; the trace cuts it off
	trace1(long)
	say("after\n")
	trace1("zf1=Nab\r\n")
	traces, cut, lines := arrived(t, w.payloads(t))
	if len(traces) != 2 || traces[0] != long || traces[1] != "zf1=Nab\r\n" || cut {
		t.Errorf("%d traces, %q", len(traces), traces)
	}
	if got := fmt.Sprintf("%q", lines); got != `["before\n" "begun\n" "after\n"]` {
		t.Errorf("lines %s", got)
	}
}

// TestParityPort: a receiver at the option's port that does not know traces gets only text; parity
// pieces go to the next port, and the lines after them go to the first one again.
func TestParityPort(t *testing.T) {
	w := connect(t, plain)
	say("before\n")
	trace1(strings.Repeat("zf1 #7 ra 0x286646 fp 0x381e78 boot\r\n", 100))
	say("after\n")
	parity := 0
	for i, payload := range w.payloads(t) {
		port := int(w.frames[i][udpAt+2])<<8 | int(w.frames[i][udpAt+3])
		p, why := datagram.Parse([]byte(payload))
		switch {
		case why == datagram.None && p.Parity:
			if parity++; port != 7778 {
				t.Fatalf("a parity piece goes to port %d", port)
			}
		case port != 7777:
			t.Fatalf("%q goes to port %d", payload, port)
		case strings.IndexFunc(payload, func(r rune) bool { return r != '\r' && r != '\n' && (r < ' ' || r > '~') }) >= 0:
			t.Fatalf("%q is no plain text", payload)
		}
	}
	if parity == 0 {
		t.Error("no parity was sent")
	}
}

func TestCutTrace(t *testing.T) {
	w := connect(t, plain)
	long := strings.Repeat("0123456789abcdef", datagram.MaxTrace/16+1)
	trace1(long)
	traces, cut, _ := arrived(t, w.payloads(t))
	if !cut || traces[0] != long[:datagram.MaxTrace] {
		t.Errorf("%d bytes, cut: %v; want %d", len(traces[0]), cut, datagram.MaxTrace)
	}
	trace1("short\r\n")
	if traces, cut, _ := arrived(t, w.payloads(t)); cut || traces[1] != "short\r\n" {
		t.Errorf("the next one: %q, cut: %v", traces[1], cut)
	}
}

// TestStages: a fault in the panic path and the text of the next stage belong to one trace.
func TestStages(t *testing.T) {
	w := connect(t, plain)
	Begin(true, true)
	for _, c := range []byte("zf1 begin 1\r\nzf1 #0 pc") {
		Keep(c)
	}
	Begin(false, true)
	for _, c := range []byte("zf1 begin 2\r\n") {
		Keep(c)
	}
	if !End() {
		t.Fatal("nothing to send")
	}
	Send()
	if traces, _, _ := arrived(t, w.payloads(t)); len(traces) != 1 || traces[0] != "zf1 begin 1\r\nzf1 #0 pc\r\nzf1 begin 2\r\n" {
		t.Errorf("%q", traces)
	}
}

// TestFaultInSending: if the kernel died in sending, or a death came no further, nothing is sent
// again: by the next stage, or by the CPU that takes over the machine.
func TestFaultInSending(t *testing.T) {
	for _, first := range []bool{false, true} {
		w := connect(t, plain)
		Begin(true, true)
		Keep('x')
		if !End() {
			t.Fatal("nothing to send")
		}
		Begin(first, true) // instead of Send
		Keep('y')
		if End() || Ready() {
			t.Errorf("ready: %v after a fault in sending", Ready())
		}
		say("a line\n")
		if len(w.frames) != 0 {
			t.Errorf("%d frames were sent", len(w.frames))
		}
	}
}

// TestStoppedSender: if a CPU dies and stops the one that sends a trace, its own trace is sent, also
// after a fault while it was written.
func TestStoppedSender(t *testing.T) {
	long := strings.Repeat("zf1 #7 ra 0x286646 fp 0x381e78 boot\r\n", 100)
	_, pieces, parity := datagram.Plan(len(long))
	for _, last := range []int{1, pieces + parity} { // the sender's last frame
		w := connect(t, plain)
		send := transmit
		transmit = func(frame uintptr, n int) bool {
			ok := send(frame, n)
			if len(w.frames) == last {
				runtime.Goexit()
			}
			return ok
		}
		stopped := make(chan bool)
		go func() { defer close(stopped); traceAs(long, false) }()
		<-stopped
		w.frames, transmit = nil, send
		Begin(true, true)
		Keep('x')
		Begin(false, true)
		for _, c := range []byte(long) {
			Keep(c)
		}
		if !End() || !Send() {
			t.Fatalf("stopped at frame %d: nothing was sent", last)
		}
		if traces, _, _ := arrived(t, w.payloads(t)); len(traces) != 2 || traces[1] != "x\r\n"+long {
			t.Errorf("stopped at frame %d: %q", last, traces)
		}
		if port := int(w.frames[0][udpAt+2])<<8 | int(w.frames[0][udpAt+3]); port != 7777 {
			t.Errorf("stopped at frame %d: the next trace goes to port %d", last, port)
		}
	}
}

// TestLateCard: a card that sends nothing costs two tries, and then one for each trace until an
// urgent one comes. When it sends again, a trace comes whole.
func TestLateCard(t *testing.T) {
	w := connect(t, plain)
	w.dead = true
	tries := 0
	restart = func() bool { tries++; return true }
	say("lost\n")
	for i, tt := range []struct{ urgent, inTime bool }{{true, false}, {false, true}, {true, false}, {false, true}} {
		want := tries
		if tt.urgent {
			want++
		}
		if inTime := traceAs("zf1 begin\r\n", tt.urgent); tries != want || inTime != tt.inTime || !Ready() {
			t.Errorf("trace %d: %d restarts, in time: %v, ready: %v", i, tries, inTime, Ready())
		}
		if _, seq := Sent(); seq != 0 {
			t.Errorf("trace %d: it counts as sent, as number %d", i, seq)
		}
	}
	w.dead = false
	want := []string{"", "", "", ""}
	for _, text := range []string{"zf1 begin 5\r\n", "zf1 begin 6\r\n"} {
		if inTime := traceAs(text, false); !inTime {
			t.Errorf("%q is not in time", text)
		}
		want = append(want, text)
	}
	if traces, _, _ := arrived(t, w.payloads(t)); !slices.Equal(traces, want) {
		t.Errorf("%q; want %q", traces, want)
	}
	if _, seq := Sent(); seq != 6 {
		t.Errorf("the last one was sent as number %d", seq)
	}
}

// TestRestartedCard: a card that recovers after a restart loses nothing of the trace.
func TestRestartedCard(t *testing.T) {
	w := connect(t, plain)
	w.dead = true
	restart = func() bool { w.dead = false; return true }
	inTime := trace1("zf1 begin\r\n")
	if traces, _, _ := arrived(t, w.payloads(t)); len(traces) != 1 || traces[0] != "zf1 begin\r\n" || !inTime {
		t.Errorf("%q, in time: %v", traces, inTime)
	}
}
