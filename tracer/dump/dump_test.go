package dump_test

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/zeroframe/zeroframe/tracer/dump"
	"github.com/zeroframe/zeroframe/tracer/seal"
)

func packet(h dump.Header, body []byte) []byte {
	p := make([]byte, dump.HeaderSize+len(body))
	copy(p[dump.HeaderSize:], body)
	return p[:dump.Finish(p, &h, len(body))]
}

func TestPackets(t *testing.T) {
	h := dump.Header{Kind: dump.KindData, Epoch: 3, Dump: 0x1122334455667788, Item: 9, Sent: 77}
	body := bytes.Repeat([]byte{1, 2, 3, 5}, dump.MaxBody/4)
	p := packet(h, body)
	got, b, ok := dump.Parse(p)
	if !ok || got != h || !bytes.Equal(b, body) {
		t.Fatalf("Parse gives %+v, %v; want %+v", got, ok, h)
	}
	sum := bytes.Clone(p)
	copy(sum[24:28], make([]byte, 4))
	if want := crc32.Checksum(sum, crc32.MakeTable(crc32.Castagnoli)); dump.Uint32(p[24:]) != want {
		t.Errorf("the CRC is %#x; hash/crc32 says %#x", dump.Uint32(p[24:]), want)
	}
	for i := range p {
		p[i] ^= 4
		if _, _, ok := dump.Parse(p); ok && (i < 24 || i >= 28) {
			t.Errorf("byte %d changed: taken", i)
		}
		p[i] ^= 4
	}
	if _, _, ok := dump.Parse(p[:len(p)-1]); ok {
		t.Error("a packet without its last byte is taken")
	}
}

func TestSealed(t *testing.T) {
	var k seal.Key
	k[3] = 7
	h := dump.Header{Kind: dump.KindData, Epoch: 3, Dump: 5, Item: 9, Sent: 77, Sealed: true}
	p := make([]byte, dump.MaxPacket)
	copy(p[dump.HeaderSize:], "body")
	p = p[:dump.FinishSealed(p, &h, 4, &k)]
	got, body, ok := dump.Parse(p)
	if !ok || got != h || bytes.Contains(body, []byte("body")) {
		t.Fatalf("Parse gives %+v, %q, %v; want %+v", got, body, ok, h)
	}
	other := h
	other.Item++
	if _, ok := dump.Unseal(bytes.Clone(p), &other, &k); ok {
		t.Error("opened as another item")
	}
	if body, ok := dump.Unseal(p, &got, &k); !ok || string(body) != "body" {
		t.Errorf("Unseal gives %q, %v", body, ok)
	}
}

func TestBodies(t *testing.T) {
	b := make([]byte, dump.MaxBody)
	a := dump.Announce{Highest: 1 << 33, Root: 0x1000, Pages: 7, CPUs: 2, Dead: 1, NBuildID: 3, BuildID: [32]byte{1, 2, 3}, Sealed: true, Key: [32]byte{7, 31: 9}}
	if got, ok := dump.ParseAnnounce(b[:dump.PutAnnounce(b, &a)]); !ok || got != a {
		t.Errorf("announcement: %+v, %v; want %+v", got, ok, a)
	}
	c := dump.CPU{Number: 5, State: dump.CPUDied, Have: 3, TLS: 9}
	c.Registers[dump.NumRegisters-1] = 8
	if got, ok := dump.ParseCPU(b[:dump.PutCPU(b, &c)]); !ok || got != c {
		t.Errorf("CPU: %+v, %v; want %+v", got, ok, c)
	}
	e := dump.End{Why: dump.EndTime, Sent: 3, Unreadable: 4, Hidden: 5}
	if got, ok := dump.ParseEnd(b[:dump.PutEnd(b, &e)]); !ok || got != e {
		t.Errorf("end: %+v, %v; want %+v", got, ok, e)
	}
	p := dump.Place{Addr: 0x5000, Page: 6, Class: dump.Heap}
	dump.PutPlace(b, &p)
	if got, rest, ok := dump.ParsePlace(b[:dump.PlaceSize+1]); !ok || got != p || len(rest) != 1 {
		t.Errorf("place: %+v, %v; want %+v", got, ok, p)
	}
}

