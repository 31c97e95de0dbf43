package receive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/zeroframe/zeroframe/qemu/fleet"
	"github.com/zeroframe/zeroframe/tracer"
)

// captureOf writes datagrams of machine 10.0.0.N as a pcap file.
func captureOf(t *testing.T, machine byte, datagrams ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for i, d := range datagrams {
		buf := gopacket.NewSerializeBuffer()
		err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true},
			&layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4},
			&layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{10, 0, 0, machine}, DstIP: net.IP{10, 0, 0, 1}},
			&layers.UDP{SrcPort: 6665, DstPort: 6666}, gopacket.Payload(d))
		if err != nil {
			t.Fatal(err)
		}
		info := gopacket.CaptureInfo{Timestamp: time.Unix(1790000000, int64(i)*1e6), CaptureLength: len(buf.Bytes()), Length: len(buf.Bytes())}
		if err := w.WritePacket(info, buf.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// runWith runs the command to its end.
func runWith(t *testing.T, stdin io.Reader, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(t.Context(), args, stdin, &out, &errs); code != 0 {
		t.Fatalf("%q: status %d\n%s", args, code, errs.String())
	}
	return out.String(), errs.String()
}

func TestCapture(t *testing.T) {
	im := image(t)
	all := append([][]byte{[]byte("booting\n")}, fleet.Datagrams(im.Build, 9, 1, im.Target(tracer.Text).Trace(tracer.KindFault, "write to 0x8", fleet.Deep(3)))...)
	file := filepath.Join(t.TempDir(), "dump.pcap")
	// Three of ten datagrams were lost.
	var some [][]byte
	for i, d := range all {
		if i == 0 || i%10 >= 3 {
			some = append(some, d)
		}
	}
	if err := os.WriteFile(file, captureOf(t, 7, some...), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs := runWith(t, nil, "-pcap", file, "-e", im.Path, "-name", "10.0.0.7=seven")
	for _, want := range []string{"seven: booting\n", "seven: zf1 begin 1 fault", "fleet.Deep", "seven: zf: group "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if !regexp.MustCompile(`\d+ packets, \d+ datagrams of the port\n.*1 machine, \d+ datagrams, 1 line, 1 trace\n`).MatchString(errs) {
		t.Errorf("summary:\n%s", errs)
	}
	// From a pipe; what comes twice is counted once.
	later := make([][]byte, 0, 70*len(some))
	for n := range 70 { // as many traces as make the first one be forgotten
		later = append(later, fleet.Datagrams(im.Build, 9, uint32(2+n), im.Target(tracer.Text).Trace(tracer.KindTrace, "asked for", fleet.Deep(3)))...)
	}
	twice := append(append(append([][]byte{}, some...), later...), some...)
	out, _ = runWith(t, bytes.NewReader(captureOf(t, 7, twice...)), "-pcap", "-", "-e", im.Path, "-q")
	if n := strings.Count(out, ": 1 time since 2026-"); n != 3 || strings.Count(out, ", counted before") != 1 || strings.Contains(out, "booting") {
		t.Errorf("the second time:\n%s", out)
	}
	// Too much was lost: what there is is shown.
	long := fleet.Datagrams(im.Build, 9, 2, im.Target(tracer.Text).Trace(tracer.KindFault, "write to 0x8", fleet.Deep(60)))
	out, _ = runWith(t, bytes.NewReader(captureOf(t, 7, long[0])), "-pcap", "-", "-e", im.Path)
	if !strings.Contains(out, "fleet.Deep") || !strings.Contains(out, "zf: incomplete: at least 1 datagram") {
		t.Errorf("of one piece:\n%s", out)
	}
	if code := run(t.Context(), []string{"-pcap", im.Path}, nil, io.Discard, io.Discard); code != 2 {
		t.Errorf("a capture that is none: status %d", code)
	}
}

// The ELF file comes from a debuginfod server, and in its absence there are addresses.
func TestFromDebuginfod(t *testing.T) {
	im := image(t)
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/buildid/"+im.Build+"/executable" {
			http.ServeFile(w, r, im.Path)
			return
		}
		http.NotFound(w, r)
	}))
	defer s.Close()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dump := captureOf(t, 7, fleet.Datagrams(im.Build, 9, 1, im.Target(tracer.Text).Trace(tracer.KindFault, "x", fleet.Deep(3)))...)
	out, errs := runWith(t, bytes.NewReader(dump), "-pcap", "-")
	if strings.Contains(out, "fleet.Deep") || !strings.Contains(errs, "no ELF file for build "+im.Build) || !strings.Contains(errs, "1 of 1 traces without") {
		t.Errorf("without an ELF file:\n%s%s", out, errs)
	}
	t.Setenv("DEBUGINFOD_URLS", s.URL)
	for range 2 {
		if out, errs = runWith(t, bytes.NewReader(dump), "-pcap", "-"); !strings.Contains(out, "fleet.Deep") {
			t.Errorf("from the server:\n%s%s", out, errs)
		}
	}
	if n := asked.Load(); n != 2 { // debuginfo, executable
		t.Errorf("the server was asked %d times, want 2", n)
	}
}

