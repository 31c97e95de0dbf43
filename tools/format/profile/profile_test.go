package profile

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// unit values of an image whose text has 16 MiB - 1 and units 4 bytes.
const (
	span    = 1<<24 - 1
	unitEnd = 2*span + 1281
	link    = 2*span + 1313
	complet = unitEnd + 1 // tracer.EndZero
)

// record makes a record with the units of a depot (index 0 is none), and counts.
func record(textLo uint64, units []uint32, counts ...uint64) []byte {
	var b []byte
	for _, v := range []uint64{2, 1000, 1e18, 2e9, 1e9, 10, 10, 0, 2, 0, 5000, 1e9} {
		b = binary.AppendUvarint(b, v)
	}
	image := []byte("zfdepot1")
	for _, v := range []uint64{4 | uint64(len(units)+1)<<8, textLo, span, 0, 65536, 1, 2, 3} {
		image = binary.LittleEndian.AppendUint64(image, v)
	}
	for _, u := range append([]uint32{0}, units...) {
		image = binary.LittleEndian.AppendUint32(image, u)
	}
	b = binary.AppendUvarint(b, uint64(len(image)))
	b = append(b, image...)
	b = append(b, 1, 0, 4)
	b = append(b, "read"...)
	for _, c := range counts {
		b = binary.AppendUvarint(b, c)
	}
	return b
}

