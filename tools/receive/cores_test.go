package receive

import (
	"bytes"
	"crypto/ecdh"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	format "github.com/zeroframe/zeroframe/tracer/dump"
	"github.com/zeroframe/zeroframe/tracer/seal"
)

// Dumps of memory from machines that are not there: what an attacker may send, and what must
// still come from an honest one.

// A fakeMachine sends a dump, sealed or not.
type fakeMachine struct {
	from  netip.AddrPort
	dump  uint64
	seal  *seal.Session // nil: not sealed
	a     format.Announce
	sent  uint32
	epoch byte
}

func newMachine(from string, number uint64, key *ecdh.PrivateKey) *fakeMachine {
	m := &fakeMachine{from: netip.MustParseAddrPort(from), dump: number, epoch: 1}
	m.a = format.Announce{Highest: 1 << 40, Pages: 1 << 10, CPUs: 1}
	if key != nil {
		private, receiver := [32]byte{byte(number), 7}, [32]byte(key.PublicKey().Bytes())
		m.seal = new(seal.Session)
		m.a.Key, _ = m.seal.Begin(&private, &receiver)
		m.a.Sealed = true
	}
	return m
}

func (m *fakeMachine) announcement() []byte {
	p := make([]byte, format.MaxPacket)
	n := format.PutAnnounce(p[format.HeaderSize:], &m.a)
	return p[:format.Finish(p, &format.Header{Kind: format.KindAnnounce, Epoch: m.epoch, Dump: m.dump}, n)]
}

func (m *fakeMachine) item(kind byte, item uint32, body []byte) []byte {
	p := make([]byte, format.MaxPacket)
	copy(p[format.HeaderSize:], body)
	m.sent++
	h := format.Header{Kind: kind, Epoch: m.epoch, Dump: m.dump, Item: item, Sent: m.sent, Sealed: m.seal != nil}
	if m.seal != nil {
		return p[:format.FinishSealed(p, &h, len(body), &m.seal.Out)]
	}
	return p[:format.Finish(p, &h, len(body))]
}

func place(addr uintptr, rest []byte) []byte {
	b := make([]byte, format.PlaceSize)
	format.PutPlace(b, &format.Place{Addr: addr})
	return append(b, rest...)
}

// all returns the packets of a dump of one page.
func (m *fakeMachine) all() (packets [][]byte) {
	packets = append(packets, m.announcement())
	for i, n := range []int{format.PieceSize, format.PieceSize, format.PageSize - 2*format.PieceSize} {
		at := uintptr(0x5000 + i*format.PieceSize)
		packets = append(packets, m.item(format.KindData, uint32(i+1), place(at, bytes.Repeat([]byte{'x'}, n))))
	}
	end := make([]byte, format.MaxBody)
	return append(packets, m.item(format.KindEnd, 4, end[:format.PutEnd(end, &format.End{Why: format.EndWhole})]))
}

// A coreIntake is an intake that takes dumps, at a time that the test makes.
type coreIntake struct {
	*Intake
	folder  string
	now     time.Time
	said    []string
	answers map[netip.AddrPort]string // the kinds of answers
}

func newCoreIntake(t *testing.T, key *ecdh.PrivateKey) *coreIntake {
	c := &coreIntake{folder: t.TempDir(), now: time.Unix(1e9, 0), answers: map[netip.AddrPort]string{}}
	c.Intake = NewIntake(Options{
		Cores: c.folder, CoresSize: 1 << 30, Key: key, Say: func(s string) { c.said = append(c.said, s) },
		Answer: func(to netip.AddrPort, p []byte) { c.answers[to] += string(p[4]) },
	}, discard{})
	c.Tick(c.now)
	return c
}

func (c *coreIntake) take(from netip.AddrPort, packets ...[]byte) {
	for _, p := range packets {
		c.Datagram(c.now, from, bytes.Clone(p))
	}
	c.Answer()
}

func (c *coreIntake) later(d time.Duration) { c.now = c.now.Add(d); c.Tick(c.now) }

// files returns the contents of the folder.
func (c *coreIntake) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, _ := filepath.Glob(filepath.Join(c.folder, "*"))
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4<<20) // the rest is a hole
		n, _ := f.Read(b)
		f.Close()
		all[filepath.Base(p)] = string(b[:n])
	}
	return all
}

