//go:build stub

package arch

// TrapFrame is what a trap or a system call has interrupted.
type TrapFrame struct{ PC, SP, FP, TLS, Trap, Error, Addr uintptr }

func (f *TrapFrame) Advance(n uintptr)                                         { panic(stub) }
func (f *TrapFrame) BeginStep() (flags uintptr)                                { panic(stub) }
func (f *TrapFrame) BehindAccess() bool                                        { panic(stub) }
func (f *TrapFrame) CallArgs() (a, b, c, d, e, g uintptr)                      { panic(stub) }
func (f *TrapFrame) CallHandler(handler, sp, record, sig, info, ctx uintptr)   { panic(stub) }
func (f *TrapFrame) CallNumber() uintptr                                       { panic(stub) }
func (f *TrapFrame) EndStep(flags uintptr)                                     { panic(stub) }
func (f *TrapFrame) InKernel() bool                                            { panic(stub) }
func (f *TrapFrame) InKernelOf(c *CPU) bool                                    { panic(stub) }
func (f *TrapFrame) InitThread()                                               { panic(stub) }
func (f *TrapFrame) MakeRecord(trap, code uintptr) (r [RecordSize / 8]uintptr) { panic(stub) }
func (f *TrapFrame) PushFP() bool                                              { panic(stub) }
func (f *TrapFrame) Registers(to []uintptr) (have uint64)                      { panic(stub) }
func (f *TrapFrame) Repaired() bool                                            { panic(stub) }
func (f *TrapFrame) Restart(number uintptr)                                    { panic(stub) }
func (f *TrapFrame) Result() uintptr                                           { panic(stub) }
func (f *TrapFrame) Resume(pc uintptr)                                         { panic(stub) }
func (f *TrapFrame) Return() bool                                              { panic(stub) }
func (f *TrapFrame) SetUserTLS(base uintptr)                                   { panic(stub) }
func (f *TrapFrame) SetResult(v uintptr)                                       { panic(stub) }
func (f *TrapFrame) SkipHalt()                                                 { panic(stub) }

// Watch is a place whose accesses raise the debug exception.
type Watch struct {
	Addr  uintptr
	Size  uint32
	Reads bool
}

// CPU is the CPU's part of its own record.
type CPU struct {
	CounterOffset uint64
	LatestEvent   uintptr
}

func (c *CPU) Keep()                        { panic(stub) }
func (c *CPU) LockTables()                  { panic(stub) }
func (c *CPU) OnHost() (base uintptr)       { panic(stub) }
func (c *CPU) ShareTables()                 { panic(stub) }
func (c *CPU) TablePages() (lo, hi uintptr) { panic(stub) }
func (c *CPU) UserTLS() uintptr             { panic(stub) }

// Interrupted is what a trap, a system call or a switch of stacks has interrupted.
type Interrupted struct{ Trap, Error, PC, SP, FP uintptr }

// EntryState is what AtEntry has found.
type EntryState uint8

// SignalContext is what a signal's frame has of the CPU.
type SignalContext struct{ Error, Trap, Mask, Addr, FPU uintptr }

func (c *SignalContext) Argument(i int) uintptr { panic(stub) }

func (c *SignalContext) Load(f *TrapFrame) bool { panic(stub) }
func (c *SignalContext) Save(f *TrapFrame)      { panic(stub) }

// UARTBase says which serial port.
type UARTBase uint16

// UART is a serial port.
type UART struct{ Base UARTBase }

func (u *UART) EnableInput()               { panic(stub) }
func (u *UART) Flush()                     { panic(stub) }
func (u *UART) Flowing() bool              { panic(stub) }
func (u *UART) Init()                      { panic(stub) }
func (u *UART) Keep()                      { panic(stub) }
func (u *UART) Present() bool              { panic(stub) }
func (u *UART) Receive() (b byte, ok bool) { panic(stub) }
func (u *UART) Send(b byte)                { panic(stub) }
func (u *UART) SetSpeed(baud uint32) bool  { panic(stub) }
func (u *UART) SendAll(p []byte)           { panic(stub) }

// RTC is the clock that tells the date.
type RTC struct{ Second uint8 }

func (r *RTC) Read()                          { panic(stub) }
func (r *RTC) Unix() (seconds int64, ok bool) { panic(stub) }
func (r *RTC) Updating() bool                 { panic(stub) }

// Branch is a branch that the CPU has recorded.
type Branch struct {
	From, To uintptr
	Cycles   uint16
	Missed   bool
}

// FakeMSR is a register of the CPU's.
type FakeMSR struct {
	Number uint32
	Value  uint64
}
