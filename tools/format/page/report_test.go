package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

func TestPage(t *testing.T) {
	root := check(t, samplePage(t, 1<<20))
	head := text(find(root, "header", "")[0])
	for _, want := range []string{"sample", "Fault", "nil pointer dereference", "in main.work at main.go:5", "3 traces"} {
		if !strings.Contains(head, want) {
			t.Errorf("the head has no %q: %s", want, head)
		}
	}
	articles := find(root, "article", "trace")
	if len(articles) != 1 {
		t.Fatalf("%d traces; want one, with its goroutines", len(articles))
	}
	all := text(articles[0])
	for _, want := range []string{
		"cause #PF, vector 14, error code 0x2, address 0x8", "goroutine 1 this trace main.work at main.go:5",
		"goroutine 7 chan receive main.wait<T> at /elsewhere/wait.go:9", "goroutine 8 select main.main at main.go:8",
		"#0 runtime.sigpanic+0x5 /go/src/runtime/signal_unix.go:3 stack g 0x200005 exact",
		"#1 main.work+0x10 main.go:5 0x200110 return address",
		"rip 0x0000000000200005 runtime.sigpanic+0x5", "rsp 0x00000000003e8fc0 stack g",
		"1 goroutine 1, this trace 1 024 of 16 384 0 of 32 768", "2 16 384 of 16 384",
		"0x3e8fc0 0x0000000000200210 main.main+0x10",
		`hello \x1b [31m<b> \u202e \xff`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the trace has no %q: %s", want, all)
		}
	}
	// The source around main.work's line, which is marked, and open as no other is.
	here := find(articles[0], "span", "here")
	if len(here) < 1 || !strings.Contains(text(here[0]), "5 *p = 1 // </code></pre><b>here</b>") {
		t.Errorf("the line of main.work is not marked: %d lines are", len(here))
	}
	open := 0
	for _, d := range find(articles[0], "details", "") {
		for _, a := range d.Attr {
			if a.Key == "open" {
				open++
			}
		}
	}
	if open != 2 {
		t.Errorf("%d frames are open; want main.work's and main.main's of goroutine 8, as wait.go is not here", open)
	}
	var bars []string
	for _, tr := range find(articles[0], "tr", "") {
		if used := find(tr, "rect", "used"); len(used) == 1 {
			bars = append(bars, attribute(tr, "class")+" "+attribute(used[0], "width"))
		}
	}
	if got, want := strings.Join(bars, ", "), "warning 97.66%, over-limit 25.00%, ok 6.25%, ok 0.00%, overflowed 100.00%"; !strings.Contains(got, want) {
		t.Errorf("the bars are %s; want %s", got, want)
	}
}

// TestGoroutinesAlike: goroutines that wait alike are one row with their number, the longest
// waiting first, whether the target or the page has put them together.
func TestGoroutinesAlike(t *testing.T) {
	dir, im := lab(t)
	log := death(1, tracer.KindFault, 1, "nil pointer dereference", 0x200005, 0x200110, 0x200210, 0x200301) +
		death(2, tracer.KindTrace, 7, "goroutine 7 [chan receive]", 0x200405, 0x200510, 0x200301) +
		death(3, tracer.KindTrace, 8, "goroutine 8 [select]", 0x200405, 0x200210, 0x200301) +
		death(4, tracer.KindTrace, 9, "goroutine 9 [chan receive, 5 s]", 0x200405, 0x200510, 0x200301) +
		death(5, tracer.KindTrace, 20, "12 goroutines [sleep, 2 minutes]: 20, 21, 22, 23, 24, 25, 26, 27, ...", 0x200405, 0x200301)
	root := check(t, page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: -1}, log, 1<<20))
	all := text(find(root, "article", "trace")[0])
	rest := all
	for _, want := range []string{"12 goroutines sleep, 2 minutes", "20, 21, 22, 23, 24, 25, 26, 27, ...", "2 goroutines chan receive, 5 s", "7, 9", "goroutine 8 select"} {
		_, behind, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("%q is not there, or not in this order, in %s", want, all)
		}
		rest = behind
	}
}

