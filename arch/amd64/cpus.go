package amd64

// Several CPUs. The one that boots fills in the record of another one, which then starts, in
// boot/ap_amd64.s, and makes itself ready.

// MaxCPUs is how many CPUs the kernel takes.
const MaxCPUs = 64

// several is set where there are several CPUs. Set once at boot.
var several bool

// ShareTables gives the CPU with the record c, which does not run yet or waits, what this one's
// tables have beside descriptors: the handler of traps, and what is kept twice. Early and kernel
// context.
func (c *CPU) ShareTables() {
	several = true
	from, to := ThisCPU().tables(), c.tables()
	cr0 := c.openTables()
	to.handler, to.giveUp, to.kept, to.numKept = from.handler, from.giveUp, from.kept, from.numKept
	c.closeTables(cr0)
}

// CompareAndSwap sets *p to new if it is old, and reports whether it was, in one step for all
// CPUs. Any context.
func CompareAndSwap(p *uint32, old, new uint32) bool

// CompareAndSwap64 is CompareAndSwap for eight bytes, aligned. Any context.
func CompareAndSwap64(p *uint64, old, new uint64) bool

// FetchAdd adds n to *p and returns what it was, in one step for all CPUs, behind all loads and
// stores before and ahead of those that follow. Any context.
func FetchAdd(p *uint32, n uint32) (old uint32)

// FlushPages drops all that the CPU has kept of the page tables. Kernel context.
func FlushPages() { WriteCR3(ReadCR3()) }
