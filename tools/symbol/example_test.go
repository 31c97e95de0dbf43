package symbol_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
	"github.com/zeroframe/zeroframe/tools/symbol/mapfile"
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

func ExampleFile_Frames() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for c := range f.Frames(0x100e4, false) {
		fmt.Println(c.Function, c.Line)
		if !c.Inlined {
			fmt.Println("not inlined")
		}
	}
	// Output:
	// square 7
	// either 12
	// rare 32
	// not inlined
}

// Debug information that is not on this machine comes from elsewhere: from a debuginfod server, or
// from any other type with the method DebugFile.
func ExampleOpenWith() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var stores []symbol.Store
	if client, err := buildid.ClientFromEnvironment(); err != nil {
		log.Fatal(err)
	} else if client != nil { // $DEBUGINFOD_URLS is set
		stores = append(stores, client)
	}
	f, err := symbol.OpenWith(ctx, sample, symbol.Options{Stores: stores})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Lookup(0x10018, false)[0].Function)
	// Output: _start
}

func ExampleFile_LookupContext() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(context.Background())
	answers, err := f.LookupContext(ctx, []uint64{0x10018, 0x100dc}, false)
	fmt.Println(len(answers), err)
	cancel()
	answers, err = f.LookupContext(ctx, []uint64{0x10018, 0x100dc}, false)
	fmt.Println(len(answers), err)
	// Output:
	// 2 <nil>
	// 0 context canceled
}

// From a line of the source to the addresses of its code.
func ExampleFile_Places() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	found, _, next := f.Places("csample2.c", 12)
	fmt.Println(len(found) > 0, next > 12)
	// Output: true true
}

// Columns, and where functions are declared.
func ExampleFile_Details() {
	f, err := symbol.Open(sample)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for i, d := range f.Details(0x100e4, false) {
		fmt.Println(i, d.Name, d.Column > 0, d.StartLine > 0)
	}
	// Output:
	// 0 square true true
	// 1 either true true
	// 2 rare true true
}
