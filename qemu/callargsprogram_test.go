package qemu

// A program with many places to crash, made by a seeded generator that knows what every
// function is called with: chains of functions, methods, closures and inlined calls, with
// parameters of all kinds of types, which they use before the next call, behind it, or not.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// A madeValue is a value as the program's source has it, and as zf is to show it.
type madeValue struct {
	typ    *madeType
	source string
	want   string // a regular expression; &NAME; stands for the address of a variable
}

// A madeType is a type of parameters.
type madeType struct {
	name string
	use  string // an int that depends on the variable %s
	make func(r *rand.Rand) (source, want string)
}

// wantText is how a string is shown, or the head of it without what is there.
func wantText(s string) string {
	shown := strconv.Quote(s)
	if len(s) > 32 {
		shown = strconv.Quote(s[:32]+"...") + fmt.Sprintf("+%d more", len(s)-32)
	}
	return withHead(regexp.QuoteMeta(shown), len(s))
}

// wantSlice is how a slice of so many elements of a size is shown.
func wantSlice(all []string, size int) string {
	show := min(len(all), 32/size)
	s := strings.Join(all[:show], " ")
	if len(all) > show {
		s += regexp.QuoteMeta(fmt.Sprintf(" ...+%d more", len(all)-show))
	}
	return withHead(`\[`+s+`\]`, len(all))
}

func withHead(want string, n int) string {
	return "(?:" + want + fmt.Sprintf(`|0x[0-9a-f]+\[:%d\])`, n)
}

func madeText(r *rand.Rand) string {
	n := []int{0, 1, 5, 8, 17, 31, 32, 33, 60}[r.IntN(9)]
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(" abcXYZ019\"\\\x01~"[r.IntN(14)])
	}
	return string(b)
}

// madeNumber is a type of whole numbers.
func madeNumber(name string, bits int, signed bool) *madeType {
	return &madeType{name, "int(%s)", func(r *rand.Rand) (string, string) {
		v := r.Uint64() >> r.IntN(bits) & (1<<(bits-1)<<1 - 1)
		s := strconv.FormatUint(v, 10)
		if signed {
			s = strconv.FormatInt(int64(v)<<(64-bits)>>(64-bits), 10)
		}
		return name + "(" + s + ")", s
	}}
}

func madeFloat(name string, bits int) *madeType {
	return &madeType{name, "int(%s)", func(r *rand.Rand) (string, string) {
		v := float64(r.IntN(2000)-1000) / 8
		s := strconv.FormatFloat(v, 'g', -1, bits)
		return name + "(" + s + ")", regexp.QuoteMeta(s)
	}}
}

// madeSlice is a type of slices.
func madeSlice(elem string, size int, one func(r *rand.Rand) (source, want string)) *madeType {
	return &madeType{"[]" + elem, "len(%s)", func(r *rand.Rand) (string, string) {
		n := r.IntN(7)
		if n == 0 {
			return "[]" + elem + "(nil)", "nil"
		}
		var src, want []string
		for range n * r.IntN(4) {
			s, w := one(r)
			src, want = append(src, s), append(want, w)
		}
		if len(src) == 0 {
			return "make([]" + elem + ", 0, 1)", `\[\]`
		}
		return "[]" + elem + "{" + strings.Join(src, ", ") + "}", wantSlice(want, size)
	}}
}

var madeString = &madeType{"string", "len(%s)", func(r *rand.Rand) (string, string) {
	s := madeText(r)
	if r.IntN(2) == 0 {
		return "heap(" + strconv.Quote(s) + ")", wantText(s)
	}
	return strconv.Quote(s), wantText(s)
}}

func madePointer(r *rand.Rand) (source, want string) {
	if r.IntN(6) == 0 {
		return "(*T)(nil)", "nil"
	}
	n := r.IntN(8)
	return fmt.Sprintf("&t%d", n), fmt.Sprintf("&main.t%d;", n)
}

