package qemu

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	stdlog "log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket/layers"
)

// inGuest returns an address of the host's as a machine has it on QEMU's own network.
func inGuest(a net.Addr) string { return strings.Replace(a.String(), "127.0.0.1", "10.0.2.2", 1) }

// hostEcho sends datagrams back until the test ends, and returns its address.
func hostEcho(t *testing.T) net.Addr {
	t.Helper()
	echo, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { echo.Close() })
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, from, err := echo.ReadFrom(b)
			if err != nil {
				return
			}
			echo.WriteTo(b[:n], from)
		}
	}()
	return echo.LocalAddr()
}

// hostServer listens on the host until the test ends, has f serve each connection, and closes it
// then. It returns its address.
func hostServer(t *testing.T, f func(net.Conn)) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	acceptAll(t, l, f)
	return l.Addr()
}

// acceptAll is that for a listener.
func acceptAll(t *testing.T, l net.Listener, f func(net.Conn)) {
	t.Cleanup(func() { l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
}

// echo sends back what comes.
func echo(c net.Conn) { io.Copy(c, c) }

// TestInetOut: a program that imports nothing of ours reaches servers of the host by TCP and UDP,
// with Linux's errors, by each kind of card and on several CPUs.
func TestInetOut(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(web.Close)
	stream := hostServer(t, func(c net.Conn) {
		b, _ := io.ReadAll(c)
		c.Write(b)
	})
	want := []string{
		"get: map[200 hello <nil>:40]",
		"addresses: 10.0.2.15 true true",
		"half closed: 1048576 true <nil>",
		"refused: true dial tcp 10.0.2.2:1: connect: connection refused",
		"deadline: true",
		"the port that another machine has: <nil>",
		"udp: 1 true <nil>", "udp: 1472 true <nil>", "udp: 4000 true <nil>",
		"nobody takes it: true", "options: <nil>", "whole: 1500 <nil> <nil> true", "netlink: true true <nil> <nil>",
		"lo: 65536  true <nil>", "eth0: 1500 52:54:00:12:34:56 true <nil>",
		"names: true <nil>",
	}
	for _, flags := range []string{"-smp 1 -net virtio", "-smp 2 -net e1000e", "-smp 1 -net virtio -machine microvm"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			wire := filepath.Join(t.TempDir(), "wire.pcap")
			args := append(strings.Fields(flags), "-qemu", "-object", "-qemu", "filter-dump,id=wire,netdev=net0,file="+wire, "-timeout", "5m", "./testdata/inet", "--",
				inGuest(web.Listener.Addr()), inGuest(stream), inGuest(hostEcho(t)))
			cmd := exec.Command(zfCommand(t), append([]string{"run"}, args...)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if got := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%v:\n%s\nwant\n%s\n%s", err, out, strings.Join(want, "\n"), &stderr)
			}
			shown := 0
			for _, p := range captured(t, wire) {
				if ip, ok := p.packet.NetworkLayer().(*layers.IPv4); ok && p.packet.ApplicationLayer() != nil &&
					ip.SrcIP.Equal(net.IPv4(10, 0, 2, 15)) && string(p.packet.ApplicationLayer().Payload()) == "with the option" {
					if shown++; ip.TOS != 0xb8 {
						t.Errorf("a packet has the type of service %#x", ip.TOS)
					}
				}
			}
			if shown < 40 {
				t.Errorf("%d packets have what the program has sent with the option", shown)
			}
		})
	}
}

// serving boots testdata/inet as a server with ports of a loopback address that no other test
// has, and returns the address, and what comes on standard error at its end.
func serving(t *testing.T, host string, flags ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	flags = append([]string{"-p", host + ":8080:80", "-p", host + ":7777:7", "-p", host + ":7777:7/udp", "-timeout", "5m"}, flags...)
	return server(t, ".", append(flags, "./testdata/inet", "--", "serve")...)
}

// server runs zf in a folder until its program has said that it serves.
func server(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(zfCommand(t), append([]string{"run"}, args...)...)
	cmd.Dir = dir
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "serving\n" {
		t.Fatalf("%q, %v\n%s", line, err, stderr)
	}
	return cmd, stderr
}

