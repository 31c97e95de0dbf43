// Bench measures Zeroframe and prints one line a figure, tab-separated: name,
// value, goal, and "ok" or "short" ("-" where there is no goal). The same goes to
// bench.txt. On standard error it says what it measures, and what it compares that
// with. It fails when something could not be measured, never because a figure is bad.
//
//	image.*   the same source as an image and as a plain Linux program: hello with
//	          println (image.hello), and with fmt (image.fmt)
//	boot.*    from the start of QEMU to the first byte, to the end of a trace, and to
//	          main.main of hello (doc/machines.md tells where that time goes);
//	          boot.main.linux: the same file as a Linux program.
//	          boot.main.instructions are all since reset, with the firmware's;
//	          boot.main.kernel.instructions those since the kernel's clock runs
//	start.*   hello from the first byte to main.main on q35 and microvm, the least times of 21
//	          boots, and what they go to, in ms, blocks of code that QEMU translates, and
//	          instructions:
//	            report   the boot report, at the console's speed
//	            program  file tree, devices, first thread
//	            memory   page tables and page frames, the runtime's page faults too
//	            copy     the second copy of what the panic path needs
//	            paint    of stacks, and its check
//	            calls    the runtime's system calls
//	            runtime  the Go runtime's own code, up to main.main
//	          main.warm.ms: the time of as many instructions that are translated before;
//	          kernel: the kernel up to its first byte. run: zf run in a folder, from the
//	          command to the first line, warm and with empty caches, and that over go build
//	cost.*    testdata/costs: what is asked of the kernel, and of the Go runtime on it:
//	            loop     sorting: the yardstick, which asks nothing of anybody
//	            syscall  getpid, a system call that does nothing
//	            clock    time.Now: two system calls on the kernel, none on Linux (vDSO)
//	            gosched  runtime.Gosched of two goroutines
//	            channel  a value to another goroutine and back
//	            thread   the same, where both keep a thread of their own
//	            touch    the first write to a page, with its share of mmap and munmap
//	events.*  what the kernel's log of the latest events costs a system call, in instructions
//	timer.*   how much longer than 1 ms a sleep of 1 ms takes: median and 90th percentile
//	memory.*  RAM in use when hello with fmt ends: the image with the kernel's static
//	          data, the first page tables, page frames; on Linux the resident set of the
//	          same file, without Linux itself. smallest: the smallest -m, in MiB, with
//	          which hello runs to its end
//	trace.*   the size of traces of 16 and 32 frames in each form, without arguments, and
//	          what these add to 16 frames (args); f32.compact.ratio is
//	          the compact form over text, repeat.bytes the line for the same trace again
//	walk.*    a walk of 32 frames, next to one that believes everything (ratio)
//	capture.* a Capture: instructions of each frame and beside the frames, in the guest;
//	          its time over that of a bare pointer chase on this processor (d32, d128)
//	again.*   the same for a stack that has not changed since the last capture
//	depot.*   a walk into a stack depot that knows the stack, over the walk alone, on this
//	          processor: compared by its hash of 64 bits, or in full (known); space: what
//	          stacks take, with their part of the index, over eight bytes a frame
//	profile.* a sample of a stack of 32 frames that is known (sample), and of stacks of
//	          which most are new (new); what 997 Hz cost a busy program
//	probe.*   a breakpoint of zf run -probe (hit), with the stack of callers (hit.stacks),
//	          and where all of a program is probed (hit.all); how many functions that is,
//	          and of all but the kernel's
//	callers.* how many times faster a Capture is than runtime.Callers, on this processor
//	paint.*   paint against Go's clear of the same memory, on this processor
//	scan.*    the scan for a high-water mark: in the guest, and on this processor against
//	          a loop in Go, which takes one cycle a word or two, as the core is shared or
//	          not; pages.ratio: of 376 KiB by the pages' dirty bits, over that of all words; check:
//	          of all kernel stacks' limits, once a second
//	stack.*   high-water marks over all kinds of the crash lab, early and go, and a
//	          program that keeps the kernel busy (testdata/load); g0 and sig are the
//	          highest of all threads
//	record.*  a record of 256 KiB that a program sends by COM1 or COM2: guest instructions
//	          for a byte (by COM1 with the waiting for it), and KiB a second
//	replay.*  a program with goroutines and garbage that zf run -record would record: its
//	          time over that under -icount alone, and the log's bytes for a million
//	          instructions
//	chaos.*   runs until a race of testdata/racy is seen, each with another seed, 40 at most (-runs):
//	          with chaos=, with four threads for goroutines alone (threads), and without (plain)
//	handles.* what the log of resources costs in the guest, under a stack of 32 frames: an
//	          event of the kernel's (event), one of a goroutine's own with its system call
//	          (log), and that call when nothing is logged (off)
//	netconsole.*  a trace by network: datagrams and bytes, and thousands of guest
//	          instructions from the last log line before the fault to the first datagram
//	          and to the last
//	serial.*  lines that a program writes to the serial port, and input that it reads there, in
//	          thousands of bytes a second; virtio: written to a virtio console;
//	          virtio_in: read from one
//	cpus.*    64 goroutines that compute, or make garbage: how much faster two CPUs are than one,
//	          by the machine's clock (speedup, with a host that has two to give); on 2 to 64
//	          CPUs, how long the kernel lock is held, in percents of the time, and waited for,
//	          in percents of all CPUs' time. A host with fewer lets a CPU that has the lock wait
//	core.*    a full core of a dead machine with 1 GiB: how long zf core takes, how much memory,
//	          and what the core takes on the disk; net: its memory by core=net, where no datagram,
//	          one of ten and three of ten are lost, in KB of RAM a second, zeros too, and what is on
//	          the line for that, in percents of core.rate= (line)
//	args.*    how many arguments of 125 crashes are in the trace, in percents of all (shown), and of
//	          those that Delve shows of the full core as they are (delve); how many differ; and how
//	          many words Go's own traceback has without ? (go)
//	net.*     testdata/wire, one file, as a server on Zeroframe and on Debian's Linux for clouds,
//	          each alone in such a machine (one CPU, virtio-net, QEMU's user network), by turns.
//	          What the client on the host gets done in a second, over what it gets from Linux: HTTP
//	          requests (by 1, 8 and 64 connections), connections, a byte there and back (pingpong),
//	          bytes (send: to the machine; receive), datagrams there and back, 8 under way (udp),
//	          TLS handshakes.
//	          first: from QEMU's start to the first answer; idle: RAM for 1,000 connections that do
//	          nothing; size: the image over Linux's kernel and first files
//	lines.*   lines of the kernel's packages, without tests; code has a token on it
//	std.*     totals of qemu/std.txt, if make test-std has made it
//
// Times are medians, of several boots or of many samples, on this machine. Ratios of what
// runs on this processor are medians of eleven, each of the shortest of a hundred
// windows of either side, by turns. Costs inside the guest are instructions, counted
// under -icount shift=0: nearly the same in every run. Next to them is the time that
// the same file takes in the guest under TCG (guest.ns) and on Linux (linux.ns), by
// turns. Since TCG is slower than the processor, the ratio of the two is taken after
// both are divided by the time of cost.loop on the same machine. It is rough, for TCG
// is slower at some instructions than at others: well below one the kernel is cheaper
// than Linux, well above two it is dearer.
//
// Run it with make bench, from the top of the repository. It takes some minutes.
// go run ./qemu/bench -run REGEXP measures a part; -h tells.
//
// In the order of reading:
//
//	main.go      the command
//	figures.txt  the table: which machines are booted, and how figures are read from what they say
//	figures.go   how the table is read
//	machine.go   a machine or a process, and the samples that it gives
//	guest.go     measurements that do more with a machine than read what it says
//	start.go     what the time up to main goes to
//	commands.go  commands of the host: zf run, full cores, memory by network
//	network.go   the network beside Linux's
//	host.go      paint, scan, captures and depots on this machine's processor
//	callers.go   runtime.Callers beside captures
//	lines.go     lines of source
package main
