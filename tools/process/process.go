package process

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// A Mapping is a piece of a file in memory, from Low up to High.
type Mapping struct {
	Low, High uint64
	Offset    uint64 // of Low in the file, in bytes
	Code      bool   // it may be run; a core file does not say it
	Path      string // as the process knows it
	// BuildID is that of the file, where the memory says it, or "".
	BuildID string
}

// A Process is what is mapped where. Its methods may be called from several goroutines.
type Process struct {
	// Open opens the file of a mapping. It is called once for each file. Set before the
	// first look-up.
	Open func(m Mapping) (*symbol.File, error)

	name string
	maps []Mapping // sorted by Low; those without a file are left out
	wide int       // bytes of an address

	mu    sync.Mutex
	files map[string]*opened // by path
	lost  []error
}

// An opened is a file, or nil if it cannot be used.
type opened struct {
	once sync.Once
	file *symbol.File
}

// newProcess returns a process of these mappings.
func newProcess(name string, maps []Mapping, wide int) (*Process, error) {
	slices.SortStableFunc(maps, func(a, b Mapping) int {
		if a.Low < b.Low {
			return -1
		}
		return 1
	})
	if len(maps) == 0 {
		return nil, fmt.Errorf("%s: no file is mapped in it", name)
	}
	// A build ID is in the first piece of a file, and is that of all of them.
	ids := make(map[string]string)
	for i := range maps {
		if m := &maps[i]; m.BuildID != "" && ids[m.Path] == "" {
			ids[m.Path] = m.BuildID
		}
	}
	for i := range maps {
		maps[i].BuildID = ids[maps[i].Path]
	}
	return &Process{name: name, maps: maps, wide: wide, files: make(map[string]*opened)}, nil
}

// Name returns what the process was opened by.
func (p *Process) Name() string { return p.name }

// AddressSize returns the size of an address in bytes.
func (p *Process) AddressSize() int { return p.wide }

// Mappings returns the mappings of files, by rising addresses. They are not to be changed.
func (p *Process) Mappings() []Mapping { return p.maps }

// BuildID returns "": several files are mapped. It makes a Process a lookup.Resolver.
func (p *Process) BuildID() string { return "" }

// Lost returns what could not be opened so far, each file once, or nil.
func (p *Process) Lost() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.lost...)
}

// Close closes what was opened.
func (p *Process) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, o := range p.files {
		if o.file != nil {
			errs = append(errs, o.file.Close())
			o.file = nil
		}
	}
	return errors.Join(errs...)
}

// At returns the file that is mapped at an address, and the address that it has in the file; nil
// if there is none, or none that can be opened.
func (p *Process) At(addr uint64) (f *symbol.File, at uint64) {
	i := sort.Search(len(p.maps), func(i int) bool { return p.maps[i].High > addr })
	if i == len(p.maps) || addr < p.maps[i].Low {
		return nil, 0
	}
	m := &p.maps[i]
	if f = p.open(m); f == nil {
		return nil, 0
	}
	off := addr - m.Low + m.Offset
	if !m.Code {
		// Of a core file: in a page of two segments it is code if it can be.
		if at, ok := f.AddressOf(off, true); ok {
			return f, at
		}
	}
	at, ok := f.AddressOf(off, m.Code)
	if !ok {
		return nil, 0
	}
	return f, at
}

// open returns the file of a mapping, or nil.
func (p *Process) open(m *Mapping) *symbol.File {
	p.mu.Lock()
	o := p.files[m.Path]
	if o == nil {
		o = new(opened)
		p.files[m.Path] = o
	}
	p.mu.Unlock()
	o.once.Do(func() {
		f, err := p.Open(*m)
		if err != nil {
			p.mu.Lock()
			p.lost = append(p.lost, err)
			p.mu.Unlock()
			return
		}
		o.file = f
	})
	return o.file
}

// Lookup is that of [symbol.File], for an address of the process.
func (p *Process) Lookup(addr uint64, ret bool) []lookup.Call {
	// A return address may be the first one behind a mapping.
	if f, at := p.At(addr); f != nil {
		return f.Lookup(at, ret)
	}
	if ret && addr > 0 {
		if f, at := p.At(addr - 1); f != nil {
			return f.Lookup(at+1, ret)
		}
	}
	return nil
}

// SPDelta is that of [symbol.File].
func (p *Process) SPDelta(addr uint64) (uint64, bool) {
	if f, at := p.At(addr); f != nil {
		return f.SPDelta(at)
	}
	return 0, false
}

// IsText reports whether an address is in the code of a file.
func (p *Process) IsText(addr uint64) bool {
	f, at := p.At(addr)
	return f != nil && f.IsText(at)
}

// Nearest names the place of an address that is in no function.
func (p *Process) Nearest(addr uint64) string {
	f, at := p.At(addr)
	if f == nil {
		return ""
	}
	return strings.TrimSpace(f.Nearest(at) + " of " + f.Name())
}

// Preceding is that of [symbol.File].
func (p *Process) Preceding(addr uint64) (lookup.Call, bool) {
	if f, at := p.At(addr); f != nil {
		return f.Preceding(at)
	}
	return lookup.Call{}, false
}

// Variable is that of [symbol.File].
func (p *Process) Variable(addr uint64) (name string, offset uint64, ok bool) {
	if f, at := p.At(addr); f != nil {
		return f.Variable(at)
	}
	return "", 0, false
}

// SectionStart returns false: each file has sections of its own.
func (p *Process) SectionStart(string) (uint64, bool) { return 0, false }
