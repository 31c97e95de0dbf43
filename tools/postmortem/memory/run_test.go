package memory

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestOddPackets: what a stub says beside the answers is passed over, and an answer that is not the
// registers is not taken for them: an old one, an error, the end of the machine. Each row is what
// comes for g, one packet after another.
func TestOddPackets(t *testing.T) {
	const dump = "8877665544332211" + "02020000" + "xxxxxxxxxxxxxxxxxxxx" + "0010000000000000"
	for _, tt := range []struct {
		name   string
		says   []string
		is     error
		within string
	}{
		{"a dump", []string{dump}, nil, ""},
		{"told of the stop again", []string{"T05thread:01;$" + dump}, nil, ""},
		{"what the program says", []string{"O6869$" + dump}, nil, ""},
		{"an earlier packet's answer", []string{"OK", dump}, nil, ""},
		{"an earlier packet's answer, and its own", []string{"OK$" + dump, dump}, nil, ""},
		{"once an error", []string{"E22", dump}, nil, ""},
		{"errors", []string{"E22", "E22"}, ErrStub, `"E22"`},
		{"nothing", []string{"", ""}, ErrStub, `""`},
		{"half a dump", []string{dump[:14], dump[:14]}, ErrStub, `"88776655443322"`},
		{"the machine ends", []string{"W00"}, ErrEnded, ""},
		{"the machine is killed", []string{"X09"}, ErrEnded, ""},
		{"the end behind a stop", []string{"T03$W00"}, ErrEnded, ""},
	} {
		asked, began := 0, false
		address := stubOf(t, "", func(p string) string {
			if p != "g" || !began {
				return machineStub(true)(p)
			}
			asked++
			return tt.says[min(asked, len(tt.says))-1]
		})
		d, err := DialDebugger(context.Background(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		began = true
		regs, err := d.Registers()
		if tt.is == nil && (err != nil || regs["rip"] != 0x1122334455667788) || tt.is != nil && (!errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.within)) {
			t.Errorf("%s: %v, %v", tt.name, regs, err)
		}
		if err == nil { // packets and answers belong to each other again
			var b [1]byte
			if err := d.Read(b[:], 3*PageSize); err != nil || b[0] != 3 {
				t.Errorf("%s: memory %v, %v", tt.name, b, err)
			}
		}
	}
}

// TestStaleStop: a stop that is told of twice does not end the next run of the machine.
func TestStaleStop(t *testing.T) {
	address := stubOf(t, "", func(p string) string {
		switch {
		case p == "vCont;s:p1.1":
			return "T05thread:01;$T05thread:01;"
		case p == "vCont;c":
			return "T05watch:1000;"
		}
		return machineStub(true)(p)
	})
	d, err := DialDebugger(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Step(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := d.Go(context.Background()); err != nil || d.Reason() != "T05watch:1000;" {
		t.Errorf("it goes on until %q, %v", d.Reason(), err)
	}
}
