package mapfile

// Maps with logical addresses, SEGMENT:OFFSET.

import (
	"strings"
	"testing"
)

// Maps of linkers that cannot be run here, in the form their documentation and their
// users show.
const (
	msvc6Map = ` hello

 Timestamp is 3ecb9a8e (Wed May 21 18:23:58 2003)

 Preferred load address is 00400000

 Start         Length     Name                   Class
 0001:00000000 000037feH .text                   CODE
 0002:00000000 000000c4H .idata$5                DATA
 0003:00000000 00000124H .bss                    DATA

  Address         Publics by Value              Rva+Base     Lib:Object

 0000:00000003       ___safe_se_handler_count   00000003     <linker - defined>
 0001:00000000       _main                      00401000 f   hello.obj
 0001:00000030       ?DumpStack@StackDumper@@QAEXI@Z 00401030 f i hello.obj
 0001:00000090       $L49591                    00401090     hello.obj
 0001:00000090       ??1StackDumper@@QAE@XZ     00401090 f   LIBCMT:stack dumper.obj
 0002:00000000       __imp__GetTickCount@0      00405000     kernel32:KERNEL32.dll

 entry point at        0001:00000a20

 Static symbols

 0001:00000070       _count                     00401070 f   hello.obj

Line numbers for .\Debug\hello.obj(c:\hello.cpp) segment .text

     5 0001:00000000     6 0001:00000018

FIXUPS: 1017 a4 2a
`
	// The names of the seed that asked for these maps.
	borland5Map = "\r\n Start         Length     Name                   Class\r\n" +
		" 0001:00000000 0000071C3H _TEXT                  CODE\r\n 0002:00000000 000001A2CH _DATA                  DATA\r\n" +
		" 0002:00001A2C 000000B14H _BSS                   BSS\r\n\r\n\r\n  Address         Publics by Name\r\n\r\n" +
		" 0001:000006F5      StackDumper::DumpStack(unsigned int)\r\n 0001:00000694      StackDumper::GetCallerAddr(long)\r\n" +
		" 0001:000006C5      StackDumper::GetFuncAddr(unsigned long)\r\n 0001:000005FC      StackDumper::StackDumper()\r\n" +
		" 0001:00000639      StackDumper::~StackDumper()\r\n 0002:00000010      _counter\r\n\r\n  Address         Publics by Value\r\n\r\n" +
		" 0001:000005FC      StackDumper::StackDumper()\r\n 0001:00000639      StackDumper::~StackDumper()\r\n" +
		" 0001:00000694      StackDumper::GetCallerAddr(long)\r\n 0001:000006C5      StackDumper::GetFuncAddr(unsigned long)\r\n" +
		" 0001:000006F5      StackDumper::DumpStack(unsigned int)\r\n 0002:00000010      _counter\r\n\r\n\r\n" +
		"Program entry point at 0001:00000000\r\n"
	delphiMap = `
 Start         Length     Name                   Class
 0001:00401000 0000F234H .text                   CODE
 0002:00411000 00000ABCH .itext                  ICODE
 0003:00412000 00001000H .data                   DATA
 0005:00000000 00000024H .tls                    TLS


Detailed map of segments

 0001:00000000 000071A4 C=CODE     S=.text    G=(none)   M=System   ACBP=A9
 0001:000071A4 00000FEC C=CODE     S=.text    G=(none)   M=Main     ACBP=A9
 0002:00000000 00000ABC C=ICODE    S=.itext   G=(none)   M=Main     ACBP=A9
 0003:00000000 00001000 C=DATA     S=.data    G=DGROUP   M=Main     ACBP=A9

  Address             Publics by Value

 0001:00000004       System..TObject
 0001:000071A4       Main.TForm1.Crash
 0002:00000010       Main.Finalization
 0003:00000008       Main.Form1

Line numbers for Main(Main.pas) segment .text

    20 0001:000071A4    21 0001:000071B0
`
	dosMap = ` Start  Stop   Length Name               Class

 00000H 01A2FH 01A30H _TEXT              CODE
 01A30H 01FFFH 005D0H _DATA              DATA

 Origin   Group
 01A3:0   DGROUP

  Address         Publics by Value

 0000:0010       _main
 0000:0120 idle  _helper
 0010:0100 Abs   _far
 01A3:0004       _counter

Program entry point at 0000:0000
`
)

