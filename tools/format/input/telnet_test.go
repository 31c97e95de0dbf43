package input

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// strip reads a stream through telnet.
func strip(t *testing.T, r io.Reader) []byte {
	t.Helper()
	got, err := io.ReadAll(&telnet{in: io.NopCloser(r)})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTelnet(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"no telnet", "text\xff\xfb\x01\r\x00", "text\xff\xfb\x01\r\x00"},
		{"no telnet, with its byte", "\xff\x01text", "\xff\x01text"},
		{"twice its byte", "\xff\xff\xfbtext", "\xff\xff\xfbtext"},
		{"QEMU's options", "\xff\xfb\x01\xff\xfb\x03\xff\xfb\x00\xff\xfd\x00text", "text"},
		{"in the middle", "\xff\xfd\x18te\xff\xf1xt\xff\xff.", "text\xff."},
		{"a subnegotiation", "\xff\xfd\x18te\xff\xfa\x18\x01\xff\xff\r\x00x\xff\xf0xt", "text"},
		{"a carriage return alone", "\xff\xfd\x18a\r\x00b\r\n\x00c", "a\rb\r\n\x00c"},
		{"cut", "\xff\xfd\x18text\xff\xfd", "text"},
		{"empty", "", ""},
	} {
		if got := strip(t, bytes.NewReader([]byte(c.in))); string(got) != c.want {
			t.Errorf("%s: %q; want %q", c.name, got, c.want)
		}
		if got := strip(t, iotest.OneByteReader(bytes.NewReader([]byte(c.in)))); string(got) != c.want {
			t.Errorf("%s, by bytes: %q; want %q", c.name, got, c.want)
		}
	}
}

// FuzzTelnet: however the stream is cut into pieces, the text is the same; text
// that is not telnet's stays as it is, and nothing is added.
func FuzzTelnet(f *testing.F) {
	f.Add([]byte("text\xff"))
	f.Add([]byte("\xff\xfb\x01\xff\xfb\x03text\r\x00"))
	f.Add([]byte("\xff\xfd\x18\xff\xfa\x18\x01\xff\xff\xff\xf0text"))
	f.Add([]byte("\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole := strip(t, bytes.NewReader(in))
		if len(whole) > len(in) {
			t.Fatalf("%d bytes of %d", len(whole), len(in))
		}
		if got := strip(t, iotest.HalfReader(iotest.OneByteReader(bytes.NewReader(in)))); !bytes.Equal(got, whole) {
			t.Fatalf("by bytes %q; want %q", got, whole)
		}
		isTelnet := len(in) > 1 && in[0] == iac && in[1] >= will && in[1] != iac
		if !isTelnet && !bytes.Equal(whole, in) && len(in) != 1 {
			t.Fatalf("%q became %q", in, whole)
		}
	})
}
