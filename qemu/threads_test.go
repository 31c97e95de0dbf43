package qemu

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The program's threads on several CPUs.

// runThreads runs testdata/threads, and returns what it says.
func runThreads(t *testing.T, cfg Config, args string) string {
	t.Helper()
	cfg.Kernel = program(t, "threads")
	res, serial, err := boot(t, cfg, "-- "+args)
	if err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Fatalf("the machine: %v, status %d, %v; want status 0\n%s", res.Outcome, res.Program, err, serial)
	}
	return said(serial)
}

// TestThreadsOnCPUs: threads run on all CPUs, and where they are told to; all that can be asked
// says how many CPUs there are.
func TestThreadsOnCPUs(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"q35", "pc", "microvm"} {
		for _, n := range []int{1, 2, 4, 8, 64} {
			t.Run(fmt.Sprintf("%s/%d", machine, n), func(t *testing.T) {
				t.Parallel()
				online := "0"
				if n > 1 {
					online = fmt.Sprintf("0-%d", n-1)
				}
				want := strings.Join([]string{
					fmt.Sprintf("NumCPU %d GOMAXPROCS %d", n, n),
					fmt.Sprintf("goroutines on CPUs %d", n),
					fmt.Sprintf("threads that stay %d", n),
					fmt.Sprintf("processors %d", n),
					"online " + online,
					"membarrier errno 0 true true", "private operation not permitted", "register errno 0", "private errno 0", "",
				}, "\n")
				if got := runThreads(t, Config{Machine: machine, CPUs: n, Icount: true, VirtualTime: true}, "cpus"); got != want {
					t.Errorf("the program says\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

// TestClockOnCPUs: what one CPU has read of the clock, no other one reads less than: with CPUs that
// run side by side, and with CPUs that run one behind the other, which take turns.
func TestClockOnCPUs(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"clock 5000", "turns 50000", "turns 10000000"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			icount := strings.HasPrefix(args, "turns")
			if got := runThreads(t, Config{CPUs: 4, Icount: icount, VirtualTime: icount}, args); got != "passed true\n" {
				t.Errorf("the program says %q", got)
			}
		})
	}
}

// TestUnmapOnCPUs: a page that is taken away, or that takes no more writes, is so for all CPUs when
// the system call returns.
func TestUnmapOnCPUs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cpus, changes, seed int
		icount              bool
	}{
		{2, 200, 1, false}, {4, 200, 2, false}, {4, 200, 3, true}, {4, 2000, 4, false}, {8, 60, 5, false}, {8, 60, 6, true},
	} {
		t.Run(fmt.Sprint(tt.cpus, "-", tt.changes, "-", tt.seed), func(t *testing.T) {
			t.Parallel()
			cfg := Config{CPUs: tt.cpus, Icount: tt.icount, VirtualTime: tt.icount}
			want := fmt.Sprintf("changes %d faults true\n", tt.changes)
			if got := runThreads(t, cfg, fmt.Sprintf("unmap %d %d", tt.changes, tt.seed)); got != want {
				t.Errorf("the program says %q, want %q", got, want)
			}
		})
	}
}

// TestFillOnCPUs: CPUs that touch the same new pages at once get one frame for each, without the
// kernel lock, while areas come and go; and no frame is lost: all together they take more than the
// machine has.
func TestFillOnCPUs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cpus, rounds, seed int
		icount             bool
	}{
		{2, 60, 1, false}, {4, 30, 3, true}, {8, 60, 4, false}, {4, 600, 2, false},
	} {
		t.Run(fmt.Sprint(tt.cpus, "-", tt.rounds, "-", tt.seed), func(t *testing.T) {
			t.Parallel()
			cfg := Config{CPUs: tt.cpus, Icount: tt.icount, VirtualTime: tt.icount}
			want := fmt.Sprintf("rounds %d pages %d\n", tt.rounds, tt.rounds*256)
			if got := runThreads(t, cfg, fmt.Sprintf("fill %d %d", tt.rounds, tt.seed)); got != want {
				t.Errorf("the program says %q, want %q", got, want)
			}
		})
	}
}