// TestCPUSections: the other CPUs stand behind the death, whatever is between; one of a death that
// is not there stands for itself.
func TestCPUSections(t *testing.T) {
	dir, im := lab(t)
	log := deathOnCPU(0, 9, 10, tracer.KindTrace, 0, "stopped", 0x200210, 0x200301) +
		deathOnCPU(1, 0, 1, tracer.KindFault, 1, "nil pointer dereference", 0x200005, 0x200110, 0x200210, 0x200301) +
		death(2, tracer.KindTrace, 7, "goroutine 7 [chan receive]", 0x200405, 0x200510, 0x200301) +
		deathOnCPU(0, 1, 3, tracer.KindTrace, 0, "stopped", 0x200210, 0x200301) +
		deathOnCPU(2, 1, 4, tracer.KindTrace, 8, "died at the same time: <b>", 0x200005, 0x200510, 0x200301)
	root := check(t, page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: -1}, log, 1<<20))
	all := find(root, "article", "trace")
	if len(all) != 2 {
		t.Fatalf("%d traces; want the one of no death here, and the death", len(all))
	}
	if s := text(all[0]); strings.Contains(s, "Other CPUs") || !strings.Contains(s, "cpu 0") {
		t.Errorf("the first: %s", s)
	}
	died := text(all[1])
	for _, want := range []string{
		"cpu 1", "Other CPUs", "CPU 0 stopped main.main at main.go:8", "CPU 2 died at the same time: <b> main.wait<T> at /elsewhere/wait.go:9", "goroutine 7 chan receive",
	} {
		if !strings.Contains(died, want) {
			t.Errorf("the death has no %q: %s", want, died)
		}
	}
	if head := text(find(root, "table", "toc")[0]); !strings.Contains(head, "nil pointer dereference and 2 other CPUs and 1 goroutine") {
		t.Errorf("the table of contents: %s", head)
	}
}

// TestPageIsTheSame: however the log comes, and when.
func TestPageIsTheSame(t *testing.T) {
	dir, im := lab(t)
	opt := Options{Title: "sample", Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: 2}
	want := page(t, opt, sample(), 1<<20)
	for _, n := range []int{1, 7, 100} {
		if got := page(t, opt, sample(), n); got != want {
			t.Errorf("in pieces of %d bytes the page is another", n)
		}
	}
}

// TestPolicy: the policy has the hashes of the two texts as they stand on the page.
func TestPolicy(t *testing.T) {
	s := samplePage(t, 1<<20)
	for _, tag := range []string{"style", "script"} {
		_, rest, _ := strings.Cut(s, "<"+tag+">")
		body, _, ok := strings.Cut(rest, "</"+tag+">")
		sum := sha256.Sum256([]byte(body))
		if hash := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !ok || !strings.Contains(s, hash) {
			t.Errorf("the policy does not have %s", hash)
		}
	}
	if !strings.Contains(s, "\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ") || strings.Contains(s, "unsafe") {
		t.Error("the policy allows more than it must")
	}
}

func TestHostile(t *testing.T) {
	dir, im := lab(t)
	log := evil + "\n" + death(1, tracer.KindPanic, 1, evil, 0x200605, 0x200610) +
		"zf1 begin 2 " + strings.ReplaceAll(evil, " ", "_") + " x thread=1 build=c0ffee01\nzf1 stack " + strings.ReplaceAll(evil, " ", "_") + " 0x1000 size=10 used>=5 limit=1 " + strings.ReplaceAll(evil, " ", "_") + "\n" +
		"goroutine 1 [" + evil + "]:\nmain.work()\n\t" + evil + ".go:1 +0x1\n"
	s := page(t, Options{Title: evil, Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: 2, Facts: []Fact{{evil, evil}}}, log, 1<<20)
	root := check(t, s)
	if all := text(root); strings.Count(all, `</script></pre><img src=x onerror=alert(1)>"'`) < 6 {
		t.Errorf("the evil text is not shown where it came: %s", all)
	}
}

