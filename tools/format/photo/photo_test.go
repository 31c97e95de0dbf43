package photo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/worsen"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/qr"
)

// bare is a trace as the target writes it for its screen: the bytes, and their CRC.
func bare(number uint32, frames int) (b []byte, crc uint32) {
	w := tracer.Writer{Put: func(c byte) { b = append(b, c) }, Form: tracer.Bare}
	w.Begin(number, tracer.KindFault, tracer.ContextEarly, 0, 0, []byte("0123456789"), 0x200000, 0x210000)
	w.Reason([]byte("a reason"))
	for i := range frames {
		w.Frame(i, &tracer.Frame{Kind: tracer.PC, Addr: uintptr(0x200000 + i*i*77%0xffff), SP: uintptr(0x5000 + 16*i), FP: uintptr(0x5008 + 16*i)}, "boot")
	}
	w.Stop(tracer.EndZero, 0)
	w.Done()
	n := len(b) - 4
	return b[:n], binary.BigEndian.Uint32(b[n:])
}

// screenOf draws the codes of a trace as a screen with so many modules of room does.
func screenOf(t *testing.T, b []byte, crc uint32, room int) (all []image.Image) {
	t.Helper()
	p := qr.PlanFor(len(b), room)
	var c qr.Code
	for i := range p.Parts {
		if !c.Part(p, i, b, crc) {
			t.Fatalf("part %d of %+v", i, p)
		}
		const module = 8
		side := (c.Size() + 6) * module
		img := image.NewGray(image.Rect(0, 0, side*3/2, side))
		for y := range side {
			for x := range side {
				if !c.Dark(x/module-3, y/module-3) || x < 3*module || y < 3*module {
					img.SetGray(side/2+x, y, color.Gray{180})
				}
			}
		}
		all = append(all, img)
	}
	return all
}

// lines returns the lines that a serial port would have had.
func linesOf(number uint32, frames int) string {
	var out bytes.Buffer
	w := tracer.Writer{Put: func(c byte) { out.WriteByte(c) }, Form: tracer.Compact}
	w.Begin(number, tracer.KindFault, tracer.ContextEarly, 0, 0, []byte("0123456789"), 0x200000, 0x210000)
	w.Reason([]byte("a reason"))
	for i := range frames {
		w.Frame(i, &tracer.Frame{Kind: tracer.PC, Addr: uintptr(0x200000 + i*i*77%0xffff), SP: uintptr(0x5000 + 16*i), FP: uintptr(0x5008 + 16*i)}, "boot")
	}
	w.Stop(tracer.EndZero, 0)
	w.Done()
	return out.String()
}

// traces are what package wire makes of lines.
type traces []*wire.Trace

func (t *traces) Text([]byte)         {}
func (t *traces) Line(*wire.Line)     {}
func (t *traces) Done(tr *wire.Trace) { *t = append(*t, tr) }

// TestFiles: photos in any order, one of them twice, from files and folders; what cannot be read,
// and what is missing, is said.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for n, frames := range []int{40, 3} {
		b, crc := bare(uint32(n+1), frames)
		for i, img := range screenOf(t, b, crc, 45) {
			path := filepath.Join(dir, fmt.Sprintf("%d%d.png", 9-i, n))
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := png.Encode(f, img); err != nil {
				t.Fatal(err)
			}
			f.Close()
			paths = append(paths, path)
		}
	}
	if len(paths) < 3 {
		t.Fatalf("%d photos", len(paths))
	}
	os.WriteFile(filepath.Join(dir, "readme.txt"), []byte("250 bananas"), 0o666)
	files, err := Files([]string{dir, paths[1]})
	if err != nil || len(files) != len(paths)+1 {
		t.Fatalf("Files = %q, %v", files, err)
	}
	var set Set
	var said []string
	if failed := ReadFiles(files, &set, func(s string) { said = append(said, s) }); failed != 0 || len(said) != len(files) {
		t.Errorf("%d failed: %q", failed, said)
	}
	lines, wrong := set.Lines()
	if len(wrong) > 0 {
		t.Error(wrong)
	}
	var got traces
	p := wire.NewParser(&got)
	p.Write(lines)
	p.Close()
	if len(got) != 2 || got[0].Damaged || got[1].Damaged || got[0].Seq != 1 || len(got[0].Frames) != 40 || len(got[1].Frames) != 3 {
		t.Errorf("%d traces of\n%s", len(got), lines)
	}

	empty := t.TempDir()
	if _, err := Files([]string{empty}); err == nil || !strings.Contains(err.Error(), "no photo is in") {
		t.Errorf("of an empty folder: %v", err)
	}
	bad := map[string]string{"blank.png": "no code was found in it; photograph", "cut.png": "the picture is damaged", "text.jpg": "no PNG or JPEG"}
	var blank bytes.Buffer
	png.Encode(&blank, image.NewGray(image.Rect(0, 0, 300, 300)))
	os.WriteFile(filepath.Join(empty, "blank.png"), blank.Bytes(), 0o666)
	os.WriteFile(filepath.Join(empty, "cut.png"), blank.Bytes()[:50], 0o666)
	os.WriteFile(filepath.Join(empty, "text.jpg"), []byte("text"), 0o666)
	for name, want := range bad {
		said = nil
		failed := ReadFiles([]string{filepath.Join(empty, name)}, &set, func(s string) { said = append(said, s) })
		if failed != 1 || len(said) != 1 || !strings.Contains(said[0], want) {
			t.Errorf("%s: %d failed, %q; want %q", name, failed, said, want)
		}
	}
}

