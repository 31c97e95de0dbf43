//go:build !lean

package main

// A list of all goroutines in a stream -> who waits for whom.

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/postmortem/core"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/waits"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// goTableSymbol is the kernel's table of where the runtime keeps what.
const goTableSymbol = image.KernelPackage + image.GoTableName

// listWaits is for a filter's OnList: what keeps a program from going on, a line each, and an
// object for JSON. A list that does not tell is no error: it says nothing.
func listWaits(l *trace.List) (lines []string, json []byte) {
	g, err := waitsOfList(l)
	if err != nil {
		return nil, nil
	}
	for _, f := range g.Findings {
		lines = append(lines, f.Text)
	}
	return lines, graphJSON(g)
}

// graphJSON is a graph as an object of the stream of traces.
func graphJSON(g *waits.Graph) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(g.Object()) != nil {
		return nil
	}
	return b.Bytes()
}

// waitsOfList finds who waits for whom in a list of goroutines.
func waitsOfList(l *trace.List) (g *waits.Graph, err error) {
	sym, ok := l.Symbols.(*symbol.File)
	if !ok {
		return nil, waits.ErrNoWords // a map
	}
	layout, err := goLayoutOf(sym)
	if err != nil {
		return nil, err
	}
	list, err := waits.NewList(l.Traces, core.Memory(l.Traces, sym), l.All, l.Running, layout, sym)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "zf-list-*.core")
	if err != nil {
		return nil, err
	}
	whole.Doom(f.Name())
	defer os.Remove(f.Name())
	err = core.WriteMemory(f, list.Core(), sym.Name())
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	p, err := inspect.Open(f.Name(), sym.Name(), true)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return analyze(p, sym, waits.Options{List: list}, "the traces are damaged")
}

// goLayoutOf reads from an image where its runtime keeps what.
func goLayoutOf(sym *symbol.File) (map[string]uint64, error) {
	addr, size, ok := sym.Symbol(goTableSymbol)
	if !ok {
		return nil, waits.ErrNoWords
	}
	table, ok := sym.BytesAt(addr, size)
	if !ok {
		return nil, waits.ErrNoWords
	}
	return image.GoTable(table)
}
