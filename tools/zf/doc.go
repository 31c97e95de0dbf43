// Zf is Zeroframe's host command: it builds a Go main package into a bootable
// image, boots it in QEMU, and resolves the traces it dies with.
//
// What the commands are, `zf -h` says, and the table in main.go.
//
// What lives here: the dispatch (main.go), what all commands share (call.go), and one file a
// command (run and test share machine.go, console.go, files.go and verdict.go), which reads
// its flags, calls the packages that do the work (tools/machine/image, tools/machine/initrd,
// tools/format/input, tools/symbol, tools/format/trace, qemu) and returns an error, which call.go
// turns into a message and an exit status. What is worth
// testing without a command line belongs in those packages.
//
// Context: the host.
//
// In the order of reading:
//
//	main.go           the commands, and the help
//	call.go           what all commands share: flags, messages, errors, exit statuses
//	debugger.go       the debugger's half of zf, a program of its own: zf-debugger
//	handover.go       zf without it (-tags lean), and how that has zf-debugger do what it cannot
//	question.go       what one asks the other
//	become_unix.go, become_windows.go  how one takes the other's place
//	hints.go          what may have been meant, and the next step of an error
//	build.go          zf build
//	progress.go       how far a build is
//	run.go            zf run
//	test.go           zf test
//	testpackage.go    one package of it
//	testrecord.go     its -record-failures
//	mounts.go         the folders of this host that tests see
//	machine.go        what run and test share
//	kernelline.go     the kernel's command line, and the parts that it asks for
//	net.go            a machine's network, and the ports that the host reaches
//	screen.go         what a machine says, on its way to the user
//	short.go          how a death is shown in a few lines
//	runtimetext.go    what Go's runtime prints of it
//	bootreport.go     the kernel's boot report
//	deaths.go         -log, zf last
//	attend.go         ^\ for a machine that runs; the end of one that has halted for good
//	accel.go          -accel and -icount
//	record.go         -record
//	recorded.go       a recording that is opened, with its image
//	replay.go         zf replay
//	replayrun.go      the machine that does the same again
//	replayobserve.go  what is looked at on its way
//	replayback.go     a debugger that goes backwards
//	why.go            zf why
//	whywaits.go       its -waits
//	whyword.go        its -var
//	reportwhy.go      zf report of a recording
//	files.go          files for the guest
//	console.go        the guest's input
//	quiet.go          -q
//	lineends.go       CR LF
//	timestamps.go     the time before each line (-timestamps)
//	process_unix.go, process_windows.go  terminals and processes
//	termios_linux.go, termios_bsd.go     terminals
//	chaos.go          -chaos
//	flight.go         what is kept of a program beside its text
//	verdict.go        how a run has ended
//	kept.go           the files of -cpuprofile, -memprofile and -handles
//	profile.go        zf profile
//	probe.go          -probe
//	watch.go          -watch
//	dlvrecording.go   zf dlv on a recording
//	dlvlive.go        zf dlv on a program that runs
//	timeline.go       zf trace
//	handles.go        zf handles and zf leaks
//	records.go        -records
//	iso.go            zf iso
//	symbolize.go      zf symbolize
//	view.go           how traces are shown
//	images.go         -e
//	photo.go          photos as its input
//	addr.go           zf addr
//	addrflags.go      its flags
//	addrstyle.go      the output styles of LLVM's tools
//	symbolizer.go     zf symbolizer: llvm-symbolizer's flags and protocol
//	debuginfod.go     the flag -debuginfod
//	lines.go          addresses that come one by one
//	doctor.go         zf doctor
//	completion.go     zf completion
//	topics.go         zf help TOPIC
//	kernel.txt        its topic kernel, made of kernel/option
//	opening.go        the ELF files that a command opens
//	map.go            zf map
//	stacks.go         zf stacks
//	report.go         zf report
//	core.go           zf core
//	corefull.go       a full core
//	oom.go            what the heap of a machine has that is out of memory
//	dead.go           what the commands on a dead program share
//	goroutines.go     zf goroutines
//	print.go          zf print
//	prompt.go         its prompt
//	promptline.go     the lines of it: typed, or of a script
//	heap.go           zf heap
//	waits.go          zf waits, and what zf run, goroutines and report say of waits
//	lists.go          the same of a stream that has a list of all goroutines
//	dlv.go            zf dlv
//	gdb.go            zf gdb
//	gdb.py            what it adds to gdb
//	receive.go        zf receive
package main
