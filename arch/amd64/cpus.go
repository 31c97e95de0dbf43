package amd64

// Several CPUs. The CPU that boots fills in another CPU's record; that CPU then starts, in
// boot/ap_amd64.s, and sets itself up.

// MaxCPUs is the largest number of CPUs.
const MaxCPUs = 64

// several is set where there are several CPUs. Set once at boot.
var several bool

// ShareTables gives the CPU with record c, which does not run yet or waits, this CPU's table
// entries other than descriptors: the trap handler, and what is stored twice. Early and kernel
// context.
func (c *CPU) ShareTables() {
	several = true
	from, to := ThisCPU().tables(), c.tables()
	cr0 := c.openTables()
	to.handler, to.giveUp, to.kept, to.numKept = from.handler, from.giveUp, from.kept, from.numKept
	c.closeTables(cr0)
}

// CompareAndSwap atomically sets *p to new if it is old, and reports whether it was. Any context.
func CompareAndSwap(p *uint32, old, new uint32) bool

// CompareAndSwap64 is CompareAndSwap for eight bytes, aligned. Any context.
func CompareAndSwap64(p *uint64, old, new uint64) bool

// FetchAdd atomically adds n to *p and returns the old value. It is ordered after all earlier and
// before all later loads and stores. Any context.
func FetchAdd(p *uint32, n uint32) (old uint32)

// FlushPages drops all cached entries of the page tables. Kernel context.
func FlushPages() { WriteCR3(ReadCR3()) }
