package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/qr"
)

// ownPhotos makes pictures of the codes of a trace of this program, of a build, and returns their
// folder.
func ownPhotos(t *testing.T, build string) (dir string, photos []string) {
	t.Helper()
	id, err := hex.DecodeString(build)
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	w := tracer.Writer{Put: func(c byte) { b = append(b, c) }, Form: tracer.Bare}
	w.Begin(1, tracer.KindFault, tracer.ContextEarly, 0, 0, id, 0, 0)
	w.Reason([]byte("a reason of thirty characters."))
	for i, f := range []any{ownPhotos, ownTrace} {
		w.Frame(i, &tracer.Frame{Kind: tracer.PC, Addr: reflect.ValueOf(f).Pointer(), Stack: tracer.NoStack}, "")
	}
	w.Stop(tracer.EndZero, 0)
	w.Done()
	b = b[:len(b)-4]
	dir = t.TempDir()
	p := qr.PlanFor(len(b), 29)
	var c qr.Code
	for i := range p.Parts {
		c.Part(p, i, b, qr.Sum(b))
		const module = 6
		img := image.NewGray(image.Rect(0, 0, (c.Size()+8)*module, (c.Size()+8)*module))
		for at := range len(img.Pix) {
			x, y := at%img.Stride, at/img.Stride
			if !c.Dark(x/module-4, y/module-4) {
				img.SetGray(x, y, color.Gray{170})
			}
		}
		photo := filepath.Join(dir, string(rune('b'-i))+".png")
		var out bytes.Buffer
		if err := png.Encode(&out, img); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(photo, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		photos = append(photos, photo)
	}
	return dir, photos
}

func TestSymbolizePhotos(t *testing.T) {
	elf, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sym, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	dir, photos := ownPhotos(t, sym.BuildID())
	other, _ := ownPhotos(t, strings.Repeat("ab", 20))
	if len(photos) != 2 {
		t.Fatalf("%d photos; want 2", len(photos))
	}
	blank := filepath.Join(t.TempDir(), "blank.png")
	var out bytes.Buffer
	png.Encode(&out, image.NewGray(image.Rect(0, 0, 200, 200)))
	if err := os.WriteFile(blank, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		args      []string
		code      int
		out, fail string
	}{
		{"files", photos, exitOK, "symbolize_test.go:", "code 2 of 2"},
		{"folder", []string{dir}, exitOK, "photo_test.go:", "code 1 of 2"},
		{"json", []string{"-json", dir}, exitOK, `"complete":true`, ""},
		{"one missing", photos[:1], exitUsage, "", "code 2 of 2 of trace 1 is missing; give a photo of that page, too"},
		{"none", []string{blank}, exitUsage, "", "no code was found in it; photograph the whole screen"},
		{"one more", []string{dir, blank}, exitUsage, "zf.ownTrace+0x0", "no code was found in it"},
		{"other build", []string{other}, exitUsage, "", "the trace comes from build abababab"},
		{"empty", []string{t.TempDir()}, exitUsage, "", "is a folder"},
	} {
		var out, fail bytes.Buffer
		code := dispatchIn(context.Background(), append([]string{"symbolize"}, append([]string{"-e", elf, "-index=off"}, tt.args...)...), strings.NewReader(""), &out, &fail)
		if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(fail.String(), tt.fail) {
			t.Errorf("%s: status %d; want %d\nstdout:\n%s\nwant %q in it\nstderr:\n%s\nwant %q in it", tt.name, code, tt.code, out.String(), tt.out, fail.String(), tt.fail)
		}
	}
}