func madeStruct(r *rand.Rand) (source, want string) {
	s, w := madeString.make(r)
	n := r.IntN(1000) - 500
	return fmt.Sprintf("S{%d, %s}", n, s), fmt.Sprintf(`\{A:%d B:%s\}`, n, w)
}

// madeTypes are the types of parameters.
var madeTypes = []*madeType{
	madeNumber("int", 64, true), madeNumber("int8", 8, true), madeNumber("int16", 16, true), madeNumber("int32", 32, true),
	madeNumber("uint", 64, false), madeNumber("uint8", 8, false), madeNumber("uint16", 16, false), madeNumber("uint32", 32, false),
	madeNumber("uint64", 64, false), madeNumber("uintptr", 64, false), madeNumber("Color", 32, true),
	madeFloat("float64", 64), madeFloat("float32", 32),
	{"bool", "btoi(%s)", func(r *rand.Rand) (string, string) { s := strconv.FormatBool(r.IntN(2) == 0); return s, s }},
	{"complex128", "int(real(%s))", func(r *rand.Rand) (string, string) {
		n := r.IntN(9)
		return fmt.Sprintf("complex(%d, -1.5)", n), fmt.Sprintf(`\(%d-1\.5i\)`, n)
	}},
	madeString, madeString, madeString,
	madeSlice("int", 8, func(r *rand.Rand) (string, string) { s := strconv.Itoa(r.IntN(100) - 50); return s, s }),
	madeSlice("byte", 1, func(r *rand.Rand) (string, string) { s := strconv.Itoa(r.IntN(256)); return s, s }),
	madeSlice("string", 16, func(r *rand.Rand) (string, string) { return madeString.make(r) }),
	{"*T", "btoi(%s != nil)", madePointer},
	{"*T", "btoi(%s != nil)", madePointer},
	{"S", "int(%s.A) + len(%[1]s.B)", madeStruct},
	{"[3]int16", "int(%s[1])", func(r *rand.Rand) (string, string) {
		a, b := r.IntN(100), r.IntN(100)
		return fmt.Sprintf("[3]int16{%d, -7, %d}", a, b), fmt.Sprintf(`\[%d -7 %d\]`, a, b)
	}},
	{"any", "btoi(%s != nil)", func(r *rand.Rand) (string, string) {
		switch r.IntN(6) {
		case 0:
			return "nil", "nil"
		case 1:
			n := r.IntN(1000)
			return strconv.Itoa(n), fmt.Sprintf(`int(?:\(%d\)| at 0x[0-9a-f]+)`, n)
		case 2:
			s, w := madeString.make(r)
			return s, `string(?:\(` + w + `\)| at 0x[0-9a-f]+)`
		case 3:
			s, _ := madeStruct(r)
			return s, "main.S at 0x[0-9a-f]+"
		}
		s, w := madePointer(r)
		return s, `\*main\.T\(` + w + `\)`
	}},
	{"error", "btoi(%s != nil)", func(r *rand.Rand) (string, string) {
		if r.IntN(4) == 0 {
			return "nil", "nil"
		}
		n := r.IntN(8)
		return fmt.Sprintf("&t%d", n), fmt.Sprintf(`\*main\.T\(&main.t%d;\)`, n)
	}},
	{"func(int) int", "btoi(%s != nil)", func(r *rand.Rand) (string, string) {
		if r.IntN(4) == 0 {
			return "nil", "nil"
		}
		return "double", "main.double"
	}},
	{"map[string]int", "len(%s)", func(r *rand.Rand) (string, string) { return "map[string]int(nil)", "nil" }},
	{"chan int", "len(%s)", func(r *rand.Rand) (string, string) { return "make(chan int, 3)", "0x[0-9a-f]+" }},
}

