package main

// Pages are tested in a browser, as their readers have it: Chromium without a window,
// driven by its DevTools protocol. Whatever it complains of, asks the network for or
// pops up fails the test.

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/zeroframe/zeroframe/qemu"
)

// browserPrograms are the names that it goes by; tools/setup.sh looks for the same.
var browserPrograms = []string{"chromium", "chromium-browser", "google-chrome"}

// browser is a tab.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	allowed  string   // the page itself
	problems []string // that it had
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range browserPrograms {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Fatalf("none of %s is here; tools/setup.sh test installs one", strings.Join(browserPrograms, ", "))
	}
	folder, err := qemu.PlainFolder() // the browser's sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) }) // as far as its processes have ended
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
		chromedp.NoSandbox, // it refuses to start as root with one
		chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(patience),
		chromedp.UserDataDir(folder),
		chromedp.Env("TMPDIR="+folder),
	)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.event); err != nil {
		t.Fatalf("the browser %s does not start: %v", program, err)
	}
	send(b, network.Enable, network.EnableParams{})
	send(b, log.Enable, cdp.Empty{})
	send(b, runtime.Enable, cdp.Empty{})
	return b
}

// event keeps what must not happen.
func (b *browser) event(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	problem := func(format string, a ...any) { b.problems = append(b.problems, fmt.Sprintf(format, a...)) }
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if u, _, _ := strings.Cut(ev.Request.URL, "#"); u != b.allowed {
			problem("it asks for %.200s", ev.Request.URL)
		}
	case *log.EventEntryAdded:
		problem("it says: %s: %s", ev.Entry.Level, ev.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		problem("a script writes to the console")
	case *runtime.EventExceptionThrown:
		problem("a script fails: %s", ev.ExceptionDetails.Text)
	case *page.EventJavascriptDialogOpening:
		problem("it opens a dialog: %s", ev.Message)
		go chromedp.Do(b.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { // or it waits for ever
			_, err := cdp.Call(ctx, t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
			return err
		}))
	}
}

// patience is how long the browser may take for one thing.
const patience = 2 * time.Minute

// do has the browser do something and returns what comes of it.
func do[T any](b *browser, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("in the browser, %.300s: %v", what, err)
	}
	return v
}

// send sends a command of the protocol.
func send[P, R any](b *browser, c cdp.Command[P, R], params P) {
	b.t.Helper()
	do(b, fmt.Sprint(c.Method), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	}))
}

// size sets the size of the window in pixels.
func (b *browser) size(width, height int64) {
	b.t.Helper()
	send(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}

// media sets what the page is shown on, "screen" or "print", and the colours that its
// reader wants, "light" or "dark".
func (b *browser) media(medium, scheme string) {
	b.t.Helper()
	send(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// open opens a file.
func (b *browser) open(path string) {
	b.t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		b.t.Fatal(err)
	}
	u := (&url.URL{Scheme: "file", Path: abs}).String()
	b.mu.Lock()
	b.allowed = u
	b.mu.Unlock()
	do(b, "opening "+u, chromedp.Navigate(u))
}

// eval returns the value of an expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return do(b, expression, chromedp.Evaluate[T](expression))
}

// click clicks the first element that the selector finds, with the mouse.
func (b *browser) click(selector string) {
	b.t.Helper()
	do(b, "clicking "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// picture takes a picture of the whole page; with go test -artifacts it is kept.
func (b *browser) picture(name string) image.Image {
	b.t.Helper()
	data := do(b, "taking a picture", chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), data, 0o666); err != nil {
		b.t.Fatal(err)
	}
	im, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	return im
}

// quiet fails the test if the page has done what it must not do.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.t.Errorf("the page: %s", p)
	}
	b.problems = nil
}

// layoutProblems looks for what a reader would see at once: a page that scrolls sideways,
// blocks that lie on one another, text that sticks out of the page or of its box.
const layoutProblems = `(() => {
	const bad = [], root = document.documentElement, width = root.clientWidth;
	const name = e => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (typeof e.className === "string" && e.className ? "." + e.className : "");
	if (root.scrollWidth > width) { bad.push("it scrolls sideways: " + root.scrollWidth + " of " + width); }
	for (const e of document.body.querySelectorAll("*")) {
		if (e.closest("svg") && e.tagName.toLowerCase() !== "svg" || !e.checkVisibility()) { continue; }
		const r = e.getBoundingClientRect();
		if (r.width === 0 || r.height === 0) { continue; }
		let scrolls = false;
		for (let p = e; p; p = p.parentElement) { scrolls = scrolls || ["auto", "scroll"].includes(getComputedStyle(p).overflowX); }
		if (!scrolls && r.right > width + 1) { bad.push(name(e) + " sticks out: " + r.right); }
		if (e.tagName.toLowerCase() === "svg") { continue; }
		let last = null;
		for (const k of e.children) {
			const s = getComputedStyle(k);
			if (s.display.startsWith("inline") || s.display === "none" || s.position === "absolute" || !k.checkVisibility()) { continue; }
			const q = k.getBoundingClientRect();
			if (q.width === 0 || q.height === 0) { continue; }
			if (last) {
				const a = last.getBoundingClientRect();
				const x = Math.min(a.right, q.right) - Math.max(a.left, q.left), y = Math.min(a.bottom, q.bottom) - Math.max(a.top, q.top);
				if (x > 1 && y > 1) { bad.push(name(last) + " and " + name(k) + " overlap by " + x + " x " + y); }
			}
			last = k;
		}
	}
	return bad.slice(0, 10);
})()`

// checkLayout fails the test if the page does not fit the window.
func (b *browser) checkLayout(what string) {
	b.t.Helper()
	for _, p := range eval[[]string](b, layoutProblems) {
		b.t.Errorf("%s: %s", what, p)
	}
}

// checkPicture fails the test if there is nothing in the picture, or little, and returns
// how bright its corner is, from 0 to 255.
func (b *browser) checkPicture(name string, width, least int) (corner uint32) {
	b.t.Helper()
	im := b.picture(name)
	r := im.Bounds()
	colors := make(map[uint64]int)
	all := 0
	for y := r.Min.Y; y < r.Max.Y; y += 3 {
		for x := r.Min.X; x < r.Max.X; x++ {
			all++
			R, G, B, _ := im.At(x, y).RGBA()
			colors[uint64(R>>8)<<16|uint64(G>>8)<<8|uint64(B>>8)]++
		}
	}
	most := 0
	for _, n := range colors {
		most = max(most, n)
	}
	if r.Dx() != width || r.Dy() < least || len(colors) < 20 || most > all*99/100 {
		b.t.Errorf("picture %s: %v, %d colours, %d %% of it one of them; want %d wide, %d high at least, and something in it", name, r, len(colors), 100*most/all, width, least)
	}
	R, _, _, _ := im.At(0, 0).RGBA()
	return R >> 8
}

// scripts lets scripts of pages run, or not.
func (b *browser) scripts(on bool) {
	b.t.Helper()
	send(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}
