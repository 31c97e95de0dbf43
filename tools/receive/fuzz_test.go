package receive

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/fleet"
	"github.com/zeroframe/zeroframe/tracer"
)

// FuzzDatagrams sends a stream of datagrams: each has the machine, the time that has
// passed, its length, and its bytes.
func FuzzDatagrams(f *testing.F) {
	im := testImage(f)
	stream := func(datagrams ...[]byte) (b []byte) {
		for i, d := range datagrams {
			b = append(b, byte(i), byte(i))
			b = binary.LittleEndian.AppendUint16(b, uint16(len(d)))
			b = append(b, d...)
		}
		return b
	}
	target := im.Target(tracer.Text)
	f.Add(stream(fleet.Datagrams(im.Build, 1, 1, target.Trace(tracer.KindFault, "x", fleet.Deep(40)))...))
	f.Add(stream(fleet.Datagrams("", 1, 1, im.Target(tracer.Compact).Trace(tracer.KindTrace, "x", fleet.Deep(4)))...))
	var oops [][]byte
	for line := range strings.Lines(oopsText) {
		oops = append(oops, []byte(line))
	}
	f.Add(stream(oops...))
	f.Add(stream([]byte("6,416,1758426,-;text\n KEY=v\n"), []byte("4,421,2,-,ncfrag=0/10;abcde"), []byte("4,421,2,-,ncfrag=5/10;fghij"), []byte("part"), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		const maxHeld = 64 << 10
		var sink collector
		in := NewIntake(Options{MaxMachines: 4, MaxHeld: maxHeld, Oops: true}, &sink)
		now := t0
		sent := 0
		for len(data) >= 4 {
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, data[0] % 8}), 6665)
			now = now.Add(time.Duration(data[1]) * 10 * time.Millisecond)
			n := min(int(binary.LittleEndian.Uint16(data[2:])), len(data)-4)
			in.Datagram(now, from, data[4:4+n])
			in.Tick(now)
			data = data[4+n:]
			sent += n
			if in.held > maxHeld || len(in.machines) > 4 {
				t.Fatalf("%d bytes of %d machines are held", in.held, len(in.machines))
			}
		}
		in.Close()
		if in.held != 0 || len(in.waiting) != 0 || in.opened.Len() != 0 {
			t.Fatalf("after Close %d bytes are held, %d machines wait", in.held, len(in.waiting))
		}
		got := 0
		for _, a := range sink.traces {
			got += len(a.Bytes)
		}
		for _, l := range sink.lines {
			got += len(l)
		}
		if got > 300*sent+1000 {
			t.Fatalf("%d bytes were made of %d", got, sent)
		}
	})
}

// FuzzArrival resolves, counts and shows whatever a machine sends as a trace.
func FuzzArrival(f *testing.F) {
	im := testImage(f)
	f.Add(im.Target(tracer.Text).Trace(tracer.KindFault, "x", fleet.Deep(4)), false, false)
	f.Add(im.Target(tracer.Compact).Trace(tracer.KindTrace, "x", fleet.Deep(4)), false, true)
	f.Add([]byte(oopsText), true, true)
	f.Add([]byte("zf1 last fault 0x1 \x1b[2J\r\n"), false, false)
	f.Fuzz(func(t *testing.T, b []byte, oops, asJSON bool) {
		if len(b) > 64<<10 {
			return // as long as a trace gets
		}
		var out bytes.Buffer
		r := NewReporter(context.Background(), ReportOptions{Out: &out, Terminal: true, Lines: true, JSON: asJSON})
		r.Trace(&Arrival{Machine: "m", Addr: alice, Time: t0, Boot: 1, Seq: 1, Bytes: b, Oops: oops})
		r.Line(&Line{Machine: "m", Addr: alice, Time: t0, Text: b})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range out.String() {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0 {
				t.Fatalf("a control character %q reaches the terminal: %q", c, out.String())
			}
		}
		if asJSON {
			return
		}
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "m: ") {
				t.Fatalf("a line without the machine's name: %q", line)
			}
		}
	})
}