// What a server says is shown, not obeyed by the terminal.
func TestHostileServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, "HTTP/1.1 500 \x1b[2Jgone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			c.Close()
		}
	}()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("DEBUGINFOD_URLS", "http://"+l.Addr().String())
	im := image(t)
	dump := captureOf(t, 7, fleet.Datagrams(im.Build, 9, 1, im.Target(tracer.Text).Trace(tracer.KindFault, "x", fleet.Deep(3)))...)
	_, errs := runWith(t, bytes.NewReader(dump), "-pcap", "-")
	if strings.Contains(errs, "\x1b") || !strings.Contains(errs, `500 \x1b[2Jgone`) || !strings.Contains(errs, "no server of DEBUGINFOD_URLS gave it") {
		t.Errorf("%q", errs)
	}
}

// Where nothing was received there is nothing to sum up.
func TestNoCapture(t *testing.T) {
	var errs bytes.Buffer
	if code := run(t.Context(), []string{"-pcap", filepath.Join(t.TempDir(), "none")}, nil, io.Discard, &errs); code != exitUsage {
		t.Errorf("status %d; want %d", code, exitUsage)
	}
	if n := strings.Count(errs.String(), "\n"); n != 1 || !strings.Contains(errs.String(), "no such file") {
		t.Errorf("%q; want the reason alone", errs.String())
	}
}

const kernelC = `
__attribute__((noinline)) int leaf(int *p) { *p = 1; __asm__ volatile("" ::: "memory"); return 2; }
__attribute__((noinline)) int outer(int *p) { int r = leaf(p) + 1; __asm__ volatile("" ::: "memory"); return r; }
int start_kernel(void) { return outer(0); }
int main(void) { return start_kernel(); }
`

