package kernel

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/smp"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// The boot report: what a person who watches the serial port wants to know first, and how a bug
// report should begin, on a few lines.

// reporting reads the option report=off.
func reporting() bool {
	_, off := option.Word("report")
	return !off
}

// printReport prints the boot report; with report=off only its first line, for whoever waits until
// the kernel listens. Early context, when everything is set up.
func printReport() {
	console.FreshLine()
	console.String("zeroframe " + Version + " build ")
	if len(image.BuildID()) == 0 {
		console.String("-")
	}
	for _, b := range image.BuildID() {
		const digits = "0123456789abcdef"
		console.Byte(digits[b>>4])
		console.Byte(digits[b&15])
	}
	console.String("\n")
	if !reporting() {
		return
	}
	console.String("loader  ")
	if l := info.Loader(); len(l) > 0 {
		console.Bytes(l)
		console.String(", ")
	}
	console.String(info.Protocol.String())
	printScreen()
	printMemory()
	console.String("cpu     ")
	printCPU()
	if !mem.NoExec() {
		console.String(" (no NX: data can be executed)")
	}
	if !arch.LocalInterrupts() {
		console.String(" (no local interrupt controller: no interrupts)")
	}
	console.String(", ")
	console.String(arch.FPUName())
	smp.Print()
	console.Printf("\nclock   %d", clock.TSCHz()/1e6)
	printReference()
	console.String("; timer ")
	console.String(arch.TimerName())
	if !clock.HaveRTC() {
		console.String("; no real-time clock: it is 1970 (option time=SECONDS)")
	}
	console.String("\nrandom  ")
	console.String(entropy.Source())
	console.String("\nbranch  ")
	fault.PrintBranches()
	option.PrintParts()
	printNetwork()
	printShares()
	printPort()
	printNetconsole()
	observe.PrintProbes()
	printUnknown()
	printStacks()
}

// printScreen prints the line about the loader's screen, if there is one. It begins with the line
// break that ends the previous line.
func printScreen() {
	f, ok := info.Framebuffer()
	if !ok {
		return
	}
	console.Printf("\nscreen  %dx%d", uint64(f.Width), uint64(f.Height))
	if f.Kind == boot.Text {
		console.String(" characters")
	} else {
		console.Printf(", %d bits", uint64(f.BPP))
	}
	console.Printf(" at %x", f.Addr)
}

// printMemory prints the lines about the memory, with the line break before them.
func printMemory() {
	console.Printf("\nmemory  %d KiB usable, up to %x; image %d KiB, page tables %d KiB\n",
		mem.Total()>>10, mem.Highest(), uint64(image.End-(image.TextLo-image.HeaderRoom))>>10,
		mem.TableBytes()>>10)
	if info.Truncated {
		console.Printf(
			"        the loader's information was longer than the kernel keeps (%d regions, %d bytes)\n",
			boot.MaxRegions, boot.MaxCmdline)
	}
}

// printStacks prints the table of the kernel's stacks, with the line break before it.
func printStacks() {
	console.String("\nstack        size  used, at least   free  limit\n")
	for i := range stack.Table[:stack.Count] {
		s := &stack.Table[i]
		stack.Measure(s)
		console.String(s.Name)
		for n := len(s.Name); n < 10; n++ {
			console.Byte(' ')
		}
		console.Printf("%7d%10d%4d", uint64(s.Size()), uint64(s.Used), uint64(s.Used*100/s.Size()))
		console.String(" %")
		console.Printf("%7d%7d", uint64(s.Size()-s.Used), uint64(s.Limit))
		if s.Level() == tracer.LevelWarning {
			console.String("  warning: above 75 %")
		}
		console.String("\n")
	}
}

// printReference says which reference the clock was measured against, and what is wrong with
// others.
func printReference() {
	ref, begin := arch.CounterReference(), ", "
	if ref != "" {
		console.String(" MHz by ")
		console.String(ref)
	} else {
		console.String(" MHz assumed, so times may be wrong: ")
		begin = ""
	}
	for i := 0; ; i++ {
		name, wrong, hz, found, more := arch.CounterCheck(i)
		if !more {
			return
		}
		if !found && ref != "" {
			continue
		}
		console.String(begin)
		begin = ", "
		if wrong != "" && ref != "" {
			console.String("but ")
		}
		console.String(name)
		if wrong != "" {
			console.String(" ")
			console.String(wrong)
		}
		if hz != 0 {
			console.Printf(" %d MHz", hz/1e6)
		}
	}
}

// printUnknown says what is not known of the Go runtime in the image, if anything, because a trace
// that is cut short for that reason does not say so. It begins with the line break that ends the
// previous line.
func printUnknown() {
	n, first := 0, ""
	for i := goinfo.NumItems() - 1; i >= 0; i-- {
		if name, known := goinfo.Item(i); !known {
			n++
			first = name
		}
	}
	switch n {
	case 0:
		return
	case goinfo.NumItems():
		console.String("\nruntime unknown: nobody has told the kernel where this Go runtime keeps goroutines, so their traces" +
			" will be cut short; build the image with zf build")
		return
	}
	console.Printf(
		"\nruntime not all known: %d of %d things about this Go runtime were not found, as ",
		uint64(n), uint64(goinfo.NumItems()))
	console.String(first)
	console.String(
		", so traces may be cut short; build with a version of Go that this kernel was tested with," +
			" " + testedGo + ", or use a newer Zeroframe")
}

// testedGo are the versions of Go that `make test-toolchains` uses.
const testedGo = "1.25 to 1.27"

// printCPU prints the CPU's name.
func printCPU() {
	var name [48]byte
	console.Bytes(name[:arch.CPUName(&name)])
}
