package trace

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// namedImage is a fake image that knows names, of the build and in the file.
type namedImage struct {
	fakeImage
	file string
	from uint64 // where its text begins
}

func (m *namedImage) Name() string         { return m.file }
func (m *namedImage) IsText(a uint64) bool { return a >= m.from && a < m.from+0x10000 }
func (m *namedImage) Named(name string) (all []lookup.Named) {
	for _, f := range m.funcs {
		if f.name == name {
			all = append(all, lookup.Named{Start: f.lo, Size: f.hi - f.lo, Span: f.hi - f.lo})
		}
	}
	return all
}

// image makes one of functions of 0x100 bytes, each in a file of its own.
func image(build, file string, from uint64, names ...string) *namedImage {
	m := &namedImage{fakeImage{build: build}, file, from}
	for i, name := range names {
		lo := from + uint64(i)*0x100
		m.funcs = append(m.funcs, fakeFunc{lo: lo, hi: lo + 0x100, name: name, file: "/src/" + filepath.Base(file) + ".c"})
	}
	return m
}

// given returns the option for images that are there.
func given(all ...lookup.Resolver) func() *lookup.Images {
	return func() *lookup.Images { return &lookup.Images{Given: all} }
}

// TestImagesLate: text flows while the images are opened, even if that takes for
// ever; the first trace waits for them, and is resolved.
func TestImagesLate(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     string
	}{
		{"own", string(textForm(sample(), false)), "main.f1+0x10"},
		{"foreign", "PC is at 0x200110\n", "    main.f1+0x10"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			asked := 0
			ready := make(chan bool)
			f, err := NewFilter(&out, Options{Foreign: true, Dir: "/src", Images: func() *lookup.Images {
				asked++
				<-ready
				return &lookup.Images{Given: []lookup.Resolver{testImage()}}
			}})
			if err != nil {
				t.Fatal(err)
			}
			before := "booting\nzf1 is no trace\nprompt> "
			f.Write([]byte(before))
			f.Write([]byte("\n"))
			if out.String() != before+"\n" {
				t.Errorf("output = %q; want the text", out.String())
			}
			if asked != 0 {
				t.Error("text alone asks for the images")
			}
			done := make(chan error)
			go func() {
				_, err := f.Write([]byte("more\n" + c.in))
				done <- err
			}()
			synctest.Wait() // for the images
			if s := out.String(); !strings.Contains(s, "more\n") || strings.Contains(s, "main.") {
				t.Errorf("%s: output = %q before there are symbols; want the text before the trace alone", c.name, s)
			}
			close(ready)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			f.Close()
			if !strings.Contains(out.String(), c.want) || asked != 1 {
				t.Errorf("%s: output = %q, asked %d times; want %q, once", c.name, out.String(), asked, c.want)
			}
		})
	}
}

// TestImagesNone: images that could not be opened leave everything as it is.
func TestImagesNone(t *testing.T) {
	in := append(textForm(sample(), false), "PC is at 0x200110\n"...)
	r := filter(t, Options{Foreign: true, Images: func() *lookup.Images { return nil }}, in)
	if !bytes.Equal(r.out.Bytes(), in) || r.log.Len() > 0 || r.stats.Mismatch {
		t.Errorf("output = %q, log %q; want the input", r.out.Bytes(), r.log.String())
	}
}

