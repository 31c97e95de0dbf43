package qemu

import (
	"debug/elf"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The page tables, as QEMU's own walker reads them (monitor command "info tlb")
// from a kernel that has booted.

// A mapping is one page of the page tables.
type mapping struct {
	phys            uint64
	size            uint64
	write, exec, uc bool
}

// pageTables boots the crash lab up to an endless loop and returns its mappings
// by virtual address, and what it has sent.
func pageTables(t *testing.T, cfg Config) (map[uint64]mapping, string) {
	t.Helper()
	cfg.Kernel, _ = lab(t, image.AllLoaders)
	cfg.Append = "crash=early.spin"
	vm, out := start(t, cfg, "")
	out.For(t, "spinning\r\n")
	raw, err := vm.QMP("human-monitor-command", map[string]string{"command-line": "info tlb"})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		t.Fatal(err)
	}
	if err := vm.InjectNMI(); err != nil {
		t.Fatal(err)
	}
	out.For(t, "zf1 done")
	// "virtual: physical XGPDACTUW": NX, global, large, dirty, accessed,
	// cache-disable, write-through, user, writable.
	line := regexp.MustCompile(`^([0-9a-f]{16}): ([0-9a-f]{16}) ([X-])[G-]([P-])[D-][A-]([C-])[T-][U-]([W-])$`)
	pages := map[uint64]mapping{}
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		m := line.FindStringSubmatch(strings.TrimRight(l, "\r"))
		if m == nil {
			t.Fatalf("info tlb: cannot read %q", l)
		}
		virt, _ := strconv.ParseUint(m[1], 16, 64)
		phys, _ := strconv.ParseUint(m[2], 16, 64)
		p := mapping{phys: phys, size: 4 << 10, write: m[6] == "W", exec: m[3] != "X", uc: m[5] == "C"}
		if m[4] == "P" {
			p.size = 2 << 20
		}
		pages[virt] = p
	}
	return pages, out.String()
}

// find returns the mapping of the page that holds addr.
func find(pages map[uint64]mapping, addr uint64) (mapping, bool) {
	if p, ok := pages[addr&^(4<<10-1)]; ok && p.size == 4<<10 {
		return p, true
	}
	p, ok := pages[addr&^(2<<20-1)]
	return p, ok && p.size == 2<<20
}

func TestPageTables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		machine string
		mib     int
	}{{"q35", 128}, {"pc", 5000}, {"microvm", 128}} {
		t.Run(tt.machine, func(t *testing.T) {
			t.Parallel()
			pages, serial := pageTables(t, Config{Machine: tt.machine, MemoryMiB: tt.mib})

			for virt, p := range pages {
				if p.write && p.exec {
					t.Errorf("the page at %#x is writable and executable", virt)
				}
				if p.phys != virt && p.phys != virt-arch.DirectMap {
					t.Errorf("%#x is mapped to %#x; want it at its own address or in the direct map", virt, p.phys)
				}
				if p.phys != virt && p.exec {
					t.Errorf("the page at %#x in the direct map is executable", virt)
				}
				if hpet, lapic := uint64(0xfed00000), uint64(0xfee00000); p.uc != (p.phys>>12 == hpet>>12 || p.phys>>12 == lapic>>12) {
					t.Errorf("the page at %#x: uncached = %v; want it of the HPET and the local APIC alone", virt, p.uc)
				}
			}
			for _, addr := range []uint64{0, 0xfff, 0xffff, 0x90000, 1 << 20, 0x7000000, 0xfed00000, 0xfee00000, 1 << 46,
				arch.DirectMap, arch.DirectMap + 0xfec00000, 0xffff_8000_0000_0000, 0xffff_8880_0010_0000} {
				if _, ok := find(pages, addr); ok {
					t.Errorf("%#x is mapped; want it not to be", addr)
				}
			}

			// All usable RAM, up to the last page of the highest region.
			m := report.FindStringSubmatch(serial)
			if m == nil {
				t.Fatalf("no boot report in %q", serial)
			}
			highest, _ := strconv.ParseUint(m[5], 0, 64)
			var total uint64
			for virt, p := range pages {
				if virt >= arch.DirectMap+1<<20 && !p.uc {
					total += p.size
				}
			}
			if p, ok := find(pages, arch.DirectMap+highest-1); !ok || !p.write {
				t.Errorf("the last page below %#x is not mapped writable", highest)
			}
			usable, _ := strconv.ParseUint(m[4], 10, 64)
			if above := usable<<10 - 640<<10; total < above-64<<10 || total > usable<<10+1<<20 {
				t.Errorf("%d KiB above 1 MiB are mapped; want about %d", total>>10, above>>10)
			}

			guarded := guardPages(t, pages, serial)
			checkSegments(t, pages, guarded)
		})
	}
}

