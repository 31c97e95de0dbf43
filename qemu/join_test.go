package qemu

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// TestJoin: in whatever pieces the two streams come, and whichever comes first, the text is in the
// order in which it was written, and what is no escape sequence of ours is text.
func TestJoin(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		var want, wantErrors, com1, port bytes.Buffer
		open, turns, ported, fakes := false, random.IntN(1e9), 0, 0
		errors := false
		for i := range random.IntN(30) {
			text := fmt.Sprintf("%d \x1b[31m\x1b]zf-po\x1b]zf-com1;x\a\x1b]zf-port;99\a \x1b]0;title\a%s", i, strings.Repeat("y", random.IntN(50)))
			if random.IntN(4) == 0 {
				text += "\x1b]zf-por"
			}
			switch {
			case random.IntN(2) == 0:
				if was := errors; open && random.IntN(3) == 0 {
					fmt.Fprintf(&com1, "\x1b]zf-com1;%d\a", ported)
					open, errors = false, !was
				}
				if !open {
					turns, ported = turns+1, 0
					head := "port"
					if errors {
						head = "errs"
					}
					fmt.Fprintf(&com1, "\x1b]zf-%s;%d\a", head, turns)
					fmt.Fprintf(&port, "\x1b]zf-%s;%d\a", head, turns)
				}
				open = true
				port.WriteString(text)
				ported += len(text)
				fakes++
				if errors {
					wantErrors.WriteString(text)
					continue
				}
			case open:
				fmt.Fprintf(&com1, "\x1b]zf-com1;%d\a", ported)
				open = false
				fallthrough
			default:
				if random.IntN(9) == 0 {
					turns = random.IntN(1e9) // the machine was reset
				}
				text = strings.ReplaceAll(text, ";99", ":99")
				com1.WriteString(text)
			}
			want.WriteString(text)
		}
		synctest.Test(t, func(t *testing.T) {
			var got, gotErrors bytes.Buffer
			j := newJoin(&got, nil, &gotErrors)
			feed := func(w io.Writer, b []byte, most int) {
				for n := 0; len(b) > 0; b = b[n:] {
					n = min(len(b), 1+int(uint(len(b))*2654435761%uint(most)))
					if k, err := w.Write(b[:n]); k != n || err != nil {
						t.Errorf("Write of %d bytes = %d, %v", n, k, err)
					}
				}
			}
			feeds := []func(){
				func() { feed(j, com1.Bytes(), 1+round%20); j.end() },
				func() { feed(joinPort{j}, port.Bytes(), 1+round%70); joinPort{j}.end() },
			}
			started := time.Now()
			var fed sync.WaitGroup
			fed.Go(feeds[round%2])
			if round%3 > 0 {
				synctest.Wait() // it comes as far as it can
			}
			fed.Go(feeds[1-round%2])
			fed.Wait()
			took, most := time.Since(started), time.Duration(fakes)*catchUp
			if !bytes.Equal(got.Bytes(), want.Bytes()) || !bytes.Equal(gotErrors.Bytes(), wantErrors.Bytes()) || took > most {
				t.Fatalf("round %d, after %v:\n%q and %q; want\n%q and %q", round, took, got.String(), gotErrors.String(), want.String(), wantErrors.String())
			}
		})
	}
}