// TestImagesByBuild: of several images the one with the trace's build ID is taken.
func TestImagesByBuild(t *testing.T) {
	other := image("00"+testBuild, "other.elf", 0x200000, "other.f0", "other.f1", "other.f2")
	third := image("", "third.elf", 0x200000, "third.f0")
	in := textForm(sample(), false)
	alone := filter(t, Options{Symbols: testImage()}, in)
	for name, images := range map[string]func() *lookup.Images{
		"given": given(other, third, testImage()),
		"found": func() *lookup.Images {
			return &lookup.Images{Given: []lookup.Resolver{other}, Find: func(build, module string) lookup.Resolver {
				if build != testBuild || module != "" {
					t.Errorf("Find(%q, %q); want the build", build, module)
					return nil
				}
				return testImage()
			}}
		},
	} {
		for form, in := range map[string][]byte{"text": in, "markup": textForm(sample(), true), "compact": compactForm(sample())} {
			want := filter(t, Options{Symbols: testImage()}, in)
			if r := filter(t, Options{Images: images}, in); !bytes.Equal(r.out.Bytes(), want.out.Bytes()) || r.log.Len() > 0 {
				t.Errorf("%s, %s: %s%s; want %s", name, form, r.log.String(), r.out.Bytes(), want.out.Bytes())
			}
		}
	}
	r := filter(t, Options{Images: given(other, third)}, in, in)
	want := "zf: the trace comes from build " + testBuild + ", but the ELF files are\n" +
		"zf:   other.elf: build 00" + testBuild + "\nzf:   third.elf: no build ID\n" +
		"zf: so it is not resolved; give the ELF file that was running too\n"
	if r.log.String() != want || !r.stats.Mismatch || !bytes.Equal(r.out.Bytes(), bytes.Repeat(in, 2)) {
		t.Errorf("log = %q, mismatch %v; want %q, once", r.log.String(), r.stats.Mismatch, want)
	}
	r = filter(t, Options{Images: given(other, third), Force: true}, in)
	if !strings.Contains(r.out.String(), "other.f1+0x10") {
		t.Errorf("by force: %s; want the first image's functions", r.out.Bytes())
	}
	r = filter(t, Options{Images: func() *lookup.Images {
		return &lookup.Images{Find: func(string, string) lookup.Resolver { return nil }}
	}}, in)
	if !strings.Contains(r.log.String(), "in none of the folders") || !r.stats.Mismatch {
		t.Errorf("log = %q; want that no folder has it", r.log.String())
	}
	// Two traces of two images in one stream.
	mine := filter(t, Options{Images: given(other, testImage())}, in, bytes.ReplaceAll(in, []byte(testBuild), []byte("00"+testBuild)))
	if s := mine.out.String(); !strings.HasPrefix(s, alone.out.String()) || !strings.Contains(s[alone.out.Len():], "other.f1+0x10") {
		t.Errorf("two images' traces: %s", s)
	}
}

// TestImagesLinux: each frame of an oops is looked up in the file of its module, a
// frame without one in the kernel, whatever the names are that they share.
func TestImagesLinux(t *testing.T) {
	loader := image("1", "/x/loader.elf", 0x10000, "start")
	kernel := image("2", "/x/vmlinux", 0x200000, "do_it", "probe", "main")
	driver := image("3", "/x/my-drv.ko.debug", 0x100, "probe", "send")
	found := image("4", "/x/late.ko", 0x100, "probe")
	asked := 0
	images := func() *lookup.Images {
		return &lookup.Images{Given: []lookup.Resolver{loader, driver, kernel}, Find: func(build, module string) lookup.Resolver {
			asked++
			if module == "late" {
				return found
			}
			return nil
		}}
	}
	c := said{
		in: "RIP: 0010:probe+0x10/0x100 [my_drv]\nCall Trace:\n" +
			" send+0x20/0x100 [my_drv]\n probe+0x30/0x100 [late]\n probe+0x40/0x100 [late]\n probe+0x50/0x100\n" +
			" probe+0x60/0x100 [gone]\n probe+0x60/0x100 [gone]\n do_it+0x70/0x200\n" +
			"PC is at 0x10010\npc=0x3200020\nKernel Offset: 0x3000000 from 0x200000\npc=0x3200020\n pc=0x110\n",
		want: []string{"RIP\tprobe+0x10|my-drv.ko.debug.c:16", "send\tsend+0x20|my-drv.ko.debug.c:31",
			"+0x30\tprobe+0x30|late.ko.c:47", "+0x40\tprobe+0x40|late.ko.c:63", "+0x50\tprobe+0x50|vmlinux.c:79",
			"PC is\tstart+0x10|loader.elf.c:16", "Kernel Offset\t0000000003200020:", "Kernel Offset\tdo_it+0x20|vmlinux.c:32|(above)",
			"pc=0x32\tdo_it+0x20|vmlinux.c:32"},
		log: "its function do_it has 0x200 bytes, and that of the ELF file 0x100; " +
			"give vmlinux and gone.ko too (-e can be repeated; -force resolves what has the name)\n",
	}
	checkForeign(t, &c, filter(t, Options{Foreign: true, Images: images}, []byte(c.in)))
	if asked != 2 {
		t.Errorf("asked for %d modules; want each once", asked)
	}
}