// echoed sends bytes by a connection of its own, which the server is to send back.
func echoed(t *testing.T, host string, sent []byte) {
	t.Helper()
	c, err := net.Dial("tcp", host+":7777")
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	go func() {
		c.Write(sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	c.SetReadDeadline(time.Now().Add(3 * time.Minute))
	if back, err := io.ReadAll(c); err != nil || !bytes.Equal(back, sent) {
		t.Errorf("%d bytes of %d came back, %v", len(back), len(sent), err)
	}
}

// TestInetServe: programs of the host reach one of a machine by -p.
func TestInetServe(t *testing.T) {
	t.Parallel()
	const host = "127.33.1.1"
	cmd, stderr := serving(t, host, "-smp", "2")
	client := http.Client{Timeout: time.Minute}
	get := func(path string) (string, error) {
		r, err := client.Get("http://" + host + ":8080" + path)
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		return string(b), err
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if s, err := get("/"); s != "hello from here" || err != nil {
					t.Errorf("%q, %v", s, err)
				}
			}
		})
	}
	all.Wait()

	sent := make([]byte, 3<<20)
	rand.Read(sent)
	echoed(t, host, sent)

	u, err := net.Dial("udp", host+":7777")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 1400, 5000} {
		u.SetDeadline(time.Now().Add(time.Minute))
		u.Write(sent[:n])
		b := make([]byte, 1<<16)
		if k, err := u.Read(b); err != nil || !bytes.Equal(b[:k], sent[:n]) {
			t.Errorf("%d bytes of a datagram of %d came back, %v", k, n, err)
		}
	}
	if _, err := get("/exit"); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the end of the machine: %v", err)
	}
	if code := exitCode(t, cmd.Wait()); code != 64+3 {
		t.Errorf("status %d\n%s", code, stderr)
	}
}

// TestInetDeath: a server's death is told as any, with the network in use.
func TestInetDeath(t *testing.T) {
	t.Parallel()
	const host = "127.33.1.2"
	cmd, stderr := serving(t, host, "-smp", "1")
	client := http.Client{Timeout: time.Minute}
	client.Get("http://" + host + ":8080/die")
	if code := exitCode(t, cmd.Wait()); code != 1 || !strings.Contains(stderr.String(), "in main.die at ") ||
		!strings.Contains(stderr.String(), "assignment to entry in nil map") {
		t.Errorf("status %d\n%s", code, stderr)
	}
}

// TestInetRecorded: a server is recorded with what its clients send, dies again in the same way, and
// zf why says of what.
func TestInetRecorded(t *testing.T) {
	t.Parallel()
	const host = "127.33.1.5"
	file := filepath.Join(t.TempDir(), "server.zfr")
	cmd, stderr := serving(t, host, "-smp", "1", "-record", file)
	sent := make([]byte, 1<<16)
	rand.Read(sent)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { echoed(t, host, sent) })
	}
	all.Wait()
	(&http.Client{Timeout: time.Minute}).Get("http://" + host + ":8080/die")
	if code := exitCode(t, cmd.Wait()); code != 1 {
		t.Fatalf("status %d\n%s", code, stderr)
	}
	for _, tt := range []struct {
		command string
		want    []string
	}{
		{"replay", []string{"in main.die at ", "the same as recorded: "}},
		{"why", []string{"assignment to an entry of a nil map in main.die (", "= the constant 0"}},
	} {
		out, _ := exec.Command(zfCommand(t), tt.command, file).CombinedOutput()
		for _, w := range tt.want {
			if !strings.Contains(string(out), w) {
				t.Errorf("zf %s does not say %q:\n%s", tt.command, w, out)
			}
		}
	}
}

// TestInetAsleep: a program that waits for itself alone is found asleep, though its network waits for
// frames and its connection is open, and one that a timer will wake is not.
func TestInetAsleep(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, smp := range []string{"1", "2"} {
		out, err := zfRun(t, "-smp", smp, "-net", "virtio", "-timeout", "5m", "./testdata/inet", "--", "asleep",
			inGuest(l.Addr())).CombinedOutput()
		if s := string(out); exitCode(t, err) != 1 || !strings.Contains(s, "dial: <nil>\nwoken:\n") ||
			!strings.Contains(s, "all goroutines are asleep") || strings.Contains(s, "never ends") {
			t.Errorf("-smp %s: %v\n%s", smp, err, s)
		}
	}
}

// TestInetTime: the clock is the server's that ntp= names, also of the next era; an answer that
// belongs to another question, and that of a server that does not know the time, mean nothing.
func TestInetTime(t *testing.T) {
	t.Parallel()
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	era := time.Date(2036, 2, 7, 6, 28, 16, 0, time.UTC)
	want := time.Date(2040, 3, 1, 12, 0, 0, 0, time.UTC)
	go func() {
		b := make([]byte, 100)
		for asked := 0; ; asked++ {
			_, from, err := server.ReadFrom(b)
			if err != nil {
				return
			}
			answer := func(leap, stratum byte, to []byte, at time.Time) {
				a := make([]byte, 48)
				a[0], a[1] = leap<<6|4<<3|4, stratum
				copy(a[24:], to)
				binary.BigEndian.PutUint32(a[32:], uint32(at.Unix()-era.Unix()))
				binary.BigEndian.PutUint32(a[40:], uint32(at.Unix()-era.Unix()))
				server.WriteTo(a, from)
			}
			if asked == 0 {
				answer(3, 16, b[40:48], want.AddDate(5, 0, 0))
				continue
			}
			answer(0, 1, make([]byte, 8), want.AddDate(3, 0, 0))
			answer(0, 1, b[40:48], want)
		}
	}()
	out, err := zfRun(t, "-net", "virtio", "-timeout", "5m",
		"-append", "ntp="+inGuest(server.LocalAddr()), "./testdata/inet", "--", "time").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\n2040-03-01 12:00:") {
		t.Errorf("%v, %q; want the time of %v", err, out, want)
	}
}

