// Package arch is what the kernel knows of the CPU and the board. Each name is the CPU's or the
// board's own, chosen at build time in files by CPU: aliases, and functions that the compiler
// inlines, so that a call costs what it costs there. Outside arch/ and boot/ nothing imports
// arch/amd64 or arch/pc.
//
// This comment is the list of what a new CPU and a new board must provide. A test builds the kernel
// with a stub that it makes of this list, which has these names and nothing else.
//
// It imports arch/amd64 and arch/pc. The contexts are those of each name, early and kernel context
// where it does not say so.
//
// # What a CPU must provide
//
// Traps and system calls:
//
//	TrapFrame          what a trap or a system call interrupted: PC, SP, FP, TLS, Trap, Error, Addr
//	CPU                the CPU's part of its own record, at the start of the record: the boot sets
//	                   it up; CounterOffset is added to ReadCounter, LatestEvent is the address of
//	                   NoteEvent's latest event, 0: no ring
//	ThisCPU            returns the running CPU's record
//	MaxCPUs            the largest number of CPUs
//	CompareAndSwap     atomically sets a word if it has the old value
//	CompareAndSwap64   is CompareAndSwap for eight bytes, such as a page table's entry
//	FetchAdd           atomically adds to a word and returns the old value
//	RingSize           size in bytes of a ring of events, and its alignment
//	EventSize          size of an event: the time and three words
//	NotNoted           the result of NoteEvent if there is no ring
//	NoteEvent          writes an event after the latest one of the running CPU's ring, and returns
//	                   its address
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
//	TrapInterrupt      the first interrupt; its number is the interrupt's
//	TrapCall           trap in the record of a switch of stacks
//	TrapSyscall        trap in the record of a system call, whose number is the error
//	TrapMark           marks a TrapFrame's record, in place of a return address
//	FrameOf            returns the TrapFrame that contains the record
//	TLSOf              returns the address of the word that holds the TLS of a record's TrapFrame
//	CopyFrame          copies the registers of a trap or system call
//	LoadTables         makes traps reach the handler; the trap stacks must be set
//	Keep               adds size bytes at p to what is stored twice
//	KeepVar            adds the variable at p to what is stored twice
//	KeepCPU            adds what the CPU's own code needs
//	KeptSize           returns the room in bytes that SaveKept needs
//	SaveKept           copies what is kept to room; giveUp is called when traps do not end
//	RestoreKept        restores what has changed since it was copied; it returns the number of
//	                   words, and the first one's address
//	CloseTrap          makes delivering a trap fault; for the crash lab
//	DropNMI            makes NMIs be counted and dropped, or ends that
//	DroppedNMIs        returns how many NMIs have been dropped since boot
//	SetSyscallHandler  sets the function that every system call calls, with the CPU's record, on
//	                   the given stack
//	SyscallSize        length in bytes of the system call instruction
//	BehindSyscall      reports whether the instruction before pc, which must be code, is a system
//	                   call
//	LastCall           returns the frame of the latest system call; the call may be over
//	BeginKernelStack   calls a function on the kernel stack, from its top, and does not return
//	UserTLS            returns the TLS of the running thread, to which its system call or trap
//	                   returns
//	Resume             leaves the kernel for a thread; fpu is its save area, or 0
//
// Walks through the entry code:
//
//	EntryBounds        bounds the code that AtEntry knows
//	AtEntry            tells how a walk passes an exact pc of a CPU in the entry code; a and b are
//	                   EntryRegisters'
//	Interrupted        what a trap, a system call or a switch of stacks interrupted
//	EntryState         AtEntry's answer
//	EntryRecord        the frame pointer leads to a record; the pc tables are not valid
//	EntryBare          it leads to no record; what was interrupted is in an Interrupted
//	EntryRegisters     returns the registers that AtEntry needs besides SP and FP
//	EntryRegistersAt   is EntryRegisters for a trap record
//	RegisterPC         numbers of registers in a trace: the pc
//	RegisterSP         the stack pointer
//	RegisterFP         the frame pointer
//	RegisterSpace      the root of the page tables
//	IsPoisoned         reports whether a trap can be an access to the m of the fake g
//
// Stacks:
//
//	NumTrapStacks      number of stacks that traps run on; 0 stands for none
//	SetTrapStack       sets a trap stack: its lowest address, and the one just above it, a multiple
//	                   of 16
//	TrapStack          returns the values that SetTrapStack set
//	TrapStackNMI       the one of NMIs
//	OnStack            calls f(arg) on the stack lo <= address < top, so that a walk finds its way
//	                   back
//	OnFakeG            reports whether this is early or kernel context
//	ClearStackGuard    lets the running code use its stack down to the guard page; for the crash
//	                   lab
//	FramePointer       returns the address of the caller's frame record; the caller must not be
//	                   inlined
//	FrameRecord        reads a frame record
//
// Signals:
//
//	ContextRegisters   number of words of a SignalContext that are registers; SP and PC are the
//	                   last
//	SignalContext      the CPU's part of a signal's frame: Linux's struct sigcontext
//	RecordSize         size in bytes of a trap record
//	RedZone            number of bytes below its stack pointer that a function may use
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
//	MaxPhysical        just above the highest physical address that it contains
//	Virtual            returns the address of a physical address in the kernel's map of physical
//	                   memory
//	Physical           returns the physical address of an address in that map, or in the image
//	Allows             reports whether an entry allows the access that caused a page fault with
//	                   that error code
//	EnableNoExec       makes it possible to forbid execution of pages; false if the CPU cannot do
//	                   that
//	UseTables          switches to the page tables with that root; their rights apply to the
//	                   kernel, too
//	FlushPage          drops the cached entry of the page that holds addr
//	FlushPages         drops all cached entries of the page tables
//	EntryOf            returns the address of the code of a top-level function
//	FuncAt             returns the function whose code's address is at a place
//	Pointer            converts an address to a pointer
//
// The program's memory, which may fault:
//
//	CopyUser           copies bytes and returns how many were not copied
//	FillUser           fills bytes with a word and returns how many were not filled
//	LoadUser32         reads four bytes; ok is false if that faults
//	LoadUser64         reads eight bytes; ok is false if that faults
//	StoreUser32        writes four bytes and reports whether that was possible
//	StoreUser64        writes eight bytes and reports whether that was possible
//	UserFixup          returns where to resume after a fault at pc in one of these functions, or 0
//
// FPU:
//
//	InitFPU            turns the FPU on
//	FPUName            says how the FPU is saved
//	FPUSize            returns the size of a save area, including its mark for a signal's frame
//	MaxFPU             room in bytes for a save area
//	FPUFirst           bytes of it that exist on every CPU
//	FPUAlign           its alignment
//	SaveFPU            fills a save area with the FPU's state in the code that f interrupted
//	ResetFPU           fills a save area with the state at the start of a call
//	CheckFPU           makes what a program wrote into a save area safe to load
//	MarkFPU            marks a save area for a signal's frame and reports whether it continues
//	                   after the first bytes
//	FPUMarked          reports whether a save area continues after its first bytes
//	SaveControl        returns the FPU's control words, which a system call preserves
//	InitialControl     the value of SaveControl in a new process
//
// Instructions:
//
//	DisableInterrupts  blocks interrupts
//	EnableInterrupts   allows interrupts
//	InterruptsEnabled  reports whether interrupts are allowed
//	WaitForInterrupt   allows interrupts, halts until one has been handled, and returns with
//	                   interrupts off
//	Halt               waits for an interrupt
//	Pause              says that this is a spin loop
//	Fence              returns when all earlier loads and stores are done, before a ReadCounter
//	                   that follows
//	ReadCounter        returns the CPU's counter of time, in ticks
//	Mul64              returns the 128 bits of a product
//	Div64              divides 128 bits
//	SingleStep         makes the debug exception follow each instruction, or ends that
//	Watch              a place whose accesses raise the debug exception, after the access
//	NumWatches         number of places that can be watched
//	SetWatches         makes the CPU watch these places only
//	HoldWatches        makes the CPU watch nothing, until SetWatches is called
//	WatchesExact       reports whether the debug exception is raised only by accesses to the
//	                   places; an emulator may raise it otherwise
//	TakeWatchHits      for the debug exception: it returns a bit for each place that was accessed,
//	                   and whether the exception is a single step, too
//	Branch             a branch that the CPU recorded: From, To, Cycles, Missed
//	MaxBranches        largest number of branch records that are read
//	FindBranches       returns the number of branch records, and whether this is a virtual machine
//	BranchesName       names the kind of records that FindBranches found
//	StartBranches      starts recording, except while an exception is handled
//	StopBranches       stops recording; false: the CPU records nothing
//	BranchesHeld       reports whether the records are those before the exception that is being
//	                   handled
//	ReadBranches       reads the records while recording is stopped, the oldest first, and returns
//	                   their number
//	FakeMSR            a register of the CPU, for FakeBranches
//	FakeBranchMSRs     number of them that it needs
//	FakeBranches       makes the CPU look like one with these records: for the crash lab
//	Breakpoint         raises the breakpoint exception
//	BreakpointCode     the instruction of a breakpoint
//	BreakpointSize     how far the pc of its trap is after it, in bytes
//	PatchCode          writes a byte of the text, which is otherwise read-only
//	WriteBackCaches    writes the contents of the caches to RAM
//	ResetCPU           resets the CPU by a fault that cannot be delivered
//	CPUName            writes the CPU's name for itself, and returns its length
//	FindRandom         reports whether the CPU has a random generator
//	RandomName         names the best generator that FindRandom found
//	Random             returns a number from the generator; ok is false if it has none at the
//	                   moment
//	Seed               returns the most random number that the CPU can give; ok is false if it has
//	                   none at the moment
//
// The image:
//
//	TextBounds         bounds the program's code
//	TypesBase          returns the address from which the runtime counts types' offsets
//	PCTableBounds      bounds Go's pc tables
//	RuntimeEntry       returns where the Go runtime starts under Linux
//	PollWaiters        returns the address of the runtime's count of goroutines that wait for a
//	                   descriptor's events
//	ExitCall           returns the place of the function that a goroutine calls before the exit
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
//	ReadPort8          reads a register in the I/O space of PCI, as do the following
//	ReadPort16         reads a register of two bytes
//	ReadPort32         reads a register of four bytes
//	WritePort8         writes a register of one byte
//	WritePort16        writes a register of two bytes
//	WritePort32        writes a register of four bytes
//
// # What the CPU's types must have
//
// The kernel uses these fields and methods only:
//
//	TrapFrame:         PC SP FP TLS Trap Error Addr Advance BeginStep BehindAccess CallArgs
//	                   CallHandler CallNumber EndStep InKernel InKernelOf InitThread MakeExitCall
//	                   MakeRecord PushFP Registers Repaired Restart Result Resume Return SetUserTLS
//	                   SetResult SkipHalt
//	CPU:               CounterOffset LatestEvent Keep LockTables OnHost ShareTables TablePages
//	                   UserTLS
//	Interrupted:       Trap Error PC SP FP
//	SignalContext:     Error Trap Mask Addr FPU Argument Load Save
//	Watch:             Addr Size Reads
//	Branch:            From To Cycles Missed
//	FakeMSR:           Number Value
//
// # What a board must provide
//
// Interrupts:
//
//	MaskInterrupts     moves the two 8259s' vectors away from the exceptions and masks all their
//	                   inputs (Intel 8259A data sheet, ICW1-4)
//	InterruptRegisters returns the physical address of the page of the local interrupt controller's
//	                   registers; ok is false if there is none
//	StartInterrupts    turns the local interrupt controller on, and makes its input LINT1 an NMI,
//	                   as on every PC (firmware does the same, except microvm's)
//	LocalInterrupts    reports whether StartInterrupts has been called: whether the CPU can
//	                   interrupt itself and devices can send it messages
//	InterruptSelf      sends the CPU an interrupt of the given number
//	InterruptMessage   returns what a device writes, and where, to interrupt this CPU: the local
//	                   APIC at the address takes the data as a vector
//	MessageAddress     returns where a device writes an InterruptMessage for the CPU of that ID,
//	                   255 at most
//	JoinInterrupts     turns on the local interrupt controller of a CPU that was started
//	FindCPUs           lists the CPUs by their IDs in interrupt controllers, and says whether ACPI
//	                   listed them; early, with the first page tables
//	ThisID             returns the ID of the running CPU there
//	InitCPU            makes a CPU wait for StartCPU
//	ResetTime          how many nanoseconds there must be between InitCPU and StartCPU
//	StartCPU           starts the CPU at the start of a page below 1 MiB
//	InterruptCPU       sends a CPU an interrupt of the given number
//	StopCPU            sends a CPU an NMI
//	EndOfInterrupt     tells the interrupt controllers that the handler of an interrupt of this
//	                   number is done
//	LineRegisters      registers of the controller for devices' interrupt wires
//	ConnectConsole     makes the console's UART interrupt with InterruptConsole
//	InterruptTimer     numbers of interrupts: the timer's
//	InterruptConsole   the console's serial port's
//	InterruptNetwork   the network card's message
//	InterruptPort      a virtio console's message
//	InterruptShare     the message of devices that share folders
//	InterruptWake      sent by a CPU to wake another one
//	InterruptFlush     sent by a CPU to make another drop cached page-table entries
//
// Time:
//
//	MeasureCounter     returns the frequency of ReadCounter's counter; mapped says that
//	                   AlarmRegisters are mapped
//	CounterReference   returns what MeasureCounter measured against; "": nothing, it is a guess
//	CounterCheck       returns what is wrong with another clock that could serve as a reference, by
//	                   number; more is false after the last
//	ChooseTimer        takes the best timer that works, which interrupts with InterruptTimer
//	TimerName          returns what interrupts: "tsc-deadline", "lapic", "pit" or "none"
//	JoinTimer          sets up the timer of a CPU that was started, as ChooseTimer did
//	StartTimer         makes the timer interrupt once, after that many of its ticks
//	StopTimer          cancels that
//	AlarmRegisters     returns the address of the registers of the timer that raises NMIs, 0: there
//	                   is none
//	InitAlarm          sets up that timer; false: there is none
//	SetAlarm           makes an NMI come in ns nanoseconds
//	StopAlarm          cancels that
//	RTC                the clock that tells the date
//	HasRTC             reports whether a clock answers at the RTC's ports and has not lost its time
//
// Serial ports:
//
//	UART               a serial port
//	UARTConsole        the serial port of the console
//	UARTSecond         the second serial port
//	UARTRoom           the largest number of bytes that a UART takes at a time
//
// PCI:
//
//	HasPCI             reports whether the machine has PCI
//	ReadPCI            reads the four bytes at off, a multiple of four, of a function's
//	                   configuration space; all ones if there is no such function
//	WritePCI           writes the four bytes at off, a multiple of four
//	WritePCI16         writes only the two bytes at off, a multiple of two
//
// Screen and keyboard:
//
//	TextScreen         address of the text screen's memory
//	CellSize           the size of a character there, in bytes
//	HalfUpper          the character whose upper half is lit
//	HalfLower          the character whose lower half is lit
//	HasTextScreen      reports whether there is a screen in a text mode at TextScreen
//	TextScreenSize     returns the size of the text screen in characters, as a BIOS left it in its
//	                   data area (IBM PS/2 and PC BIOS reference, 40:4A and 40:84), if that is
//	                   possible
//	StartText          starts using the text screen at the address: its first line is the first in
//	                   memory, and there is no cursor
//	DrawText           writes a character, bright if asked, to a cell of a text screen's memory
//	KeyPressed         reports whether a key was pressed since the last call
//
// The end:
//
//	Exit               ends QEMU, with status value*2+1, if the debug-exit device is there;
//	                   otherwise it returns
//	Restart            resets the machine: by the chip set's reset control register, then by the
//	                   keyboard controller, then by a triple fault, which works on every CPU
//	LastWord           writes to the console's UART that the panic path itself has failed, and then
//	                   does what Exit does, unless value is 0
//
// # What the board's types must have
//
//	UART:              Base EnableInput Flush Flowing Init Keep Present Receive Send SetSpeed
//	                   SendAll
//	RTC:               Second Read Unix Updating
//
// In the order of reading:
//
//	cpu_amd64.go    the CPU's names
//	board_amd64.go  the board's names
package arch