// madeAssigned are what functions assign to parameters, by their types, and what these are then.
var madeAssigned = map[string]struct{ source, want string }{
	"int":    {"%s = %[1]s*3 + 1", "-?[0-9]+"},
	"string": {`%s = heap("assigned!")`, withHead(`"assigned!"`, 9)},
	"[]int":  {"%s = append(%[1]s[:0:0], 7, 8, 9)", withHead(`\[7 8 9\]`, 3)},
	"any":    {"%s = &t7", `\*main\.T\(&main.t7;\)`},
}

// A madeArg is a parameter of a function that is made, and what it may be shown as.
type madeArg struct {
	name string
	madeValue
	assigned string // what it is later; empty: the function does not assign to it
}

// A madeProgram is the program, and what its functions are called with, by the names of these.
type madeProgram struct {
	dir   string
	calls map[string][]madeArg
	b     strings.Builder
	r     *rand.Rand
}

const madeHead = `package main

import (
	"os"
	"strconv"
)

type T struct{ X int; next *T }

func (t *T) Error() string { return "an error of T" }

type S struct { A int32; B string }

type Color int32

var (
	t0, t1, t2, t3, t4, t5, t6, t7 T
	noT *T
	zero int
	some = []int{1, 2, 3}
	box any = "text"
	sink int
)

//go:noinline
func heap(s string) string { return string(append([]byte(nil), s...)) }

//go:noinline
func double(n int) int { return 2 * n }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	if n%4 == 3 {
		done := make(chan int)
		go func() { done <- sites[n]() }()
		<-done
	}
	println(sites[n]())
}

`