// TestInetRoots: TLS knows a server by the root certificates in a folder that the program is shown, and
// without one a note says once what there is to do.
func TestInetRoots(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(10, 0, 2, 2)}}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "known") }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "certs"), 0o755), os.WriteFile(filepath.Join(dir, "certs/ca-certificates.crt"), text, 0o644)); err != nil {
		t.Fatal(err)
	}
	url := "https://" + inGuest(server.Listener.Addr())
	run := func(flags ...string) (trusted, noted int) {
		t.Helper()
		out, err := zfRun(t, append(append([]string{"-net", "virtio"}, flags...), "./testdata/inet", "--", "trust", url)...).CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v, %s", flags, err, out)
		}
		return strings.Count(string(out), "trust: known <nil>"), strings.Count(string(out), "no root certificates in /etc/ssl")
	}
	for _, way := range []string{"-mount", "-files"} {
		if trusted, noted := run(way, dir+":/etc/ssl"); trusted != 2 || noted != 0 {
			t.Errorf("with its root by %s: %d of 2 requests, %d notes", way, trusted, noted)
		}
	}
	if trusted, noted := run(); trusted != 0 || noted != 1 {
		t.Errorf("without roots: %d requests, %d notes; want none, and one note", trusted, noted)
	}
}

// TestInetNoTime: who names no server that tells the time, or has no network for it, is told so.
func TestInetNoTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ net, ntp, want string }{
		{"virtio", "", "inet: ntp= names no server; the clock is not set\n"},
		{"virtio", "10.0.2.2:1", "connection refused; the clock is not set yet\n"},
		{"", "10.0.2.2", "ntp=10.0.2.2 is ignored: want net=on and a network stack, which zf run -net gives"},
	} {
		args := []string{"-timeout", "5m", "-append", "ntp=" + tt.ntp}
		if tt.net != "" {
			args = append(args, "-net", tt.net)
		}
		out, err := zfRun(t, append(args, "./testdata/inet", "--", "time")...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("ntp=%s: %v; want %q in\n%s", tt.ntp, err, tt.want, out)
		}
	}
}

// TestInetExit: what a program has sent arrives though the program exits at once, as on Linux, and
// its connections are closed.
func TestInetExit(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	for how, status := range map[string]int{"close": 0, "return": 0, "exit": 67} {
		for _, smp := range []string{"1", "2"} {
			got := make(chan int64, 1)
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				n, _ := io.Copy(io.Discard, c)
				got <- n
			}()
			out, err := zfRun(t, "-smp", smp, "-net", "virtio", "-timeout", "5m", "./testdata/inet", "--", "leave", how,
				inGuest(l.Addr()), inGuest(u.LocalAddr())).CombinedOutput()
			if exitCode(t, err) != status {
				t.Fatalf("%s: status %d, want %d\n%s", how, exitCode(t, err), status, out)
			}
			if n := <-got; n != 1e6 {
				t.Errorf("%s, -smp %s: %d bytes have come, want 1e6\n%s", how, smp, n, out)
			}
			b := make([]byte, 20)
			for i := range 8 {
				u.SetReadDeadline(time.Now().Add(limit))
				n, _, err := u.ReadFrom(b)
				if want := fmt.Sprint(how, i); string(b[:n]) != want {
					t.Fatalf("%s, -smp %s: datagram %q, %v; want %q", how, smp, b[:n], err, want)
				}
			}
		}
	}
}