func privateKey(t *testing.T) *ecdh.PrivateKey {
	path := filepath.Join(t.TempDir(), "key")
	if _, err := NewKey(path); err != nil {
		t.Fatal(err)
	}
	k, err := ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestCoresReplayed: who has kept the packets of a dump cannot change its file by sending them
// again.
func TestCoresReplayed(t *testing.T) {
	for _, key := range []*ecdh.PrivateKey{nil, privateKey(t)} {
		c := newCoreIntake(t, key)
		m := newMachine("10.0.0.1:5000", 7, key)
		packets := m.all()
		c.take(m.from, packets...)
		before := c.files(t)
		name := fmt.Sprintf("10.0.0.1_5000-%016x.dump", 7)
		if len(before) != 1 || !strings.Contains(before[name], "pages=1\n") {
			t.Fatalf("sealed %v: %d files, %q", key != nil, len(before), c.said)
		}
		for _, wait := range []time.Duration{0, staleAfter, doneWait, emptyWait + time.Second, coreSilence + time.Second} {
			c.later(wait)
			c.take(m.from, packets[0], packets[0])
			c.later(wait)
			c.take(m.from, packets[0], packets[2])
		}
		c.later(coreSilence + time.Second)
		c.Close()
		if after := c.files(t); after[name] != before[name] || len(after) > 3 {
			t.Errorf("sealed %v: the finished file is another one, or there are %d: %q", key != nil, len(after), c.said)
		}
	}
}

// TestCoresForged: with a key, who has not got it makes no file and disturbs no dump that comes.
func TestCoresForged(t *testing.T) {
	key := privateKey(t)
	c := newCoreIntake(t, key)
	m := newMachine("10.0.0.1:5000", 7, key)
	forger := newMachine("10.0.0.1:6000", 7, nil)
	forger.a = m.a
	packets := m.all()
	c.take(m.from, packets[0])
	c.take(forger.from, forger.item(format.KindEnd, 1, nil), forger.announcement())
	if files := c.files(t); len(files) > 0 {
		t.Fatalf("a forged item has made %d files", len(files))
	}
	c.take(m.from, packets[1])
	for forger.epoch = 200; forger.epoch != 100; forger.epoch++ {
		c.take(forger.from, forger.announcement(), forger.item(format.KindData, 2, place(0x5000, nil)))
	}
	other := *m
	other.a.Pages++
	c.take(forger.from, other.announcement())
	c.take(m.from, packets[2:]...)
	if files := c.files(t); len(files) != 1 || !strings.Contains(files[fmt.Sprintf("10.0.0.1_5000-%016x.dump", 7)], "pages=1\n") {
		t.Errorf("%d files; %q", len(files), c.said)
	}
}

// TestCoresCrowded: forged announcements take no machine's place, from its own address or from
// others.
func TestCoresCrowded(t *testing.T) {
	c := newCoreIntake(t, nil)
	for round := range 3 {
		for i := range 300 {
			forged := newMachine(fmt.Sprintf("10.0.%d.1:700", i%100), uint64(1000+i), nil)
			c.take(forged.from, forged.announcement())
		}
		for i, from := range []string{"10.1.0.1:5000", "10.0.5.1:5000"} {
			m := newMachine(from, uint64(round*2+i), nil)
			c.take(m.from, m.all()...)
			if got := c.answers[m.from]; !strings.HasPrefix(got, "WK") && round == 0 {
				t.Errorf("round %d: the answers to %s are %q", round, from, got)
			}
		}
		if n := len(c.files(t)); n != 2*(round+1) {
			t.Errorf("round %d: %d files; %q", round, n, c.said)
		}
		c.later(doneWait + time.Second)
	}
	if n := len(c.cores.open); n > maxCores {
		t.Errorf("%d dumps are open", n)
	}
}

// TestCoresWork: no packet is long work, and people are told of refusals once a minute.
func TestCoresWork(t *testing.T) {
	c := newCoreIntake(t, nil)
	m := newMachine("10.0.0.1:5000", 7, nil)
	m.a.Pages = 1 << 28
	b := make([]byte, 4)
	format.PutUint32(b, 1<<28)
	c.take(m.from, m.announcement())
	c.take(m.from, m.item(format.KindZeros, 1, place(0, b)))
	in := c.cores.open[coreKey{7, m.from.Addr()}]
	if in.d == nil || in.d.Pages != 0 || in.answers.Next != 1 {
		t.Errorf("2^28 pages of zeros in one packet are taken: %+v", in.answers)
	}
	c.said = nil
	for i := range 20_000 {
		bad := newMachine("10.0.0.2:5000", uint64(i), nil)
		bad.a.Highest = 1 << 50
		c.take(bad.from, bad.announcement())
		c.later(9 * time.Millisecond) // three minutes in all
	}
	if n := len(c.said); n < 3 || n > 4 || !strings.Contains(c.said[1], "others before)") {
		t.Errorf("%d lines for 20,000 refusals: %q", n, c.said)
	}
}

// TestCoresQuota: the folder takes no more than it may.
func TestCoresQuota(t *testing.T) {
	c := newCoreIntake(t, nil)
	c.cores.quota = c.cores.used + 3*format.PageSize
	for i := range 8 {
		m := newMachine(fmt.Sprintf("10.0.0.%d:5000", i+1), uint64(i), nil)
		c.take(m.from, m.all()...)
	}
	if n := len(c.files(t)); n == 0 || n > 4 || !strings.Contains(strings.Join(c.said, "\n"), "-cores-size") {
		t.Errorf("%d files; %q", n, c.said)
	}
	c.later(coreSilence + time.Second) // looks anew, at what files really take
	m := newMachine("10.0.1.1:5000", 99, nil)
	if c.take(m.from, m.announcement()); c.answers[m.from] != "N" {
		t.Errorf("the answer of a full folder is %q", c.answers[m.from])
	}
}
