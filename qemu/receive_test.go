package qemu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tracer"
)

// zf receive with machines that die: from the fault to the resolved trace, by way of the
// card, the wire and a UDP socket, or of a capture of the wire.

// A receivedTrace is one object of zf receive -json: a trace's, with more fields.
type receivedTrace struct {
	labTrace
	Host        string `json:"host"`
	Address     string `json:"address"`
	Boot        string `json:"boot"`
	Sequence    int    `json:"sequence"`
	Missing     int    `json:"missing"`
	Fingerprint string `json:"fingerprint"`
	Count       int    `json:"count"`
	Repeated    bool   `json:"repeated"`
	Text        string `json:"text"` // of a log line
}

// parseReceived reads what zf receive has printed, log lines by machine.
func parseReceived(t *testing.T, out string) (traces []*receivedTrace, lines map[string]string) {
	t.Helper()
	lines = make(map[string]string)
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		one := new(receivedTrace)
		if err := d.Decode(one); err != nil {
			t.Fatalf("JSON: %v in\n%s", err, out)
		}
		if one.Kind == "log" {
			lines[one.Address] += one.Text + "\n"
		} else {
			traces = append(traces, one)
		}
	}
	return traces, lines
}

// liveReceiver is a zf receive that runs.
type liveReceiver struct {
	cmd       *exec.Cmd
	out, errs log
	port      string
}

func startReceiver(t *testing.T, args ...string) *liveReceiver {
	t.Helper()
	r := new(liveReceiver)
	r.cmd = exec.CommandContext(t.Context(), zfReceive(t), append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.errs
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.errs.For(t, "listening on")
	r.port = regexp.MustCompile(`listening on \S+:(\d+)`).FindStringSubmatch(r.errs.String())[1]
	return r
}

// end interrupts it, and returns its summary.
func (r *liveReceiver) end(t *testing.T) string {
	t.Helper()
	r.cmd.Process.Signal(os.Interrupt)
	if err := r.cmd.Wait(); err != nil {
		t.Fatalf("zf receive: %v\n%s", err, r.errs.String())
	}
	return r.errs.String()
}

// zfReceive returns the path of zf-receive.
func zfReceive(t *testing.T) string { t.Helper(); return hostCommand(t, "../tools/receive/zf-receive") }

// receiveOnce runs zf receive until its input ends.
func receiveOnce(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), zfReceive(t), args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("zf receive %v: %v\n%s", args, err, errs.String())
	}
	return out.String()
}

const receivedChain = "boot: main.nilWriteC main.nilWriteB main.nilWriteA" + tail

