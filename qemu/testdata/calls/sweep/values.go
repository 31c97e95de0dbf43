package main

import (
	_ "embed"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

// Values makes the calls of a section of calls.txt, which says how to read it. Each case begins with the
// same world (world.go), and what is different of it afterwards is a part of the answer.

//go:embed calls.txt
var spec string

// A step is a call, and for each argument the values that it is to have by turns.
type step struct {
	name   string
	number uintptr
	args   [][]string
}

// A line is calls that are made one after the other, with all combinations of their values.
type line struct {
	steps []step
	fixed string // what the last call returns, by the manual; "": Linux is asked
	ok    bool   // of results, only whether they are errors is said
	blind bool   // what is written to memory is not said
	calm  bool   // what has changed is not said
}

var numbers = map[string]uintptr{}

// maxCall is one more than the highest number of a call.
const maxCall = 512

func values(section string) {
	for n := range maxCall {
		numbers[linux.CallName(n)] = uintptr(n)
	}
	var u syscall.Utsname
	must(syscall.Uname(&u))
	kernel := u.Nodename[0] == 'z' && u.Nodename[4] == 'f' // zeroframe
	if _, err := os.Stat("/dev"); err == nil && !kernel {
		// What it does to files it must not do to a machine's.
		fmt.Println("on Linux, this runs in a root folder of its own (chroot)")
		os.Exit(2)
	}
	w := newWorld()
	tested := map[uintptr]bool{}
	cases := 0
	for n, text := range strings.Split(spec, "\n") {
		text, _, _ = strings.Cut(text, "#")
		switch text = strings.TrimSpace(text); {
		case text == "":
		case text[0] == '[':
			if w.look = text; text == section {
				w.rebuild()
			}
		case strings.HasPrefix(text, "none "):
			for _, name := range strings.Fields(text)[1:] {
				tested[number(name, n)] = true
			}
		default:
			l := parse(text, n)
			for _, s := range l.steps {
				tested[s.number] = true
			}
			if w.look == section {
				cases += l.run(w, kernel)
			}
		}
	}
	for n := range uintptr(maxCall) {
		if section != "[process]" {
			break
		}
		// Linux has these, and some of them would end the test.
		if name := linux.CallName(int(n)); !tested[n] && name != "?" {
			answer := "-38"
			if kernel {
				answer = result(syscall.RawSyscall6(n, 0, 0, 0, 0, 0, 0))
			}
			fmt.Println(name, "is not answered =", answer)
		}
	}
	fmt.Println("alive after", cases, "cases")
}

func number(name string, n int) uintptr {
	v, ok := numbers[name]
	if !ok {
		panic(fmt.Sprintf("calls.txt:%d: no call %s", n+1, name))
	}
	return v
}

func parse(text string, n int) (l line) {
	text, l.fixed, _ = strings.Cut(text, " => ")
	text, options, _ := strings.Cut(text, " -- ")
	l.ok, l.blind, l.calm = strings.Contains(options, "ok"), strings.Contains(options, "blind"), strings.Contains(options, "calm")
	for part := range strings.SplitSeq(text, " ; ") {
		var s step
		for i, f := range split(strings.TrimSpace(part), ' ') {
			if i == 0 {
				s.name, s.number = f, number(f, n)
				continue
			}
			var all []string
			for _, alternative := range split(f, ',') {
				if set := sets[alternative]; set != "" {
					all = append(all, strings.Split(set, ",")...)
				} else {
					all = append(all, alternative)
				}
			}
			s.args = append(s.args, all)
		}
		l.steps = append(l.steps, s)
	}
	return l
}

// split is strings.Split, but not within braces; several spaces are one.
func split(s string, sep byte) (parts []string) {
	from, depth := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s), s[i] == sep && depth == 0:
			if i > from {
				parts = append(parts, s[from:i])
			}
			from = i + 1
		case s[i] == '{':
			depth++
		case s[i] == '}':
			depth--
		}
	}
	return parts
}

// run makes the calls with each combination of their values.
func (l *line) run(w *world, kernel bool) (cases int) {
	var all [][]string
	for _, s := range l.steps {
		all = append(all, s.args...)
	}
	for choice := make([]int, len(all)); ; cases++ {
		key, i := "", 0
		words := make([]string, len(all))
		for n, s := range l.steps {
			if n > 0 {
				key += "; "
			}
			key += s.name + " "
			for range s.args {
				words[i] = all[i][choice[i]]
				key += words[i] + " "
				i++
			}
		}
		answer := l.fixed
		if answer == "" || kernel {
			answer = l.one(w, words)
		}
		fmt.Println(key + "= " + answer)
		for i = len(choice) - 1; i >= 0; i-- {
			if choice[i]++; choice[i] < len(all[i]) {
				break
			}
			choice[i] = 0
		}
		if i < 0 {
			return cases + 1
		}
	}
}

// one makes the calls once, and returns what came of it.
func (l *line) one(w *world, words []string) (answer string) {
	var results []uintptr
	changed := false
	seen = seen[:0]
	for _, s := range l.steps {
		var args [6]uintptr
		for i := range s.args {
			args[i] = value(words[0], results)
			words = words[1:]
		}
		r, _, e := syscall.RawSyscall6(s.number, args[0], args[1], args[2], args[3], args[4], args[5])
		results = append(results, r)
		changed = changed || e == 0
		text := result(r, 0, e)
		if l.ok && e == 0 {
			text = "ok"
		}
		if l.fixed != "" {
			answer = text
		} else if answer += text + " "; !l.blind {
			answer += written()
		}
	}
	effects := w.effects()
	if changed || effects != "" {
		w.rebuild()
	}
	if l.fixed != "" {
		return answer
	}
	if !l.calm {
		answer += effects
	}
	return strings.TrimSpace(answer)
}

