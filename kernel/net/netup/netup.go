package netup

import (
	"fmt"
	"os"
	"time"
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
	"github.com/zeroframe/zeroframe/kernel/option"
)

// linked tells the boot report that this package is there. Never written.
//
//go:linkname linked github.com/zeroframe/zeroframe/kernel/net/netconsole.netup
var linked = true

// device is the network card, which reads and writes one frame at a time.
const device = "/dev/nic0"

func init() {
	c := netconsole.Options()
	if !nic.Up() || c.Source.IsZero() {
		return // e.g. under another kernel
	}
	echo, _ := option.Word("echo")
	n := &neighbor{own: c.Source, hardware: nic.Address(), echo: echo == 1}
	if c.On && !c.Fixed && !c.ToMany(c.Destination) {
		n.hop = c.NextHop(c.Destination)
	}
	go n.serve()
}

// serve answers frames, and asks for the next hop's address in a goroutine of its own.
func (n *neighbor) serve() {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		fmt.Fprintf(os.Stderr, "netup: %v; the machine does not answer on the network\n", err)
		return
	}
	learned := make(chan netconsole.Hardware, 1)
	go n.ask(f, learned)
	frame := make([]byte, nic.MaxFrame)
	for {
		size, err := f.Read(frame)
		if err != nil {
			fmt.Fprintf(os.Stderr, "netup: %v; the machine no longer answers on the network\n", err)
			return
		}
		answer, hop := n.handle(frame[:size])
		if answer != nil {
			f.Write(answer) // if it is lost, the other side asks again
		}
		if hop != nil {
			select {
			case learned <- *hop:
			default: // the previous one has not been read yet, and will do
			}
		}
	}
}

// How often the next hop is asked for: at first, when it is known, and how many times before a
// person is told.
const (
	askEvery     = time.Second
	refreshEvery = time.Minute
	tellAfter    = 5
)

// ask keeps the hardware address of the next hop up to date.
func (n *neighbor) ask(f *os.File, learned <-chan netconsole.Hardware) {
	f.Write(n.request(n.own)) // tells switches and neighbours where this machine is
	if n.hop.IsZero() {
		return
	}
	wait := askEvery
	for asked := 0; ; {
		f.Write(n.request(n.hop))
		asked++
		select {
		case h := <-learned:
			netconsole.SetHardware(h)
			wait, asked = refreshEvery, tellAfter
		case <-time.After(wait):
			if asked == tellAfter && wait == askEvery {
				fmt.Fprintf(os.Stderr,
					"netup: %v does not answer ARP, so netconsole goes to all machines of this network;"+
						" if it is behind a router, add ip=%v::GATEWAY to the kernel command line\n", text(n.hop),
					text(n.own))
			}
		}
	}
}
