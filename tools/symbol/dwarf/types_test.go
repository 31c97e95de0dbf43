package dwarf

import (
	stddwarf "debug/dwarf"
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// The shapes of the entries of these tests: the code is the tag.
var typeShapes = shapes("\x11\x01", "\x16\x00\x03\x08\x49\x13", "\x13\x01\x03\x08\x0b\x0b", "\x17\x01", "\x0d\x00\x03\x08\x49\x13",
	"\x0f\x00\x49\x13", "\x26\x00\x49\x13", "\x01\x01\x49\x13", "\x15\x01\x49\x13", "\x05\x00\x49\x13", "\x21\x00\x2f\x0b",
	"\x2e\x00\x31\x13", "\x0b\x01", "\x04\x01", "\x28\x00\x03\x08", "\x24\x00\x03\x08\x3e\x0b\x0b\x0b", "\x34\x00\x49\x13",
	// A map of Go's without a name.
	"\x02\x00\x81\x52\x13\x82\x52\x13")

func shapes(all ...string) (b []byte) {
	for _, s := range all {
		b = append(b, s[0])
		b = append(append(b, s...), 0, 0)
	}
	return append(b, 0)
}

// entries are written as words: a shape's code, "text" as a string, =label for where the next entry
// is, and @label for a reference to it.
func entries(words string) []byte {
	b, at, open := make([]byte, 11), map[string]uint32{}, map[int]string{}
	for w := range strings.FieldsSeq(words) {
		switch w[0] {
		case '=':
			at[w[1:]] = uint32(len(b))
		case '@':
			open[len(b)] = w[1:]
			b = append(b, 0, 0, 0, 0)
		case '"':
			b = append(append(b, strings.Trim(w, `"`)...), 0)
		default:
			n, _ := strconv.ParseUint(w, 16, 8)
			b = append(b, byte(n))
		}
	}
	b = append(b, 0)
	for i, label := range open {
		off, more, _ := strings.Cut(label, "+")
		binary.LittleEndian.PutUint32(b[i:], at[off]+uint32(len(more)))
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	b[4], b[10] = 4, 8
	return b
}

// repeat writes a text n times, with i and i+1 for its numbers.
func repeat(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(text, "#", strconv.Itoa(i)), "$", strconv.Itoa(i+1)))
	}
	return b.String()
}

func typesOf(info, abbrev []byte) *Data {
	f := &elf.File{}
	d := &Data{File: f}
	for _, s := range d.sections() {
		*s.to = elf.FixedContents(f, nil)
	}
	d.info, d.abbrev = elf.FixedContents(f, info), elf.FixedContents(f, abbrev)
	return d
}

// readTypes reads every type as the standard library does. It ends the process if that recurses.
func readTypes(info, abbrev []byte) {
	d, err := stddwarf.New(abbrev, nil, nil, info, nil, nil, nil, nil)
	if err != nil {
		return
	}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if e == nil || err != nil {
			return
		}
		for _, off := range []any{e.Offset, e.Val(stddwarf.AttrType)} {
			if off, ok := off.(stddwarf.Offset); ok && off != 0 {
				if t, err := d.Type(off); err == nil {
					_, _ = t.Size(), t.String()
				}
			}
		}
	}
}

const integer = ` =int 24 "int" 5 8 `

