package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// deepTrace is the trace of a deep stack in one of the forms.
func deepTrace(form tracer.Form) []byte {
	var b bytes.Buffer
	w := tracer.Writer{Put: func(c byte) { b.WriteByte(c) }, Form: form}
	w.Begin(1, tracer.KindPanic, tracer.ContextEarly, 0, 0, []byte{0xab, 0xcd}, 0x200000, 0x280000)
	w.Reason([]byte("deep"))
	w.Frame(0, &tracer.Frame{Kind: tracer.PC, Addr: 0x200123, SP: 0x3e8fc0, FP: 0x3e8fe0}, "boot")
	w.Frame(1, &tracer.Frame{Kind: tracer.RA, Addr: 0x200210, FP: 0x3e9000, Step: 2, Repeat: 20000}, "boot")
	w.Frame(20002, &tracer.Frame{Kind: tracer.RA, Addr: 0x200220, FP: 0x4e9000}, "boot")
	w.LeftOut(21846)
	w.Frame(41849, &tracer.Frame{Kind: tracer.RA, Addr: 0x200230, FP: 0x5e9000, Step: 300, Repeat: 2}, "boot")
	w.Frame(41852, &tracer.Frame{Kind: tracer.RA, Addr: 0x200240, FP: 0x5ea000 + 4800}, "boot")
	w.Stop(tracer.EndZero, 0)
	w.Stack(&tracer.Stack{Name: "boot", Lo: 0x3e8000, Hi: 0x6e9000})
	w.Done()
	return b.Bytes()
}

// TestDeepForms: each form says the same of a deep stack.
func TestDeepForms(t *testing.T) {
	const want = "pc 0x200123 0x3e8fe0 0 0; ra 0x200210 0x3e9000 20000 0; ra 0x200220 0x4e9000 0 0; " +
		"ra 0x200230 0x5e9000 2 21846; ra 0x200240 0x5eb2c0 0 0; "
	for _, form := range []tracer.Form{tracer.Text, tracer.Markup, tracer.Compact} {
		r := filter(t, Options{}, deepTrace(form))
		if len(r.traces) != 1 || r.traces[0].Damaged || !r.traces[0].Complete() {
			t.Fatalf("form %d: %+v", form, r.traces)
		}
		var j struct {
			Frames []struct {
				Kind, Address, FP string
				Repeat, Elided    uint64
			}
		}
		if err := json.Unmarshal(render.JSON(r.traces[0]), &j); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range j.Frames {
			got += fmt.Sprintf("%s %s %s %d %d; ", f.Kind, f.Address, f.FP, f.Repeat, f.Elided)
		}
		if got != want {
			t.Errorf("form %d: %s\nwant    %s", form, got, want)
		}
		out := r.out.String()
		for _, line := range []string{" repeat 20000 fp 0x437200", " ... 21,846 frames left out", "41852"} {
			if !strings.Contains(out, line) {
				t.Errorf("form %d: no %q in\n%s", form, line, out)
			}
		}
		k := string(render.K(r.traces[0]))
		for _, line := range []string{"-- ... 20,000 more of the same frame --\n", "-- ... 21,846 frames left out --\n", "00000000004e9000 ---------------- 0x200220\n"} {
			if !strings.Contains(k, line) {
				t.Errorf("form %d: no %q in\n%s", form, line, k)
			}
		}
	}
}

// TestFoldedHostile: numbers of frames are shown, and take no memory.
func TestFoldedHostile(t *testing.T) {
	const head = "zf1 begin 1 panic early thread=0 build=-\n"
	const ra = "zf1 #0 ra 0x200210 fp 0x10 boot\n"
	for _, tt := range []struct {
		in      string
		frames  int
		damaged bool
	}{
		{head + ra + "zf1 repeat 18446744073709551615 fp 0x0\nzf1 ... 18446744073709551615 frames left out\n" + ra, 2, false},
		{head + "zf1 repeat 5 fp 0x10\n", 0, true},
		{head + "zf1 #0 pc 0x200210 sp 0x8 fp 0x10 boot\nzf1 repeat 5 fp 0x10\n", 1, true},
		{head + ra + "zf1 repeat 5 fp 0x10\nzf1 repeat 5 fp 0x10\n", 1, true},
		{head + ra + "zf1 ... 5 frames left out\nzf1 repeat 5 fp 0x10\n" + ra, 2, true},
		{head + ra + "zf1 repeat -1 fp 0x10\n", 1, true},
		{head + ra + "zf1 repeat 0 fp 0x10\n", 1, true},
		{head + ra + "zf1 ... x frames left out\n", 1, true},
		{head + ra + "zf1 ... 1,2,3 frames left in\n", 1, true},
	} {
		r := filter(t, Options{}, []byte(tt.in))
		if len(r.traces) != 1 {
			t.Errorf("%q: %d traces", tt.in, len(r.traces))
			continue
		}
		tr := r.traces[0]
		if len(tr.Frames) != tt.frames || (tr.Damage != wire.CutDamage) != tt.damaged {
			t.Errorf("%q: %d frames, damage %q; want %d, %v", tt.in, len(tr.Frames), tr.Damage, tt.frames, tt.damaged)
		}
		render.JSON(tr)
		render.K(tr)
	}
}
