package qemu

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
)

// A sweep of QEMU as other machines: each boots a program that says something and dies, and it must
// be the same death on each. A machine that this QEMU does not have fails.

// other is a machine of the sweep. clock is how its clock must have been measured, "" for any.
type other struct {
	name  string
	cfg   Config
	clock string
}

const teller = "./loaders/testdata/teller"

// noHypervisor is a CPU that does not say that it is emulated, so nothing is known of its APIC's
// clock.
const noHypervisor = "qemu64,-hypervisor"

// What a boot report says of a clock.
const (
	noClock = "MHz assumed, so times may be wrong: CPUID 0x15 is not there, CPUID 0x40000010 is not there, " +
		"local APIC's 1 GHz is not there, HPET is not there, PM timer is not there, PIT is not there"
	allClocks = "MHz by local APIC's 1 GHz, HPET, PM timer, PIT"
)

const bareMicrovm = "microvm,auto-kernel-cmdline=off"

// otherDevices are machines without clocks and other devices.
var otherDevices = []other{
	{"all", Config{}, allClocks},
	{"no HPET", Config{Machine: "q35,hpet=off"}, "MHz by local APIC's 1 GHz, PM timer, PIT"},
	{"no PIT", Config{Machine: "q35,pit=off", CPU: noHypervisor}, "MHz by HPET, PM timer"},
	{"PM timer alone", Config{Machine: "pc,pit=off,hpet=off", CPU: noHypervisor}, "MHz by PM timer"},
	{"PIT alone", Config{Machine: bareMicrovm, CPU: noHypervisor}, "MHz by PIT"},
	{"APIC alone", Config{Machine: bareMicrovm + ",pit=off"}, "MHz by local APIC's 1 GHz"},
	{"no clock", Config{Machine: bareMicrovm + ",pit=off,acpi=off", CPU: noHypervisor}, noClock},
	{"no ACPI", Config{Machine: "q35,acpi=off"}, allClocks},
	{"no i8042", Config{Machine: "q35,i8042=off"}, allClocks},
	{"no i8042, PIT, HPET", Config{Machine: "pc,i8042=off,pit=off,hpet=off", CPUs: 2}, "MHz by local APIC's 1 GHz, PM timer"},
	{"no serial port", Config{NoSerial: true}, ""}, // TestScreenChoice has what a screen shows then
}

// otherCPUs are models from the oldest that runs 64-bit code to the newest of QEMU 7.2, and what
// can be taken from them.
var otherCPUs = []string{"qemu64", "kvm64", "core2duo", "Conroe", "Penryn", "Nehalem", "Westmere", "SandyBridge", "IvyBridge", "Haswell",
	"Broadwell", "Skylake-Client", "Skylake-Server", "Cascadelake-Server", "Cooperlake", "Icelake-Server", "Snowridge", "Denverton",
	"KnightsMill", "phenom", "Opteron_G1", "Opteron_G3", "Opteron_G4", "Opteron_G5", "EPYC", "EPYC-Rome", "EPYC-Milan", "Dhyana", "max",
	"max,-x2apic", "max,-la57", "max,-rdrand", "max,-xsave", "max,-nx", "qemu64,-nx", "qemu64,+x2apic", "qemu64,+la57",
	"max,-rdrand,-rdseed,-xsave,-x2apic,-la57,-nx"}

// nearly is a clock of 1 GHz, by a reference of 14 MHz.
var nearly = regexp.MustCompile(`^clock   (999|1000|1001) MHz `)

// dieElsewhere boots the machine, holds what it says against the one death, and returns what it
// says.
func dieElsewhere(t *testing.T, o other) string {
	path := built(t, image.BuildOptions{Package: teller})
	cfg := o.cfg
	if cfg.Icount = true; cfg.CDROM == "" {
		cfg.Kernel, cfg.Append = path, cfg.Append+" env.TELL=elsewhere"
	}
	vm, out := start(t, cfg, "")
	res, err := vm.Wait()
	if cfg.NoSerial && err == nil && res.Outcome == Traced && out.String() == "" {
		return ""
	}
	serial := out.String()
	all := traces(t, opened(t, path), serial)
	if err != nil || res.Outcome != Traced || len(all) != max(1, cfg.CPUs) {
		t.Fatalf("the machine: %v, %v, %d traces; want one of each CPU", res.Outcome, err, len(all))
	}
	const chain = "main.deathC main.deathB main.deathA main.main runtime.main runtime.goexit"
	tr := all[0]
	if tr.Reason != "panic: teller: the end" || !tr.Complete || tr.Damaged || !strings.HasSuffix(tr.chain(), chain) {
		t.Errorf("%q, complete %v, damaged %v: %s; want %s", tr.Reason, tr.Complete, tr.Damaged, tr.chain(), chain)
	}
	if want := `teller: args [] env "elsewhere" file ""`; !strings.Contains(serial, want) {
		t.Errorf("the program did not say %q", want)
	}
	if line := lineOf(serial, "clock "); !nearly.MatchString(line) || !strings.Contains(line, o.clock+"; timer ") {
		t.Errorf("%q; want 1000 %s", line, o.clock)
	}
	return serial
}

