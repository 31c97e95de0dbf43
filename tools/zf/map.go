package main

// `zf map` writes a map file, and the other commands read one in the place of an ELF
// file: the flags for that are here.

import (
	"errors"
	"fmt"
	"io"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/mapfile"
)

const mapText = `Map writes the symbols of an ELF file as text, sorted by address, in the form of
nm -n -S: address, size, type, name. It is small, and -map of zf symbolize and
of zf addr reads it in the place of the ELF file, for functions without lines.
Functions of a stripped Go program are in it too.

With -map instead of -e it turns a map file of another kind into that form:
nm's formats, System.map, /proc/kallsyms, and the maps of GNU ld (-Map), of lld
(-Map and /lldmap), of Microsoft's linker (/MAP), Borland's and Delphi's. It is
recognised by its content.

  zf map -e hello.elf -o hello.map
  zf symbolize -map hello.map serial.log
  zf map -map old.map -base 0x400000`

// baseUsage is the help of the flag -base.
const baseUsage = "`ADDR` at which the program of -map was loaded, instead of where its\nmap says: old maps of Borland's do not, and those of position-\nindependent programs count from 0"

// runMap runs `zf map`.
func runMap(c *call) error {
	var elf, file, base, output string
	if err := c.parse([]option{
		{&elf, "e", "the `ELF` file"},
		{&file, "map", "a map `FILE` of another kind, instead of -e"},
		{&base, "base", baseUsage},
		{&output, "o", "write to `FILE` instead of standard output"},
	}); err != nil {
		return err
	}
	switch {
	case c.NArg() > 0:
		return fmt.Errorf("%q: want flags only; `zf map -h` lists them", c.Arg(0))
	case (elf == "") == (file == ""):
		return errors.New("want -e ELF or -map FILE; `zf map -h` says more")
	}
	var syms []mapfile.Symbol
	var size int
	if file != "" {
		m, err := openMap(file, base, c.stderr)
		if err != nil {
			return err
		}
		syms, size = m.Symbols(), m.AddressSize()
	} else {
		f, err := symbol.Open(elf)
		if err != nil {
			return fmt.Errorf("%w; -e names the ELF file", err)
		}
		defer f.Close()
		if syms, err = f.MapSymbols(); errors.Is(err, symbol.ErrNoSymbols) {
			return fmt.Errorf("%w; give the file as it was linked, before it was stripped", err)
		} else if err != nil {
			return err
		}
		size = f.AddressSize()
	}
	if output == "" {
		if err := mapfile.Write(c.stdout, syms, size); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		return nil
	}
	if err := writeFile(output, func(w io.Writer) error {
		return mapfile.Write(w, syms,
			size)
	}); err != nil {
		return err
	}
	c.say("wrote %s, %d symbols", output, len(syms))
	return nil
}

// openMap reads the map file of a flag -map; base is the argument of -base. It says on
// log what it had to assume.
func openMap(path, base string, log io.Writer) (*symbol.Map, error) {
	var opt mapfile.Options
	if base != "" {
		addr, rest := scanAddress(base)
		if rest != "" {
			return nil, fmt.Errorf("-base %q is not a hexadecimal address", base)
		}
		opt.Base = &addr
	}
	m, err := symbol.OpenMap(path, opt)
	if errors.Is(err, mapfile.ErrUnknown) {
		return nil, fmt.Errorf("%w; -map takes what nm or a linker's -Map writes", err)
	}
	if err == nil && m.Assumed() != "" {
		fmt.Fprintf(log, "zf: %s\n", m.Assumed())
	}
	return m, err
}
