package profile

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/qemu"
)

// The flame graph in a browser: what its script makes of clicks and searches, and what can
// be seen.

// plain is a profile of a, which calls b (60 %) and c (40 %); b calls d in half of that.
func plain() *pprof.Profile {
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	locations := map[string]*pprof.Location{}
	for i, name := range []string{"main.a", "main.b", "runtime.c", "main.d"} {
		f := &pprof.Function{ID: uint64(i + 1), Name: name}
		locations[name] = &pprof.Location{ID: uint64(i + 1), Line: []pprof.Line{{Function: f}}}
	}
	for _, s := range []struct {
		n     int64
		stack []string
	}{{30, []string{"main.b", "main.a"}}, {30, []string{"main.d", "main.b", "main.a"}}, {40, []string{"runtime.c", "main.a"}}} {
		sample := &pprof.Sample{Value: []int64{s.n, s.n * 1e6}}
		for _, name := range s.stack {
			sample.Location = append(sample.Location, locations[name])
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// browse has Chromium show an SVG file and returns the document as its scripts leave it,
// and a picture.
func browse(t *testing.T, svg string, flags ...string) (dom, picture string) {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Fatal("chromium is missing: `make test` installs it (tools/setup.sh)")
	}
	dir := t.TempDir()
	folder, err := qemu.PlainFolder() // the browser's sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) }) // as far as its processes have ended
	path := filepath.Join(dir, "flame.svg")
	if err := os.WriteFile(path, []byte(svg), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run := func(args ...string) string {
		args = append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
			"--user-data-dir=" + folder, "--window-size=1200,300", "--virtual-time-budget=2000",
		}, append(flags, args...)...)
		var out, msg bytes.Buffer
		cmd := exec.CommandContext(ctx, browser, append(args, "file://"+path)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+folder)
		cmd.Stdout, cmd.Stderr = &out, &msg
		if err := cmd.Run(); err != nil {
			t.Fatalf("chromium: %v\n%s", err, msg.String())
		}
		return out.String()
	}
	picture = filepath.Join(dir, "flame.png")
	dom = run("--dump-dom")
	run("--screenshot=" + picture)
	return dom, picture
}

// frameOf returns the element of a function's frame in a document.
func frameOf(t *testing.T, dom, name string) (class, width string) {
	t.Helper()
	m := regexp.MustCompile(`<g class="([^"]*)"[^>]*><title>` + regexp.QuoteMeta(name) + ` \([^<]*</title><rect [^>]*width="([0-9.]+)"`).FindStringSubmatch(dom)
	if m == nil {
		t.Fatalf("there is no frame of %s in\n%s", name, dom)
	}
	return m[1], m[2]
}

func TestFlameGraphInBrowser(t *testing.T) {
	var b bytes.Buffer
	if err := SVG(&b, plain(), "a title"); err != nil {
		t.Fatal(err)
	}
	// As a person would: a search, and a click on b.
	act := `<script><![CDATA[
document.documentElement.searchFor("MAIN.");
Array.prototype.forEach.call(document.querySelectorAll(".f"), function (g) {
  if (g.querySelector("title").textContent.indexOf("main.b (") === 0) { g.dispatchEvent(new MouseEvent("click", {bubbles: true})); }
  if (g.querySelector("title").textContent.indexOf("main.d (") === 0) { g.dispatchEvent(new MouseEvent("mouseover", {bubbles: true})); }
});
]]></script></svg>`
	dom, picture := browse(t, strings.Replace(b.String(), "</svg>", act, 1))
	for _, w := range []struct{ name, class, width string }{
		{"main.a", "f hit past", "1180"},
		{"main.b", "f hit", "1180"},
		{"main.d", "f hit", "590"},
		{"runtime.c", "f off", "472"},
	} {
		if class, width := frameOf(t, dom, w.name); class != w.class || width != w.width {
			t.Errorf("%s: class %q, width %s; want %q, %s", w.name, class, width, w.class, w.width)
		}
	}
	for _, want := range []string{"3 found, 100.0 %", ">main.d (30ms, 30.0 %)</text>", ">100ms in 100 samples</text>", ">a title</text>"} {
		if !strings.Contains(dom, want) {
			t.Errorf("no %q in\n%s", want, dom)
		}
	}
	file, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	img, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	// The frames that were searched for are purple, and as wide as they are to be.
	row := func(y int) (n int) {
		for x := range 1200 {
			if r, g, b, _ := img.At(x, y).RGBA(); fmt.Sprint(r>>8, g>>8, b>>8) == "176 92 255" {
				n++
			}
		}
		return n
	}
	y := svgTop + 3*svgRow // of "all"; each call is a row above
	if got := row(y - 2*svgRow + 3); got < 1100 {
		t.Errorf("main.b is %d pixels wide in the picture; want about 1180", got)
	}
	if got := row(y - 3*svgRow + 3); got < 500 || got > 600 {
		t.Errorf("main.d is %d pixels wide in the picture; want about 590", got)
	}
}

// TestFlameGraphFits: the picture is as wide as its window, and dark where that is wanted.
func TestFlameGraphFits(t *testing.T) {
	var b bytes.Buffer
	if err := SVG(&b, plain(), strings.Repeat("a long title ", 9)); err != nil {
		t.Fatal(err)
	}
	dom, picture := browse(t, b.String(), "--window-size=600,300", "--blink-settings=preferredColorScheme=0")
	if _, width := frameOf(t, dom, "main.a"); width != "580" {
		t.Errorf("main.a is %s wide in a window of 600", width)
	}
	for _, want := range []string{`width="600"`, `viewBox="0 0 600 `, `x="590" y="24">search`, "a long title a long title a long titl..<"} {
		if !strings.Contains(dom, want) {
			t.Errorf("no %q in\n%s", want, dom)
		}
	}
	file, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	img, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	for y := range 300 {
		if r, g, b, _ := img.At(3, y).RGBA(); r+g+b > 3*0x4000 {
			t.Fatalf("the ground is not dark at %d", y)
		}
	}
}