// TestSet: the lines are those that a serial port would have had; what is missing or does not fit
// is said.
func TestSet(t *testing.T) {
	for _, frames := range []int{1, 5, 40, 41, 42, 43, 44, 45, 46, 47, 48} {
		b, crc := bare(7, frames)
		plan := qr.PlanFor(len(b), 33)
		part := func(i int) Part {
			return Part{plan.Parts, i, crc, b[i*plan.Bytes : min((i+1)*plan.Bytes, len(b))]}
		}
		var set Set
		for i := plan.Parts - 1; i >= 0; i-- {
			set.Add(part(i))
		}
		lines, wrong := set.Lines()
		// Frame 0 ends a line of the wire: the pieces differ, the bytes do not.
		var got, want traces
		for to, lines := range map[*traces]string{&got: string(lines), &want: linesOf(7, frames)} {
			p := wire.NewParser(to)
			p.Write([]byte(lines))
			p.Close()
		}
		if len(wrong) > 0 || len(got) != 1 || got[0].Damaged || fmt.Sprint(got[0].Frames) != fmt.Sprint(want[0].Frames) || got[0].End != want[0].End {
			t.Errorf("%d frames: wrong is %q; the lines are\n%s", frames, wrong, lines)
		}
		if plan.Parts < 3 {
			continue
		}
		set = Set{}
		set.Add(part(0))
		for i := 2; i < plan.Parts; i++ {
			set.Add(part(i))
		}
		lines, wrong = set.Lines()
		got = nil
		p := wire.NewParser(&got)
		p.Write(lines)
		p.Close()
		if say := fmt.Sprintf("code 2 of %d of trace 7 is missing; give a photo of that page, too", plan.Parts); !slices.Equal(wrong, []string{say}) || len(got) != 1 || !got[0].Cut {
			t.Errorf("without code 2: %q, %d traces; want %q", wrong, len(got), say)
		}
		bad := part(1)
		bad.Data = slices.Clone(bad.Data)
		bad.Data[0]++
		set.Add(bad)
		if lines, wrong = set.Lines(); len(lines) > 0 || len(wrong) != 1 || !strings.Contains(wrong[0], "the codes of trace 7 do not fit together") {
			t.Errorf("with a wrong code: %q, lines %q", wrong, lines)
		}
	}
}

func TestParsePart(t *testing.T) {
	text := func(b ...byte) string {
		var s strings.Builder
		for len(b) > 0 {
			n := min(len(b), 7)
			v := uint64(0)
			for _, c := range b[:n] {
				v = v<<8 | uint64(c)
			}
			fmt.Fprintf(&s, "%0*d", []int{0, 3, 5, 8, 10, 13, 15, 17}[n], v)
			b = b[n:]
		}
		return s.String()
	}
	for n := 1; n < 20; n++ {
		b := append([]byte{'Z', 3, 2, 1, 2, 3, 255}, bytes.Repeat([]byte{0xfe}, n)...)
		p, err := ParsePart(text(b...))
		if err != nil || p.Parts != 3 || p.N != 2 || p.CRC != 0x010203ff || !bytes.Equal(p.Data, b[7:]) {
			t.Errorf("%d bytes: %+v, %v", n, p, err)
		}
	}
	good := text('Z', 1, 0, 0, 0, 0, 0, 5, 6)
	if parts, ok := ParseText(" " + good + "\r\n\n" + good); !ok || len(parts) != 2 {
		t.Errorf("ParseText = %v, %v", parts, ok)
	}
	for _, s := range []string{"", "http://example.com", text('Z', 1, 0, 0, 0, 0, 0), text('Y', 1, 0, 0, 0, 0, 0, 5), text('Z', 1, 1, 0, 0, 0, 0, 5), good[1:], good + "1", good[:17] + "999", "99999999999999999" + good} {
		if p, err := ParsePart(s); err != ErrOther {
			t.Errorf("%q is %+v, %v", s, p, err)
		}
	}
}

