package batch

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// Module is what the import paths of this module's packages begin with.
const Module = "github.com/zeroframe/zeroframe/"

// Lab is a program with the kernel in it.
type Lab struct {
	Image   string // its path
	Symbols *symbol.File
}

// Build builds a package as an image.
func Build(ctx context.Context, o image.BuildOptions) (*Lab, error) {
	built, err := image.Build(ctx, o)
	if err != nil {
		return nil, err
	}
	symbols, err := symbol.Open(built.Path)
	return &Lab{Image: built.Path, Symbols: symbols}, err
}

// Traces reads the traces in what a machine has sent. If text is not nil, it receives
// all that was sent, with the traces as zf shows them.
func (l *Lab) Traces(serial string, text io.Writer) (all []*wire.Trace, err error) {
	f, err := trace.NewFilter(text, trace.Options{Symbols: l.Symbols,
		OnTrace: func(t *wire.Trace) { all = append(all, t) }})
	if err != nil {
		return nil, err
	}
	io.WriteString(f, serial)
	return all, f.Close()
}

// Functions returns the functions of a trace, innermost first, inlined ones too, without the
// module's path.
func Functions(t *wire.Trace) (names []string) {
	for i := range t.Frames {
		for _, c := range t.Frames[i].Calls {
			names = append(names, strings.TrimPrefix(c.Function, Module))
		}
	}
	return names
}

// Boot runs a machine to its end, and returns what it has sent. The error is that of the
// machine's end; see [qemu.VM.Wait].
func Boot(ctx context.Context, cfg qemu.Config) (serial string, res qemu.Result, err error) {
	var out strings.Builder
	cfg.Stdout = &out
	vm, err := qemu.Start(ctx, cfg)
	if err != nil {
		return "", res, err
	}
	res, err = vm.Wait()
	return out.String(), res, err
}

// Replace writes a file so that it is whole at any time.
func Replace(file, text string) error {
	next := file + ".new"
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(next, file)
}
