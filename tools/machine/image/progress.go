package image

// A build that has to compile the standard library takes a good while, and whoever waits wants
// to see that it goes on. The go command names each package as it compiles it (-v); these lines
// are counted and taken out of what it says.

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Progress says how far a build is.
type Progress struct {
	Kernel bool // it is the kernel and what that needs, not yet the program
	Done   int  // packages compiled
	Of     int  // packages there are, if known; those that need not be compiled are among them
}

// progress counts compiled packages.
type progress struct {
	tell func(Progress)

	mu     sync.Mutex
	now    Progress
	known  map[string]bool // import paths
	kernel func() []string // the kernel's packages, asked for when there is something to tell
}

// newProgress returns nil if nobody wants to know.
func (o *BuildOptions) newProgress(pkgs []listed) *progress {
	if o.Progress == nil {
		return nil
	}
	p := &progress{tell: o.Progress, known: make(map[string]bool)}
	for _, l := range pkgs {
		p.known[l.ImportPath] = true
	}
	p.now.Of = len(p.known)
	return p
}

// flag is that of the go command, if it is to name packages.
func (p *progress) flag() []string {
	if p == nil {
		return nil
	}
	return []string{"-v"}
}

// writer returns what passes on what the go command says, but for packages' names; end passes
// on what is left of a last line.
func (p *progress) writer(to io.Writer) (w io.Writer, end func()) {
	if p == nil {
		return to, func() {}
	}
	names := &namesOut{p: p, to: to}
	return names, names.end
}

// compiled counts a line of the go command's, if it is the name of a package.
func (p *progress) compiled(line string) bool {
	name := strings.TrimSpace(line)
	if name == "" || strings.ContainsAny(name, " \t:#") {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kernel != nil {
		for _, name := range p.kernel() {
			p.known[name] = true
		}
		p.kernel, p.now.Of = nil, len(p.known)
	}
	if !p.known[name] {
		return false
	}
	p.now.Done++
	p.now.Of = max(p.now.Of, p.now.Done)
	p.tell(p.now)
	return true
}

// phase says what is built next.
func (p *progress) phase(kernel bool) {
	if p != nil {
		p.mu.Lock()
		p.now.Kernel = kernel
		p.mu.Unlock()
	}
}

// namesOut is a writer of lines without those that are packages' names.
type namesOut struct {
	p    *progress
	to   io.Writer
	part []byte // of a line
}

func (w *namesOut) Write(b []byte) (int, error) {
	w.part = append(w.part, b...)
	for {
		i := bytes.IndexByte(w.part, '\n')
		if i < 0 {
			return len(b), nil
		}
		line := w.part[:i+1]
		if !w.p.compiled(string(line)) {
			if _, err := w.to.Write(line); err != nil {
				return 0, err
			}
		}
		w.part = w.part[i+1:]
	}
}

func (w *namesOut) end() {
	if len(w.part) > 0 {
		w.to.Write(w.part)
		w.part = nil
	}
}
