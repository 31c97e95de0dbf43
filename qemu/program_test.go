package qemu

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/image"
)

// A program that checks for itself what the Go runtime and the kernel give it, on each
// machine, and its clock, seen from outside.

var slept = regexp.MustCompile(`slept (\d+) ms at (\d+)\r\n`)

// stamped notes when a line has come.
type stamped struct {
	strings.Builder
	mark string
	at   time.Time
}

func (s *stamped) Write(p []byte) (int, error) {
	n, err := s.Builder.Write(p)
	if s.at.IsZero() && strings.Contains(s.String(), s.mark) {
		s.at = time.Now()
	}
	return n, err
}

// second is a writer for two stamps.
type both struct{ first, last *stamped }

func (b both) Write(p []byte) (int, error) {
	b.first.Write(p)
	return b.last.Write(p)
}

func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name, goamd64 string
		cfg           Config
	}{
		{"q35", "", Config{Machine: "q35"}},
		{"pc 5000 MiB", "", Config{Machine: "pc", MemoryMiB: 5000}},
		{"q35 4096 MiB", "", Config{Machine: "q35", MemoryMiB: 4096}},
		{"microvm", "", Config{Machine: "microvm"}},
		{"no APIC", "", Config{Machine: "q35", CPU: "qemu64,-apic"}},
		{"every feature", "", Config{Machine: "q35", CPU: "max"}},
		{"GOAMD64=v3", "v3", Config{Machine: "q35", CPU: "max"}},
		{"16 MiB", "", Config{Machine: "q35", MemoryMiB: 16}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := append([]string(nil), testEnv()...)
			if tt.goamd64 != "" {
				env = append(env, "GOAMD64="+tt.goamd64)
			}
			b, err := image.Build(context.Background(), image.BuildOptions{
				Package: "./testdata/program", Output: filepath.Join(t.TempDir(), "program.elf"), Env: env,
			})
			if err != nil {
				t.Fatal(err)
			}
			wrong := ""
			for range tries {
				if wrong = runProgram(t, tt.cfg, b.Path); wrong == "" {
					return
				}
				t.Log(wrong)
			}
			t.Error(wrong)
		})
	}
}

// runProgram boots the program and says what is wrong with its times, or "".
func runProgram(t *testing.T, cfg Config, path string) (wrong string) {
	t.Helper()
	first, last := &stamped{mark: "sleeping\r\n"}, &stamped{mark: "slept "}
	cfg.Kernel, cfg.Timeout = path, limit
	cfg.Append = `env.GREETING="hello there" -- "a b" "\"q\"" "\\" "" ü`
	cfg.Stdout = io.Writer(both{first, last})
	vm, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := vm.Wait()
	serial := last.String()
	if err != nil || res.Outcome != Exited || res.Program != 9 {
		t.Fatalf("the machine: %v, status %d, %v; want status 9; serial port:\n%s", res.Outcome, res.Program, err, serial)
	}
	m := slept.FindStringSubmatch(serial)
	if m == nil || strings.Count(serial, "\nok ") != 10 {
		t.Fatalf("the program did not say all it should:\n%s", serial)
	}
	outside := last.at.Sub(first.at)
	inside, _ := strconv.Atoi(m[1])
	if off := outside.Milliseconds() - int64(inside); off < -50 || off > 50+int64(inside)/20 {
		return fmt.Sprintf("a sleep of %d ms took %v outside", inside, outside)
	}
	if inside < 1000 || inside > 1050 {
		return fmt.Sprintf("a sleep of one second took %d ms", inside)
	}
	if s, _ := strconv.ParseInt(m[2], 10, 64); s < time.Now().Unix()-10 || s > time.Now().Unix()+2 {
		return fmt.Sprintf("the program's clock says %d, the host's %d", s, time.Now().Unix())
	}
	return ""
}

// TestTooOldCPU: a program for a newer CPU says so.
func TestTooOldCPU(t *testing.T) {
	b, err := image.Build(context.Background(), image.BuildOptions{
		Package: "./testdata/program", Output: filepath.Join(t.TempDir(), "v3.elf"), Env: append(testEnv(), "GOAMD64=v3"),
	})
	if err != nil {
		t.Fatal(err)
	}
	vm, out := start(t, Config{Kernel: b.Path}, "")
	if res, err := vm.Wait(); err != nil || res.Outcome != Traced {
		t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
	}
	if want := "zeroframe: built with GOAMD64=v3 or higher, for a newer CPU\r\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("the serial port has %q; want %q", out, want)
	}
}
