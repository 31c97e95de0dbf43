package main

// `zf report` end to end: a program runs, leaves a profile and a snapshot, and dies; the
// page of it is read and clicked through in a browser.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/record"
)

// deadlock is a program that has something for each part of the page.
const deadlock = `package main

import (
	"fmt"
	"sync"
	"syscall"
	"time"
)

var mu sync.Mutex

func holder(c chan int, has chan bool) {
	mu.Lock()
	close(has)
	<-c
}

func waiter() {
	mu.Lock() // for ever
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func closeTwice() {
	fd, err := syscall.Open("/twice", syscall.O_CREAT|syscall.O_RDWR, 0o666)
	if err != nil {
		panic(err)
	}
	syscall.Close(fd)
	syscall.Close(fd)
}

func main() {
	fmt.Println("\x1b[31m<b id=evil>bold</b>\u202e<script>alert(1)</script>")
	for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
		fib(20)
	}
	closeTwice()
	has := make(chan bool)
	go holder(make(chan int), has)
	<-has
	go waiter()
	var wg sync.WaitGroup
	wg.Add(1)
	wg.Wait()
}
`

func TestReportPage(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("main.go"), []byte(deadlock), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := zf(nil, "build", "-o", file("dead.elf"), file("main.go")); code != 0 {
		t.Fatalf("zf build = %d: %s", code, stderr)
	}
	code, stdout, stderr := zf(nil, "run", "-v", "-timeout", "10m", "-cpuprofile", file("cpu"), "-handles", file("open"), file("dead.elf"))
	if code != exitTrace {
		t.Fatalf("zf run = %d; want a trace: %s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(file("run.log"), []byte(stdout), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"report", "-e", file("dead.elf"), "-profile", file("cpu"), "-handles", file("open"), "-title", "a <deadlock> & more", file("run.log"), "-o"}
	for _, out := range []string{"page.html", "again.html"} {
		if code, stdout, stderr := zf(nil, append(args, file(out))...); code != 0 || stdout != "" || !strings.Contains(stderr, "wrote "+file(out)+": ") {
			t.Fatalf("zf report = %d, %s%s", code, stdout, stderr)
		}
	}
	first, err := os.ReadFile(file("page.html"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(file("again.html")); err != nil || !bytes.Equal(first, again) {
		t.Errorf("the same input gives two pages (%v)", err)
	}

	b := newBrowser(t)
	b.size(1280, 900)
	b.media("screen", "light")
	b.open(file("page.html"))
	if got := eval[string](b, `document.title + "|" + document.querySelector("h1").textContent`); got != "a <deadlock> & more|a <deadlock> & more" {
		t.Errorf("the title is %q", got)
	}
	clickThrough(t, b)
	for _, view := range []struct {
		name           string
		width          int
		medium, scheme string
		dark           bool
	}{
		{"wide", 1280, "screen", "light", false},
		{"dark", 1280, "screen", "dark", true},
		{"wider", 1440, "screen", "light", false},
		{"tablet", 768, "screen", "light", false},
		{"tablet dark", 768, "screen", "dark", true},
		{"telephone", 390, "screen", "light", false},
		{"telephone dark", 390, "screen", "dark", true},
		{"print", 800, "print", "dark", false},
	} {
		b.size(int64(view.width), 900)
		b.media(view.medium, view.scheme)
		b.open(file("page.html"))
		b.checkLayout(view.name + ", as it opens")
		if corner := b.checkPicture(view.name, view.width, 1500); corner < 128 != view.dark {
			t.Errorf("%s: the page's corner has brightness %d", view.name, corner)
		}
		if view.medium == "print" {
			if got := eval[string](b, `[...document.querySelectorAll(".goroutines .fn, details.log pre")].filter(e => e.checkVisibility()).map(e => e.textContent).join(" ")`); !strings.Contains(got, "main.waiter") || strings.Contains(got, "zeroframe ") {
				t.Errorf("of goroutines and log, this is printed: %.500s", got)
			}
			continue
		}
		b.click("#open-all")
		b.checkLayout(view.name + ", all open")
		if view.name == "wide" {
			b.checkPicture("open", view.width, 4000)
		}
	}
	b.media("screen", "light")
	withoutScript(t, b, file("page.html"))
	b.quiet()
}

// clickThrough opens every section as a reader does and looks at what is in it.
func clickThrough(t *testing.T, b *browser) {
	text := func(selector string) string {
		return eval[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => e.checkVisibility()).map(e => e.innerText).join("\n")`, selector))
	}
	holds := func(selector string, want ...string) {
		t.Helper()
		got := text(selector)
		for _, w := range want {
			if !strings.Contains(strings.ToLower(got), strings.ToLower(w)) { // the style writes headings large
				t.Errorf("%s has no %q: %.1500s", selector, w, got)
			}
		}
	}
	holds("header", "all goroutines are asleep", "main.main at", "dead.elf", "run.log")
	holds(".toc", "Panic", "and 2 goroutines")

	// The trace, by the link in the table.
	b.click(".toc tr:has(.badge.fatal) a")
	const fatal = "article:has(> h3 > .badge.fatal) "
	holds(fatal, "Threads and goroutines", "sync.(*WaitGroup).Wait", "main.main", "runtime.goexit", "rip", "rsp")
	holds(fatal+".source .here", "wg.Wait()") // opened by itself
	if n := eval[int](b, `document.querySelectorAll("`+fatal+`.source").length`); n < 5 {
		t.Errorf("%d frames have source; want those of the runtime too", n)
	}
	if n := eval[int](b, `[...document.querySelectorAll("`+fatal+`.bar .used")].filter(r => r.getBoundingClientRect().width > 1).length`); n < 3 {
		t.Errorf("%d stacks have a bar; want some", n)
	}

	// Goroutines: each says what it waits for, and opens.
	holds(fatal+".goroutines", "chan receive", "main.holder", "sync.Mutex.Lock", "main.waiter")
	b.click(fatal + ".goroutines li:has(.state):nth-of-type(3) summary")
	holds(fatal+".goroutines li:nth-of-type(3) .frames", "main.waiter", "runtime.gopark")
	b.click(fatal + ".words summary")
	holds(fatal+".words", "0x")
	b.click(fatal + ".before summary")
	holds(fatal+".before", `\x1b[31m<b id=evil>bold</b>\u202e<script>alert(1)</script>`)

	// The flame graph: zoom, search and back.
	holds("#profiles", "of running time in", "main.fib")
	const fib = `[...document.querySelectorAll(".f")].filter(f => f.querySelector("title").textContent.startsWith("main.fib,"))`
	before := eval[float64](b, fib+`[0].getBoundingClientRect().width`)
	eval[chromedp.Void](b, fib+`[0].classList.add("wanted")`)
	b.click(".wanted")
	all := eval[float64](b, `document.querySelector(".flame").getBoundingClientRect().width`)
	if after := eval[float64](b, fib+`[0].getBoundingClientRect().width`); after < all-2 || before >= after {
		t.Errorf("zoomed, main.fib is %.0f wide, was %.0f, of %.0f", after, before, all)
	}
	b.click(".profile .reset")
	if after := eval[float64](b, fib+`[0].getBoundingClientRect().width`); after-before > 1 || before-after > 1 {
		t.Errorf("after the zoom main.fib is %.0f wide, was %.0f", after, before)
	}
	eval[chromedp.Void](b, `(() => { const f = document.querySelector(".find"); f.value = "MAIN.fib"; f.dispatchEvent(new Event("input")); })()`)
	holds(".found", "found, ")
	if n := eval[int](b, `document.querySelectorAll(".f.hit").length`); n < 3 {
		t.Errorf("%d calls of main.fib are marked", n)
	}

	// Handles: what was closed twice has its three stacks; a kind and a group open.
	holds(".snapshot .double", "closed twice", "opened at", "closed first at", "closed again at", "main.closeTwice")
	b.click(".snapshot .kind > summary")
	b.click(".snapshot .kind[open] .group > summary")
	holds(".snapshot .group[open] .calls", "runtime.")
	b.click(".snapshot .events > summary")
	holds(".snapshot .events[open]", "main.closeTwice", "second close")

	// The log, by the link at the trace, which opens it.
	b.click(fatal + "> p > a[href^='#log']")
	holds("details.log[open]", "zeroframe ", `<script>alert(1)</script>`, "trace ")
	if eval[bool](b, `document.getElementById("evil") !== null`) {
		t.Error("the log's text has become an element of the page")
	}
	b.click("#close-all")
	if n := eval[int](b, `document.querySelectorAll("details[open]").length`); n > 0 {
		t.Errorf("%d sections are open after Close all", n)
	}
	b.quiet()
}

// withoutScript: all of it can be read where scripts do not run.
func withoutScript(t *testing.T, b *browser, path string) {
	b.scripts(false)
	b.open(path)
	if n := eval[int](b, `[...document.querySelectorAll(".tools")].filter(e => e.checkVisibility()).length`); n > 0 {
		t.Errorf("%d things that need a script are shown without", n)
	}
	b.click("details.log > summary")
	if !eval[bool](b, `document.querySelector("pre.log a") !== null && document.querySelector("details.log pre").checkVisibility()`) {
		t.Error("the log does not open without scripts")
	}
	b.scripts(true)
}

// TestReportUsage: what is wrong with the arguments, or with a file, is said in a line.
func TestReportUsage(t *testing.T) {
	elf, log := ownTrace(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	serial, junk := file("serial.log", log), file("junk", "junk")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{serial}, 2, "-e ELF is missing"},
		{[]string{"-e", elf}, 2, "want one log, have 0"},
		{[]string{"-e", elf, serial, serial}, 2, "want one log, have 2"},
		{[]string{"-e", elf, "-context", "1000", serial}, 2, "-context 1000"},
		{[]string{"-e", elf, "-o", serial, serial}, 2, "would overwrite what is read"},
		{[]string{"-e", elf, "-o", junk, "-handles", junk, serial}, 2, "would overwrite what is read"},
		{[]string{"-e", junk, serial}, 2, "junk"},
		{[]string{"-e", elf, filepath.Join(dir, "nosuch")}, 2, "nosuch"},
		{[]string{"-e", elf, "-o", "-", "-profile", junk, serial}, 2, junk + ": "},
		{[]string{"-e", elf, "-o", "-", "-handles", junk, serial}, 2, junk + ": this is no snapshot"},
		{[]string{"-e", elf, "-source", "x", serial}, 2, "OLD=NEW"},
		{[]string{serial, "-e", elf, "-o", filepath.Join(dir, "page.html")}, 0, "page.html: 1 trace, "},
	} {
		code, stdout, stderr := zf(nil, append([]string{"report"}, tt.args...)...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.says) || strings.Count(stderr, "\n") > 2 {
			t.Errorf("zf report %q = %d, %q, %q; want %d with %q", tt.args, code, stdout, stderr, tt.code, tt.says)
		}
	}
	// A trace of another build: the page is made, and says it, as does the status.
	other := regexp.MustCompile(`build=\S+`).ReplaceAllString(log, "build=0123456789")
	code, stdout, stderr := zf(strings.NewReader(other), "report", "-e", elf, "-o", "-", "-")
	if code != exitUsage || !strings.Contains(stdout, "the trace comes from build 0123456789") || !strings.Contains(stderr, "not resolved") {
		t.Errorf("of another build zf report = %d, %.300q, %q", code, stdout, stderr)
	}
}

// TestReportRecording: of a recording the replays come last, when all else has been read.
func TestReportRecording(t *testing.T) {
	elf, log := ownTrace(t)
	t.Setenv("PATH", t.TempDir()) // no QEMU
	t.Setenv(qemu.Variable, "")
	dir := t.TempDir()
	file, junk, page := filepath.Join(dir, "x.zfr"), filepath.Join(dir, "junk"), filepath.Join(dir, "page.html")
	w, err := record.Create(file, record.Meta{Name: "own.elf"}, map[string]string{record.Image: elf})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w.Serial(), log)
	if err := errors.Join(w.Close(&record.End{Status: 1}), os.WriteFile(junk, []byte("junk"), 0o666)); err != nil {
		t.Fatal(err)
	}
	const asks = "zf report: looking for why it died"
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"-profile", junk}, junk + ": "},
		{[]string{"-handles", junk}, junk + ": this is no snapshot"},
		{[]string{"-core", junk}, "-core: "},
		{[]string{"-e", junk}, "junk"},
	} {
		code, _, stderr := zf(nil, append([]string{"report", "-o", page, file}, tt.args...)...)
		if code != exitUsage || !strings.Contains(stderr, tt.says) || strings.Contains(stderr, asks) {
			t.Errorf("zf report %q = %d, %q; want 2 with %q, and nothing looked for", tt.args, code, stderr, tt.says)
		}
	}
	code, _, stderr := zf(nil, "report", "-o", page, file)
	html, err := os.ReadFile(page)
	if code != exitOK || !strings.Contains(stderr, asks) || !strings.Contains(string(html), "why it died was not looked for") {
		t.Errorf("zf report = %d, %q, %v; want a page that says why", code, stderr, err)
	}
}

// TestReportHostile: a log that wants to be a page stays text, and short.
func TestReportHostile(t *testing.T) {
	elf, own := ownTrace(t)
	evil := []string{
		`<script>alert("log")</script>`, `</pre></details></script><script>alert(2)</script>`, `"><img src=x onerror=alert(3)>`,
		`' onmouseover='alert(4)`, `<iframe src="http://127.0.0.1:9/"></iframe><meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">`,
		`<svg><style>*{display:none}</style></svg><link rel=stylesheet href=//127.0.0.1:9/x>`, `javascript:alert(5)`, `{{.}} ${alert(6)} <!-- <![CDATA[`,
		"\x1b]8;;javascript:alert(7)\x1b\\link\x1b]8;;\x1b\\ \u202egnp.exe\u2066 \u200bzero \x00\x7f\xff", strings.Repeat("Z\u0301\u0302\u0303\u0304\u0305", 400),
	}
	var log strings.Builder
	for _, e := range evil {
		fmt.Fprintf(&log, "%s\n", e)
		log.WriteString(strings.Replace(own, "reason test", "reason "+e, 1))
		fmt.Fprintf(&log, "zf1 stack %s 0x1000 size=100 used>=90 free<=10 limit=50 %s\n", strings.ReplaceAll(e, " ", "_"), strings.ReplaceAll(e, " ", "_"))
		fmt.Fprintf(&log, "goroutine 1 [%s]:\nmain.main()\n\t/x/%s.go:1 +0x1\n", e, e)
	}
	log.WriteString(strings.Repeat(evil[1], 40_000) + "\n")
	for i := range 3000 {
		log.WriteString(strings.Replace(own, "begin 1", fmt.Sprintf("begin %d", i), 1))
	}
	path := filepath.Join(t.TempDir(), "page.html")
	code, _, stderr := zf(strings.NewReader(log.String()), "report", "-e", elf, "-o", path, "-title", evil[1], "-")
	if code != 0 {
		t.Fatalf("zf report = %d: %.500s", code, stderr)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 4<<20 {
		t.Errorf("the page has %d bytes", len(data))
	}
	b := newBrowser(t)
	b.size(1280, 900)
	b.open(path)
	b.click("#open-all")
	if got := eval[[]string](b, `[...new Set([...document.querySelectorAll("script:not(body > script:last-child), img, iframe, link, object, embed, base, form, body style, body meta, [onerror], [onmouseover], [style], a:not([href^='#'])")].map(e => e.outerHTML.slice(0, 100)))]`); len(got) > 0 {
		t.Errorf("the log has made elements: %q", got)
	}
	if got := eval[string](b, `document.querySelector("details.log pre").innerText`); !strings.Contains(got, evil[0]) || !strings.Contains(got, `\u202egnp.exe\u2066 \u200bzero \x00\x7f\xff`) {
		t.Errorf("the log's text is not shown as it is: %.1000s", got)
	}
	for _, width := range []int64{1440, 768, 390} {
		b.size(width, 900)
		b.checkLayout(fmt.Sprintf("%d wide", width))
	}
	b.quiet()
}
