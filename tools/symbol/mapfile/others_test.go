package mapfile

import "testing"

// TestOthers: gold's maps and the output of elfutils' nm, as these print them.
func TestOthers(t *testing.T) {
	const gold = `Archive member included because of file (symbol)

/usr/lib/libx.a(x.o)
                              crt1.o (main)

Discarded input sections

 .note.GNU-stack
                0x0000000000000000        0x0 /usr/lib/crt1.o

Memory map

 ** file header
                0x0000000000400000       0x40

.init           0x0000000000400910       0x17
 .init          0x0000000000400910        0x5 /usr/lib/crti.o
                0x0000000000400910                _init
 ** fill        0x0000000000400915        0xb

.text           0x0000000000400930      0x3a1
 .text          0x0000000000400b00      0x17b /tmp/a.o
                0x0000000000400b20                big(int)
                0x0000000000400b90                cfun
`
	const elfutils = `

Symbols from mm:

Name                    Value            Class  Type     Size                 Line Section

_IO_stdin_used         |0000000000402000|GLOBAL|OBJECT  |0000000000000004|        |.rodata
_Unwind_Resume@GCC_3.0 |                |GLOBAL|FUNC    |                |        |UNDEF
a.cpp                  |0000000000400b20|LOCAL |FILE    |0000000000000000|        |ABS
.text                  |0000000000400b20|LOCAL |SECTION |0000000000000000|        |.text
_start                 |0000000000400930|GLOBAL|NOTYPE  |0000000000000000|        |.text
_Z3bigi                |0000000000400b20|GLOBAL|FUNC    |0000000000000070|a.cpp:10|.text
cfun                   |0000000000400b90|WEAK  |FUNC    |00000000000000c0|a.cpp:12|.text
same                   |0000000000400b00|LOCAL |FUNC    |0000000000000010|        |.text
data                   |0000000000404060|WEAK  |OBJECT  |0000000000000008|        |.data
`
	for _, tt := range []struct {
		name, text string
		want       map[uint64]string
	}{
		{"gold", gold, map[uint64]string{0x400b24: "big(int)+0x4", 0x400b91: "cfun+0x1", 0x400912: "_init+0x2", 0x400005: ""}},
		{"elfutils", elfutils, map[uint64]string{0x400b24: "_Z3bigi+0x4", 0x400b91: "cfun+0x1", 0x400b05: "same+0x5", 0x400934: "_start+0x4", 0x402001: "", 0x404061: ""}},
	} {
		m := parse(t, tt.text, Options{})
		for addr, want := range tt.want {
			if got := found(m, addr); got != want {
				t.Errorf("%s: %#x is %q; want %q", tt.name, addr, got, want)
			}
		}
	}
}
