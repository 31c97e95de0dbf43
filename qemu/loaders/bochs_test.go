package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
)

// bochsReport is what Bochs' clock of 200 MHz and its card are.
var bochsReport = regexp.MustCompile(`(?s)\ncpus    2 of 2 .*\nclock   (199|200|201) MHz by HPET, PM timer, PIT; timer tsc-deadline.*\nnetwork e1000 ` + bochsMAC)

// TestBochs: with two CPUs a double fault has the same traces in Bochs as in QEMU, from each CPU.
func TestBochs(t *testing.T) {
	const cpus, mib = 2, 256
	elf, disc := filepath.Join(t.TempDir(), "lab.elf"), filepath.Join(t.TempDir(), "lab.iso")
	l, err := batch.Build(t.Context(), image.BuildOptions{Package: "../../kernel/crashlab", Output: elf, Stderr: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	o := iso.Options{Kernel: elf, Cmdline: "net=on crash=early.double-fault", Output: disc, WantScreen: image.WantScreen}
	if _, err := iso.Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	here, there := &stamps{start: time.Now()}, &stamps{start: time.Now()}
	if err := bochs(t.Context(), t.TempDir(), disc, mib, cpus, here, traced, cpus); err != nil {
		t.Fatalf("%v\n%s", err, here)
	}
	cfg := qemu.Config{CDROM: disc, Machine: "pc", CPUs: cpus, MemoryMiB: mib, Timeout: limit, Stdout: there}
	vm, err := qemu.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := vm.Wait(); err != nil || res.Outcome != qemu.Traced {
		t.Errorf("QEMU: %v, %v; want a trace", res.Outcome, err)
	}
	said := func(serial string) (all string) {
		list, err := l.Traces(serial, nil)
		if err != nil || len(list) != cpus {
			t.Errorf("%d traces, %v; want one of each CPU:\n%s", len(list), err, serial)
		}
		for _, d := range list {
			all += fmt.Sprintf("%s, complete %v: %s\n", d.Reason, d.Complete(), strings.Join(batch.Functions(d), " "))
		}
		return all
	}
	if got, want := said(here.String()), said(there.String()); got != want {
		t.Errorf("Bochs:\n%sQEMU:\n%s", got, want)
	}
	if !bochsReport.MatchString(strings.ReplaceAll(here.String(), "\r", "")) {
		t.Errorf("the boot report does not match %v:\n%s", bochsReport, here)
	}
}