// TestSegments reads logical addresses in all forms.
func TestSegments(t *testing.T) {
	base, moved := uint64(0x400000), uint64(0x10000000)
	seed := " 0001:000006F5      StackDumper::DumpStack(unsigned int)\n 0001:00000639      StackDumper::~StackDumper()\n"
	for _, tt := range []struct {
		name, text string
		base       *uint64
		addr       uint64
		want       string
	}{
		{"msvc", msvc6Map, nil, 0x401035, "?DumpStack@StackDumper@@QAEXI@Z+0x5"},
		{"msvc static", msvc6Map, nil, 0x40108f, "_count+0x1f"},
		{"msvc function, not label", msvc6Map, nil, 0x401091, "??1StackDumper@@QAE@XZ+0x1"},
		{"msvc last of segment", msvc6Map, nil, 0x4047fd, "??1StackDumper@@QAE@XZ+0x376d"},
		{"msvc after segment", msvc6Map, nil, 0x4047fe, ""},
		{"msvc data", msvc6Map, nil, 0x405000, ""},
		{"msvc moved", msvc6Map, &moved, 0x10001035, "?DumpStack@StackDumper@@QAEXI@Z+0x5"},
		{"msvc absolute", msvc6Map, nil, 3, ""},
		{"borland", borland5Map, &base, 0x401640, "StackDumper::~StackDumper()+0x7"},
		{"borland last", borland5Map, &base, 0x4081c2, "StackDumper::DumpStack(unsigned int)+0x6acd"},
		{"borland end", borland5Map, &base, 0x4081c3, ""},
		{"borland moved", borland5Map, &moved, 0x10001640, "StackDumper::~StackDumper()+0x7"},
		{"borland without base", borland5Map, nil, 0x401640, "StackDumper::~StackDumper()+0x7"},
		{"borland, no first segment", " Start         Length     Name                   Class\n 0002:00401000 00001000H _TEXT CODE\n  Address         Publics by Value\n 0002:00000639       f\n", nil, 0x40163b, "f+0x2"},
		{"borland, load address", " Preferred load address is 00800000\n" + borland5Map, nil, 0x801640, "StackDumper::~StackDumper()+0x7"},
		{"seed without base", seed, nil, 0x40163b, "StackDumper::~StackDumper()+0x2"},
		{"seed alone", seed, &base, 0x40163b, "StackDumper::~StackDumper()+0x2"},
		{"delphi", delphiMap, nil, 0x4081a6, "Main.TForm1.Crash+0x2"},
		{"delphi piece ends", delphiMap, nil, 0x4081a3, "System..TObject+0x719f"},
		{"delphi itext", delphiMap, nil, 0x411011, "Main.Finalization+0x1"},
		{"delphi data", delphiMap, nil, 0x412008, ""},
		{"delphi moved", delphiMap, &moved, 0x100081a6, "Main.TForm1.Crash+0x2"},
		{"delphi 64", strings.NewReplacer("0001:00", "0001:0000000000", "0002:00", "0002:0000000000", "0003:00", "0003:0000000000").Replace(delphiMap), nil, 0x4081a6, "Main.TForm1.Crash+0x2"},
		{"dos", dosMap, nil, 0x11f, "_main+0x10f"},
		{"dos idle", dosMap, nil, 0x121, "_helper+0x1"},
		{"dos far", dosMap, nil, 0x203, "_far+0x3"},
		{"dos data", dosMap, nil, 0x1a34, ""},
		{"dos moved", dosMap, &base, 0x400203, "_far+0x3"},
	} {
		m := parse(t, tt.text, Options{Base: tt.base})
		if assumed := strings.HasSuffix(tt.name, "without base"); assumed != strings.Contains(m.Assumed(), "cannot be told from the map") {
			t.Errorf("%s: it says %q", tt.name, m.Assumed())
		}
		if got := found(m, tt.addr); got != tt.want {
			t.Errorf("%s: %#x is %q; want %q", tt.name, tt.addr, got, tt.want)
		}
		if m.AddressSize() != 4 {
			t.Errorf("%s: addresses of %d bytes", tt.name, m.AddressSize())
		}
	}
	m := parse(t, borland5Map, Options{Base: &base})
	if s, ok := m.Nearest(0x409011); !ok || s.Name != "_counter" || s.Type != 'D' || s.Addr != 0x409010 {
		t.Errorf("data: %+v; want _counter at 0x409010", s)
	}
	if n := len(m.Symbols()); n != 6 {
		t.Errorf("%d symbols; want each once", n)
	}
	if addr, ok := m.Logical(1, 0x639); !ok || addr != 0x401639 {
		t.Errorf("0001:00000639 is %#x", addr)
	}
	if addr, ok := parse(t, dosMap, Options{}).Logical(0x10, 0x100); !ok || addr != 0x200 {
		t.Errorf("0010:0100 is %#x", addr)
	}
	if r, ok := parse(t, delphiMap, Options{}).Region(0x4081a4); !ok || r.Object != "Main" || r.Name != ".text" {
		t.Errorf("piece: %+v", r)
	}
}