func TestTypes(t *testing.T) {
	for _, test := range []struct{ name, words, want string }{
		// What compilers make.
		{"typedef of a pointer", `11 =t 16 "T" @p =p 0f @t`, ""},
		{"list", `11 =s 13 "S" 8 0d "next" @p 0 =p 0f @s`, ""},
		{"function", `11 =t 16 "F" @f =f 15 @t 05 @t 0`, ""},
		{"array", `11` + integer + `=a 01 @int 21 3 21 4 0`, ""},
		{"union", `11` + integer + `=u 17 0d "a" @int 0d "b" @p 0 =p 0f @u2 =u2 17 0d "c" @int 0`, ""},
		{"chain", `11` + integer + repeat(900, `=t# 16 "T" @t$ `) + `=t900 0f @int`, ""},
		{"origin", `11 2e @f =f 0b 0`, ""},
		{"many structs", `11` + integer + repeat(24000, `=s# 13 "S" 8 0d "f" @p# 0 =p# 0f @s$ `) + `=s24000 0f @int`, ""},
		// What they do not.
		{"typedef ring", `11 =a 16 "A" @b =b 16 "B" @a`, "back to itself"},
		{"typedef of itself", `11 =a 16 "A" @a`, "back to itself"},
		{"qualifier ring", `11 =a 26 @b =b 26 @a`, "back to itself"},
		{"array ring", `11 =a 01 @b 21 3 0 =b 16 "B" @a`, "back to itself"},
		{"member ring", `11 =a 13 "A" 8 0d "b" @b 0 =b 13 "B" 8 0d "a" @a 0`, "back to itself"},
		{"pointer ring", `11 =a 0f @b =b 0f @a`, "back to itself"},
		{"function ring", `11 =a 15 @int 05 @p 0 =p 0f @a` + integer, "back to itself"},
		{"result ring", `11 =a 15 @a 0`, "back to itself"},
		{"unnamed struct", `11 =a 17 0d "p" @p 0 =p 0f @a`, "back to itself"},
		{"map ring", `11 =a 01 @m 0 =m 02 @a @a`, "back to itself"},
		{"origin ring", `11 =a 2e @b =b 2e @a`, "too many others"},
		{"origin of itself", `11 =a 2e @a`, "too many others"},
		{"deep chain", `11` + integer + repeat(1100, `=t# 16 "T" @t$ `) + `=t1100 0f @int`, "leads to"},
		{"deep pointers", `11` + integer + repeat(1100, `=t# 0f @t$ `) + `=t1100 0f @int`, "leads to"},
		{"dimensions", `11` + integer + `01 @int ` + strings.Repeat(`21 3 `, 1100) + `0`, "leads to"},
		{"doubling", `11` + integer + repeat(40, `=t# 17 0d "a" @t$ 0d "b" @t$ 0 `) + `=t40 0f @int`, "its text"},
		{"names", `11 =e 04 ` + strings.Repeat(`28 "`+strings.Repeat("n", 1000)+`" `, 1100) + `0 0f @e`, "its text"},
		{"long path", `11` + integer + repeat(26000, `=s# 13 "S" 8 0d "f" @p# 0 =p# 0f @s$ `) + `=s26000 0f @int`, "leads to"},
		{"nested", `11 ` + strings.Repeat(`0b `, 1100) + strings.Repeat(`0 `, 1100), "is in 1000 others"},
		{"middle of an entry", `11 =a 16 "A" @b+++ =b 16 "B" @a`, "is no entry"},
		{"variable of the middle", `11 34 @b++ =b 16 "B" @b`, "is no entry"},
		{"open", `11 13 "S" 8 13 "T" 8 0d "a" @int` + integer, "within an entry"},
		{"no shape", `11 7f`, "no shape"},
	} {
		info := entries(test.words)
		err := typesOf(info, typeShapes).CheckTypes()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v; want %q", test.name, err, test.want)
		}
		if err == nil {
			readTypes(info, typeShapes)
		}
	}
}

// TestTypeShapes: tables of shapes that others read in another way, or far too often.
func TestTypeShapes(t *testing.T) {
	var many []byte
	for i := range 500 {
		u := entries("11")
		u[6], u[7] = byte(i*5), byte(i*5>>8)
		many = append(many, u...)
	}
	alike := append(entries("11"), entries("11")...)
	for name, test := range map[string]struct {
		info, abbrev []byte
		refused      bool
	}{
		"on top of each other": {many, []byte(strings.Repeat("\x11\x11\x01\x00\x00", 500) + "\x00"), true},
		"one code twice":       {entries("11"), shapes("\x11\x01", "\x16\x00", "\x16\x00\x49\x13"), true},
		"one attribute twice":  {entries("11"), shapes("\x11\x01", "\x16\x00\x49\x13\x49\x13"), true},
		"a long attribute":     {entries("11"), shapes("\x11\x01", "\x16\x00\xc9\x80\x80\x80\x10\x13"), true},
		"a long code":          {entries("11"), append([]byte("\x96\x80\x80\x80\x10\x16\x00\x49\x13\x00\x00"), typeShapes...), true},
		"nothing but flags":    {entries("11 " + strings.Repeat("16 ", 1000)), shapes("\x11\x01", "\x16\x00"+strings.Repeat("\x34\x19", 400)), true},
		"shared":               {alike, typeShapes, false},
	} {
		if err := typesOf(test.info, test.abbrev).CheckTypes(); (err != nil) != test.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	wide := append([]byte("\xff\xff\xff\xff\x0e\x00\x00\x00\x00\x00\x00\x00\x04\x00"), make([]byte, 12)...)
	for name, info := range map[string][]byte{"64 bits": wide, "cut off": entries("11")[:12], "more": append(entries("11"), 1)} {
		if err := typesOf(info, typeShapes).CheckTypes(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzTypes: what is let through does the standard library no harm.
func FuzzTypes(f *testing.F) {
	f.Add(entries(`11 =t 16 "T" @p =p 0f @t`), typeShapes)
	f.Add(entries(`11 =s 13 "S" 8 0d "next" @p 0 =p 0f @s`), typeShapes)
	f.Fuzz(func(t *testing.T, info, abbrev []byte) {
		if len(info)+len(abbrev) < 1<<16 && typesOf(info, abbrev).CheckTypes() == nil {
			readTypes(info, abbrev)
		}
	})
}
