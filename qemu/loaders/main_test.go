package main

import (
	"os"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

func TestMain(m *testing.M) {
	image.RunTool()
	os.Exit(m.Run())
}

// TestEveryLoader boots by every loader.
func TestEveryLoader(t *testing.T) {
	l := lab{dir: t.TempDir(), root: "../..", stderr: t.Output()}
	for _, r := range rows {
		t.Run(r.Name, func(t *testing.T) {
			said, err := l.try(t.Context(), r)
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			if kernel, program := said.when("zeroframe "), said.when("teller: "); kernel == 0 || program < kernel {
				t.Errorf("the kernel is up after %d ms, the program after %d ms", kernel, program)
			}
		})
	}
}

// TestCheck: what a loader does wrong is noticed.
func TestCheck(t *testing.T) {
	l := lab{dir: t.TempDir(), root: "../..", stderr: t.Output()}
	todo, err := choose([]string{"qemu-multiboot-q35"})
	if err != nil {
		t.Fatal(err)
	}
	r := todo[0]
	said, err := l.try(t.Context(), r)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	serial := said.String()
	elf, err := l.image(t.Context(), r.Image)
	if err != nil {
		t.Fatal(err)
	}
	second := strings.LastIndex(serial, "zeroframe ")
	for _, tt := range []struct{ name, serial, want string }{
		{"one boot", serial[:second], "1 boot reports"},
		{"another loader", strings.Replace(serial, "qemu, multiboot", "GRUB, multiboot", 1), "the loader is"},
		{"little memory", strings.Replace(serial, " KiB usable", "0 KiB usable", 1), "usable of 256 MiB"},
		{"a screen", strings.Replace(serial, "memory  ", "screen  1x1\r\nmemory  ", 1), "the screen is"},
		{"other arguments", strings.ReplaceAll(serial, "two words", "two"), "the program did not say"},
		{"no trace of the boot before", strings.Replace(serial, "zf1 previous 1", "zf1 previous 0", 1), "2 traces"},
		{"a damaged trace", strings.Replace(serial, "zf1 #0 pc 0x", "zf1 #0 pc 0x1", 1), "complete false"},
	} {
		if err := check(elf, tt.serial, r, 256); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
	if err := check(elf, serial, r, 256); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

func TestChoose(t *testing.T) {
	if _, err := choose([]string{"lilo"}); err == nil || !strings.Contains(err.Error(), `no row "lilo"`) {
		t.Errorf("choose(lilo) = %v", err)
	}
	all, err := choose(nil)
	if err != nil || len(all) != len(rows) {
		t.Errorf("choose() = %d rows, %v", len(all), err)
	}
	seen := map[string]bool{}
	for _, r := range all {
		if seen[r.Name] {
			t.Errorf("there are two rows %s", r.Name)
		}
		seen[r.Name] = true
	}
}
