package mapfile

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Write writes symbols in the form of nm -n -S, with a module as in /proc/kallsyms. A
// symbol without a size has none in its line. Addresses of addressSize bytes, 4 or 8,
// are filled up with zeros. Read reads it back. Control characters in names become
// question marks, since a name ends with its line. Context: host.
func Write(w io.Writer, syms []Symbol, addressSize int) error {
	out := bufio.NewWriter(w)
	width := 2 * addressSize
	for i := range syms {
		if (syms[i].Addr|syms[i].Size)>>32 != 0 {
			width = 16 // a number of another width would not be read as one
		}
	}
	for i := range syms {
		s := &syms[i]
		name := printable(s.Name)
		if name == "" || s.Type == 0 {
			continue
		}
		fmt.Fprintf(out, "%0*x ", width, s.Addr)
		if s.Size != 0 {
			fmt.Fprintf(out, "%0*x ", width, s.Size)
		}
		fmt.Fprintf(out, "%c %s", s.Type, name)
		if s.Module != "" {
			fmt.Fprintf(out, "\t[%s]", printable(s.Module))
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// printable returns the name as it can stand in a line.
func printable(name string) string {
	name = strings.TrimRight(name, " ")
	for i := 0; i < len(name); i++ {
		if name[i] >= ' ' && name[i] != 0x7f {
			continue
		}
		b := []byte(name)
		for j := i; j < len(b); j++ {
			if b[j] < ' ' || b[j] == 0x7f {
				b[j] = '?'
			}
		}
		return string(b)
	}
	return name
}
