package inspect

// A log has goroutines where a Go program has printed them: a panic's or SIGQUIT's traceback.
// The form is that of Go's runtime/traceback.go:
//
//	goroutine 18 gp=0xc000006c40 m=nil [chan receive, 2 minutes, locked to thread]:
//	main.worker(0x1, {0x4bf300, 0x2})
//		/src/main.go:33 +0x1d fp=0xc00004e7d0 sp=0xc00004e790 pc=0x4b3afd
//	created by main.main in goroutine 1
//		/src/main.go:52 +0x8a

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Limits of a traceback.
const (
	maxLine     = 1 << 16
	maxListed   = 1 << 20 // goroutines
	maxFrames   = 1 << 12 // of one
	maxFrameSum = 1 << 22 // of all
)

// ReadTraceback returns the goroutines of the last traceback in a log: a goroutine that comes
// again begins a new one. Lines may end with a carriage return, and text between the goroutines
// does no harm. Host.
func ReadTraceback(r io.Reader) ([]*Goroutine, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	var all []*Goroutine
	seen := map[int64]bool{}
	var now *Goroutine
	var open *Frame // whose place comes on the next line
	frames := 0
	for in.Scan() {
		line := strings.TrimSuffix(in.Text(), "\r")
		if g := header(line); g != nil {
			if seen[g.ID] {
				clear(seen)
				all, frames = nil, 0
			}
			if len(all) == maxListed {
				return nil, fmt.Errorf("more than %d goroutines", maxListed)
			}
			seen[g.ID] = true
			all, now, open = append(all, g), g, nil
			continue
		}
		if now == nil {
			continue
		}
		if open != nil {
			if !place(open, line) {
				now, open = nil, nil // something else
				continue
			}
			if now.By != nil {
				now = nil // it is the last
			}
			open = nil
			continue
		}
		if by, ok := strings.CutPrefix(line, "created by "); ok {
			name, parent, _ := strings.Cut(by, " in goroutine ")
			now.By, now.Parent = &Frame{Function: name}, number(parent)
			open = now.By
			continue
		}
		f, ok := called(line)
		if !ok || len(now.Frames) >= maxFrames || frames >= maxFrameSum {
			if !strings.HasPrefix(line, "...") {
				now = nil
			}
			continue
		}
		frames++
		now.Frames = append(now.Frames, f)
		open = &now.Frames[len(now.Frames)-1]
	}
	return all, in.Err()
}

// header reads the first line of a goroutine; nil if it is none.
func header(line string) *Goroutine {
	// A log may have a time or a name in front.
	i := strings.Index(line, "goroutine ")
	if i < 0 || !strings.HasSuffix(line, "]:") {
		return nil
	}
	id, rest, ok := strings.Cut(line[i+len("goroutine "):], " ")
	n, err := strconv.ParseInt(id, 10, 64)
	if !ok || err != nil || n < 0 {
		return nil
	}
	_, status, ok := strings.Cut(rest, "[")
	if !ok {
		return nil
	}
	g := &Goroutine{ID: n}
	words := strings.Split(strings.TrimSuffix(status, "]:"), ", ")
	for _, w := range words[1:] {
		switch {
		case w == "locked to thread":
			g.Locked = true
		case strings.HasSuffix(w, " minutes"):
			// How long, not since when: the machine's clock is not in the text.
			if m, err := strconv.Atoi(strings.TrimSuffix(w, " minutes")); err == nil {
				g.waited = time.Duration(m) * time.Minute
			}
		}
	}
	switch w := strings.TrimSuffix(words[0], " (scan)"); w {
	case "idle", "runnable", "running", "syscall", "dead", "copystack", "preempted":
		g.State = w
	case "waiting", "???":
		g.State = "waiting"
	default:
		g.State, g.Wait = "waiting", w
	}
	return g
}

// called reads the line of a call: a function with its arguments in parentheses.
func called(line string) (f Frame, ok bool) {
	if line == "" || line[0] == '\t' || line[0] == ' ' || line[len(line)-1] != ')' {
		return f, false
	}
	// A method's receiver is in parentheses, too: the arguments begin at the last that is not
	// within others.
	depth, at := 0, -1
	for i := len(line) - 1; i >= 0 && at < 0; i-- {
		switch line[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				at = i
			}
		}
	}
	if at <= 0 || strings.Contains(line[:at], " ") && !strings.Contains(line[:at], "[") {
		return f, false
	}
	f.Function, f.argued = line[:at], line
	f.Inlined = line[at:] == "(...)"
	return f, true
}

// place reads the line behind a call: where it is.
func place(f *Frame, line string) bool {
	rest, ok := strings.CutPrefix(line, "\t")
	if !ok {
		return false
	}
	words := strings.Fields(rest)
	for len(words) > 1 {
		last := words[len(words)-1]
		switch {
		case strings.HasPrefix(last, "+0x"):
			f.Offset = hexNumber(last[1:])
		case strings.HasPrefix(last, "fp="):
			f.FP = Hex(max(hexNumber(last[3:]), 16) - 16)
		case strings.HasPrefix(last, "pc="):
			f.Address = Hex(hexNumber(last[3:]))
		case strings.HasPrefix(last, "sp="):
		default:
			last = ""
		}
		if last == "" {
			break
		}
		words = words[:len(words)-1]
		rest = strings.TrimSuffix(strings.TrimRight(rest, " "), last)
	}
	rest = strings.TrimRight(rest, " ")
	colon := strings.LastIndexByte(rest, ':')
	if colon < 0 {
		return false
	}
	n, err := strconv.Atoi(rest[colon+1:])
	if err != nil {
		return false
	}
	f.File, f.Line = rest[:colon], n
	return true
}

// hexNumber reads a number with 0x before it; 0 if it is none.
func hexNumber(s string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	return n
}

// number reads a goroutine's number; 0 if it is none.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
