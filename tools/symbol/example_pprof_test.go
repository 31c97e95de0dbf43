package symbol_test

import (
	"bytes"
	"fmt"
	"log"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// symbolize gives a profile of pprof's the functions and lines of its addresses.
func symbolize(p *profile.Profile) error {
	for _, m := range p.Mapping {
		f, err := symbol.Open(m.File)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, loc := range p.Location {
			addr, ok := f.AddressOf(loc.Address-m.Start+m.Offset, true)
			if loc.Mapping != m || !ok {
				continue
			}
			for c := range f.Frames(addr, false) {
				fn := &profile.Function{ID: uint64(len(p.Function) + 1), Name: c.Function, Filename: c.File}
				p.Function = append(p.Function, fn)
				loc.Line = append(loc.Line, profile.Line{Function: fn, Line: int64(c.Line)})
			}
		}
		m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = true, true, true, true
	}
	return p.CheckValid()
}

// Twenty lines symbolize a profile that another program has written with addresses alone.
func Example_pprof() {
	// A profile of two samples, as it comes from a file.
	m := &profile.Mapping{ID: 1, Start: 0x7f0000000000, Limit: 0x7f0000001000, File: sample}
	written := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "ns"}}, Mapping: []*profile.Mapping{m}}
	for i, addr := range []uint64{0x100e4, 0x10018} {
		loc := &profile.Location{ID: uint64(i + 1), Mapping: m, Address: m.Start + addr - 0xf000}
		written.Location = append(written.Location, loc)
		written.Sample = append(written.Sample, &profile.Sample{Location: []*profile.Location{loc}, Value: []int64{1}})
	}
	var file bytes.Buffer
	if err := written.Write(&file); err != nil {
		log.Fatal(err)
	}

	p, err := profile.Parse(&file)
	if err != nil {
		log.Fatal(err)
	}
	if err := symbolize(p); err != nil {
		log.Fatal(err)
	}
	for _, loc := range p.Location {
		for _, l := range loc.Line {
			fmt.Printf("%s %s:%d\n", l.Function.Name, filepath.Base(l.Function.Filename), l.Line)
		}
	}
	// Output:
	// square csample2.c:7
	// either csample2.c:12
	// rare csample2.c:32
	// _start csample2.c:35
}