func result(r, _ uintptr, e syscall.Errno) string {
	if e != 0 {
		return fmt.Sprint(-int(e))
	}
	return fmt.Sprint(int(r))
}

// A piece is memory that a call has been given, and what was in it.
type piece struct {
	name      string
	now, then []byte
}

var (
	seen []piece
	bufs [2][page]byte
)

// give returns the address of memory that a call is given. What it is like is in the
// case's answer, if the call has changed it.
func give(name string, b []byte) uintptr {
	if !slices.ContainsFunc(seen, func(p piece) bool { return &p.now[0] == &b[0] }) {
		seen = append(seen, piece{name, b, slices.Clone(b)})
	}
	return uintptr(unsafe.Pointer(&b[0]))
}

// written says what has changed of the memory that was given.
func written() (text string) {
	for _, p := range seen {
		n := len(p.now)
		for n > 0 && p.now[n-1] == p.then[n-1] {
			n--
		}
		switch {
		case n == 0:
		case n <= 32:
			text += fmt.Sprintf("%s:%x ", p.name, p.now[:n])
		default:
			text += fmt.Sprintf("%s:%x...%d:%08x ", p.name, p.now[:16], n, crc32.ChecksumIEEE(p.now[:n]))
		}
		copy(p.then, p.now)
	}
	return text
}

// value returns what a word of calls.txt stands for.
func value(word string, results []uintptr) (v uintptr) {
	switch word[0] {
	case '@':
		fd, ok := descriptors[word[1:]]
		if !ok {
			panic("no descriptor " + word)
		}
		return uintptr(fd)
	case '\'':
		name := word[1:]
		if base, n, ok := strings.Cut(name, "*"); ok {
			n, err := strconv.Atoi(n)
			must(err)
			name = strings.Repeat(base, n)
		}
		return give("name", append([]byte(name), 0))
	case '$':
		n, err := strconv.Atoi(word[1:])
		must(err)
		return results[n-1]
	case '{':
		var b []byte
		for _, f := range split(word[1:len(word)-1], ' ') {
			size := 8
			if s, rest, ok := strings.Cut(f, ":"); ok && f[0] != '{' {
				var err error
				size, err = strconv.Atoi(s)
				must(err)
				f = rest
			}
			v := uint64(value(f, results))
			for range size {
				b = append(b, byte(v))
				v >>= 8
			}
		}
		return give("words", b)
	}
	for part := range strings.SplitSeq(word, "|") {
		base, more, plus := strings.Cut(part, "+")
		v |= constant(base)
		if plus {
			v += constant(more)
		}
	}
	return v
}

func constant(word string) uintptr {
	switch word {
	case "buf", "buf2":
		b := &bufs[len(word)-3]
		for i := range b {
			b[i] = 0xaa
		}
		return give(word, b[:])
	case "pid":
		return uintptr(os.Getpid())
	case "tid":
		return uintptr(syscall.Gettid())
	}
	if v, ok := constants[word]; ok {
		return v
	}
	if positive, ok := strings.CutPrefix(word, "-2^"); ok {
		return -constant("2^" + positive)
	}
	if exponent, ok := strings.CutPrefix(word, "2^"); ok {
		n, err := strconv.Atoi(exponent)
		must(err)
		return 1 << n
	}
	if v, err := strconv.ParseUint(word, 0, 64); err == nil {
		return uintptr(v)
	}
	v, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		panic("calls.txt: no value " + word)
	}
	return uintptr(v)
}

// sets are values that stand for several.
var sets = map[string]string{
	"@all":  "@rw,@ro,@wo,@ap,@dir,@sub,@path,@pr,@pw,@ev,@ep,@ua,@da,@tcp,@lis,@udp,999,-1",
	"@some": "@rw,@ro,@wo,@dir,@path,@pr,@pw,@ev,@ua,@udp,999",
	"names": "'f,'g,'d,'e,'s,'dl,'x,'o,'p,'none,'none/none,'f/none,'f/,'d/,'d/h,'d/../f,'.,'..,'d/.,'d/..,'/,',nil,hole,'n*256",
	"attrs": "'user.a,'user.n*42,'user.n*43,'user.,'user,'usera,'trusted.a,'trusted.,'security.a,'security.,'system.x,'os2.a,'a,',nil,hole",
	"few":   "'f,'d,'e,'s,'x,'o,'none,'f/none,'.,',nil",
}

// constants are what values are called in calls.txt.
var constants = map[string]uintptr{
	"nil": 0, "hole": hole, "win": window, "CWD": cwd, "NOW": 1<<30 - 1, "OMIT": 1<<30 - 2,

	"CREAT": 0x40, "EXCL": 0x80, "NOCTTY": 0x100, "TRUNC": 0x200, "APPEND": 0x400, "NONBLOCK": 0x800, "DSYNC": 0x1000,
	"ASYNC": 0x2000, "DIRECT": 0x4000, "LARGEFILE": 0x8000, "DIRECTORY": 0x10000, "NOFOLLOW": 0x20000, "NOATIME": 0x40000,
	"CLOEXEC": 0x80000, "PATH": 0x200000, "TMPFILE": 0x410000, "WRONLY": 1, "RDWR": 2,

	"SYMLINK_NOFOLLOW": 0x100, "REMOVEDIR": 0x200, "SYMLINK_FOLLOW": 0x400, "EMPTY": 0x1000,
	"REG": 0x8000, "DIR": 0x4000, "CHR": 0x2000, "FIFO": 0x1000, "SOCK": 0xc000, "BLK": 0x6000, "LNK": 0xa000,

	"FIXED": 0x10, "ANON": 0x20, "SHARED": 1, "PRIVATE": 2, "VALIDATE": 3, "NOREPLACE": 0x100000,
}
