package page

// What the tests share: an image with functions that no compiler would make, a log of it
// by the target's own writer, and a reader of pages that knows what may be on one.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// fakeImage has the text 0x200000 to 0x210000, a function each 256 bytes.
type fakeImage map[uint64]lookup.Call

func (m fakeImage) BuildID() string { return "c0ffee01" }
func (m fakeImage) Lookup(addr uint64, ret bool) []lookup.Call {
	f, ok := m[addr&^0xff]
	if !ok {
		return nil
	}
	f.Offset = addr & 0xff
	return []lookup.Call{f}
}
func (m fakeImage) SPDelta(uint64) (uint64, bool) { return 0, false }
func (m fakeImage) IsText(a uint64) bool          { return a >= 0x200000 && a < 0x210000 }
func (m fakeImage) Nearest(uint64) string         { return "" }

// goSource is the file that main.work and main.main are in, in the lab's folder.
const goSource = "package main\n\nfunc work() {\n\tvar p *int\n\t*p = 1 // </code></pre><b>here</b>\n}\n\nfunc main() { work() }\n"

// lab is a folder with source, and an image.
func lab(t testing.TB) (dir string, im fakeImage) {
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(goSource), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir, fakeImage{
		0x200000: {Function: "runtime.sigpanic", File: "/go/src/runtime/signal_unix.go", Line: 3},
		0x200100: {Function: "main.work", File: filepath.Join(dir, "main.go"), Line: 5},
		0x200200: {Function: "main.main", File: filepath.Join(dir, "main.go"), Line: 8},
		0x200300: {Function: "runtime.goexit", File: "/go/src/runtime/asm.s", Line: 1},
		0x200400: {Function: "runtime.gopark", File: "/go/src/runtime/proc.go", Line: 1},
		0x200500: {Function: "main.wait<T>", File: "/elsewhere/wait.go", Line: 9},
		0x200600: {Function: evil, File: "/x/" + evil + ".go", Line: 1},
	}
}

// evil is a text that wants to be more.
const evil = `</script></pre><img src=x onerror=alert(1)>"'` + "`{{.}}\u202e\x1b[2J"

// death writes a trace of main.work as a target does.
func death(seq uint32, kind tracer.TraceKind, goroutine uint64, reason string, pcs ...uintptr) string {
	return deathOnCPU(-1, 0, seq, kind, goroutine, reason, pcs...)
}

// deathOnCPU writes one of a machine with several CPUs, of another CPU's death if of is not 0.
func deathOnCPU(cpu int, of, seq uint32, kind tracer.TraceKind, goroutine uint64, reason string, pcs ...uintptr) string {
	var b bytes.Buffer
	w := tracer.Writer{Put: func(c byte) { b.WriteByte(c) }, CPU: uint32(cpu + 1), Of: of}
	w.Begin(seq, kind, tracer.ContextGoroutine, 1, goroutine, []byte{0xc0, 0xff, 0xee, 1}, 0x200000, 0x210000)
	w.Reason([]byte(reason))
	if kind == tracer.KindFault {
		w.Cause(14, 2, pcs[0], 8, true)
	}
	w.Mem(0x3e8fc0, []uintptr{0x200210, 0x3e8ff0})
	for i, pc := range pcs {
		f := tracer.Frame{Addr: pc, FP: 0x3e8fd0 + uintptr(i)*16, SP: 0x3e8fc0, Kind: tracer.RA}
		if i == 0 {
			f.Kind = tracer.PC
		}
		w.Frame(i, &f, "g")
	}
	w.Stop(tracer.EndGoexit, 0)
	var regs [tracer.NumRegisters]uintptr
	regs[0], regs[1], regs[2] = pcs[0], 0x3e8fc0, 0x3e8fd0
	w.Registers(&regs, 7)
	for _, s := range []tracer.Stack{
		{Name: "g", Lo: 0x3e8000, Hi: 0x3e9000, Used: 4000},
		{Name: "irq", Lo: 0x3e0000, Hi: 0x3e4000, Used: 4096, Limit: 4000},
		{Name: "g0.1", Lo: 0x3d0000, Hi: 0x3d4000, Used: 1024, Limit: 16000},
		{Name: "sig.1", Lo: 0x3c0000, Hi: 0x3c8000},
		{Name: "g0.2", Lo: 0x3b0000, Hi: 0x3b4000, Used: 0x4000},
	} {
		w.Stack(&s)
	}
	w.Done()
	return b.String()
}

