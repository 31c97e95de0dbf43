package qemu

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/gopacket/layers"
)

// TestInetWire: of a session with short and long connections and datagrams, nothing is on the wire but
// what belongs to it, and each frame of the machine's is one that gopacket would make.
func TestInetWire(t *testing.T) {
	t.Parallel()
	elf, wire := filepath.Join(t.TempDir(), "inet.elf"), filepath.Join(t.TempDir(), "net.pcap")
	if out, err := exec.Command(zfCommand(t), "build", "-net", "-o", elf, "./testdata/inet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const host = "127.33.1.4"
	vm, out := start(t, Config{Kernel: elf, CPUs: 2, Timeout: limit, Append: "report=off net=on -- serve", Extra: []string{
		"-netdev", fmt.Sprintf("user,id=net0,hostfwd=tcp:%[1]s:8080-:80,hostfwd=tcp:%[1]s:7007-:7,hostfwd=udp:%[1]s:7007-:7", host),
		"-device", "virtio-net-pci,netdev=net0", "-object", "filter-dump,id=dump0,netdev=net0,file=" + wire}}, "")
	out.For(t, "serving\r\n")
	get := func(path string, ends bool) error {
		r, err := http.NewRequest("GET", "http://"+host+":8080"+path, nil)
		if err != nil {
			return err
		}
		r.Close = ends
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		return err
	}
	for i := range 40 {
		if err := get("/", i%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
	c, err := net.Dial("tcp", host+":7007")
	if err != nil {
		t.Fatal(err)
	}
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		c.Write(sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes came back, %v", len(got), len(sent), err)
	}
	c.Close()
	u, err := net.Dial("udp", host+":7007")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	for _, n := range []int{1, 1472} {
		u.SetDeadline(time.Now().Add(limit))
		u.Write(sent[:n])
		if k, err := u.Read(make([]byte, 2000)); k != n || err != nil {
			t.Errorf("%d of %d bytes of a datagram came back, %v", k, n, err)
		}
	}
	get("/exit", true) // there may be no answer
	if res, err := vm.Wait(); err != nil || res.Program != 3 {
		t.Errorf("%+v, %v; want status 3", res, err)
	}
	segments, service := 0, uint8(0)
	for _, w := range captured(t, wire) {
		p := w.packet
		ip, _ := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		if ip == nil || !ip.SrcIP.Equal(net.IPv4(10, 0, 2, 15)) {
			continue
		}
		checkFrame(t, p)
		udp, _ := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		tcp, _ := p.Layer(layers.LayerTypeTCP).(*layers.TCP)
		switch {
		case tcp != nil:
			segments++
			if tcp.SrcPort == 7 {
				service = ip.TOS
			}
		case udp == nil || udp.SrcPort != 7 && udp.DstPort != 67:
			t.Errorf("nobody has asked for %v", p)
		}
	}
	if segments < 200 || service != 16 {
		t.Errorf("%d segments, the last one from port 7 with type of service %d; want 16", segments, service)
	}
}
