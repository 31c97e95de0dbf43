package qemu

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	received "github.com/zeroframe/zeroframe/tools/receive"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// onWire is a frame that QEMU has seen on the guest's wire, with the guest's time.
type onWire struct {
	packet gopacket.Packet
	at     time.Time
}

// dump runs the crash lab with its wire written to a file by QEMU (filter-dump), and reads
// that. With -icount, a microsecond of its times is a thousand instructions.
func dump(t *testing.T, net, cmdline string) []onWire {
	t.Helper()
	path, _ := lab(t, image.AllLoaders)
	file := filepath.Join(t.TempDir(), "net.pcap")
	res, serial, err := boot(t, Config{
		Kernel: path, Net: net, Icount: true, Extra: []string{"-object", "filter-dump,id=dump0,netdev=net0,file=" + file},
	}, cmdline+" netconsole=@10.0.2.15/,@10.0.2.2/")
	if err != nil || res.Outcome != Traced {
		t.Fatalf("the machine: %v, %v; want %v; serial port:\n%s", res.Outcome, err, Traced, serial)
	}
	return captured(t, file)
}

// captured reads what QEMU has written of a wire.
func captured(t *testing.T, file string) []onWire {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []onWire
	for {
		b, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, onWire{gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default), info.Timestamp})
	}
}

// TestNetDump: on the wire all is as the standards have it, and a trace is out a short
// time after the fault.
func TestNetDump(t *testing.T) {
	t.Parallel()
	for _, net := range []string{"virtio", "e1000"} {
		for _, form := range []string{"text", "compact"} {
			t.Run(net+"/"+form, func(t *testing.T) {
				t.Parallel()
				var fault, first, last time.Time
				var tr received.Trace
				whole, parts, bytes := false, 0, 0
				for _, d := range dump(t, net, "crash=early.nil-write trace="+form) {
					udp, _ := d.packet.Layer(layers.LayerTypeUDP).(*layers.UDP)
					if udp == nil {
						continue // QEMU's own, in return
					}
					checkFrame(t, d.packet)
					p, why := datagram.Parse(udp.Payload)
					if why != datagram.None {
						if !strings.HasSuffix(string(udp.Payload), "\n") {
							t.Errorf("a log line is %q", udp.Payload)
						}
						fault = d.at // the last line before it
						continue
					}
					if first.IsZero() {
						first = d.at
					}
					last = d.at
					parts++
					bytes += len(d.packet.Data())
					var err error
					if whole, err = tr.Add(p); err != nil {
						t.Fatal(err)
					}
				}
				if text, _ := tr.Bytes(); !whole || !strings.HasPrefix(string(text), "zf1") {
					t.Fatalf("the trace is not on the wire: %q", text)
				}
				t.Logf("%d datagrams, %d bytes with headers; instructions from the last line before the fault: first datagram %d k, last %d k",
					parts, bytes, first.Sub(fault).Microseconds(), last.Sub(fault).Microseconds())
				if d := last.Sub(fault); d <= 0 || d > time.Second {
					t.Errorf("the last datagram is %v behind the fault", d)
				}
			})
		}
	}
}