// An oops of Linux is resolved with the kernel's file and counted as a trace is.
func TestLinuxOops(t *testing.T) {
	dir := t.TempDir()
	source, kernel := filepath.Join(dir, "kernel.c"), filepath.Join(dir, "vmlinux")
	if err := os.WriteFile(source, []byte(kernelC), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command("gcc", "-g", "-O1", "-no-pie", "-static", "-o", kernel, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	sizes := make(map[string]uint64) // up to the next symbol, as Linux counts
	b, err := exec.Command("nm", "-n", kernel).Output()
	if err != nil {
		t.Fatal(err)
	}
	last, from := "", uint64(0)
	for line := range strings.Lines(string(b)) {
		var at uint64
		var kind, name string
		if n, _ := fmt.Sscanf(line, "%x %s %s", &at, &kind, &name); n != 3 {
			continue
		}
		if at != from {
			sizes[last] = at - from
		}
		last, from = name, at
	}
	oops := fmt.Sprintf(`BUG: kernel NULL pointer dereference, address: 0000000000000008
Oops: 0002 [#1] PREEMPT SMP
CPU: 0 PID: 1 Comm: swapper/0 Not tainted 6.1.0 #1
RIP: 0010:leaf+0x0/%#x
Call Trace:
 <TASK>
 outer+%#x/%#x
 ? start_kernel+0x1/%#x
 start_kernel+%#x/%#x
 </TASK>
---[ end trace 0000000000000000 ]---
`, sizes["leaf"], sizes["outer"]-1, sizes["outer"], sizes["start_kernel"], sizes["start_kernel"]-1, sizes["start_kernel"])
	var plain, extended [][]byte
	n := 0
	for line := range strings.Lines("ok so far\n" + oops + "and on\n") {
		n++
		plain = append(plain, []byte(line))
		extended = append(extended, fmt.Appendf(nil, "1,%d,%d,-;%s", 500+n, 2100000+n, line))
	}
	groups := make(map[string]bool)
	for i, datagrams := range [][][]byte{plain, extended} {
		out, errs := runWith(t, bytes.NewReader(captureOf(t, byte(7+i), datagrams...)), "-pcap", "-", "-e", kernel)
		for _, want := range []string{"ok so far\n", "leaf+0x0 ", "kernel.c:2\n", fmt.Sprintf("outer+%#x ", sizes["outer"]-1), "and on\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in:\n%s%s", want, out, errs)
			}
		}
		m := regexp.MustCompile(`zf: group (\S+): 1 time since`).FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("not counted:\n%s", out)
		}
		groups[m[1]] = true
	}
	if len(groups) != 1 {
		t.Errorf("two machines, one cause: groups %v", groups)
	}
	out, _ := runWith(t, bytes.NewReader(captureOf(t, 9, plain...)), "-pcap", "-", "-json")
	for _, want := range []string{`"kind":"oops"`, `"function":"leaf","offset":0`, `"count":1`, `"host":"10.0.0.9"`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in:\n%s", want, out)
		}
	}
	if strings.Contains(out, `"function":"start_kernel","offset":1,`) {
		t.Errorf("a leftover counts:\n%s", out)
	}
}

// What ended a kernel is exported, once; without a collector that is said.
func TestExport(t *testing.T) {
	im := image(t)
	target := im.Target(tracer.Text)
	datagrams := fleet.Datagrams(im.Build, 9, 1, target.Trace(tracer.KindFault, "x", fleet.Deep(3)))
	datagrams = append(datagrams, fleet.Datagrams(im.Build, 9, 2, target.Trace(tracer.KindTrace, "asked for", fleet.Deep(3)))...)
	_, errs := runWith(t, bytes.NewReader(captureOf(t, 7, datagrams...)), "-pcap", "-", "-e", im.Path, "-otlp", "http://127.0.0.1:1")
	if !strings.Contains(errs, "0 exported, 1 lost, since the collector did not take them in time") {
		t.Errorf("without a collector:\n%s", errs)
	}
	var records atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(gunzip(t, r.Body))
		var req collogs.ExportLogsServiceRequest
		if err := proto.Unmarshal(b, &req); err != nil {
			t.Error(err)
		}
		for _, rl := range req.ResourceLogs {
			records.Add(int32(len(rl.ScopeLogs[0].LogRecords)))
		}
	}))
	defer s.Close()
	_, errs = runWith(t, bytes.NewReader(captureOf(t, 7, datagrams...)), "-pcap", "-", "-e", im.Path, "-otlp", s.URL)
	if n := records.Load(); n != 1 || !strings.Contains(errs, "1 exported\n") {
		t.Errorf("%d records arrived, want 1\n%s", n, errs)
	}
}

func gunzip(t *testing.T, r io.Reader) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Error(err)
		return strings.NewReader("")
	}
	return z
}