// TestSteer: a device's interrupts come to the CPU that waits for them, and not to one that runs a
// program.
func TestSteer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o, _ := booted(t, nil, "-append", "kstat=on", "-smp", "2", "-mount", dir+":rw", program(t, "threads"), "--", "steer", "100", filepath.Join(dir, "file"))
	var first, second int
	m := regexp.MustCompile(`(?m)^interrupts of devices, by CPU: (\d+) (\d+)\r?$`).FindStringSubmatch(o.text)
	if m == nil || o.status != 0 {
		t.Fatalf("status %d: %s", o.status, o.text)
	}
	fmt.Sscan(m[1], &first)
	fmt.Sscan(m[2], &second)
	if second < 100 || first > second/4 {
		t.Errorf("%d interrupts have come to the first CPU, %d to the second one", first, second)
	}
}

// TestProbesOnCPUs: calls that CPUs make at once are all counted, those too of a function whose
// first instruction is stepped over.
func TestProbesOnCPUs(t *testing.T) {
	t.Parallel()
	cmd := zfRun(t, "-q", "-smp", "4", "-probe", "main.leaf,main.framed", program(t, "threads"), "--", "calls", "30")
	out, err := cmd.CombinedOutput()
	counts := regexp.MustCompile(`(?m)^ +120 .* main\.(leaf|framed)$`).FindAllString(string(out), -1)
	if err != nil || !strings.HasPrefix(string(out), "calls 120\n") || len(counts) != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// checkLockReport checks the list of what the kernel lock has cost: the last row is the sum of the
// others, and nobody has waited for the lock more often than it was taken.
func checkLockReport(t *testing.T, text string) {
	t.Helper()
	rows := regexp.MustCompile(`(?m)^([\w(][^,\r\n]*?) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)\r?$`).FindAllStringSubmatch(text, -1)
	heading := regexp.MustCompile(`(?m)^kernel lock +taken +waited +held/us +longest +wait/us +longest\r?$`)
	flushes := regexp.MustCompile(`(?m)^\d+ changes of page tables for other CPUs, \d+ interrupts sent for them\r?$`)
	filled := regexp.MustCompile(`(?m)^[1-9]\d* pages given at a fault without the lock\r?$`)
	if len(rows) < 2 || !heading.MatchString(text) || !flushes.MatchString(text) || !filled.MatchString(text) {
		t.Fatalf("no list of what the kernel lock has cost:\n%s", text)
	}
	sum := 0
	for i, row := range rows {
		var taken, waited int
		fmt.Sscan(row[2], &taken)
		fmt.Sscan(row[3], &waited)
		if taken < waited || taken == 0 {
			t.Errorf("the lock was taken %d times for %s, and waited for %d times", taken, row[1], waited)
		}
		if last := i == len(rows)-1; last && (row[1] != "all" || taken != sum) {
			t.Errorf("the last row is %q; want the sum, %d", row[0], sum)
		}
		sum += taken
	}
}

// TestKernelStat: kstat=on lists what the kernel lock has cost.
func TestKernelStat(t *testing.T) {
	t.Parallel()
	o, _ := booted(t, nil, "-append", "kstat=on", "-smp", "2", program(t, "threads"), "--", "cpus")
	checkLockReport(t, o.text)
	if o.status != 0 || !strings.Contains(o.text, "\nsched_setaffinity ") {
		t.Errorf("status %d: %s", o.status, o.text)
	}
	if o, _ = booted(t, nil, "-append", "kstat=on", program(t, "threads"), "--", "cpus"); o.status != 0 || strings.Contains(o.text, "kernel lock ") {
		t.Errorf("with one CPU: status %d: %s", o.status, o.text)
	}
}