// TestImagesLinuxReal: the same with files of gcc's: a linked program as the kernel
// and an object file of the same functions as its module.
func TestImagesLinuxReal(t *testing.T) {
	p := cImage(t)
	path := filepath.Join(t.TempDir(), "my-thing.ko")
	if out, err := exec.Command("gcc", "-O1", "-g", "-c", "-ffunction-sections", "-o", path, "testdata/foreign/one.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mod, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close()
	leaf := p.where(t, "pc leaf:18")
	n := mod.Named("leaf")
	if len(n) != 1 {
		t.Fatalf("Named(leaf) = %+v; want one", n)
	}
	off := leaf - p.start["leaf"]
	c := said{
		in: fmt.Sprintf("RIP: 0010:leaf+%#x/%#x [my_thing]\nRIP: 0010:%s\n", off, n[0].Size, p.off("leaf", p.start["leaf"], leaf)) +
			fmt.Sprintf("pc=%#x\n", leaf),
		want: []string{"my_thing\tleaf+|one.c:18", "RIP\tleaf+|one.c:18", "pc=\tleaf+|one.c:18"},
	}
	checkForeign(t, &c, filter(t, Options{Foreign: true, Images: given(mod, p.sym)}, []byte(c.in)))
}

// TestImagesMarkup: an address is looked up in the module whose build ID the
// elements give.
func TestImagesMarkup(t *testing.T) {
	app, lib := image("aa", "app", 0x1000, "app_main"), image("bb", "lib.so", 0, "lib_call")
	c := said{
		in: "{{{module:0:app:elf:aa}}}\n{{{module:1:lib.so:elf:BB}}}\n{{{module:2:no.so:elf:cc}}}\n" +
			"{{{mmap:0x500000:0x1000:load:0:rx:0x1000}}}\n{{{mmap:0x700000:0x1000:load:1:rx:0x0}}}\n{{{mmap:0x800000:0x1000:load:2:rx:0x0}}}\n" +
			"{{{pc:0x500010}}}\n{{{bt:1:0x700020}}}\n{{{pc:0x800010}}}\n",
		want: []string{"{{{pc:0x5\tapp_main+0x10|app.c:16", "{{{bt\tlib_call+0x20|lib.so.c:31"},
		log:  "addresses in the module \"no.so\", build cc, stay as they are: the ELF files are of builds aa, bb",
	}
	checkForeign(t, &c, filter(t, Options{Foreign: true, Images: given(app, lib)}, []byte(c.in)))
}

// TestImagesGo: Go programs share the runtime; a frame is of the one that has its
// line.
func TestImagesGo(t *testing.T) {
	a, b := image("a", "a", 0x1000, "runtime.x", "main.main"), image("b", "b", 0x1000, "runtime.y", "main.main")
	c := said{
		in: "goroutine 1 [running]:\nmain.main()\n\t/src/b.c:31 +0x20\n\n" +
			"goroutine 2 [running]:\nmain.main()\n\t/src/a.c:31 +0x20\n",
		want: []string{"/src/b.c\tmain.main+0x20|at 0x1120", "/src/a.c\tmain.main+0x20|at 0x1120"},
	}
	checkForeign(t, &c, filter(t, Options{Foreign: true, Images: given(a, b)}, []byte(c.in)))
}

// TestImagesBias: a bias is that of the first image.
func TestImagesBias(t *testing.T) {
	bias := uint64(0x5000000)
	a, b := image("a", "a", 0x1000, "first"), image("b", "b", 0x200000, "second")
	c := said{
		in:   "pc=0x5001010\npc=0x1010\npc=0x200010\n",
		want: []string{"pc=0x5\tfirst+0x10", "pc=0x2\tsecond+0x10"},
	}
	checkForeign(t, &c, filter(t, Options{Foreign: true, Images: func() *lookup.Images {
		return &lookup.Images{Given: []lookup.Resolver{a, b}, Bias: &bias}
	}}, []byte(c.in)))
}

// TestFilterCut: what an interruption leaves open is cut, in a line of its own, and what
// comes afterwards is read as if it were the first.
func TestFilterCut(t *testing.T) {
	in := textForm(sample(), false)
	lines := bytes.SplitAfter(in, []byte("\n"))
	open := bytes.Join(lines[:len(lines)/2], nil)
	want := filter(t, Options{Symbols: testImage()}, in).out.String()
	var out, log bytes.Buffer
	f, err := NewFilter(&out, Options{Symbols: testImage(), Log: &log, Dir: "/src", Foreign: true})
	if err != nil {
		t.Fatal(err)
	}
	f.Write(open)
	f.Write([]byte("zf1 #9 ra 0x2001"))
	if err := f.Cut(); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, "zf1 #9 ra 0x2001\r\nzf: trace 7 was cut") {
		t.Errorf("output = %q; want the part of a line, and that the trace was cut", s)
	}
	out.Reset()
	f.Write(in)
	if out.String() != want {
		t.Errorf("after the cut:\n%s; want\n%s", out.String(), want)
	}
	out.Reset()
	f.Write([]byte("pc=0x2001"))
	f.Cut()
	f.Cut() // twice is once
	f.Write([]byte("10\n"))
	// A frame of another boot says nothing of its build.
	f.Write(lines[len(lines)-10])
	f.Write([]byte("zf1 #0 pc 0x200110 sp 0x0 fp 0x0 boot\n"))
	f.Close()
	if s := out.String(); !strings.HasPrefix(s, "pc=0x2001\r\n10\n") || strings.Contains(s, "main.") {
		t.Errorf("output = %q; want two lines that have nothing to do with each other, and no resolved frame", s)
	}
	if !strings.Contains(log.String(), "carries no build ID") {
		t.Errorf("log = %q; want that a build is missing", log.String())
	}
	if stats := f.Stats(); stats.Damaged < 2 || stats.Foreign != 0 {
		t.Errorf("stats = %+v; want the cut traces as damaged", stats)
	}
	if f.Cut() != nil {
		t.Error("Cut after Close fails")
	}
}

