package qemu

import (
	"strings"
	"testing"
	"time"
)

// TestDoubts: of a stranger's machine what is harmless passes, and all else is named.
func TestDoubts(t *testing.T) {
	t.Parallel()
	extra := func(args ...string) Config { return Config{Extra: args} }
	for _, cfg := range []Config{
		{}, {Machine: "q35", CPU: "max", MemoryMiB: 512, Net: "e1000", Append: "crash=x -- a,b \x1b"}, {Machine: "microvm"},
		{Machine: "pc-q35-7.2,hpet=off,smm=on,max-ram-below-4g=2G"}, {CPU: "qemu64,+x2apic,-avx2,xsave=off,phys-bits=0x28"},
		{Net: "e1000e,hostfwd=tcp::80-:80", Replay: "-"}, {Date: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		extra("-cpu", "Haswell-v4"), extra("-m", "1G"), extra("-m", "size=256M"), extra("-vga", "std"), extra("-S"), extra("-no-hpet", "-usb"),
		extra("-device", "e1000,mac=52:54:00:12:34:56,romfile=,addr=05.0,bus=pcie.0"), extra("-device", "loader,addr=0x1000,data=0x5a,data-len=1"),
		extra("-chardev", "null,id=sink", "-device", "isa-debugcon,iobase=0xf4,chardev=sink"), extra("-global", "virtio-mmio.force-legacy=false"),
		extra("-rtc", "base=2026-01-01T00:00:00,clock=vm"),
	} {
		if doubts := cfg.Doubts(); len(doubts) > 0 {
			t.Errorf("%+v: %q", cfg, doubts)
		}
	}
	for _, tt := range []struct {
		Config
		says string
	}{
		{Config{Machine: "q35,dumpdtb=/tmp/x"}, `the machine "q35,dumpdtb=/tmp/x"`},
		{Config{Machine: "q35,kernel=/etc/shadow"}, "the machine"},
		{Config{Machine: "none"}, "the machine"},
		{Config{Machine: "q35\n"}, "the machine"},
		{Config{CPU: "max,,x=on"}, "the processor"},
		{Config{CPU: "-incoming"}, "the processor"},
		{Config{MemoryMiB: 1 << 20}, "1048576 MiB"},
		{Config{MemoryMiB: -1}, "-1 MiB"},
		{Config{CPUs: 2}, "2 CPUs"},
		{Config{Net: "vfio-pci,host=00:02.0", Replay: "-"}, `no network card is called "vfio-pci"`},
		{Config{Net: "e1000,guestfwd=tcp:10.0.2.100:1-cmd:id"}, "the host's side"},
		{Config{Append: "a\x00b"}, "zero byte"},
		{Config{Append: strings.Repeat("a", 1<<20)}, "1048576 bytes"},
		{Config{Date: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, "the year 9999"},
		{extra("-incoming", "exec:id >/tmp/x; cat"), `"-incoming" for QEMU, before "exec:id`},
		{extra("--incoming", "exec:id"), `"--incoming"`},
		{extra("-S", "disk.img"), `"disk.img" for QEMU stands where a flag belongs`},
		{extra("-S", ""), `"" for QEMU stands where a flag belongs`},
		{extra("-chardev", "file,id=x,path=/tmp/x"), "-chardev"},
		{extra("-chardev", "null,id=x,logfile=/tmp/x"), "-chardev"},
		{extra("-device", "isa-debugcon,chardev=serial"), `is joined with "serial"`},
		{extra("-device", "isa-debugcon,chardev=later", "-chardev", "null,id=later"), `is joined with "later"`},
		{extra("-device", "loader,file=/etc/shadow,addr=0"), "-device"},
		{extra("-device", "e1000,romfile=/etc/shadow"), "-device"},
		{extra("-device", "e1000,romfile="+",,x"), "-device"},
		{extra("-device", `{"driver":"loader","file":"/etc/shadow"}`), "-device"},
		{extra("-device", "vfio-pci,host=00:02.0"), "-device"},
		{extra("-device", "loader,id=/etc"), "-device"},
		{extra("-global", "e1000.romfile=/etc/shadow"), "-global"},
		{extra("-m", "1024G"), "-m 1024G"},
		{extra("-m", "128,maxmem=1T,slots=4"), "-m"},
		{extra("-m"), `"-m" for QEMU has no value`},
		{extra("-rtc", "base=2026-01-01\n"), "-rtc"},
		{extra(make([]string, 257)...), "257 further arguments"},
	} {
		if doubts := tt.Doubts(); len(doubts) == 0 || !strings.Contains(doubts[0], tt.says) {
			t.Errorf("%+v: %q; want %q", tt.Config, doubts, tt.says)
		}
	}
	for _, name := range strings.Fields("-D -blockdev -bios -chroot -daemonize -debugcon -drive -dtb -dump-vmstate -fda -fsdev -fw_cfg -gdb " +
		"-hda -icount -initrd -kernel -L -loadvm -mem-path -mon -mtdblock -net -netdev -nic -object -option-rom -pflash -pidfile -plugin -qmp " +
		"-qtest-log -readconfig -runas -sandbox -sd -semihosting-config -smbios -smp -spice -tpmdev -trace -virtfs -vnc -writeconfig @/x -set") {
		if cfg := extra(name, "none"); len(cfg.Doubts()) == 0 {
			t.Errorf("%s passes", name)
		}
	}
}

// valueless are QEMU's flags without a value that a harmless machine may have.
var valueless = map[string]bool{
	"-no-user-config": true, "-nodefaults": true, "-no-reboot": true, "-no-shutdown": true,
	"-S": true, "-no-acpi": true, "-no-fd-bootchk": true, "-no-hpet": true, "-usb": true,
}

// valued are those with one.
var valued = map[string]bool{
	"-display": true, "-machine": true, "-accel": true, "-m": true, "-chardev": true, "-mon": true, "-device": true, "-cpu": true, "-icount": true,
	"-rtc": true, "-seed": true, "-serial": true, "-netdev": true, "-object": true, "-global": true, "-monitor": true, "-parallel": true,
	"-uuid": true, "-vga": true, "-sandbox": true,
}

// FuzzDoubts: QEMU's command line of a machine without doubts has only known flags, and nothing in
// it but what is zf's own names a file, a program or an address.
func FuzzDoubts(f *testing.F) {
	f.Add("q35,hpet=off", "max,+avx", "e1000,x=y", "-device\ne1000,addr=05.0\n-m\n256", 128)
	f.Add("microvm", "qemu64", "", "-chardev\nnull,id=s\n-device\nisa-debugcon,chardev=s", 0)
	f.Add("q35,kernel=/x", "max,,a=b", "vfio-pci", "-incoming\nexec:id", 1<<20)
	f.Fuzz(func(t *testing.T, machine, cpu, net, extra string, memory int) {
		cfg := Config{
			Machine: machine, CPU: cpu, MemoryMiB: memory, Net: net, Icount: true, Replay: "LOG", Paused: true,
		}
		if extra != "" {
			cfg.Extra = strings.Split(extra, "\n")
		}
		if len(cfg.Doubts()) > 0 {
			return
		}
		args := cfg.args()
		for i := 0; i < len(args); i++ {
			name := args[i]
			if valueless[name] {
				continue
			}
			i++
			if !valued[name] || i == len(args) {
				t.Fatalf("%q: the flag %q", args, name)
			}
			value := args[i]
			for _, option := range strings.Split(value, ",") {
				key, v, _ := strings.Cut(option, "=")
				switch {
				case value == "chardev:serial", key == "mac" && name == "-device", key == "base" && name == "-rtc":
				case strings.ContainsAny(option, "/\\:{}\"'`$ \n"), strings.Contains(key, "file") && option != "romfile=" && v != "LOG",
					key == "path", key == "kernel", key == "initrd", key == "cmd", key == "script", key == "host":
					t.Errorf("%q: %s has the option %q", args, name, option)
				}
			}
		}
	})
}
