package qemu

// Network cards: each model on each machine that has it. A program in the guest talks to
// QEMU's gateway and to a program on the host, and what QEMU has recorded on the wire is
// what both say.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// echoServer answers datagrams, "back ..." after a while and "burst" with a dozen.
func echoServer(t *testing.T) (port int) {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUDP(buf)
			if err != nil {
				return
			}
			text := string(buf[:n])
			if text != "burst" {
				time.AfterFunc(20*time.Millisecond, func() { conn.WriteToUDP([]byte(text), from) })
				continue
			}
			for i := range 12 {
				fmt.Fprint(to{conn, from}, "part ", i)
			}
		}
	}()
	return conn.LocalAddr().(*net.UDPAddr).Port
}

// to is a writer of datagrams to one address.
type to struct {
	conn *net.UDPConn
	addr *net.UDPAddr
}

func (w to) Write(p []byte) (int, error) { return w.conn.WriteToUDP(p, w.addr) }

var interruptedAt = regexp.MustCompile(`interrupted at (\d+) instructions\r\n`)

func TestNetworkCards(t *testing.T) {
	t.Parallel()
	program(t, "nic")
	for _, tt := range []struct{ machine, net, name string }{
		{"q35", "virtio", "virtio-net (PCI, modern)"},
		{"pc,disable-legacy", "virtio-modern", "virtio-net (PCI, modern)"},
		{"pc", "virtio-legacy", "virtio-net (PCI, legacy)"},
		{"microvm", "virtio", "virtio-net (memory-mapped)"},
		{"microvm,modern", "virtio", "virtio-net (memory-mapped)"},
		{"microvm,named", "virtio", "virtio-net (memory-mapped)"},
		{"pc", "e1000", "e1000"},
		{"q35", "e1000e", "e1000e"},
		{"q35,bridge", "e1000", "e1000"},
		{"q35,high", "virtio", "virtio-net (PCI, modern)"},
		{"q35,no APIC", "virtio", "virtio-net (PCI, modern)"},
	} {
		t.Run(tt.machine+" "+tt.net, func(t *testing.T) {
			t.Parallel() // they wait for the card, now and then
			// The test's own folder may have a comma in its name, which ends a name for QEMU.
			dump := filepath.Join(guestDir, strings.ReplaceAll(t.Name(), "/", "-"))
			dump = strings.ReplaceAll(strings.ReplaceAll(dump, ",", "-"), " ", "-") + ".pcap"
			var serial strings.Builder
			cfg := Config{
				Kernel: program(t, "nic"), Net: tt.net, Timeout: limit, Stdout: &serial,
				Append: fmt.Sprintf("net=on -- %d", echoServer(t)),
				Extra:  []string{"-object", "filter-dump,id=dump,netdev=net0,maxlen=2048,file=" + dump},
			}
			var kind string
			cfg.Machine, kind, _ = strings.Cut(tt.machine, ",")
			if kind == "" {
				cfg.Append += " stick"
			}
			switch kind {
			case "modern":
				cfg.Extra = append(cfg.Extra, "-global", "virtio-mmio.force-legacy=false")
			case "named":
				// As QEMU says it to a Linux kernel.
				for i := range 24 {
					cfg.Append = fmt.Sprintf("virtio_mmio.device=512@%#x:%d ", 0xfeb00000+i*512, 5+i) + cfg.Append
				}
				cfg.Append = "virtio_mmio.device=1@2 virtio_mmio.device=512@0x200000:5 " + cfg.Append
			case "bridge":
				// The card lies behind two bridges.
				cfg.Net = ""
				cfg.Extra = append([]string{
					"-device", "pcie-root-port,id=root1,chassis=1", "-device", "pcie-pci-bridge,id=bridge1,bus=root1",
					"-netdev", "user,id=net0", "-device", "e1000,netdev=net0,bus=bridge1,addr=3,romfile=",
				}, cfg.Extra...)
			case "high":
				// A device that does not fit below 4 GiB takes the card's registers along.
				cfg.Extra = append(cfg.Extra, "-object", "memory-backend-ram,id=large,size=4G,reserve=off", "-device", "ivshmem-plain,memdev=large")
			case "no APIC":
				cfg.CPU = "qemu64,-apic"
			}
			vm, err := Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			res, err := vm.Wait()
			out := serial.String()
			if err != nil || res.Outcome != Exited || res.Program != 0 {
				t.Fatalf("the machine: %v, status %d, %v; serial port:\n%s", res.Outcome, res.Program, err, out)
			}
			for _, want := range []string{
				"\nnetwork " + tt.name + " 52:54:00:12:34:56\r\n", "\necho", "\nburst", "\nrefused", "\nfinished\r\n",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("the serial port does not have %q:\n%s", want, out)
				}
			}
			if wrong := "virtio_mmio.device=1@2 is ignored: "; kind == "named" && !strings.Contains(out, wrong) {
				t.Errorf("the serial port does not have %q:\n%s", wrong, out)
			}
			m := interruptedAt.FindStringSubmatch(out)
			if m == nil {
				t.Fatalf("no word of interrupted Sends:\n%s", out)
			}
			n, _ := strconv.Atoi(m[1])
			if n < 100 {
				t.Errorf("a Send of %d instructions", n)
			}
			checkWire(t, dump, n)
			if strings.Contains(out, "\nstuck") != (kind == "") {
				t.Errorf("the card was not stuck where it was to be, or the other way round:\n%s", out)
			}
			t.Log(out[strings.LastIndex(out, "\nticks")+1:])
		})
	}
}

