package memory

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

// stubOf serves one connection of gdb's protocol, and returns its address. answer says what to
// say; a $ is between two packets.
func stubOf(t *testing.T, greeting string, answer func(packet string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c.Write([]byte(greeting))
		for r := bufio.NewReader(c); ; {
			s, err := r.ReadString('#')
			if err != nil {
				return
			}
			r.Discard(2)
			_, p, _ := strings.Cut(strings.TrimSuffix(s, "#"), "$")
			said := "+"
			for a := range strings.SplitSeq(answer(p), "$") {
				sum := byte(0)
				for i := range len(a) {
					sum += a[i]
				}
				said += fmt.Sprintf("$%s#%02x", a, sum)
			}
			c.Write([]byte(said))
		}
	}()
	return l.Addr().String()
}

// machineStub answers as a stub of two CPUs with 64 KiB of RAM, in which each byte is its page's
// number.
func machineStub(described bool) func(string) string {
	return func(p string) string {
		var at, n int
		switch {
		case strings.HasPrefix(p, "qSupported") && described:
			return "PacketSize=400;qXfer:features:read+"
		case p == "?":
			return "T05thread:01;"
		case p == "D":
			return "OK"
		case strings.HasPrefix(p, "qXfer:features:read:target.xml:0,"):
			return `l<target><include href="core.xml"/></target>`
		case strings.HasPrefix(p, "qXfer:features:read:core.xml:0,"):
			return `m<feature><reg name="rip" bitsize="64"/><reg name="eflags" bitsize="32"/>`
		case strings.HasPrefix(p, "qXfer:features:read:core.xml:"):
			return `l<reg name="x" bitsize="80"/><reg name="cr3" bitsize="64"/></feature>`
		case p == "qfThreadInfo":
			return "m01,02"
		case p == "qsThreadInfo":
			return "l"
		case strings.HasPrefix(p, "Hg"), p == "Qqemu.PhyMemMode:1":
			return "OK"
		case p == "g" && described:
			return "8877665544332211" + "02020000" + strings.Repeat("x", 20) + "0010000000000000"
		case p == "g":
			return strings.Repeat("0* ", 16*4) + "8877665544332211" + "46020000" // 0, and three more
		case strings.HasPrefix(p, "m"):
			fmt.Sscanf(p, "m%x,%x", &at, &n)
			if at+n > 64<<10 {
				return "E14"
			}
			b := make([]byte, n)
			for i := range b {
				b[i] = byte((at + i) / PageSize)
			}
			return hex.EncodeToString(b)
		}
		return ""
	}
}

func TestStub(t *testing.T) {
	for _, described := range []bool{true, false} {
		s, err := DialStub(context.Background(), stubOf(t, "$T02thread:01;#04", machineStub(described)))
		if err != nil {
			t.Fatal(err)
		}
		if c := s.CPUs(); len(c) != 2 || c[1]["rip"] != 0x1122334455667788 {
			t.Errorf("registers %v", c)
		} else if described && (c[0]["cr3"] != 0x1000 || c[0]["rflags"] != 0x202) || !described && c[0]["rflags"] != 0x246 {
			t.Errorf("registers %v", c[0])
		}
		s.SetBlocks([]Block{{0, 128 << 10}}) // half of which is there
		got := map[uint64]byte{}
		if err := s.Copy(func(addr uint64, data []byte) error {
			for i := 0; i < len(data); i += PageSize {
				got[addr+uint64(i)] = data[i]
			}
			return nil
		}); err != nil || len(got) != 32 || got[15*PageSize] != 15 || got[16*PageSize] != 0 {
			t.Errorf("memory: %v, %v", got, err)
		}
		if err := s.ReadPhysical(make([]byte, 8), 1<<20); !errors.Is(err, ErrNotRAM) {
			t.Errorf("no RAM: %v", err)
		}
		s.Close()
	}
}

// TestWrongStubs: each gives an error, soon.
func TestWrongStubs(t *testing.T) {
	for name, answer := range map[string]func(string) string{
		"no registers": func(p string) string { return "" },
		"a description without an end": func(p string) string {
			if strings.HasPrefix(p, "qXfer") {
				return "m" + strings.Repeat("<", 1000)
			}
			return machineStub(true)(p)
		},
		"a description of itself": func(p string) string {
			if strings.HasPrefix(p, "qXfer") {
				return `l<target><include href="target.xml"/></target>`
			}
			if p == "g" {
				return "E01"
			}
			return machineStub(true)(p)
		},
		"not XML": func(p string) string {
			if strings.HasPrefix(p, "qXfer") {
				return `l<reg name="rip" bitsize="many"/>`
			}
			return machineStub(true)(p)
		},
	} {
		if s, err := DialStub(context.Background(), stubOf(t, "", answer)); !errors.Is(err, ErrStub) {
			t.Errorf("%s: %v, %v; want %v", name, s, err, ErrStub)
		}
	}
	if _, err := DialStub(context.Background(), stubOf(t, "$#00$OK#ff", machineStub(true))); !errors.Is(err, ErrStub) {
		t.Errorf("a damaged packet: %v", err)
	}
}
