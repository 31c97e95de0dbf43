package symbol_test

import (
	"errors"
	"fmt"
	"log"
	"path/filepath"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/mapfile"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// sample is a program in C for 64-bit Arm.
const sample = "testdata/objects/arm64.linked"

// Opening a file reads little: what answers need is read when it is asked for.
func Example() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err) // it names the file, and what it is instead
	}
	defer f.Close()
	if err := f.CanResolve(); err != nil {
		log.Fatal(err) // it says what is missing
	}
	// An address in calls that the compiler inlined: the innermost comes first.
	for _, fr := range f.Lookup(0x100e4, false) {
		fmt.Printf("%s+%#x %s:%d\n", fr.Function, fr.Offset, filepath.Base(fr.File), fr.Line)
	}
	// Output:
	// square+0x1c csample2.c:7
	// either+0x1c csample2.c:12
	// rare+0x1c csample2.c:32
}

// A return address, as stack traces have them, belongs to the call before it. What
// follows a call that never returns is another line, or another function.
func ExampleFile_Lookup() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	const addr = 0x10030
	fmt.Println("program counter:", f.Lookup(addr, false)[0].Line)
	fmt.Println("return address: ", f.Lookup(addr, true)[0].Line)
	// Output:
	// program counter: 37
	// return address:  38
}

// All addresses of a trace, or of a whole log, are best looked up together.
func ExampleFile_LookupAll() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	addrs := []uint64{0x10018, 0x100dc, 0x123456}
	for i, frames := range f.LookupAll(addrs, true) {
		if len(frames) == 0 {
			fmt.Printf("%#x is in no function\n", addrs[i])
			continue
		}
		physical := frames[len(frames)-1] // that of the call instruction, not inlined
		fmt.Printf("%#x %s+%#x\n", addrs[i], physical.Function, physical.Offset)
	}
	// Output:
	// 0x10018 _start+0x18
	// 0x100dc rare+0x14
	// 0x123456 is in no function
}

func ExampleFile_Functions() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for fn := range f.Functions() {
		fmt.Printf("%#x %3d bytes %s\n", fn.Start, fn.End-fn.Start, fn.Name)
	}
	// Output:
	// 0x10000  64 bytes _start
	// 0x10040 136 bytes loop
	// 0x100c8  84 bytes rare
	// 0x1011c  12 bytes stop
	// 0x10128  56 bytes either
}

// One File serves any number of goroutines. It is closed when all are done with it.
func ExampleFile_concurrent() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	addrs := []uint64{0x10000, 0x10044, 0x100cc, 0x1011c}
	names := make([]string, len(addrs))
	var wait sync.WaitGroup
	for i, addr := range addrs {
		wait.Go(func() { names[i] = f.Lookup(addr, false)[0].Function })
	}
	wait.Wait()
	fmt.Println(strings.Join(names, " "))
	// Output: _start loop rare stop
}

// Look-ups make the best of a damaged file; Check says what is wrong with it.
func ExampleFile_Check() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Check())
	// Output: <nil>
}

func ExampleOpen_error() {
	_, err := symbol.Open("testdata/csample.c")
	fmt.Println(err)
	fmt.Println(errors.Is(err, symbol.ErrNotELF))
	// Output:
	// testdata/csample.c: not an ELF file (starts with "// A")
	// true
}

// A map file has the functions of a program whose ELF file is not there.
func ExampleNewMap() {
	text := "0000000000001000 0000000000000020 T start\n0000000000001020 0000000000000040 t work\n"
	file, err := mapfile.Read(strings.NewReader(text), "kernel.map", mapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m := symbol.NewMap(file)
	for _, fr := range m.Lookup(0x1024, false) {
		fmt.Printf("%s+%#x\n", fr.Function, fr.Offset)
	}
	// Output: work+0x4
}
