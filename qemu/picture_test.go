package qemu

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// What a machine shows: the text of a VGA, and pictures that are read glyph by glyph.

// withVGA is a machine with a screen and without a serial port.
var withVGA = Config{NoSerial: true, Extra: []string{"-vga", "std"}}

// vgaText reads the text of a VGA.
func vgaText(t *testing.T, vm *VM) []string {
	t.Helper()
	const columns, lines = 80, 25
	file := filepath.Join(t.TempDir(), "text")
	if _, err := vm.QMP("pmemsave", map[string]any{"val": 0xb8000, "size": columns * lines * 2, "filename": file}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for r := range lines {
		row := make([]byte, columns)
		for c := range columns {
			row[c] = b[(r*columns+c)*2]
		}
		rows = append(rows, string(row))
	}
	return rows
}

// waitText waits until the text of a VGA has words in it, and returns it.
func waitText(t *testing.T, vm *VM, words string) []string {
	t.Helper()
	return waitScreen(t, vm, func(rows []string) bool { return strings.Contains(strings.Join(rows, "\n"), words) })
}

// waitScreen waits until the text of a VGA is as wanted, and returns it.
func waitScreen(t *testing.T, vm *VM, wanted func(rows []string) bool) (rows []string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the screen has\n%s", strings.Join(rows, "\n"))
		}
	}()
	await.Poll(t, "the screen has the text", func() bool {
		if rows = vgaText(t, vm); !wanted(rows) {
			return false
		}
		// The guest draws while it is read: the row that was waited for may be newer
		// than one that was read before it. A second reading has them all.
		rows = vgaText(t, vm)
		return wanted(rows)
	})
	return rows
}

// A picture is a screendump.
type picture struct {
	width, height int
	rgb           []byte
}

func shoot(t *testing.T, vm *VM) (p picture) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "screen.ppm")
	if _, err := vm.QMP("screendump", map[string]any{"filename": file}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var most int
	if _, err := fmt.Fscanf(bytes.NewReader(b), "P6\n%d %d\n%d\n", &p.width, &p.height, &most); err != nil || most != 255 {
		t.Fatalf("a screendump that begins %q: %v", b[:min(len(b), 20)], err)
	}
	p.rgb = b[len(b)-p.width*p.height*3:]
	return p
}

// image returns the picture for who decodes pictures.
func (p *picture) image() image.Image {
	img := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	for i := range p.width * p.height {
		c := p.rgb[i*3:]
		img.SetRGBA(i%p.width, i/p.width, color.RGBA{c[0], c[1], c[2], 255})
	}
	return img
}

// cell returns the shape of a character: which pixels differ from the one in the corner.
func (p *picture) cell(row, col, width, height int) string {
	pixel := func(x, y int) []byte {
		at := ((row*height+y)*p.width + col*width + x) * 3
		return p.rgb[at : at+3]
	}
	shape := make([]byte, 0, width*height)
	for y := range height {
		for x := range width {
			if bytes.Equal(pixel(x, y), pixel(0, 0)) {
				shape = append(shape, '.')
			} else {
				shape = append(shape, '#')
			}
		}
	}
	return string(shape)
}

// letters are characters by their shapes.
type letters map[string]byte

// learn compares a picture with the text that it should have: each character must have one
// shape everywhere, which no other has.
func (l letters) learn(p *picture, rows []string, width, height int) error {
	shapes := map[byte]string{}
	for shape, c := range l {
		shapes[c] = shape
	}
	for r, row := range rows {
		for c := range len(row) {
			if (r+1)*height > p.height || (c+1)*width > p.width {
				return fmt.Errorf("the picture is %dx%d, too small for %d rows", p.width, p.height, len(rows))
			}
			shape := p.cell(r, c, width, height)
			if was, ok := shapes[row[c]]; ok && was != shape {
				return fmt.Errorf("row %d, column %d: %q has another shape than before", r, c, row[c])
			}
			if was, ok := l[shape]; ok && was != row[c] {
				return fmt.Errorf("row %d, column %d: %q looks like %q", r, c, row[c], was)
			}
			shapes[row[c]], l[shape] = shape, row[c]
		}
	}
	return nil
}

// read reads a picture.
func (l letters) read(p *picture, width, height int) (rows []string) {
	for r := range p.height / height {
		var row []byte
		for c := range p.width / width {
			b, ok := l[p.cell(r, c, width, height)]
			if !ok {
				b = '?'
			}
			row = append(row, b)
		}
		rows = append(rows, strings.TrimRight(string(row), " "))
	}
	return rows
}