// lineOf returns the line of a boot report that begins so.
func lineOf(serial, begin string) string {
	_, line, _ := strings.Cut("\n"+strings.ReplaceAll(serial, "\r", ""), "\n"+begin)
	line, _, _ = strings.Cut(line, "\n")
	return begin + line
}

// TestSweepDevices: the clock is measured against what is there, and what is not there is not
// needed.
func TestSweepDevices(t *testing.T) {
	t.Parallel()
	for _, o := range otherDevices {
		t.Run(o.name, func(t *testing.T) { dieElsewhere(t, o) })
	}
}

// TestSweepCPUs: any model of a CPU does.
func TestSweepCPUs(t *testing.T) {
	t.Parallel()
	for i, cpu := range otherCPUs {
		cfg := Config{CPU: cpu, Machine: []string{"q35", "pc", "microvm"}[i%3]}
		t.Run(cpu, func(t *testing.T) { dieElsewhere(t, other{cfg: cfg}) })
	}
}

// TestSweepMemory: from 64 MiB to 512 GiB, which are used all but what is above an address of 512
// GiB. The RAM is a file, of which the host keeps the pages alone that the machine has written to.
func TestSweepMemory(t *testing.T) {
	t.Parallel()
	for _, mib := range []int{64, 2000, 20 << 10, 512 << 10} {
		t.Run(fmt.Sprint(mib), func(t *testing.T) {
			cfg := Config{MemoryMiB: mib, RAM: filepath.Join(t.TempDir(), "ram")}
			wantUsable(t, dieElsewhere(t, other{cfg: cfg}), min(mib, 510<<10)<<10)
			info, err := os.Stat(cfg.RAM)
			if err != nil {
				t.Fatal(err)
			}
			if used := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != int64(mib)<<20 || used > 48<<20 {
				t.Errorf("the file has %d bytes, of which %d are used", info.Size(), used)
			}
		})
	}
}

var usable = regexp.MustCompile(`(?m)^memory  (\d+) KiB usable`)

// wantUsable asks for so much usable memory, of which firmware and loader may have a little.
func wantUsable(t *testing.T, serial string, kib int) {
	t.Helper()
	m := usable.FindStringSubmatch(serial)
	if m == nil {
		t.Fatal("the boot report has no memory")
	}
	if got, _ := strconv.Atoi(m[1]); got > kib || got < kib-1<<10 {
		t.Errorf("%d KiB usable; want %d, or up to 1 MiB less", got, kib)
	}
}

// TestSweepMaps: memory maps with holes by seed, which GRUB makes: gaps, and ranges that it calls
// bad.
func TestSweepMaps(t *testing.T) {
	t.Parallel()
	grub, _, err := iso.Find()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 30))
			cfg, lost := "insmod mmap\n", 0
			for i := range 12 {
				size := 4 << 10 << rnd.IntN(12)
				lo := (24+16*i)<<20 + rnd.IntN(8<<20)&^(size-1)
				lost += size
				if rnd.IntN(2) == 0 {
					cfg += fmt.Sprintf("cutmem %#x %#x\n", lo, lo+size)
				} else {
					cfg += fmt.Sprintf("badram %#x,%#x\n", lo, 1<<32-size)
				}
			}
			kernel, err := os.ReadFile(built(t, image.BuildOptions{Package: teller}))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			cfg += "multiboot /k env.TELL=elsewhere\nboot\n"
			for name, b := range map[string][]byte{"k": kernel, "grub.cfg": []byte(cfg)} {
				if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			disc := filepath.Join(dir, "maps.iso")
			cmd := exec.CommandContext(t.Context(), grub, "-o", disc,
				"boot/grub/grub.cfg="+filepath.Join(dir, "grub.cfg"), "k="+filepath.Join(dir, "k"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			serial := dieElsewhere(t, other{cfg: Config{CDROM: disc, MemoryMiB: 256}})
			wantUsable(t, serial, 256<<10-lost>>10)
		})
	}
}