// TestLongLog: days of a log, thousands of traces and a line without an end give a page
// with bounds, which has the beginning and the end.
func TestLongLog(t *testing.T) {
	dir, im := lab(t)
	var log strings.Builder
	log.WriteString("the first line\n")
	for i := range uint32(3000) {
		log.WriteString(death(i+1, tracer.KindFault, 1, "again", 0x200005, 0x200110, 0x200210, 0x200301))
	}
	for i := range 2000 { // so short that the log shows more of them than there are articles
		log.WriteString(fmt.Sprintf("zf1 begin %d panic early thread=0 build=c0ffee01\nzf1 reason short\n", i))
	}
	log.WriteString(strings.Repeat("\x00\n", 2000) + strings.Repeat("<b>\x1b", 1<<20) + "\nthe last line")
	var said strings.Builder
	s := page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: 4, Log: &said}, log.String(), 1<<16)
	root := check(t, s)
	if len(s) > 4<<20 {
		t.Errorf("the page has %d bytes", len(s))
	}
	all := text(root)
	for _, want := range []string{"the first line", "the last line", "4 800 traces after this are not shown", "lines are left out here", "4 193 304 more bytes"} {
		if !strings.Contains(all, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := len(find(root, "article", "trace")); n != firstTraces+lastTraces {
		t.Errorf("%d traces are shown", n)
	}
}

// TestLinesBefore: what stands before each of many traces is bounded in all.
func TestLinesBefore(t *testing.T) {
	_, im := lab(t)
	var log strings.Builder
	for i := range uint32(60) {
		log.WriteString(strings.Repeat(strings.Repeat("<", 900)+"\n", beforeLines+5) + death(i+1, tracer.KindFault, 1, "again", 0x200110))
	}
	s := page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}}, log.String(), 1<<16)
	if n := len(find(check(t, s), "details", "before")); len(s) > 8<<20 || n < 5 || n > 20 {
		t.Errorf("the page has %d bytes and the lines before %d traces", len(s), n)
	}
}

// TestManyFrames: of a very deep stack both ends are shown.
func TestManyFrames(t *testing.T) {
	dir, im := lab(t)
	pcs := []uintptr{0x200005}
	for range 1000 {
		pcs = append(pcs, 0x200110)
	}
	s := page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: -1}, death(1, tracer.KindFault, 1, "deep", append(pcs, 0x200301)...), 1<<20)
	all := text(check(t, s))
	for _, want := range []string{"#127 main.work", "842 frames are left out here", "#970 main.work", "#1001 runtime.goexit"} {
		if !strings.Contains(all, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestBoots: the log of a machine that died, reset itself and told it.
func TestBoots(t *testing.T) {
	dir, im := lab(t)
	first := death(1, tracer.KindFault, 1, "first", 0x200005, 0x200110)
	log := first + "booted again\n" + "zf1 previous 1\r\n" + first + death(1, tracer.KindPanic, 0, "second", 0x200210) +
		death(2, tracer.KindTrace, 5, "goroutine 5 [sleep]", 0x200405)
	var said strings.Builder
	root := check(t, page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Log: &said}, log, 1<<20))
	toc := text(find(root, "table", "toc")[0])
	if want := "1 Fault first main.work at main.go:5 2 Fault first main.work at main.go:5 3 Panic second and 1 goroutine main.main at main.go:8"; !strings.HasSuffix(toc, want) {
		t.Errorf("the contents are %q; want %q", toc, want)
	}
	if n := len(find(root, "span", "before")); n != 2 {
		t.Errorf("%d headings are of the boot before; want 2", n)
	}
	if head := text(find(root, "header", "")[0]); !strings.Contains(head, "Panic second") {
		t.Errorf("the head is not about the last death: %s", head)
	}
	log += death(1, tracer.KindNMI, 0, "asked", 0x200110) + death(2, tracer.KindFault, 0, "third", 0x200110) +
		death(3, tracer.KindFault, 0, "in the panic path", 0x200210)
	root = check(t, page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Log: &said}, log, 1<<20))
	if head := text(find(root, "header", "")[0]); !strings.Contains(head, "Fault third") {
		t.Errorf("the head is not about the first trace of the last death: %s", head)
	}
}

