package nic

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
)

// headerOf returns a header with these flags.
func headerOf(flags byte, start, offset, pieces int) []byte {
	return []byte{flags, 0, 0, 0, 0, 0, byte(start), byte(start >> 8), byte(offset), byte(offset >> 8),
		byte(pieces), byte(pieces >> 8)}
}

// TestComplete: a checksum that is open is filled in, wherever it is, and nothing outside the frame is
// touched.
func TestComplete(t *testing.T) {
	for _, tt := range []struct {
		flags               byte
		n, start, offset    int
		frame, sums, filled bool
	}{
		{0, 60, 34, 6, true, false, false},
		{headerValid, 60, 34, 6, true, true, false},
		{headerOpen, 60, 34, 6, true, true, true},
		{headerOpen, 61, 34, 16, true, true, true},
		{headerOpen, 61, 33, 16, true, true, true}, // an odd beginning
		{headerOpen, 61, 33, 26, true, true, true}, // an odd end
		{headerOpen, 60, 58, 0, true, true, true},
		{headerOpen, 60, 0, 58, true, true, true},
		{headerOpen, 60, 58, 1, true, false, false},
		{headerOpen, 60, 60, 0, true, false, false},
		{headerOpen, 60, 1, 58, true, false, false},
		{headerOpen, 60, 0xffff, 0xffff, true, false, false},
		{headerOpen, 60, 0, 0xffff, true, false, false},
		{headerOpen, 60, 0xffff, 0, true, false, false},
		{headerOpen, 1, 0, 0, true, false, false},
		{headerOpen, 4000, 34, 16, false, true, false}, // longer than a frame
		{headerOpen, 4000, 0xffff, 0xffff, false, true, false},
	} {
		all := frameOf(tt.n+200, 3)
		frame, h := all[100:100+tt.n], headerOf(tt.flags, tt.start, tt.offset, 1)
		want := bytes.Clone(all)
		if tt.filled {
			sum := uint32(0)
			for i, b := range frame[tt.start:] {
				sum += uint32(b) << (8 * (1 - i%2))
			}
			sum = sum&0xffff + sum>>16
			sum = ^(sum&0xffff + sum>>16)
			want[100+tt.start+tt.offset], want[101+tt.start+tt.offset] = byte(sum>>8), byte(sum)
		}
		if got := complete(addressOf(h), addressOf(frame), tt.n, tt.frame); got != tt.sums {
			t.Errorf("%+v: the sums are right: %v", tt, got)
		}
		if !bytes.Equal(all, want) {
			t.Errorf("%+v:\n% x; want\n% x", tt, all, want)
		}
	}
	// A sum of 0 would stand for none.
	zero, h := []byte{0xff, 0xff, 0, 0}, headerOf(headerOpen, 0, 2, 1)
	if complete(addressOf(h), addressOf(zero), 4, true); !bytes.Equal(zero[2:], []byte{0xff, 0xff}) {
		t.Errorf("the sum 0 becomes % x", zero[2:])
	}
}

// receiveWhole puts a packet with a header into as many buffers as it needs, and reports whether there
// were enough.
func (d *otherSide) receiveWhole(header, packet []byte) bool {
	all := append(bytes.Clone(header), packet...)
	for len(all) > 0 {
		parts, head, ok := d.chain()
		if !ok {
			return false
		}
		n := copy(parts[0], all)
		n += copy(parts[1], all[n:])
		d.use(head, n)
		all = all[n:]
	}
	return true
}

// TestQueueWhole: packets in several buffers arrive as they are, to those that want them, and are lost
// to others; frames arrive at both.
func TestQueueWhole(t *testing.T) {
	q, d := newQueue(t, 256, headerModern)
	q.makeReceive()
	q.merged = true
	buf := room(t, 1<<17)
	for i := range 5000 {
		n := 60 + i*131%(MaxWhole-60)
		pieces := (headerModern + n + bufferSize - 1) / bufferSize
		packet := frameOf(n, byte(i))
		if !d.receiveWhole(headerOf(headerValid*byte(i%3%2), 0, 0, pieces), packet) {
			t.Fatalf("no buffers for packet %d", i)
		}
		whole := i%5 > 0
		if whole && i%7 == 0 {
			need := n
			if pieces > 1 {
				need = pieces * bufferSize
			}
			if got, _ := q.take(buf, need-1, true); got != -1 || !q.readable() {
				t.Fatalf("packet %d: %d bytes in too little room", i, got)
			}
		}
		got, checked := q.take(buf, 1<<17, whole)
		want := n
		if !whole && pieces > 1 {
			want = 0
		}
		if got != want || !bytes.Equal(bytesAt(buf, got), packet[:got]) ||
			want > 0 && checked != (i%3%2 > 0) || q.readable() {
			t.Fatalf("packet %d of %d bytes, whole %v: %d have come, checked %v, or others", i, n, whole, got, checked)
		}
	}
	// More buffers than the device has used, or than a packet has.
	for _, pieces := range []int{0, 2, 65535} {
		d.receiveWhole(headerOf(0, 0, 0, pieces), frameOf(100, 0))
		if got, _ := q.take(buf, 1<<17, true); got != 100 || q.readable() {
			t.Errorf("in %d buffers, of which one is there: %d bytes", pieces, got)
		}
	}
	for range slots {
		d.receiveWhole(headerOf(0, 0, 0, slots), frameOf(100, 0))
	}
	if got, _ := q.take(buf, 1<<17, true); got != 0 || q.readable() {
		t.Errorf("of a packet in all buffers, %d bytes", got)
	}
}