// makeProgram makes a program with so many places to crash.
func makeProgram(t *testing.T, seed uint64, sites int) *madeProgram {
	t.Helper()
	p := &madeProgram{dir: t.TempDir(), calls: map[string][]madeArg{}, r: rand.New(rand.NewPCG(seed, 1))}
	p.b.WriteString(madeHead + "var sites = []func() int{")
	for i := range sites {
		fmt.Fprintf(&p.b, "site%d, ", i)
	}
	p.b.WriteString("}\n")
	for i := range sites {
		p.site(i)
	}
	for name, s := range map[string]string{"main.go": p.b.String(), "go.mod": "module made\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// site makes one chain of functions, from the outermost.
func (p *madeProgram) site(n int) {
	fmt.Fprintf(&p.b, "\n//go:noinline\nfunc site%d() int {\n", n)
	depth := 1 + p.r.IntN(5)
	next, call := p.newCall(n, 0, nil)
	fmt.Fprintf(&p.b, "\treturn 1 + %s\n}\n", call)
	for level := range depth {
		next = p.function(next, n, level, level == depth-1)
	}
}

// A madeFunc is a function that is to be made.
type madeFunc struct {
	name string
	kind int
	recv string
	args []madeArg
}

// The kinds of functions.
const (
	kindPlain = iota
	kindPointerMethod
	kindValueMethod
	kindClosure
	kindInlined
	kindCount
)

// newCall chooses a function and its arguments, some of them those of the caller, and returns it
// and the call.
func (p *madeProgram) newCall(site, level int, callers []madeArg) (f madeFunc, call string) {
	f.name, f.kind = fmt.Sprintf("f%d_%d", site, level), p.r.IntN(kindCount)
	full := "main." + f.name
	switch f.kind {
	case kindPointerMethod:
		n := p.r.IntN(8)
		f.args = append(f.args, madeArg{name: "recv", madeValue: madeValue{madeTypes[0], "", fmt.Sprintf("&main.t%d;", n)}})
		full, f.recv, call = "main.(*T)."+f.name, "(recv *T) ", fmt.Sprintf("(&t%d).", n)
	case kindValueMethod:
		s, w := madeStruct(p.r)
		f.args = append(f.args, madeArg{name: "recv", madeValue: madeValue{madeTypes[0], "", w}})
		full, f.recv, call = "main.S."+f.name, "(recv S) ", s+"."
	case kindClosure:
		full += ".func1"
	}
	var all []string
	for i := range 1 + p.r.IntN(6) {
		a := madeArg{name: fmt.Sprintf("p%d", i)}
		a.typ = madeTypes[p.r.IntN(len(madeTypes))]
		a.source, a.want = a.typ.make(p.r)
		if p.r.IntN(3) == 0 {
			for _, c := range callers {
				if c.name != "recv" && c.typ.name == a.typ.name && c.assigned == "" {
					a.source, a.want = c.name, c.want
				}
			}
		}
		f.args, all = append(f.args, a), append(all, a.source)
	}
	if f.kind != kindInlined && p.r.IntN(6) == 0 { // one that the function assigns to
		a := &f.args[len(f.args)-1]
		a.assigned = madeAssigned[a.typ.name].want
	}
	p.calls[full] = f.args
	return f, call + f.name + "(" + strings.Join(all, ", ") + ")"
}

// function makes a function, and returns the one that it calls.
func (p *madeProgram) function(f madeFunc, site, level int, last bool) (next madeFunc) {
	var call string
	if !last {
		next, call = p.newCall(site, level+1, f.args)
	} else {
		call = []string{
			fmt.Sprintf(`func() int { panic("site %d") }()`, site), "noT.X", "1 / zero", "some[zero+7]", "box.(int)",
		}[p.r.IntN(5)]
	}
	var params []string
	for _, a := range f.args {
		if a.name != "recv" {
			params = append(params, a.name+" "+a.typ.name)
		}
	}
	b := &p.b
	if f.kind != kindInlined {
		b.WriteString("\n//go:noinline")
	}
	fmt.Fprintf(b, "\nfunc %s%s(%s) int {\n", f.recv, f.name, strings.Join(params, ", "))
	if f.kind == kindInlined {
		fmt.Fprintf(b, "\treturn %s + 1\n}\n", call)
		return next
	}
	if f.kind == kindClosure {
		var names []string
		for _, a := range f.args {
			names = append(names, a.name)
		}
		fmt.Fprintf(b, "\tc := func(%s) int {\n\t\tdefer func() { sink++ }()\n", strings.Join(params, ", "))
		defer fmt.Fprintf(b, "\t}\n\tsink++\n\treturn c(%s)\n}\n", strings.Join(names, ", "))
	}
	b.WriteString("\ts := 0\n")
	use := func(chance int) {
		for _, a := range f.args {
			if a.name != "recv" && p.r.IntN(chance) == 0 {
				fmt.Fprintf(b, "\ts += "+a.typ.use+"\n", a.name)
			}
		}
	}
	use(3)
	for _, a := range f.args {
		if a.assigned != "" {
			fmt.Fprintf(b, "\t"+madeAssigned[a.typ.name].source+"\n", a.name)
		}
	}
	if p.r.IntN(3) == 0 {
		fmt.Fprintf(b, "\tfor i := range 2 {\n\t\ts += i * (%s)\n\t\tif s == 99 { break }\n\t\ts += %s\n\t}\n", "s + 1", call)
	} else {
		fmt.Fprintf(b, "\ts += %s\n", call)
	}
	use(2)
	if f.recv == "(recv S) " && p.r.IntN(2) == 0 {
		b.WriteString("\ts += len(recv.B)\n")
	}
	if f.kind == kindClosure {
		b.WriteString("\treturn s\n")
		return next
	}
	b.WriteString("\treturn s\n}\n")
	return next
}

var madeAddress = regexp.MustCompile(`&([^;]+);`)

// is reports whether a value is shown as it may be.
func (a *madeArg) is(t *testing.T, symbols *symbol.File, value string) bool {
	t.Helper()
	all := a.want
	if a.assigned != "" {
		all += "|" + a.assigned
	}
	want := madeAddress.ReplaceAllStringFunc(all, func(s string) string {
		addr, _, ok := symbols.Symbol(s[1 : len(s)-1])
		if !ok {
			t.Fatalf("no symbol %s", s)
		}
		return fmt.Sprintf("%#x", addr)
	})
	return regexp.MustCompile("^(?:" + want + ")$").MatchString(value)
}