// TestReceive: two machines die at once, and a capture of one's wire says what the socket
// said.
func TestReceive(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	dir := t.TempDir()
	wire := filepath.Join(dir, "net.pcap")
	r := startReceiver(t, "-json", "-lines=always", "-e", path)

	var serial [2]string
	var booting sync.WaitGroup
	for i, cfg := range []Config{
		{Machine: "pc", Net: "virtio", Extra: []string{"-object", "filter-dump,id=dump0,netdev=net0,file=" + wire}},
		{Machine: "microvm", Net: "virtio"},
	} {
		booting.Go(func() {
			cfg.Kernel = path
			res, out, err := boot(t, cfg, "crash=early.nil-write netconsole=@10.0.2.15/,"+r.port+"@10.0.2.2/")
			if err != nil || res.Outcome != Traced {
				t.Errorf("%s: %v, %v; want %v", cfg.Machine, res.Outcome, err, Traced)
			}
			serial[i] = out
		})
	}
	booting.Wait()
	r.out.Times(t, `"fingerprint"`, 2)
	if said := r.end(t); !regexp.MustCompile(`2 machines, \d+ datagrams, \d+ lines, 2 traces\n.*0 rejected, 0 lost in this host\n`).MatchString(said) {
		t.Errorf("the summary is\n%s", said)
	}
	got, lines := parseReceived(t, r.out.String())
	if len(got) != 2 {
		t.Fatalf("%d traces were received; want 2:\n%s", len(got), r.out.String())
	}
	for i, tr := range got {
		checkReceived(t, tr, symbols.BuildID(), i+1)
		if tr.Host != tr.Address {
			t.Errorf("%s is shown as %s", tr.Address, tr.Host)
		}
	}
	if a, b := got[0], got[1]; a.Fingerprint != b.Fingerprint || a.Address == b.Address || a.Boot == b.Boot {
		t.Errorf("fingerprints %s and %s, machines %s and %s, boots %s and %s", a.Fingerprint, b.Fingerprint, a.Address, b.Address, a.Boot, b.Boot)
	}
	for _, s := range serial {
		_, want := saidOf(s, "zeroframe ")
		if want == "" || lines[got[0].Address] != want && lines[got[1].Address] != want {
			t.Errorf("no machine said\n%s\nbut\n%q", want, lines)
		}
	}
	// The capture has the machine's own address, so it is another machine.
	again, _ := parseReceived(t, receiveOnce(t, "-json", "-pcap", wire, "-port", r.port, "-e", path))
	if len(again) != 1 {
		t.Fatalf("the capture has %d traces; want 1", len(again))
	}
	tr := again[0]
	checkReceived(t, tr, symbols.BuildID(), 1)
	if tr.Address != "10.0.2.15:6665" || tr.Host != "10.0.2.15" || tr.Fingerprint != got[0].Fingerprint || tr.Repeated {
		t.Errorf("machine %s at %s, fingerprint %s, repeated %v", tr.Host, tr.Address, tr.Fingerprint, tr.Repeated)
	}
	if tr.Boot != got[0].Boot && tr.Boot != got[1].Boot {
		t.Errorf("boot %s is neither %s nor %s", tr.Boot, got[0].Boot, got[1].Boot)
	}
	text := receiveOnce(t, "-pcap", wire, "-port", r.port, "-e", path)
	for _, want := range []string{"10.0.2.15: zeroframe ", "10.0.2.15: zf1 begin 1 fault early", "main.nilWriteC+0x",
		"10.0.2.15: zf: group " + got[0].Fingerprint + ": 1 time since"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// checkReceived compares a received trace with the death that the machine was told to die.
func checkReceived(t *testing.T, tr *receivedTrace, build string, count int) {
	t.Helper()
	if c := tr.chain(); c != receivedChain {
		t.Errorf("%s: the functions are\n%s\nwant\n%s", tr.Address, c, receivedChain)
	}
	if tr.Kind != "fault" || tr.Reason != "nil pointer dereference, write to 0x8" || tr.BuildID != build ||
		!tr.Complete || tr.Damaged || tr.Sequence != 1 || tr.Missing != 0 || tr.Count != count {
		t.Errorf("%s: %s, %q, build %s, complete %v, damaged %v, trace %d, %d missing, count %d; want a whole trace, counted as %d",
			tr.Address, tr.Kind, tr.Reason, tr.BuildID, tr.Complete, tr.Damaged, tr.Sequence, tr.Missing, tr.Count, count)
	}
}

// TestReceiveCPUs: a death with several CPUs arrives as a trace of each; the CPUs that were well
// count as no crash, and what the next boot sends once more is known.
func TestReceiveCPUs(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	for _, tt := range []struct {
		kind    string
		cpus    int
		options string
	}{
		{"cpu.nil-write", 2, ""},
		{"cpu.panic", 4, "trace=compact"},
		{"cpu.all", 4, ""}, // whoever has died at the same time counts
	} {
		t.Run(fmt.Sprint(tt.kind, tt.cpus), func(t *testing.T) {
			t.Parallel()
			r := startReceiver(t, "-json", "-e", path)
			res, serial, err := boot(t, Config{Kernel: path, Net: "virtio", CPUs: tt.cpus, Reboots: 1},
				"crash="+tt.kind+" panic=reset crash.then=none netconsole=@10.0.2.15/,"+r.port+"@10.0.2.2/ "+tt.options)
			if err != nil || res.Outcome != Exited || res.Program != 0 {
				t.Fatalf("the machine: %v, status %d, %v; want status 0 of a second boot", res.Outcome, res.Program, err)
			}
			r.out.Times(t, `"sequence":`, tt.cpus)
			if said := r.end(t); !strings.Contains(said, fmt.Sprintf(" %d traces\n", tt.cpus)) {
				t.Errorf("the summary is\n%s", said)
			}
			got, _ := parseReceived(t, r.out.String())
			if len(got) != tt.cpus || strings.Count(serial, "zf1 previous 1\r\n") != tt.cpus {
				t.Fatalf("%d traces were received; want %d:\n%s", len(got), tt.cpus, r.out.String())
			}
			all := make([]*labTrace, len(got))
			for i, tr := range got {
				all[i] = &tr.labTrace
				counted := i == 0 || strings.HasPrefix(tr.Reason, tracer.DiedToo)
				if tr.Sequence != i+1 || tr.Missing != 0 || (tr.Count != 0) != counted || (tr.Fingerprint != "") != counted {
					t.Errorf("trace %d: number %d, %d missing, count %d, fingerprint %q: %s", i, tr.Sequence, tr.Missing, tr.Count, tr.Fingerprint, tr.Reason)
				}
			}
			checkCPUs(t, all, tt.cpus, *all[0].CPU)
		})
	}
}