// TestJoinHeld: what the virtio console keeps back is text as far as the turn goes, and behind that
// the beginning of a sequence.
func TestJoinHeld(t *testing.T) {
	for _, tt := range []struct{ port, com1, rest, want string }{
		{"one \x1b]zf-po", "\x1b]zf-com1;4\atwo \x1b]zf-port;2\a", "rt;2\athree", "one two three"},
		{"one \x1b]zf-po", "\x1b]zf-com1;11\atwo \x1b]zf-port;2\a", "\x1b]zf-port;2\athree", "one \x1b]zf-potwo three"},
		{"one \x1b\x1b]zf", "\x1b]zf-com1;5\atwo \x1b]zf-port;2\a", "-port;2\athree", "one \x1btwo three"},
	} {
		var got bytes.Buffer
		j := newJoin(&got, nil, nil)
		io.WriteString(j, "\x1b]zf-port;1\a")
		io.WriteString(joinPort{j}, "\x1b]zf-port;1\a"+tt.port)
		io.WriteString(j, tt.com1)
		io.WriteString(joinPort{j}, tt.rest)
		joinPort{j}.end()
		if got.String() != tt.want {
			t.Errorf("%q, then %q: %q, want %q", tt.port, tt.rest, got.String(), tt.want)
		}
	}
}

// TestJoinLost: what the virtio console has lost is not waited for for ever.
func TestJoinLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		j := newJoin(&got, nil, nil)
		go fmt.Fprintf(joinPort{j}, "\x1b]zf-port;1\aone ")
		fmt.Fprintf(j, "\x1b]zf-port;1\a\x1b]zf-com1;100\atwo \x1b]zf-port;2\a\x1b]zf-com1;4\athree ")
		go fmt.Fprintf(joinPort{j}, "\x1b]zf-port;3\afour ") // the mark of the second turn is lost
		fmt.Fprintf(j, "\x1b]zf-port;3\a\x1b]zf-com1;5\afive")
		if want := "one two three four five"; got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	})
}

// TestJoinInput: what is typed goes where the kernel says that it receives it, all of it, and to
// the serial port if that is not said in time.
func TestJoinInput(t *testing.T) {
	for _, tt := range []struct {
		says string
		port bool
	}{
		{"text\x1b]zf-stdin;1\a more\x1b]zf-stdin;0\a", true},
		{"text\x1b]zf-stdin;0\a more\x1b]zf-stdin;1\a", false},
		{"text more", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got, serial, port bytes.Buffer
			j := newJoin(&got, nil, nil)
			go func() {
				time.Sleep(undecided / 2)
				io.WriteString(j, tt.says)
			}()
			started := time.Now()
			j.input(&serial, &port, iotest.OneByteReader(strings.NewReader("typed")))
			where, other := &serial, &port
			if tt.port {
				where, other = other, where
			}
			if where.String() != "typed" || other.Len() > 0 || time.Since(started) > undecided {
				t.Errorf("%q: %q to the serial port, %q to the virtio console, after %v", tt.says, serial.String(), port.String(), time.Since(started))
			}
			if got.String() != "text more" {
				t.Errorf("%q is shown as %q", tt.says, got.String())
			}
		})
	}
}

// FuzzJoin: whatever the serial port sends, all but whole sequences of ours passes, and nothing
// waits for ever.
func FuzzJoin(f *testing.F) {
	f.Add([]byte("text \x1b]zf-port;1\a more \x1b]zf-com1;0\a end"), uint8(3))
	f.Add([]byte("\x1b]zf-com1;99999999999999999999999999999999999\a\x1b]zf-com1;"), uint8(1))
	ours := regexp.MustCompile(`\x1b\](zf-port|zf-errs|zf-com1|zf-stdin);[0-9]{1,20}\x07`)
	f.Fuzz(func(t *testing.T, b []byte, every uint8) {
		var got bytes.Buffer
		j := newJoin(&got, nil, nil)
		joinPort{j}.end() // nothing is to come
		for i := 0; i < len(b); i += int(every) + 1 {
			j.Write(b[i:min(len(b), i+int(every)+1)])
		}
		j.end()
		left := ours.ReplaceAllFunc(b, func(s []byte) []byte {
			if _, err := strconv.ParseUint(string(s[10:len(s)-1]), 10, 64); err != nil {
				return s
			}
			return nil
		})
		if !bytes.Equal(got.Bytes(), left) {
			t.Fatalf("%q passes as %q, want %q", b, got.Bytes(), left)
		}
	})
}