// TestWindow has a receiver and a wire that loses, doubles and delays packets in both directions:
// all items arrive, and the window ends empty; without loss nothing is sent twice.
func TestWindow(t *testing.T) {
	const items, turn = 5000, 100_000 // ns
	for _, loss := range []float64{0, 0.1, 0.3, 0.6} {
		for seed := range uint64(5) {
			r := rand.New(rand.NewPCG(seed, 1))
			var f dump.Flight
			f.Reset(0)
			has := map[uint32]bool{}
			a := dump.Answer{Next: 1}
			type flying struct {
				at         uint64
				item, sent uint32
				answer     *dump.Answer
			}
			var wire []flying
			fly := func(now uint64, x flying) {
				for n := 1; n > 0; n-- {
					if r.Float64() < loss {
						continue
					}
					if r.Float64() < loss/3 {
						n++
					}
					x.at = now + 2_000_000
					if loss > 0 {
						x.at += uint64(r.IntN(5)) * turn
					}
					wire = append(wire, x)
				}
			}
			now, packets := uint64(0), 0
			for !f.Empty() || f.Next <= items {
				if now += turn; now > 1000e9 {
					t.Fatalf("loss %v, seed %d: item %d of %d after 1000 s", loss, seed, f.Base, items)
				}
				left := wire[:0]
				var came []flying
				for _, x := range wire {
					if x.at <= now {
						came = append(came, x)
					} else {
						left = append(left, x)
					}
				}
				wire = left
				for _, x := range came {
					if x.answer != nil {
						if !f.Answer(x.answer, now) {
							t.Fatalf("an answer is refused: %+v", x.answer)
						}
						continue
					}
					has[x.item] = true
					a.Latest = max(a.Latest, x.sent)
					for has[a.Next] {
						a.Next++
					}
					b := a
					b.Behind = [dump.Window / 8]byte{}
					for i := range uint32(dump.Window) {
						if has[a.Next+i] {
							b.Behind[i/8] |= 1 << (i % 8)
						}
					}
					fly(now, flying{answer: &b})
				}
				item, ok := f.Lost(now)
				if !ok && f.Room() && f.Next <= items {
					item, _ = f.Add()
					ok = true
				}
				if ok {
					packets++
					fly(now, flying{item: item, sent: f.Number(item, now)})
				}
			}
			if len(has) != items {
				t.Errorf("loss %v: %d items have arrived; want %d", loss, len(has), items)
			}
			if best := items / (1 - loss); float64(packets) > 1.3*best || loss == 0 && packets != items {
				t.Errorf("loss %v, seed %d: %d packets for %d items; want at most %.0f", loss, seed, packets, items, 1.3*best)
			}
		}
	}
}

// FuzzParse: Finish would have written each body that is accepted, and no body makes a parser fail.
func FuzzParse(f *testing.F) {
	b := make([]byte, dump.MaxBody)
	a := dump.Announce{Pages: 7, NBuildID: 20}
	f.Add(packet(dump.Header{Kind: dump.KindAnnounce}, b[:dump.PutAnnounce(b, &a)]))
	f.Add(packet(dump.Header{Kind: dump.KindAnswer, Epoch: 1}, b[:dump.AnswerSize]))
	f.Add(packet(dump.Header{Kind: dump.KindData, Item: 4}, b))
	f.Fuzz(func(t *testing.T, p []byte) {
		h, body, ok := dump.Parse(p)
		if ok {
			if again := packet(h, body); !bytes.Equal(again[:28], p[:28]) && bytes.Equal(p[28:32], make([]byte, 4)) {
				t.Errorf("%x is taken, and written as %x", p, again)
			}
		} else {
			body = p
		}
		dump.ParseAnnounce(body)
		dump.ParseCPU(body)
		dump.ParseEnd(body)
		dump.ParsePlace(body)
		var a dump.Answer
		if dump.ParseAnswer(body, &a) {
			var fl dump.Flight
			fl.Reset(0)
			for range 10 {
				item, _ := fl.Add()
				fl.Number(item, 1)
			}
			fl.Answer(&a, 2)
			fl.Lost(1e12)
			if fl.Next-fl.Base > dump.Window {
				t.Errorf("the window is %d", fl.Next-fl.Base)
			}
		}
	})
}
