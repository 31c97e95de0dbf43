package boot

import (
	"strings"
	"testing"
)

// grubJoin joins words as GRUB does (grub_create_loader_cmdline in grub-core/lib/cmdline.c of GRUB
// 2.06).
func grubJoin(words []string) string {
	var all []string
	for _, w := range words {
		if strings.Contains(w, " ") {
			all = append(all, `"`+grubEscape.Replace(w)+`"`)
		} else {
			all = append(all, grubEscape.Replace(w))
		}
	}
	return strings.Join(all, " ")
}

var grubEscape = strings.NewReplacer(`\`, `\\`, `'`, `\'`, `"`, `\"`)

func decode(line string) string {
	var i Info
	i.nCmdline = copy(i.cmdline[:], line)
	i.decodeGRUB()
	return string(i.Cmdline())
}

func TestDecodeGRUB(t *testing.T) {
	for _, tt := range []struct {
		words []string // as in grub.cfg, without the shell's quotes
		want  string
	}{
		{nil, ""},
		{[]string{"crash=early.panic", "--", "a"}, "crash=early.panic -- a"},
		// Words that zf iso writes come through unchanged.
		{[]string{`env.X="a b"`, "--", `"a b"`, `""`, `"\"q\\"`, "it's", `'`, `\`}, `env.X="a b" -- "a b" "" "\"q\\" it's ' \`},
		// Words that a person writes get the kernel's quotes.
		{[]string{"env.X=a b", "--", "two words", "a=b c", " "}, `env.X="a b" -- "two words" a="b c" " "`},
		{[]string{`a \ b`, "it's two"}, `"a \\ b" "it's two"`},
	} {
		if got := decode(grubJoin(tt.words)); got != tt.want {
			t.Errorf("%q by way of %s = %s; want %s", tt.words, grubJoin(tt.words), got, tt.want)
		}
	}
}

// FuzzDecodeGRUB: words that have the kernel's quotes come through unchanged, and every line stays
// within its room.
func FuzzDecodeGRUB(f *testing.F) {
	f.Add(`env.X="a b" -- "two words" \" '`)
	f.Add(`"a b" "a=b c" x\\y "`)
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, line string) {
		line = strings.Map(func(r rune) rune {
			if r < ' ' {
				return -1
			}
			return r
		}, line)
		if len(line) > MaxCmdline/4 {
			return
		}
		if got := decode(line); len(got) > len(line) {
			t.Errorf("%q becomes %q", line, got)
		}
		// Split the line into words at spaces outside quotes.
		var words []string
		quoted := false
		for _, w := range strings.FieldsFunc(line, func(r rune) bool {
			quoted = quoted != (r == '"')
			return r == ' ' && !quoted
		}) {
			if !strings.Contains(w, " ") || strings.Contains(w, `"`) {
				words = append(words, w)
			}
		}
		if got, want := decode(grubJoin(words)), strings.Join(words, " "); got != want {
			t.Errorf("%q = %q", want, got)
		}
	})
}

func TestByGRUB(t *testing.T) {
	for name, want := range map[string]bool{"GRUB 2.06-13+deb12u2": true, "GRUB": false, "GRUB2 x": false, "qemu": false, "": false} {
		var i Info
		i.nLoader = copy(i.loader[:], name)
		if i.byGRUB() != want {
			t.Errorf("%q is GRUB: %v; want %v", name, !want, want)
		}
	}
}

// screen fills in a framebuffer as GRUB does, or as the specification says.
func (a *arena) screen(kind uint8, colors int) {
	a.u32(0, 1<<12)
	a.u64(88, 0xfd000000)
	a.u32(96, 2400)
	a.u32(100, 800)
	a.u32(104, 600)
	a.b[108], a.b[109] = 24, kind
	copy(a.b[colors:], []byte{16, 8, 8, 8, 0, 8})
	magic, info = multibootMagic, a.base
}

func TestFramebuffer(t *testing.T) {
	rgb := Framebuffer{Addr: 0xfd000000, Pitch: 2400, Width: 800, Height: 600, BPP: 24, Kind: RGB,
		Red: ColorField{16, 8}, Green: ColorField{8, 8}, Blue: ColorField{0, 8}}
	text := Framebuffer{Addr: 0xb8000, Pitch: 160, Width: 80, Height: 25, BPP: 16, Kind: Text}
	indexed := rgb
	indexed.Kind, indexed.Red, indexed.Green, indexed.Blue = Indexed, ColorField{}, ColorField{}, ColorField{}
	for _, tt := range []struct {
		name string
		set  func(a *arena)
		want Framebuffer
		ok   bool
	}{
		{"GRUB's", func(a *arena) { a.screen(1, 112) }, rgb, true},
		{"the specification's", func(a *arena) { a.screen(1, 110) }, rgb, true},
		{"palette", func(a *arena) { a.screen(0, 112) }, indexed, true},
		{"text", func(a *arena) {
			a.screen(2, 112)
			a.u64(88, 0xb8000)
			a.u32(96, 160)
			a.u32(100, 80)
			a.u32(104, 25)
			a.b[108] = 16
		}, text, true},
		{"no flag", func(a *arena) { a.screen(1, 112); a.u32(0, 0) }, Framebuffer{}, false},
		{"no address", func(a *arena) { a.screen(1, 112); a.u64(88, 0) }, Framebuffer{}, false},
		{"at the top", func(a *arena) { a.screen(1, 112); a.u64(88, 1<<64-1) }, Framebuffer{}, false},
		{"no colours", func(a *arena) { a.screen(1, 120) }, Framebuffer{}, false},
		{"short lines", func(a *arena) { a.screen(1, 112); a.u32(96, 2399) }, Framebuffer{}, false},
		{"no lines", func(a *arena) { a.screen(1, 112); a.u32(104, 0) }, Framebuffer{}, false},
		{"unknown kind", func(a *arena) { a.screen(3, 112) }, Framebuffer{}, false},
		{"out of reach", func(a *arena) {
			a.screen(1, 112)
			copy(a.b[arenaSize-100:], a.b[:100])
			info = a.base + arenaSize - 100
		}, Framebuffer{}, false},
	} {
		a := newArena(t)
		tt.set(a)
		var i Info
		i.Read()
		got, ok := i.Framebuffer()
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}