// program is a program with a tail call, and its symbols.
func program(t *testing.T) (*symbol.File, func(name string, off uint64) uint64) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module p\n",
		"p.go": `package main
func outer()
func tail()
func last()
func main() { outer() }
`,
		"p_amd64.s": `TEXT ·outer(SB), $8-0
	CALL ·tail(SB)
	RET
TEXT ·tail(SB), 4, $0-0
	JMP ·last(SB)
TEXT ·last(SB), 4, $0-0
	NOP
	RET
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "p", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	sym, err := symbol.Open(filepath.Join(dir, "p"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sym.Close() })
	return sym, func(name string, off uint64) uint64 {
		at, _, ok := sym.Symbol(name)
		if !ok {
			t.Fatalf("no symbol %s", name)
		}
		return at + off
	}
}

// returnIn finds the return address of the first direct call in a function.
func returnIn(t *testing.T, sym *symbol.File, start uint64) uint64 {
	t.Helper()
	for ra := start + 5; ra < start+64; ra++ {
		if c, ok := sym.Code().CallBefore(ra); ok && !c.Indirect {
			return ra
		}
	}
	t.Fatalf("no call at %#x", start)
	return 0
}

// TestPprof: a sample in a function that was reached by a tail call has the functions that
// called, the one that is not on the stack among them, marked.
func TestPprof(t *testing.T) {
	sym, at := program(t)
	lo := at("main.main", 0) &^ 0xfffff
	inOuter, inMain := returnIn(t, sym, at("main.outer", 0)), returnIn(t, sym, at("main.main", 0))
	units := []uint32{
		span + uint32(at("main.last", 0)-lo), uint32(inOuter - lo), uint32(inMain - lo), complet,
		2*span + 512, link + 2, // a system call of outer
	}
	r, err := Read(record(lo, units, 1, 7, 5, 1, late|5, 2))
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Pprof(sym)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Folded(&b, p); err != nil {
		t.Fatal(err)
	}
	want := "main.main;main.outer;[kernel] read 3\nmain.main;main.outer;main.tail (inferred);main.last 7\n"
	if b.String() != want {
		t.Errorf("folded:\n%swant\n%s", b.String(), want)
	}
	if p.Period != 1e6 || p.Sample[0].Value[1] != 7e6 || p.DurationNanos != 2e9 {
		t.Errorf("period %d, value %d, duration %d", p.Period, p.Sample[0].Value[1], p.DurationNanos)
	}
	// The ticks that came late in the system call have a label.
	for _, s := range p.Sample {
		if want := s.Value[0] == 2; (len(s.Label["late"]) == 1) != want {
			t.Errorf("%d ticks with the labels %q", s.Value[0], s.Label)
		}
	}
	if want := "2 of 10 ticks are in no stack"; len(p.Comments) != 1 || !strings.Contains(p.Comments[0], want) {
		t.Errorf("comments %q; want %q", p.Comments, want)
	}
	for _, l := range p.Location {
		if l.Address == inOuter-1 && (l.Line[0].Function.Name != "main.outer" || l.Line[0].Line != 2) {
			t.Errorf("the call in outer is in %s, line %d", l.Line[0].Function.Name, l.Line[0].Line)
		}
	}
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	if again, err := pprof.ParseData(file.Bytes()); err != nil || len(again.Sample) != 3 {
		t.Errorf("written and read: %v", err)
	}
}

func TestReadDamaged(t *testing.T) {
	good := record(0, []uint32{5, complet}, 1, 7)
	if _, err := Read(good); err != nil {
		t.Fatal(err)
	}
	for n := range len(good) - 2 {
		if _, err := Read(good[:n]); err == nil {
			t.Errorf("Read accepts the first %d of %d bytes", n, len(good))
		}
	}
	if _, err := Read(append([]byte{1}, good[1:]...)); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("Read of version 1: %v", err)
	}
	r, err := Read(record(0, []uint32{5, complet}, 9, 7))
	if err != nil {
		t.Fatal(err)
	}
	sym, _ := program(t)
	if _, err := r.Pprof(sym); err == nil || !strings.Contains(err.Error(), "no stack 9") {
		t.Errorf("Pprof with a stack that is not there: %v", err)
	}
}

// FuzzRead: no record, whatever it holds, makes more of itself than it is.
func FuzzRead(f *testing.F) {
	f.Add(record(0, []uint32{5, 7, complet, 2*span + 512, link + 2}, 1, 7, 4, 9))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(data)
		if err != nil {
			return
		}
		if len(r.Counts)+len(r.Calls) > len(data) {
			t.Fatalf("%d counts of %d bytes", len(r.Counts), len(data))
		}
		for _, c := range r.Counts {
			r.Stacks.Stack(c.ID)
		}
	})
}

// hostile is a profile whose names want to be something else.
func hostile() *pprof.Profile {
	names := []string{`</text><script>alert(1)</script>`, "a;b\nc", "]]>", "\xff\x00&amp;", strings.Repeat("long", 500)}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
	}
	var all []*pprof.Location
	for i, n := range names {
		fn := &pprof.Function{ID: uint64(i + 1), Name: n}
		l := &pprof.Location{ID: uint64(i + 1), Line: []pprof.Line{{Function: fn}}}
		p.Function, p.Location = append(p.Function, fn), append(p.Location, l)
		all = append(all, l)
		p.Sample = append(p.Sample, &pprof.Sample{Location: append([]*pprof.Location(nil), all...), Value: []int64{int64(i + 1), int64(i+1) * 1e6}})
	}
	return p
}

// TestHostileNames: names are text in all that is written, and nothing else.
func TestHostileNames(t *testing.T) {
	var svg, lines, top bytes.Buffer
	p := hostile()
	if err := SVG(&svg, p, `<b>&"`); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&svg)
	scripts := 0
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the SVG is no XML: %v", err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "script" {
			scripts++
		}
	}
	if scripts != 1 {
		t.Errorf("%d scripts in the SVG; want 1", scripts)
	}
	if err := Folded(&lines, p); err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^[^\x00-\x1f]+ \d+$`)
	for l := range strings.Lines(lines.String()) {
		if l = strings.TrimSuffix(l, "\n"); !form.MatchString(l) {
			t.Errorf("folded line %q", l)
		}
	}
	if n := strings.Count(lines.String(), "\n"); n != 5 {
		t.Errorf("%d folded lines; want 5", n)
	}
	if err := Top(&top, p, 10); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(top.String()) {
		if len([]rune(l)) > 81 {
			t.Errorf("a line of %d columns: %q", len([]rune(l))-1, l)
		}
	}
}

// TestTop counts a recursion once.
func TestTop(t *testing.T) {
	fn := &pprof.Function{ID: 1, Name: "f"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: fn}}}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}},
		Sample: []*pprof.Sample{{Location: []*pprof.Location{l, l, l}, Value: []int64{4}}}}
	var b bytes.Buffer
	if err := Top(&b, p, 10); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%10s %6s %10s %6s  f\n", "4", "100.0 %", "4", "100.0 %"); !strings.Contains(b.String(), want) {
		t.Errorf("no line %q in\n%s", want, b.String())
	}
}