// FuzzImages: one image is the same whether it is there or comes late, and no text
// makes several images, a search for more and a cut fail.
func FuzzImages(f *testing.F) {
	in := textForm(sample(), false)
	f.Add(in, uint16(100))
	f.Add([]byte("RIP: 0010:probe+0x10/0x100 [my_drv]\n send+0x1/0x100 [../x]\nKernel Offset: 0x3000000 from 0x200000\npc=0x3200010\n"), uint16(40))
	f.Add([]byte("{{{module:0:a:elf:aa}}}\n{{{mmap:0x500000:0x1000:load:0:rx:0x1000}}}\n{{{pc:0x500010}}}\n{{{module:1:b:elf:/../b}}}\n"), uint16(0))
	f.Add([]byte("goroutine 1 [running]:\nprobe()\n\t/src/vmlinux.c:31 +0x20\n#0  0x200110 in x\n"), uint16(30))
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		at := min(int(cut), len(in))
		one := filter(t, Options{Foreign: true, Symbols: testImage()}, in[:at], in[at:])
		late := filter(t, Options{Foreign: true, Images: given(testImage())}, in[:at], in[at:])
		if !bytes.Equal(one.out.Bytes(), late.out.Bytes()) || one.log.String() != late.log.String() || one.stats != late.stats {
			t.Fatalf("late: %q, %q; want %q, %q", late.out.Bytes(), late.log.String(), one.out.Bytes(), one.log.String())
		}
		var out, log bytes.Buffer
		flt, err := NewFilter(&out, Options{Foreign: true, Log: &log, Dir: "/src", Images: func() *lookup.Images {
			kernel := image("aa", "/x/vmlinux", 0x200000, "probe", "main.f1")
			return &lookup.Images{Given: []lookup.Resolver{image("", "/x/my-drv.ko", 0x100, "probe", "send"), kernel},
				Find: func(build, module string) lookup.Resolver {
					if len(build+module)%2 == 0 {
						return nil
					}
					return image(build, module+".ko", 0x1000, "probe")
				}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		flt.Write(in[:at])
		flt.Cut()
		flt.Write(in[at:])
		if err := flt.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
