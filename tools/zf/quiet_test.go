package main

import (
	"bytes"
	"testing"
)

func TestWithoutReport(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"zeroframe 0.1.0 build 12\r\nhello\n", "hello\n"},
		{"zeroframe 0.1.0 build 12\nzeroframe again\n", "zeroframe again\n"},
		{"zf1 begin\n", "zf1 begin\n"},
		{"zero\nzeroframe \n", "zero\nzeroframe \n"},
		{"", ""},
	} {
		for step := 1; step < 9; step += 7 {
			var out bytes.Buffer
			w := &withoutReport{w: &out}
			for in := []byte(tt.in); len(in) > 0; {
				n := min(step, len(in))
				if got, err := w.Write(in[:n]); got != n || err != nil {
					t.Fatalf("Write = %d, %v; want %d", got, err, n)
				}
				in = in[n:]
			}
			if out.String() != tt.want {
				t.Errorf("%q by %d bytes = %q; want %q", tt.in, step, &out, tt.want)
			}
		}
	}
}