// TestInetTables: the files of /proc/net begin as Linux's do, and have the program's sockets, groups
// and addresses.
func TestInetTables(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(zfCommand(t), "run", "-net", "virtio", "-timeout", "5m", "./testdata/inet", "--", "tables")
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	out := string(b)
	for name, want := range map[string][]string{
		"dev":      {`  eth0: +[1-9]\d* +[1-9]\d* .* [1-9]\d* +[1-9]`},
		"if_inet6": {"0{31}1 01 80 10 80       lo", "fe80000000000000505400fffe123456 02 40 20 80     eth0"},
		"igmp":     {"2\teth0      :     2      V3", "\t\t\t\t030201EF     1 0:00000000\t\t0", "\t\t\t\t010000E0 "},
		"igmp6":    {"2    eth0            ff020000000000000000000000001234     1 "},
		"route":    {"eth0\t00000000\t0202000A\t0003\t", "eth0\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t"},
		"tcp":      {`   0: 0100007F:1F90 00000000:0000 0A `, `   1: 0100007F:\w{4} 0100007F:1F90 01 `, `   2: 0100007F:1F90 0100007F:\w{4} 01 `},
		"tcp6":     {`   0: 0{32}:2382 0{32}:0000 0A 0{8}:0{8} 00:0{8} 0{8} +0 +0 [1-9]\d* `},
		"udp":      {`    0: 00000000:0035 00000000:0000 07 `},
		"udp6":     {`    0: 0{24}01000000:\w{4} 0{24}01000000:0007 01 `},
	} {
		_, file, ok := strings.Cut(out, "\n"+name+": <nil>\n")
		if name == "dev" {
			file, ok = strings.CutPrefix(out, "dev: <nil>\n")
		}
		file, _, _ = strings.Cut(file, ": <nil>\n")
		host, err := os.ReadFile("/proc/net/" + name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a host without IPv6
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(host), "\n")
		first, _, _ := strings.Cut(file, "\n")
		headed := !strings.HasPrefix(name, "if_") && name != "igmp6" && len(host) > 0
		if !ok || headed && strings.TrimRight(first, " ") != strings.TrimRight(head, " ") {
			t.Errorf("%s begins with\n%s\nLinux's with\n%s", name, first, head)
		}
		for _, line := range want {
			if !regexp.MustCompile(`(?m)^` + line).MatchString(file) {
				t.Errorf("%s: want %s in\n%s", name, line, file)
			}
		}
	}
	if !strings.Contains(out, "groups: [239.1.2.3 224.0.0.1 ff02::1234 ff02::1] <nil>") {
		t.Errorf("the groups of eth0 are not those that were joined:\n%s", out)
	}
}

// TestInetWithout: without a network, the same program gets Linux's error, and a note says why.
func TestInetWithout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ flags, want string }{
		{"", "network is unreachable"},
		{"-net virtio -append net=frames", "network is unreachable"},
		{"-net virtio -append ip=192.0.2.7", "network is unreachable"}, // there is no gateway
	} {
		args := append(strings.Fields(tt.flags), "-timeout", "5m", "./testdata/inet", "--", "10.0.2.2:1", "10.0.2.2:1", "10.0.2.2:1")
		out, _ := zfRun(t, args...).CombinedOutput()
		if !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: want %q in\n%s", tt.flags, tt.want, out)
		}
	}
}

// TestInetPipe: a program that closes a connection while the other machine sends has no signal of
// it, as on Linux: it has sent nothing.
func TestInetPipe(t *testing.T) {
	t.Parallel()
	server := hostServer(t, func(c net.Conn) {
		var err error
		for b := make([]byte, 10000); err == nil; _, err = c.Write(b) {
		}
	})
	cmd := exec.Command(zfCommand(t), "run", "-net", "virtio", "-timeout", "5m", "./testdata/inet", "--", "pipe", inGuest(server))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "no signal:\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestInetISO: the program of an ISO talks to other machines, if the ISO was made with net=on.
func TestInetISO(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inet.iso")
	if out, err := exec.Command(zfCommand(t), "iso", "-append", "net=on", "-o", file, "./testdata/inet", "--", "serve").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const host = "127.33.1.9"
	server(t, ".", "-p", host+":7777:7", "-timeout", "10m", file)
	echoed(t, host, []byte("by the card"))
}

// TestForward: what -p takes, and what it refuses.
func TestForward(t *testing.T) {
	for s, want := range map[string]string{
		"8080":                  "hostfwd=tcp:127.0.0.1:8080-:8080",
		"9000:80":               "hostfwd=tcp:127.0.0.1:9000-:80",
		"0.0.0.0:9000:80":       "hostfwd=tcp:0.0.0.0:9000-:80",
		"53:53/udp":             "hostfwd=udp:127.0.0.1:53-:53",
		"53/udp":                "hostfwd=udp:127.0.0.1:53-:53",
		"127.0.0.1:9000:80/tcp": "hostfwd=tcp:127.0.0.1:9000-:80",
	} {
		if got, err := Forward(s); got != want || err != nil {
			t.Errorf("%s: %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "65536", "a", "80:", ":80", "1:2:3", "x:1:2", "[::1]:1:2", "80/sctp", "80/", "-1", "1,x=y", "1.2.3.4,guestfwd=:1:2", "+80", "127.0.0.1::80"} {
		if got, err := Forward(s); err == nil {
			t.Errorf("%q is taken for %s", s, got)
		}
	}
}