// checkWire looks for what the program must have sent: all frames that were sent while
// another one was, n of each kind, and those of its shortest and longest writes.
func checkWire(t *testing.T, dump string, n int) {
	t.Helper()
	f, err := os.Open(dump)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	outer, inner, lengths, requests, replies := map[uint32]int{}, map[uint32]int{}, map[int]int{}, 0, 0
	for {
		data, _, err := r.ReadPacketData()
		// QEMU is still writing the last frame when it is told to end.
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packet := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
		if arp, ok := packet.Layer(layers.LayerTypeARP).(*layers.ARP); ok {
			switch arp.Operation {
			case layers.ARPRequest:
				requests++
			case layers.ARPReply:
				replies++
			}
		}
		switch binary.BigEndian.Uint16(data[12:]) {
		case 0x88b5:
			k := binary.BigEndian.Uint32(data[15:])
			if bytes.Trim(data[19:], "\x00") != nil && len(bytes.Trim(data[19:], "\x00")) > 0 || len(data) != 60 {
				t.Fatalf("a frame of %d bytes is damaged: %x", len(data), data)
			}
			switch data[14] {
			case 'o':
				outer[k]++
			case 'i':
				inner[k]++
			}
		case 0x88b6:
			lengths[len(data)]++
		}
	}
	if requests == 0 || replies == 0 {
		t.Errorf("%d ARP requests and %d replies", requests, replies)
	}
	if len(lengths) != 2 || lengths[60] != 1 || lengths[1518] != 1 {
		t.Errorf("frames of these lengths, so many of each: %v; want one of 60 and one of 1518", lengths)
	}
	for k := uint32(1); k <= uint32(n); k++ {
		if outer[k] == 0 || inner[k] == 0 {
			t.Errorf("a Send was interrupted at instruction %d: its frame is %d times on the wire, that of the other one %d times", k, outer[k], inner[k])
		}
	}
}

// TestNoNetworkCard: who asks for a card on a machine without one is told, and who does not
// ask gets none.
func TestNoNetworkCard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ machine, net, options, line string }{
		{"q35", "", "net=on", "\nnetwork none: "},
		{"microvm", "", "net=on", "\nnetwork none: "},
		{"q35", "e1000", "net=off", ""},
		{"q35", "e1000", "", ""},
		{"pc", "e1000", "net=perhaps", "net=perhaps is ignored: want on, off or frames\r\n"},
	} {
		var serial strings.Builder
		vm, err := Start(t.Context(), Config{
			Kernel: program(t, "nic"), Machine: tt.machine, Net: tt.net, Timeout: limit, Stdout: &serial, Append: tt.options + " -- 1",
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := vm.Wait()
		out := serial.String()
		if err != nil || res.Outcome != Exited || res.Program != 7 || !strings.Contains(out, tt.line) ||
			!strings.Contains(out, "no card: open /dev/nic0: no such file or directory") || tt.line == "" && strings.Contains(out, "\nnetwork") {
			t.Errorf("%+v: %v, status %d, %v; serial port:\n%s", tt, res.Outcome, res.Program, err, out)
		}
	}
}

func TestNetArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ net, machine, want string }{
		{"virtio", "q35", "-netdev user,id=net0 -device virtio-net-pci,netdev=net0,romfile="},
		{"virtio", "microvm", "-netdev user,id=net0 -device virtio-net-device,netdev=net0"},
		{"virtio-legacy", "pc", "-netdev user,id=net0 -device virtio-net-pci,disable-modern=on,netdev=net0,romfile="},
		{"e1000e,restrict=on,hostfwd=udp::1-:2", "q35", "-netdev user,id=net0,restrict=on,hostfwd=udp::1-:2 -device e1000e,netdev=net0,romfile="},
	} {
		if got := strings.Join(netArgs(tt.net, tt.machine, new(Config)), " "); got != tt.want || CheckNet(tt.net) != nil {
			t.Errorf("%s on %s: %s, %v; want %s", tt.net, tt.machine, got, CheckNet(tt.net), tt.want)
		}
	}
	for _, net := range []string{"", "rtl8139", ",hostfwd=udp::1-:2", "E1000"} {
		if err := CheckNet(net); err == nil || !strings.Contains(err.Error(), "e1000e") {
			t.Errorf("CheckNet(%q) = %v; want an error that names the models", net, err)
		}
	}
}
