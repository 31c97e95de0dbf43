package qemu

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// A machine dies with its network in use, and its trace is whole all the same.

var inetDeaths = flag.Int("inet.deaths", 20, "how many machines TestInetDeaths/many kills")

// mortalKinds are the ways to die, and what the reason says; the last ones are within the card's
// driver.
var mortalKinds = [][2]string{{"panic", "the last event"}, {"nil", "nil pointer"}, {"throw", "unlock of unlocked mutex"}, {"wild", "fatal error: fault"},
	{"overflow", "stack overflow"}, {"kernel", "nil pointer"}, {"kernel-overflow", "overflow"}, {"nmi", "NMI"}, {"send", "nil pointer"},
	{"receive", "nil pointer"}, {"restart", "nil pointer"}}

// mortalMachines are the machines that die.
var mortalMachines = []struct {
	machine, net string
	cpus         int
}{
	{"q35", "virtio", 1}, {"q35", "virtio", 4}, {"pc", "virtio-legacy", 1}, {"pc", "virtio-legacy", 4},
	{"q35", "e1000e", 1}, {"q35", "e1000e", 4}, {"pc", "e1000", 1}, {"pc", "e1000", 4},
	{"microvm", "virtio-mmio", 1}, {"microvm", "virtio-mmio", 4},
}

// TestInetDeaths: whenever and however a machine dies that talks to others, its trace comes whole by
// netconsole, and is that of the serial port.
func TestInetDeaths(t *testing.T) {
	t.Parallel()
	for seed := range len(mortalKinds) / 2 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { t.Parallel(); inetDeath(t, uint64(seed)) })
	}
	t.Run("many", func(t *testing.T) {
		t.Parallel()
		for seed := range *inetDeaths {
			t.Run(fmt.Sprint(seed), func(t *testing.T) { inetDeath(t, uint64(1000+seed)) })
		}
	})
}

// inetDeath kills one machine.
func inetDeath(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 33))
	way := mortalKinds[int(seed*2)%len(mortalKinds)]
	kind, reason := way[0], way[1]
	m := mortalMachines[random.IntN(len(mortalMachines))]
	event := 1 + random.IntN(1000)
	t.Logf("seed %d: %s at event %d, %s, %s, %d CPUs", seed, kind, event, m.machine, m.net, m.cpus)
	path := built(t, image.BuildOptions{Package: "./testdata/mortal", Inet: true})
	r, web, datagrams := receive(t), freePort(t, "tcp4"), freePort(t, "udp4")
	vm, out := start(t, Config{Kernel: path, Machine: m.machine, CPUs: m.cpus, Timeout: 5 * limit,
		Net: fmt.Sprintf("%s,hostfwd=tcp:%s-:80,hostfwd=udp:%s-:7", m.net, web, datagrams),
		Append: fmt.Sprintf("report=off net=on ip=10.0.2.15::10.0.2.2:255.255.255.0 %s -- %s %d %s", r.option(), kind, event,
			hostTraffic(t, web, datagrams))}, "")
	if kind == "nmi" {
		out.For(t, "ask now")
		if err := vm.InjectNMI(); err != nil {
			t.Fatal(err)
		}
		out.Until(t, func(sent string) bool { return nmisDone(sent) > 0 }, "a trace of the NMI")
		client := http.Client{Timeout: patience}
		await.Poll(t, "the machine dies", func() bool {
			client.Post("http://"+web+"/die", "", nil)
			return strings.Contains(out.String(), "the end")
		})
	}
	res, err := vm.Wait()
	symbols := opened(t, path)
	if err != nil || res.Outcome != Traced {
		t.Fatalf("the machine: %v, %v, at %v; want %v", res.Outcome, err, symbols.Lookup(res.RIP, false), Traced)
	}
	// On a busy host it takes long to step through the driver, under the kernel lock, which is reported.
	all := traces(t, symbols, out.String())
	first := slices.IndexFunc(all, func(tr *labTrace) bool {
		return tr.Of == 0 && !strings.Contains(tr.Reason, " has had the kernel lock for 5 s")
	})
	if first < 0 || !strings.Contains(all[first].Reason, reason) {
		t.Errorf("%d traces; want that of the death, %d, with the reason %q", len(all), first, reason)
	}
	a := r.sort(t, symbols.BuildID())
	if want, _ := saidOf(out.String(), "alive"); a.traces != want || want == "" {
		for line := range strings.Lines(out.String()) { // what died, and whether the card was given up
			if strings.HasPrefix(line, "netconsole: ") ||
				strings.HasPrefix(line, "zf1 reason ") && !strings.Contains(line, " goroutine") {
				t.Logf("%q", line)
			}
		}
		t.Errorf("traces arrived:\n%s\nthe serial port has:\n%s", a.traces, want)
	}
}

// hostTraffic keeps a machine busy until the test ends: its servers are at web and datagrams of the
// host. It returns where the host's servers are for it.
func hostTraffic(t *testing.T, web, datagrams string) string {
	t.Helper()
	answer := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(answer) }))
	t.Cleanup(server.Close)
	ctx := t.Context()
	client := http.Client{Timeout: limit}
	for range 3 {
		go func() {
			for ctx.Err() == nil {
				req, _ := http.NewRequestWithContext(ctx, "POST", "http://"+web+"/", bytes.NewReader(answer[:20_000]))
				if r, err := client.Do(req); err == nil {
					io.Copy(io.Discard, r.Body)
					r.Body.Close()
				}
			}
		}()
	}
	go func() {
		c, err := net.Dial("udp4", datagrams)
		if err != nil {
			return
		}
		defer c.Close()
		b := make([]byte, 2000)
		for ctx.Err() == nil {
			c.Write(b[:1000])
			c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			c.Read(b)
		}
	}()
	return inGuest(server.Listener.Addr()) + " " + inGuest(hostEcho(t))
}

// TestInetDeathDumped: the memory of such a machine comes whole by network, though others go on to
// send to it.
func TestInetDeathDumped(t *testing.T) {
	t.Parallel()
	path := built(t, image.BuildOptions{Package: "./testdata/mortal", Inet: true})
	for seed, m := range mortalMachines[1:6:6] {
		if seed%2 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%s/%d", m.net, m.cpus), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			r, web, datagrams := startReceiver(t, "-cores", folder, "-e", path), freePort(t, "tcp4"), freePort(t, "udp4")
			vm, out := start(t, Config{Kernel: path, Machine: m.machine, CPUs: m.cpus, Timeout: 5 * limit,
				Net: fmt.Sprintf("%s,hostfwd=tcp:%s-:80,hostfwd=udp:%s-:7", m.net, web, datagrams),
				Append: fmt.Sprintf("report=off net=on ip=10.0.2.15::10.0.2.2:255.255.255.0 netconsole=@10.0.2.15/,%s@10.0.2.2/ core=net panic=halt -- kernel %d %s",
					r.port, 100+seed, hostTraffic(t, web, datagrams))}, "")
			out.For(t, " ms, all that can be read") // the first CPU halts before this one has said so
			await.Poll(t, "the machine halts", func() bool { ok, err := vm.Halted(); return ok && err == nil })
			if d := openDump(t, dumpOf(t, r, folder)); !strings.Contains(d.text, "=died\n") {
				t.Errorf("the note says %q", d.text)
			}
			r.end(t)
		})
	}
}