// guards is the number of stacks, each with a guard page below it.
const guards = 11

// guardPages checks the page below and the pages of every stack in the trace.
func guardPages(t *testing.T, pages map[uint64]mapping, serial string) map[uint64]bool {
	t.Helper()
	guarded := map[uint64]bool{}
	rows := regexp.MustCompile(`zf1 stack (\S+) (0x[0-9a-f]+) size=(\d+)`).FindAllStringSubmatch(serial, -1)
	if len(rows) != guards {
		t.Fatalf("%d stacks in the trace; want %d", len(rows), guards)
	}
	for _, r := range rows {
		lo, _ := strconv.ParseUint(r[2], 0, 64)
		size, _ := strconv.ParseUint(r[3], 10, 64)
		if _, ok := find(pages, lo-1); ok {
			t.Errorf("the page below stack %s is mapped", r[1])
		}
		guarded[(lo-1)&^4095] = true
		for a := lo; a < lo+size; a += 4096 {
			if p, ok := find(pages, a); !ok || !p.write || p.exec {
				t.Errorf("stack %s at %#x: mapped %v, %+v; want it writable and not executable", r[1], a, ok, p)
			}
		}
	}
	return guarded
}

// checkSegments: every page of the image has the rights of its program header, but for the
// CPU's tables, which nobody may write to.
func checkSegments(t *testing.T, pages map[uint64]mapping, guarded map[uint64]bool) {
	t.Helper()
	path, _ := lab(t, image.AllLoaders)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool {
		return s.Name == "github.com/zeroframe/zeroframe/kernel/percpu.first"
	})
	if err != nil || i < 0 {
		t.Fatalf("no symbol of the CPU's record: %v", err)
	}
	record := symbols[i]
	var tables []uint64
	executable := uint64(0)
	for _, prog := range f.Progs {
		if prog.Type != elf.PT_LOAD {
			continue
		}
		for a := prog.Vaddr &^ 4095; a < prog.Vaddr+prog.Memsz; a += 4096 {
			if guarded[a] {
				continue
			}
			p, ok := find(pages, a)
			write := prog.Flags&elf.PF_W != 0
			if write && ok && !p.write && a >= record.Value && a+4096 <= record.Value+record.Size {
				tables = append(tables, a)
				write = false
			}
			if !ok || p.write != write || p.exec != (prog.Flags&elf.PF_X != 0) {
				t.Errorf("page %#x: mapped %v, write %v, exec %v; want write %v and %v", a, ok, p.write, p.exec, write, prog.Flags)
			}
			if p.exec {
				executable++
			}
		}
	}
	for virt, p := range pages {
		if virt < 1<<47 && !slices.ContainsFunc(f.Progs, func(s *elf.Prog) bool {
			return s.Type == elf.PT_LOAD && virt >= s.Vaddr&^4095 && virt+p.size <= (s.Vaddr+s.Memsz+4095)&^4095
		}) {
			t.Errorf("the page at %#x is mapped, and not of the image", virt)
		}
	}
	if len(tables) != 2 || tables[1] != tables[0]+4096 {
		t.Errorf("the read-only pages of the CPU's record are %#x; want two, one behind the other", tables)
	}
	for _, p := range pages {
		if p.exec {
			executable -= p.size / 4096
		}
	}
	if executable != 0 {
		t.Errorf("there are executable pages outside the text (difference %d)", int64(executable))
	}
}

// TestControlRegisters: write protection and no-execute are on, and nothing that
// the kernel cannot save is enabled.
func TestControlRegisters(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	vm, out := start(t, Config{Kernel: path, Append: "crash=early.spin"}, "")
	out.For(t, "spinning\r\n")
	regs, err := vm.Registers()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		set  uint64
		not  uint64
	}{
		{"CR0=", 1<<31 | 1<<16 | 1<<5 | 1<<1 | 1, 1<<2 | 1<<3}, // PG WP NE MP PE; not EM TS
		{"CR4=", 1<<5 | 1<<9 | 1<<10, 1 << 18},                 // PAE OSFXSR OSXMMEXCPT; not OSXSAVE
		{"EFER=", 1<<11 | 1<<10 | 1<<8, 0},                     // NXE LMA LME
	} {
		v, ok := hex(regs, tt.name)
		if !ok || v&tt.set != tt.set || v&tt.not != 0 {
			t.Errorf("%s%#x, %v; want the bits %#x and not %#x", tt.name, v, ok, tt.set, tt.not)
		}
	}
}