// TestRepeats: what a machine tells again in a line is counted, and is no article.
func TestRepeats(t *testing.T) {
	log, err := os.ReadFile("../trace/testdata/compact-repeat.out")
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	repeats := 0
	for line := range bytes.Lines(log) { // what the target sent, without what a Filter has added
		if bytes.HasPrefix(line, []byte("zf1")) {
			lines = append(lines, line...)
		}
		if bytes.HasPrefix(line, []byte(tracer.RepeatTag)) {
			repeats++
		}
	}
	root := check(t, page(t, Options{}, string(lines), 1<<20))
	if n := len(find(root, "article", "trace")); n != 1 || repeats == 0 || !strings.Contains(text(root), fmt.Sprintf("The machine told it again, %d time", repeats)) {
		t.Errorf("%d traces are shown for one and %d repetitions: %s", n, repeats, text(root))
	}
}

// TestNoTrace: there is a page even then, and of a wrong ELF file it says so.
func TestNoTrace(t *testing.T) {
	all := text(check(t, page(t, Options{Title: "x"}, "nothing\n", 10)))
	if !strings.Contains(all, "There is no trace in the log.") || !strings.Contains(all, "nothing") {
		t.Errorf("the page is %s", all)
	}
	other := strings.ReplaceAll(sample(), "build=c0ffee01", "build=c0ffee02") // and the CRC is wrong
	_, im := lab(t)
	all = text(check(t, page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}}, other, 100)))
	if !strings.Contains(all, "Note: the trace comes from build c0ffee02, but the ELF file is build c0ffee01") || strings.Contains(all, "main.work") {
		t.Errorf("of another build the page says %s", all)
	}
}

func TestVisible(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 9, ""},
		{"plain é 日本 \t✓", 99, "plain é 日本 \t✓"},
		{"\x00\x1b[0m\x7f", 99, `\x00\x1b[0m\x7f`},
		{"\x85 \u0085 \xc3(", 99, `\x85 \u0085 \xc3(`},
		{"a\u202eb\u2066c\u200bd\ufeffe\u2028f", 99, `a\u202eb\u2066c\u200bd\ufeffe\u2028f`},
		{"\U000e0041 \ue000", 99, `\U000e0041 \ue000`},
		{"e\u0301\u0302\u0303\u0304\u0305", 99, "e\u0301\u0302\u0303\\u0304\\u0305"},
		{"0123456789ab", 10, "0123456789… 2 more bytes"},
	} {
		if got := visible(tt.in, tt.limit); got != tt.want {
			t.Errorf("visible(%q, %d) = %q; want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

// FuzzPage: no log makes a page that is more than text, or that breaks.
func FuzzPage(f *testing.F) {
	f.Add([]byte(sample()))
	f.Add([]byte(evil))
	f.Add([]byte("zf1 begin 1 panic early thread=0 build=c0ffee01\nzf1 reason " + evil + "\nzf1 #0 pc 0x200605 sp 0x0 fp 0x0 " + strings.ReplaceAll(evil, " ", "") + "\n"))
	f.Add([]byte("goroutine 1 [running]:\nmain.work()\n\t/x/main.go:5 +0x10\n\ngoroutine 2 [<b>]:\nmain.main()\n\t/x/main.go:8 +0x10\n"))
	f.Add([]byte("BUG: <i>\nRIP: 0010:main.work+0x10/0x100\nCall Trace:\n main.main+0x10/0x100\n"))
	dir, im := lab(f)
	f.Fuzz(func(t *testing.T, log []byte) {
		if len(log) > 1<<16 {
			return
		}
		s := page(t, Options{Title: "x", Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: 1, Guess: true}, string(log), len(log)+1)
		check(t, s)
	})
}
