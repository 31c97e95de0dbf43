package qemu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// TestJoin: in whatever pieces and whenever the two streams come, the text is in the order in
// which it was written, and what is no escape sequence of ours is text.
func TestJoin(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		var want, com1, port bytes.Buffer
		open := false
		for i := range random.IntN(30) {
			text := fmt.Sprintf("%d \x1b[31m\x1b]zf-po\x1b]zf-com1;x\a \x1b]0;title\a%s", i, strings.Repeat("y", random.IntN(50)))
			want.WriteString(text)
			if random.IntN(2) == 0 {
				if !open {
					com1.WriteString("\x1b]zf-port\a")
				}
				open = true
				port.WriteString(text)
				continue
			}
			if open {
				fmt.Fprintf(&com1, "\x1b]zf-com1;%d\a", port.Len())
			}
			open = false
			com1.WriteString(text)
		}
		var got bytes.Buffer
		j := newJoin(&got)
		feed := func(w interface{ Write([]byte) (int, error) }, b []byte, most int) {
			for n := 0; len(b) > 0; b = b[n:] {
				n = min(len(b), 1+int(uint(len(b))*2654435761%uint(most)))
				if k, err := w.Write(b[:n]); k != n || err != nil {
					t.Errorf("Write of %d bytes = %d, %v", n, k, err)
				}
			}
		}
		var both sync.WaitGroup
		both.Go(func() { feed(j, com1.Bytes(), 1+round%20); j.end() })
		both.Go(func() { feed(joinPort{j}, port.Bytes(), 1+round%70) })
		both.Wait()
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("round %d:\n%q; want\n%q", round, got.String(), want.String())
		}
	}
}

// FuzzJoin: whatever the serial port sends, all but whole sequences of ours passes, and nothing
// waits for ever.
func FuzzJoin(f *testing.F) {
	f.Add([]byte("text \x1b]zf-port\a more \x1b]zf-com1;0\a end"), uint8(3))
	f.Add([]byte("\x1b]zf-com1;99999999999999999999999999999999999\a\x1b]zf-com1;"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, every uint8) {
		var got bytes.Buffer
		j := newJoin(&got)
		j.taken = ^uint64(0) // nothing is to come
		for i := 0; i < len(b); i += int(every) + 1 {
			j.Write(b[i:min(len(b), i+int(every)+1)])
		}
		j.end()
		if left := bytes.ReplaceAll(b, toPort, nil); !bytes.Contains(b, toCOM1) && !bytes.Contains(left, toPort) && !bytes.Equal(got.Bytes(), left) {
			t.Fatalf("%q passes as %q", b, got.Bytes())
		}
		if bytes.Contains(b, toCOM1) && got.Len() > len(b) {
			t.Fatalf("%q passes as %q", b, got.Bytes())
		}
	})
}
