package linux

import "github.com/zeroframe/zeroframe/kernel/percpu"

// membarrier(2): all other CPUs that run threads get an interrupt, which orders their loads and
// stores; a CPU at the gate of the kernel takes its lock first.

// Commands: bits, except the query.
const (
	barrierQuery            = 0
	barrierGlobal           = 1 << 0
	barrierGlobalExpedited  = 1 << 1
	barrierGlobalRegister   = 1 << 2
	barrierPrivate          = 1 << 3
	barrierPrivateRegister  = 1 << 4
	barrierSyncCore         = 1 << 5
	barrierSyncCoreRegister = 1 << 6
	barrierAll              = 1<<7 - 1
)

// barriers has a bit for each registration command that was given. Under the kernel lock.
var barriers uint32

func sysMembarrier(c *call) int64 {
	command := c.uint(0)
	if c.uint(1) != 0 {
		return -eINVAL
	}
	switch command {
	case barrierQuery:
		return barrierAll
	case barrierGlobalRegister, barrierPrivateRegister, barrierSyncCoreRegister:
		barriers |= command
		return 0
	case barrierPrivate, barrierSyncCore:
		if barriers&(command<<1) == 0 {
			return -ePERM
		}
	case barrierGlobal, barrierGlobalExpedited:
	default:
		return -eINVAL
	}
	if percpu.Many {
		percpu.FlushOthers(0, 0)
	}
	return 0
}
