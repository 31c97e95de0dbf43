package replay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// A Launch starts the recorded machine once more, in front of its first instruction, and says where
// its gdb stub listens (network and address). Each start replays the same run.
type Launch func(ctx context.Context) (vm *qemu.VM, network, address string, err error)

// A Machine is one replay. Not for several goroutines at once.
type Machine struct {
	*memory.Debugger
	VM  *qemu.VM
	ctx context.Context
}

// Start begins a replay, which stands in front of its first instruction and ends with ctx. Errors
// are launch's, or wrap [memory.ErrStub].
func Start(ctx context.Context, launch Launch) (*Machine, error) {
	vm, network, address, err := launch(ctx)
	if err != nil {
		return nil, err
	}
	m := &Machine{VM: vm, ctx: ctx}
	if m.Debugger, err = memory.DialDebugger(ctx, network, address); err != nil {
		m.End()
		return nil, err
	}
	return m, nil
}

// End ends it.
func (m *Machine) End() {
	m.VM.Kill()
	m.VM.Wait()
	if m.Debugger != nil {
		m.Close()
	}
}

// While the machine sleeps, QEMU comes to the next event of its log only when something wakes its
// main loop. So it is asked how far it is, which wakes it, too.
const (
	askEvery    = 5 * time.Millisecond   // while it runs instructions
	askSleeping = 200 * time.Microsecond // while it does not
)

// signalled is how long a signal to the whole group of processes may take to be noticed.
const signalled = 200 * time.Millisecond

// Proceed lets the machine run until it stops. Errors wrap [memory.ErrStub], or are ctx's;
// [memory.ErrEnded] says that there is no machine any more.
func (m *Machine) Proceed() error {
	done := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		pause := askEvery
		for last := uint64(0); ; {
			select {
			case <-done:
				return
			case <-time.After(pause):
			}
			pause = askEvery
			if n, err := m.VM.Instructions(); err == nil && n == last {
				pause = askSleeping
			} else {
				last = n
			}
		}
	})
	err := m.Go(m.ctx)
	close(done)
	asking.Wait()
	return m.ended(err)
}

// ended makes an error of a machine that is gone the context's, when that is why: at ^C the
// terminal ends QEMU, too, perhaps before this process knows of it.
func (m *Machine) ended(err error) error {
	if errors.Is(err, memory.ErrEnded) {
		select {
		case <-m.ctx.Done():
			return m.ctx.Err()
		case <-time.After(signalled):
		}
	}
	return err
}

// Registers is [memory.Debugger.Registers], with the errors of Proceed.
func (m *Machine) Registers() (map[string]uint64, error) {
	all, err := m.Debugger.Registers()
	return all, m.ended(err)
}

// Step is [memory.Debugger.Step], with the errors of Proceed.
func (m *Machine) Step(ctx context.Context) error { return m.ended(m.Debugger.Step(ctx)) }

// To runs until n instructions have been run; other stops on the way are passed over. Errors are
// those of Proceed, or wrap [qemu.ErrMonitor].
func (m *Machine) To(n uint64) error {
	at, err := m.VM.Instructions()
	if err != nil || at >= n {
		return err
	}
	if err := m.VM.StopAt(n); err != nil {
		return err
	}
	for at < n {
		if err := m.Proceed(); err != nil {
			return err
		}
		if at, err = m.VM.Instructions(); err != nil {
			return err
		}
	}
	return nil
}
