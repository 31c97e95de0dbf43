package memory

// A machine that is run in pieces: its gdb stub stops it, and lets it go on to a breakpoint, to a
// write, or by one instruction.

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A Debugger is a stub of a machine with one CPU whose memory is read by virtual addresses. Not for
// several goroutines at once.
type Debugger struct {
	*Stub
	regs   []stubReg
	reason string // the packet that has told of the last stop
}

// DialDebugger connects to a stub, as [DialStub] does, on a network ("tcp", "unix"). Errors wrap
// ErrStub.
func DialDebugger(ctx context.Context, network, address string) (*Debugger, error) {
	s, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d := &Debugger{Stub: s}
	if err = s.begin(); err == nil && s.physical {
		_, err = s.ask("Qqemu.PhyMemMode:0")
	}
	if err == nil {
		d.regs, err = s.describedRegs()
	}
	if err != nil {
		s.conn.Close()
		return nil, err
	}
	return d, nil
}

// Registers returns the CPU's registers by QEMU's names, those of up to eight bytes; of the XMM
// registers xmm0 to xmm15 the lower eight bytes.
//
// An answer that is none, such as an error or what an earlier packet was to get, is asked for once
// more. Errors wrap ErrStub, and say what the stub has answered; those of a machine that is gone
// wrap [ErrEnded].
func (d *Debugger) Registers() (map[string]uint64, error) {
	said := ""
	for range 2 {
		a, err := d.ask("g")
		if err != nil {
			return nil, err
		}
		if all := registers(d.regs, a, true); all != nil {
			return all, nil
		}
		// Its answer is a stop, which is passed over wherever it comes, so that answers belong to their
		// packets again.
		if _, err := d.ask("?"); err != nil {
			return nil, err
		}
		said = a
	}
	return nil, fmt.Errorf("%w: asked for the registers, it answers %.20q", ErrStub, said)
}

// Read reads virtual memory. An error wraps ErrNotRAM if there is none.
func (d *Debugger) Read(p []byte, addr uint64) error { return d.ReadPhysical(p, addr) }

// Break sets a breakpoint at an address; Unbreak removes it.
func (d *Debugger) Break(addr uint64) error   { return d.want(fmt.Sprintf("Z1,%x,1", addr)) }
func (d *Debugger) Unbreak(addr uint64) error { return d.want(fmt.Sprintf("z1,%x,1", addr)) }

// Watch has the machine stop behind each write to n bytes, a power of two up to 8, at an address
// that is a multiple of n; Unwatch ends that.
func (d *Debugger) Watch(addr, n uint64) error   { return d.want(fmt.Sprintf("Z2,%x,%x", addr, n)) }
func (d *Debugger) Unwatch(addr, n uint64) error { return d.want(fmt.Sprintf("z2,%x,%x", addr, n)) }

// Reason returns the packet that has told of the last stop, such as "T05watch:c000012340;".
func (d *Debugger) Reason() string { return d.reason }

// Ask sends a packet of gdb's protocol that lets nothing run, and returns the answer.
func (d *Debugger) Ask(packet string) (string, error) { return d.ask(packet) }

func (d *Debugger) want(packet string) error {
	if a, err := d.ask(packet); err != nil || a != "OK" {
		return fmt.Errorf("%w: %s: %q, %v", ErrStub, packet, a, err)
	}
	return nil
}

// Step runs one instruction.
func (d *Debugger) Step(ctx context.Context) error { return d.run(ctx, "vCont;s:p1.1") }

// Go lets the machine run until it stops.
func (d *Debugger) Go(ctx context.Context) error { return d.run(ctx, "vCont;c") }

// run sends a packet whose answer comes when the machine stops.
func (d *Debugger) run(ctx context.Context, packet string) error {
	for d.r.Buffered() > 0 { // a stop that was told of twice is not the next one
		if _, err := d.packet(); err != nil {
			return fmt.Errorf("%w: %w", ErrStub, err)
		}
	}
	d.conn.SetDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { d.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := d.send(packet); err != nil {
		return err
	}
	for {
		a, err := d.packet()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%w: %w", ErrStub, err)
		case strings.HasPrefix(a, "T"), strings.HasPrefix(a, "S"):
			d.reason = a
			return nil
		case strings.HasPrefix(a, "W"), strings.HasPrefix(a, "X"):
			return fmt.Errorf("%w: %w", ErrStub, ErrEnded)
		}
	}
}