// TestQueueCuts: long packets and frames go out in their order, each as it is, and none in buffers that
// the device still has.
func TestQueueCuts(t *testing.T) {
	q, d := newQueue(t, 256, headerModern)
	q.makeSend(room(t, arch.PageSize))
	var out [][]byte
	var tickets []uint16
	use := func() {
		parts, head, ok := d.chain()
		if want := out[0]; !ok || len(parts) != 2 || !bytes.Equal(append(bytes.Clone(parts[0]), parts[1]...), want) {
			t.Fatalf("a packet of %d bytes is another one, %v", len(want), ok)
		}
		if d.use(head, 0); !q.done(tickets[0]) {
			t.Fatal("used, but not done")
		}
		out, tickets = out[1:], tickets[1:]
	}
	full := 0
	for i := range 50_000 {
		n := 60 + i*37%1400
		if i%3 == 0 {
			n = MaxFrame + 1 + i*7919%(maxCut-MaxFrame)
		}
		frame := frameOf(n, byte(i))
		for !q.fits(n) {
			if full++; len(out) == 0 {
				t.Fatalf("%d bytes do not fit into an empty queue", n)
			}
			use()
		}
		ticket, ok := q.put(addressOf(frame), n, sends)
		if !ok || q.done(ticket) {
			t.Fatalf("frame %d of %d bytes: %v, done %v", i, n, ok, q.done(ticket))
		}
		if n <= MaxFrame {
			frame = append(make([]byte, headerModern), frame...)
		}
		out, tickets = append(out, frame), append(tickets, ticket)
	}
	if full < 1000 {
		t.Errorf("the queue was full %d times", full)
	}
}

// TestVirtioOffers: of the features for long packets each half is used if the device has all of it, and
// only for a stack.
func TestVirtioOffers(t *testing.T) {
	const all = featuresCut | featuresWhole
	for _, tt := range []struct {
		version, queue, offers uint32
		stack                  bool
		agreed                 uint32
		header                 uint32
	}{
		{2, 256, all, true, all, headerModern},
		{1, 256, all, true, all, headerModern},
		{1, 256, all, false, 0, headerLegacy},
		{2, 256, all, false, 0, headerModern},
		{1, 256, featuresCut, true, featuresCut, headerModern},
		{1, 256, featuresWhole, true, featuresWhole, headerModern},
		{1, 256, all &^ featureMerge, true, 0, headerLegacy},
		{1, 256, all &^ (1 << 8), true, featuresCut, headerModern},
		{2, 256, all &^ (1 << 11), true, featuresWhole, headerModern},
		{2, 64, all, true, 0, headerModern}, // too few buffers
	} {
		t.Run(fmt.Sprintf("%+v", tt), func(t *testing.T) {
			// (Made first, it is given back after the device has ended.)
			larger := room(t, 2*memoryBytes(wantQueue)+arch.PageSize)
			fakeVirtio(t, tt.version, tt.queue, true)
			stack = tt.stack
			rx, tx, memory = queue{}, queue{}, larger
			rx.Size, tx.Size = uint16(min(wantQueue, tt.queue)), uint16(min(wantQueue, tt.queue))
			// (The registers' memory has the same features in both words.)
			const version1 = 1
			arch.Store32(mmio+0x10, tt.offers|version1|1<<featureMAC)
			if !start() {
				t.Fatal("it does not start")
			}
			longest := MaxFrame
			if tt.agreed&featuresCut == featuresCut {
				longest = maxCut
			}
			if got := agreed &^ (1 << featureMAC); got != tt.agreed || rx.header != tt.header || tx.header != tt.header ||
				rx.merged != (tt.agreed&featuresWhole == featuresWhole) || Longest() != longest {
				t.Errorf("agreed %#x, header %d, longest %d", got, rx.header, Longest())
			}
			frame := frameOf(longest, 1)
			if longest > MaxFrame {
				if !Post(addressOf(frame), longest) || !bytes.Equal(<-sent, frame[headerModern:]) {
					t.Errorf("a packet of %d bytes is not sent", longest)
				}
			}
			if Send(addressOf(frame), longest+1) {
				t.Errorf("one of %d bytes is sent", longest+1)
			}
		})
	}
}
