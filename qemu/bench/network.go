package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// network measures how long after a fault the trace has left by netconsole=, and what it
// takes on the wire. QEMU writes down each frame with the guest's time; with -icount a
// microsecond of that is a thousand instructions.
func (b *bench) network() error {
	b.progress("netconsole.*: a trace by network: datagrams, bytes on the wire, and thousands of instructions from the last log line before the fault to the first and the last datagram")
	for _, card := range []string{"virtio", "e1000"} {
		for _, form := range []string{"text", "compact"} {
			w, err := b.wire(card, form)
			if err != nil {
				return fmt.Errorf("netconsole %s %s: %w", card, form, err)
			}
			name := "netconsole." + card + "." + form
			b.figure(name+".datagrams", w.datagrams)
			b.figure(name+".bytes", w.bytes)
			b.figure(name+".first.kinstructions", w.first.Sub(w.fault).Microseconds())
			b.figure(name+".last.kinstructions", w.last.Sub(w.fault).Microseconds())
		}
	}
	return nil
}

// seen is what was seen of a trace.
type seen struct {
	fault, first, last time.Time
	datagrams, bytes   int
}

func (b *bench) wire(card, form string) (w seen, err error) {
	file := filepath.Join(b.dir, card+form+".pcap")
	_, err = boot(b.lab, "crash=early.nil-write trace="+form+" netconsole=@10.0.2.15/,@10.0.2.2/", qemu.Config{
		Net: card, Icount: true, Extra: []string{"-object", "filter-dump,id=dump0,netdev=net0,file=" + file},
	})
	if err != nil {
		return w, err
	}
	f, err := os.Open(file)
	if err != nil {
		return w, err
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		return w, err
	}
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return w, err
		}
		udp, ok := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default).Layer(layers.LayerTypeUDP).(*layers.UDP)
		if !ok {
			continue
		}
		if _, why := datagram.Parse(udp.Payload); why != datagram.None {
			w.fault = info.Timestamp
			continue
		}
		if w.datagrams == 0 {
			w.first = info.Timestamp
		}
		w.last = info.Timestamp
		w.datagrams++
		w.bytes += len(data)
	}
	if w.datagrams == 0 || w.fault.IsZero() {
		return w, errors.New("no trace on the wire")
	}
	return w, nil
}