// sample is a log of one death with two goroutines that wait.
func sample() string {
	return "zeroframe 0.1.0 build c0ffee01\r\nhello \x1b[31m<b>\u202e\xff\r\n" +
		death(1, tracer.KindFault, 1, "nil pointer dereference", 0x200005, 0x200110, 0x200210, 0x200301) +
		death(2, tracer.KindTrace, 7, "goroutine 7 [chan receive]", 0x200405, 0x200510, 0x200301) +
		death(3, tracer.KindTrace, 8, "goroutine 8 [select]", 0x200405, 0x200210, 0x200301)
}

// page makes a page of a log, written in pieces of so many bytes.
func page(t testing.TB, opt Options, log string, piece int) string {
	t.Helper()
	r, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	for len(log) > 0 {
		n := min(piece, len(log))
		if _, err := r.Write([]byte(log[:n])); err != nil {
			t.Fatal(err)
		}
		log = log[n:]
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return finish(t, r)
}

func finish(t testing.TB, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// samplePage is a page of sample.
func samplePage(t *testing.T, piece int) string {
	dir, im := lab(t)
	return page(t, Options{Title: "sample", Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: 2}, sample(), piece)
}

// What may be on a page: elements, and attributes. None of them loads or runs anything.
var (
	elements = strings.Fields(`html head meta title style body script header main footer nav section article h1 h2 h3 h4 p a b i strong
		code pre span div ul ol li dl dt dd table thead tbody tr th td details summary button label input output svg rect line text`)
	attributes = strings.Fields(`lang charset http-equiv content name id class href tabindex scope colspan role aria-label aria-hidden open hidden
		type spellcheck autocomplete x y x1 x2 y1 y2 rx width height`)
	inPage = regexp.MustCompile(`^#[a-z0-9]+$`)
)

// check reads a page as a browser does and returns its root: only what may be on it is,
// links lead to what is there, and names are given once.
func check(t testing.TB, page string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	var links []string
	scripts := 0
	for n := range root.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			t.Errorf("a comment: %.100q", n.Data)
		case n.Type != html.ElementNode:
			continue
		case !slices.Contains(elements, n.Data):
			t.Errorf("element <%s>", n.Data)
		case n.Data == "script" || n.Data == "style":
			scripts++
		}
		for _, a := range n.Attr {
			switch {
			case !slices.Contains(attributes, a.Key):
				t.Errorf("attribute %s=%.100q of <%s>", a.Key, a.Val, n.Data)
			case a.Key == "href":
				links = append(links, a.Val)
			case a.Key == "id" && ids[a.Val]:
				t.Errorf("two elements are called %s", a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			}
		}
	}
	if scripts != 2 {
		t.Errorf("%d scripts and styles; want one of each", scripts)
	}
	for _, l := range links {
		if !inPage.MatchString(l) || !ids[l[1:]] {
			t.Errorf("a link to %q leads nowhere", l)
		}
	}
	if !utf8.ValidString(page) {
		t.Error("the page is not UTF-8")
	}
	for i, r := range page {
		if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e) {
			t.Fatalf("the page has character %U at %.60q", r, page[max(i-20, 0):])
		}
	}
	return root
}

// text returns what a reader sees of a node, words apart by single blanks.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "script" && d.Parent.Data != "style" {
			fmt.Fprintf(&b, "%s ", d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// find returns the elements of a name and a class.
func find(root *html.Node, element, class string) (all []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == element && (class == "" || slices.Contains(strings.Fields(attribute(n, "class")), class)) {
			all = append(all, n)
		}
	}
	return all
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
