// Package arch is what the kernel knows of the CPU and the board. Each name is the CPU's or
// the board's own, chosen at build time in files by CPU: aliases, and functions that
// the compiler inlines, so that a call costs what it costs there. Outside arch/ and boot/
// nothing imports arch/amd64 or arch/pc.
//
// This comment is the list of what a new CPU and a new board must provide. A test builds the
// kernel with arch/stub, which has these names and nothing else.
//
// It imports arch/amd64 and arch/pc. The contexts are those of each name, early and kernel
// context where it does not say so.
//
// # What a CPU must provide
//
// Traps and system calls:
//
//	TrapFrame          what a trap or a system call has interrupted: PC, SP, FP, TLS, Trap, Error, Addr
//	CPU                the CPU's part of its own record, at the record's beginning: the boot sets it up; CounterOffset is what the kernel adds to ReadCounter, LatestEvent the address of NoteEvent's latest event, 0: none are noted
//	ThisCPU            returns the running CPU's record
//	MaxCPUs            how many CPUs the kernel takes
//	CompareAndSwap     sets a word if it is what it was, in one step for all CPUs
//	CompareAndSwap64   is CompareAndSwap for eight bytes, such as a page table's entry
//	FetchAdd           adds to a word and returns what it was, in one step for all CPUs
//	RingSize           size in bytes of a ring of events, and what it is aligned to
//	EventSize          size of an event: the time and three words
//	NotNoted           what NoteEvent returns where there is no ring
//	NoteEvent          writes an event behind the latest one of the running CPU's ring, and returns its address
//	SetTrapHandler     sets the top-level function that every trap calls, interrupts off
//	TrapDivide         divide error
//	TrapDebug          debug exception: a single step, or an access to a watched place
//	TrapNMI            non-maskable interrupt
//	TrapBreakpoint     breakpoint
//	TrapOpcode         invalid opcode
//	TrapFPU            FPU not available
//	TrapDouble         double fault
//	TrapStackSegment   stack fault
//	TrapProtection     general protection
//	TrapPage           page fault
//	TrapFloat          floating-point error of the old unit
//	TrapMachine        machine check
//	TrapSIMD           floating-point error
//	TrapInterrupt      the first that is an interrupt; its number is the interrupt's
//	TrapCall           the trap in the record of a switch of stacks
//	TrapSyscall        the trap in the record of a system call; its error code is the call's number
//	TrapMark           marks the record in a TrapFrame, where a return address would be
//	FrameOf            returns the TrapFrame of which the record is a part
//	TLSOf              returns the address of the word that holds the TLS of a record's TrapFrame
//	CopyFrame          copies the registers of a trap or system call
//	LoadTables         makes traps reach the handler; the trap stacks are set
//	Keep               makes size bytes at p a part of what is kept twice
//	KeepCPU            does so with what the CPU's own code needs
//	KeptSize           returns the room in bytes that SaveKept needs
//	SaveKept           copies what is kept to room, and has giveUp called when traps come to no end
//	RestoreKept        puts back what is not as it was copied; it returns how many words, and the first one's address
//	CloseTrap          makes delivering a trap fault: for the crash lab
//	DropNMI            makes NMIs be counted and dropped, or ends that
//	DroppedNMIs        returns how many NMIs have been dropped since boot
//	SetSyscallHandler  sets the function that every system call calls, with the CPU's record, on the given stack
//	SyscallSize        length in bytes of the system call instruction
//	BehindSyscall      reports whether the instruction before pc, which is code, is a system call
//	LastCall           returns the frame of the latest system call; the call may be over
//	BeginKernelStack   calls a function on the kernel stack, from its top, and does not return
//	UserTLS            returns the TLS of the running thread, to which its system call or trap returns
//	Resume             leaves the kernel for a thread; fpu is its save area, or 0
//
// Walks through the entry code:
//
//	EntryBounds        bounds the code of which AtEntry knows
//	AtEntry            tells how a walk passes an exact pc of a CPU in the entry code; a and b are EntryRegisters'
//	Interrupted        what a trap, a system call or a switch of stacks has interrupted
//	EntryState         what AtEntry has found
//	EntryRecord        the frame pointer leads to a record; the pc tables do not hold
//	EntryBare          it does not, and what was interrupted is in an Interrupted
//	EntryRegisters     returns what AtEntry has to know of the registers, beside SP and FP
//	EntryRegistersAt   is EntryRegisters for a trap record
//	RegisterPC         numbers of registers in a trace: the pc
//	RegisterSP         the stack pointer
//	RegisterFP         the frame pointer
//	RegisterSpace      the root of the page tables
//	IsPoisoned         reports whether a trap can be an access to the m of the fake g
//
// Stacks:
//
//	NumTrapStacks      how many stacks traps run on; 0 stands for none
//	SetTrapStack       sets a trap stack: its lowest address, and the one just above it, a multiple of 16
//	TrapStack          returns what SetTrapStack has set
//	TrapStackPage      the one of page faults
//	TrapStackNMI       the one of NMIs
//	OnStack            calls f(arg) on the stack lo <= address < top, such that a walk finds the way back
//	OnFakeG            reports whether early or kernel context runs
//	ClearStackGuard    lets the running code use its stack down to the guard page: for the crash lab
//	FramePointer       returns the address of the caller's frame record; the caller must not be inlined
//	FrameRecord        reads a frame record
//
// Signals:
//
//	ContextRegisters   how many words of a SignalContext are registers; SP and PC are the last
//	SignalContext      what a signal's frame has of the CPU: Linux's struct sigcontext
//	RecordSize         size in bytes of a trap record
//	RedZone            how many bytes below its stack pointer a function may use
//
// Address space:
//
//	PageSize           sizes of pages, in bytes
//	PageSize2          the larger one
//	PTEPresent         bits of a page-table entry: mapped
//	PTEWrite           writable
//	PTEUncached        of a device
//	PTEDirty           written to
//	PTELarge           a page of PageSize2
//	PTENoExec          not executable
//	PTEAddr            mask of the address
//	FaultPresent       bits of a page fault's error code: a protection violation
//	FaultWrite         a write
//	FaultFetch         an execution
//	DirectMap          where the kernel's map of physical memory begins
//	MaxPhysical        just above the highest physical address in it
//	Virtual            returns the address in the kernel's map of physical memory of what has that physical address
//	Physical           returns the physical address of what is in that map, or in the image
//	Allows             reports whether an entry allows the access that has made a page fault with that error code
//	EnableNoExec       lets pages be closed for execution; false if the CPU cannot do that
//	UseTables          switches to the page tables with the root, whose rights hold for the kernel, too
//	FlushPage          drops what the CPU has kept of the page that holds addr
//	FlushPages         drops all that the CPU has kept of the page tables
//	Pointer            makes a pointer of an address
//
// The program's memory, which may fault:
//
//	CopyUser           copies bytes and returns how many were not copied
//	FillUser           fills bytes with a word and returns how many were not filled
//	LoadUser32         reads four bytes; ok is false if that faults
//	LoadUser64         reads eight bytes; ok is false if that faults
//	StoreUser32        writes four bytes and returns whether that was possible
//	StoreUser64        writes eight bytes and returns whether that was possible
//	UserFixup          returns where to resume after a fault at pc in one of these functions, or 0
//
// FPU:
//
//	InitFPU            turns the FPU on
//	FPUName            says how the FPU is saved
//	FPUSize            returns what a save area takes, with its mark for a signal's frame
//	MaxFPU             room in bytes for a save area
//	FPUFirst           bytes of it that are there on every CPU
//	FPUAlign           its alignment
//	SaveFPU            fills a save area with the FPU's state in the code that f has interrupted
//	ResetFPU           fills a save area with the state of a call's start
//	CheckFPU           makes what a program has written into a save area fit for being loaded
//	MarkFPU            marks a save area for a signal's frame and reports whether it goes on behind the first bytes
//	FPUMarked          reports whether a save area goes on behind its first bytes
//	SaveControl        returns the FPU's control words, which a system call preserves
//	InitialControl     what SaveControl returns in a new process
//
// Instructions:
//
//	DisableInterrupts  holds interrupts off
//	EnableInterrupts   lets interrupts in
//	InterruptsEnabled  reports whether interrupts are let in
//	WaitForInterrupt   lets interrupts in, halts until one has been handled, and returns with interrupts off
//	Halt               waits for an interrupt
//	Pause              says that this is a spin loop
//	Fence              returns when all loads and stores before it have been done, ahead of ReadCounter behind it
//	ReadCounter        returns the CPU's counter of time, in ticks
//	Mul64              returns the 128 bits of a product
//	Div64              divides 128 bits
//	SingleStep         makes the debug exception follow each instruction, or ends that
//	Watch              a place whose accesses raise the debug exception, behind the access
//	NumWatches         how many places can be watched
//	SetWatches         makes the CPU watch these places, and no others
//	HoldWatches        makes the CPU watch nothing, until SetWatches is called
//	WatchesExact       reports whether all that raises the debug exception are accesses to the places
//	TakeWatchHits      tells which places have raised the debug exception, and whether it is a single step, too
//	Branch             a branch that the CPU has recorded: From, To, Cycles, Missed
//	MaxBranches        how many records of branches are read at most
//	FindBranches       returns how many records of branches there are, and whether this is a virtual machine
//	BranchesName       says what kind FindBranches has found
//	StartBranches      turns the records on, but for while an exception is handled
//	StopBranches       ends that; false: the CPU records nothing
//	BranchesHeld       reports whether the records are those in front of the exception that is being handled
//	ReadBranches       reads the records while they are stopped, the oldest first
//	FakeMSR            a register of the CPU's, for FakeBranches
//	FakeBranchMSRs     how many of them it wants room for
//	FakeBranches       has the CPU be one with these records: for the crash lab
//	Breakpoint         raises the breakpoint exception
//	BreakpointCode     the instruction of a breakpoint
//	BreakpointSize     how far behind it the pc of its trap is, in bytes
//	PatchCode          writes a byte of the text, which is read-only for all else
//	WriteBackCaches    writes what the caches hold to RAM
//	ResetCPU           resets the CPU by a fault that cannot be delivered
//	CPUName            writes what the CPU calls itself, and returns the length
//	FindRandom         reports whether the CPU has a random generator
//	RandomName         names the best generator that FindRandom has found
//	Random             returns a number of the generator, if it has one to give
//	Seed               returns a number that is as random as the CPU's can be, if it has one to give
//
// The image:
//
//	TextBounds         bounds the program's code
//	TypesBase          returns the address from which the runtime counts types' offsets
//	PCTableBounds      bounds Go's pc tables
//	RuntimeEntry       returns where the Go runtime starts under Linux
//	Syscall            makes a system call
//
// Registers of devices:
//
//	Load8              reads a register of one byte
//	Load16             reads a register of two bytes
//	Load32             reads a register of four bytes
//	Store8             writes a register of one byte
//	Store16            writes a register of two bytes
//	Store32            writes a register of four bytes
//	Store64            writes a register of eight bytes, the lower half first
//	ReadPort8          reads a register in the I/O space of PCI, and so below
//	ReadPort16         of two bytes
//	ReadPort32         of four bytes
//	WritePort8         writes one
//	WritePort16        of two bytes
//	WritePort32        of four bytes
//
// # What a board must provide
//
// Interrupts:
//
//	MaskInterrupts     moves the two 8259s' vectors out of the way of the exceptions and masks all their inputs (Intel 8259A data sheet, ICW1-4)
//	InterruptRegisters returns the physical address of the page of the local interrupt controller's registers; ok is false if there is none
//	StartInterrupts    turns the local interrupt controller on, and its input LINT1 into the NMI that it is on every PC (firmware does the same, but not microvm's)
//	LocalInterrupts    reports whether StartInterrupts has been called: whether the CPU can interrupt itself and devices can send it messages
//	InterruptSelf      sends the CPU an interrupt of the given number
//	InterruptMessage   returns what a device writes, and where, to interrupt this CPU: the local APIC behind the address takes the data for a vector
//	MessageAddress     returns where a device writes an InterruptMessage for the CPU of that ID, 255 at most
//	JoinInterrupts     turns on the local interrupt controller of a CPU that has been started
//	FindCPUs           lists the CPUs as interrupt controllers name them, and says whether ACPI has told of them; early, with the first page tables
//	ThisID             returns how they name the running CPU
//	InitCPU            makes a CPU wait to be started
//	StartCPU           starts it at the beginning of a page below 1 MiB
//	InterruptCPU       sends a CPU an interrupt of the given number
//	StopCPU            sends a CPU an NMI
//	EndOfInterrupt     tells the interrupt controllers that the handler of an interrupt of this number is done
//	LineRegisters      address of the registers of the controller that wires of devices go to
//	ConnectConsole     makes the console's UART interrupt with InterruptConsole
//	InterruptTimer     numbers of interrupts: the timer's
//	InterruptConsole   the console's serial port's
//	InterruptNetwork   the network card's message
//	InterruptPort      that of a virtio console
//	InterruptShare     that of devices which share folders
//	InterruptWake      that by which a CPU wakes another one
//	InterruptFlush     that by which a CPU has another one drop what it has kept of page tables
//
// Time:
//
//	MeasureCounter     returns the frequency of ReadCounter's counter; mapped: AlarmRegisters are
//	CounterReference   returns what MeasureCounter has measured against; "": nothing, it has guessed
//	CounterCheck       returns what is wrong with another clock that could be measured against, by number; more is false behind the last
//	ChooseTimer        takes the best timer that works, which interrupts with InterruptTimer
//	TimerName          returns what interrupts: "tsc-deadline", "lapic", "pit" or "none"
//	JoinTimer          makes the timer of a CPU that has been started ready, as ChooseTimer has done
//	StartTimer         makes the timer interrupt once, when so many of its ticks are over
//	StopTimer          takes that back
//	AlarmRegisters     returns the address of the registers of the timer that raises NMIs, 0: there is none; FindCPUs
//	InitAlarm          makes that timer ready; false: there is none
//	SetAlarm           makes an NMI come in ns nanoseconds
//	StopAlarm          takes that back
//	RTC                the clock that tells the date
//	HasRTC             reports whether a clock answers at the RTC's ports and has not lost its time
//
// Serial ports:
//
//	UART               a serial port
//	UARTConsole        the serial port of the console
//	UARTSecond         the second serial port
//	UARTRoom           how many bytes a UART takes at a time at most
//
// PCI:
//
//	HasPCI             reports whether the machine has PCI
//	ReadPCI            reads the four bytes at off, a multiple of four, of a function's configuration space; all ones if there is no such function
//	WritePCI           writes the four bytes at off, a multiple of four
//	WritePCI16         writes the two bytes at off, a multiple of two, and nothing beside them
//
// Screen and keyboard:
//
//	TextScreen         address of the text screen's memory
//	CellSize           what a character takes of such memory, in bytes
//	HalfUpper          the character of which the upper half is lit
//	HalfLower          that of which the lower half is
//	HasTextScreen      reports whether there is a screen in a text mode at TextScreen
//	TextScreenSize     returns the characters of the text screen, as a BIOS has left them in its data area (IBM PS/2 and PC BIOS reference, 40:4A and 40:84), if it can be so
//	StartText          takes the text screen at the address in use: its first line is the first in memory, and there is no cursor
//	DrawText           writes a character, or one that stands out, to a cell of a text screen's memory
//	KeyPressed         reports whether a key has gone down since it was last called
//
// The end:
//
//	Exit               ends QEMU, with status value*2+1, if the debug-exit device is there; otherwise it returns
//	Restart            resets the machine: by the chip set's reset control register, then by the keyboard controller, then by a triple fault, which every CPU knows
//	LastWord           says on the console's UART that the panic path itself has failed, and then does what Exit does, unless value is 0
//
// In the order of reading:
//
//	cpu_amd64.go    the CPU's names
//	board_amd64.go  the board's names
package arch