// TestRead: bad photos of a small code and of a large one are read, and one that is turned.
func TestRead(t *testing.T) {
	for _, frames := range []int{3, 90} {
		b, crc := bare(1, frames)
		for i, img := range screenOf(t, b, crc, 100) {
			photo, err := jpeg.Decode(bytes.NewReader(worsen.Photo(img, uint64(frames+i))))
			if err != nil {
				t.Fatal(err)
			}
			p, err := ReadPart(photo)
			if err != nil || p.CRC != crc || p.N != i {
				t.Errorf("%d frames, code %d: %v", frames, i, err)
			}
			r := photo.Bounds()
			turned := image.NewRGBA(image.Rect(0, 0, r.Dy(), r.Dx()))
			for y := range r.Dy() {
				for x := range r.Dx() {
					turned.Set(r.Dy()-1-y, x, photo.At(x, y))
				}
			}
			if p, err := ReadPart(turned); err != nil || p.N != i {
				t.Errorf("%d frames, code %d, turned: %v", frames, i, err)
			}
		}
	}
}

// FuzzParts: whatever codes say, what comes of it is lines that package wire takes, and a trace
// that is intact has the CRC that its codes say.
func FuzzParts(f *testing.F) {
	b, crc := bare(1, 9)
	var whole, parts strings.Builder
	for _, room := range []int{60, 33} {
		to := &whole
		if room == 33 {
			to = &parts
		}
		for _, img := range screenOf(&testing.T{}, b, crc, room) {
			s, err := Read(img)
			if err != nil {
				f.Fatal(err)
			}
			to.WriteString(s + "\n")
		}
	}
	f.Add(whole.String())
	f.Add(parts.String())
	f.Add(whole.String() + parts.String())
	f.Fuzz(func(t *testing.T, text string) {
		var set Set
		for line := range strings.Lines(text) {
			if p, err := ParsePart(strings.TrimSpace(line)); err == nil {
				set.Add(p)
			}
		}
		whole, unfit := 0, 0 // with all parts
		for _, g := range set.traces {
			if all := slices.Concat(g.parts...); !slices.ContainsFunc(g.parts, func(b []byte) bool { return b == nil }) {
				if crc32.ChecksumIEEE(all) == g.crc {
					whole++
				} else {
					unfit++
				}
			}
		}
		lines, wrong := set.Lines()
		said := 0
		for _, s := range wrong {
			if strings.Contains(s, "do not fit together (CRC)") {
				said++
			}
		}
		if said != unfit {
			t.Errorf("%d traces are said to have a wrong CRC, %d have: %q", said, unfit, wrong)
		}
		var got traces
		p := wire.NewParser(&got)
		p.Write(lines)
		p.Close()
		intact := 0
		for _, tr := range got {
			if !tr.Damaged {
				intact++
			}
		}
		if intact > whole {
			t.Errorf("%d traces are intact, and %d have the CRC that their codes say", intact, whole)
		}
	})
}

// FuzzDecode: whatever modules there are, decoding them ends.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(1), []byte{1, 2, 3})
	f.Add(uint8(7), []byte{0xff})
	f.Fuzz(func(t *testing.T, version uint8, bits []byte) {
		n := qr.Size(int(version%40) + 1)
		modules := make([][]bool, n)
		for y := range modules {
			modules[y] = make([]bool, n)
			for x := range modules[y] {
				if i := y*n + x; len(bits) > 0 {
					modules[y][x] = bits[i/8%len(bits)]>>(i%8)&1 != 0
				}
			}
		}
		decode(modules)
	})
}
