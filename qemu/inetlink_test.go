package qemu

import (
	"bytes"
	"testing"

	"github.com/google/gopacket"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// TestInetLink: a connection, and the servers, survive that the cable is pulled and put in again.
func TestInetLink(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"virtio-net-pci", "e1000", "e1000e"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			p := newNeighbor(t, newEther(t, model), 0, func([]byte) {}, func(gopacket.Packet) {})
			p.serve(Config{MemoryMiB: 96})
			tr := &traffic{neighbor: p}
			c := tr.dial()
			if c == nil {
				return
			}
			defer c.Close()
			echo := func(s string) {
				t.Helper()
				b := make([]byte, len(s))
				for n := 0; n < len(b); {
					k, err := c.Read(b[n:])
					if n += k; err != nil {
						t.Fatalf("%q of %q, %v", b[:n], s, err)
					}
				}
				if !bytes.Equal(b, []byte(s)) {
					t.Fatalf("%q; want %q", b, s)
				}
			}
			c.Write([]byte("before"))
			echo("before")
			for range 3 {
				p.link(false)
				c.Write([]byte("meanwhile"))
				if p.answers() {
					t.Error("the machine answers without a link")
				}
				p.link(true)
				await.Poll(t, "an answer", p.answers)
				echo("meanwhile")
			}
			if got := p.get("/"); got != "hello from here" {
				t.Errorf("the server says %q", got)
			}
		})
	}
}

// link pulls the cable, or puts it in again.
func (p *neighbor) link(up bool) {
	p.t.Helper()
	if _, err := p.vm.QMP("set_link", map[string]any{"name": "net0", "up": up}); err != nil {
		p.t.Fatal(err)
	}
}
