package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestRecordFailuresFlags: what does not go together is said, with the next step.
func TestRecordFailuresFlags(t *testing.T) {
	for _, tt := range []struct{ args, says string }{
		{"-chaos", "add -record-failures"},
		{"-seed 3", "-seed is for -record-failures"},
		{"-record-keep 20", "-record-keep is for -record-failures"},
		{"-record-failures -count 0", "-count 0 is no run"},
		{"-record-failures -record-keep 0", "1 keeps the first"},
		{"-record-failures -c", "-c does not go with -record-failures"},
		{"-record-failures -json", "-json does not go with -record-failures"},
		{"-record-failures -bench .", "-bench does not go with -record-failures"},
		{"-record-failures -cover", "-cover does not go with -record-failures"},
		{"-record-failures -trace t.out", "-trace does not go with -record-failures"},
		{"-record-failures -artifacts", "-artifacts does not go with -record-failures"},
		{"-record-failures -records d", "-records does not go with -record-failures"},
		{"-record-failures -cpuprofile c.pprof", "ask the recording"},
		{"-record-failures -smp 2", "-record-failures records one CPU, not 2"},
		{"-record-failures -net virtio", "take -net e1000"},
		{"-record-failures -mount .:/x:rw", "without :rw it is copied"},
		{"-record-failures -qemu -icount", "-qemu -icount does not go with -record-failures"},
		{"-record-failures -seed -1", "want a number"},
		{"-record-failures -seed 5x", "want a number"},
	} {
		c := calling("test", append(strings.Fields(tt.args), "./lib"), io.Discard)
		f := testFlags{machine: machine{streams: c.streams, quiet: true}}
		if _, err := f.parse(c); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("zf test %s: %v; want %q", tt.args, err, tt.says)
		}
	}
	for _, tt := range []struct{ args, says string }{
		{"-chaos p", "add -record FILE.zfr"},
		{"-seed 3 p", "-seed is for -record with -chaos"},
		{"-record a.zfr -seed 3 p", "-seed is for -chaos"},
		{"-record a.zfr -chaos b.iso", "chaos=SEED"},
		{"-record a.zfr -smp 2 p", "-record records one CPU, not 2"},
		{"-record-last 1s p", "-record-last is for -record FILE.zfr"},
		{"-record a.zfr -record-last 1s -smp 2 p", "-record records one CPU, not 2"},
		{"-record a.zfr -record-last 1s b.iso", "-record-last does not go with an ISO image"},
		{"-record a.zfr -record-last 1s -net e1000 p", "-record-last does not go with -net"},
		{"-record a.zfr -record-last 1us p", "want a time of 10ms or more"},
	} {
		c := calling("run", strings.Fields(tt.args), io.Discard)
		f := runFlags{machine: machine{streams: c.streams}}
		if err := f.parse(c); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("zf run %s: %v; want %q", tt.args, err, tt.says)
		}
	}
}

// TestRecordFailuresMachine: what the machines of a series are.
func TestRecordFailuresMachine(t *testing.T) {
	for _, tt := range []struct {
		args            string
		seed            uint64
		icount          bool
		options, binary string
	}{
		{"-record-failures -count 50", 1, true, "jitter=1", "-test.paniconexit0 -test.timeout=10m0s"},
		{"-record-failures -chaos -seed 7 -v", 7, true, "env.GOMAXPROCS=4 chaos=7", "-test.paniconexit0 -test.timeout=10m0s -test.v=true"},
		{"-record-failures -chaos -net e1000", 1, false, "env.GOMAXPROCS=4 chaos=1", "-test.paniconexit0 -test.timeout=10m0s"},
		{"-record-failures -chaos -append env.GOMAXPROCS=2", 1, true, "chaos=1", "-test.paniconexit0 -test.timeout=10m0s"},
	} {
		c := calling("test", append(strings.Fields(tt.args), "./lib"), io.Discard)
		f := testFlags{machine: machine{streams: c.streams, quiet: true}}
		if _, err := f.parse(c); err != nil {
			t.Errorf("zf test %s: %v", tt.args, err)
			continue
		}
		m := f.machine
		f.failures.chaos.add(&m, f.failures.chaos.seed)
		if options, binary := strings.Join(m.options, " "), strings.Join(f.pass, " "); m.qemu.Seed != tt.seed || m.qemu.Icount != tt.icount || options != tt.options || binary != tt.binary || !f.noMounts {
			t.Errorf("zf test %s: seed %d, by instructions %v, %q, %q; want %d, %v, %q, %q", tt.args, m.qemu.Seed, m.qemu.Icount, options, binary, tt.seed, tt.icount, tt.options, tt.binary)
		}
	}
}

// TestRecordFailuresSeries: of which runs the recordings stay, and what is said of them.
func TestRecordFailuresSeries(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	type run struct {
		code   int
		file   bool // there is a recording
		output string
		ctx    context.Context
	}
	living := context.Background()
	pass, fails := run{exitOK, true, "PASS\n", living}, run{exitProgram + 1, true, "--- FAIL\n", living}
	for _, tt := range []struct {
		name   string
		flags  string
		runs   []run
		code   int
		files  string // of the recordings that stay
		result string
		stdout string // a regular expression
		stderr string // in what is said on standard error
		over   bool
	}{
		{"pass", "", []run{pass, pass}, exitOK, "", "2 runs", "^$", "", false},
		{"shown", "-v", []run{pass}, exitOK, "", "1 run", "^PASS\nzf test: run 1, seed 1, has passed\n$", "", false},
		{"fails", "", []run{pass, fails, pass}, exitTrace, "p.2.zfr", "1 of 3 runs failed",
			"^--- FAIL\nzf test: run 2, seed 2, has failed; recorded in \\S*p.2.zfr\n$", "p.2.zfr tells what the failure came from", false},
		{"dies", "", []run{{exitTrace, true, "panic", living}}, exitTrace, "p.1.zfr", "1 of 1 run failed",
			"^panic\nzf test: run 1, seed 1, has failed; recorded in \\S*p.1.zfr\n$", "p.1.zfr tells what it died of", false},
		{"hangs", "", []run{{exitMachine, true, "", living}, fails}, exitMachine, "p.1.zfr p.2.zfr", "2 of 2 runs failed", "run 1, .*\n.*\n.*run 2, ", "(2 in all)", false},
		{"too many", "-record-keep 1", []run{fails, fails}, exitTrace, "p.1.zfr", "2 of 2 runs failed", "run 2, seed 2, has failed; -record-keep 1 recordings are there already\n$", "p.1.zfr", false},
		{"first", "-failfast", []run{fails}, exitTrace, "p.1.zfr", "1 of 1 run failed", "p.1.zfr", "", true},
		{"interrupted", "", []run{fails, {exitInterrupt, true, "", over}}, exitTrace, "p.1.zfr", "1 of 1 run failed", "^--- FAIL\n.*\n$", "", false},
		{"died before", "", []run{{exitTrace, true, "panic\n", over}}, exitTrace, "p.1.zfr", "1 of 1 run failed", "^panic\n.*\n$", "interrupted after 1 of ", false},
		{"no QEMU", "", []run{{exitMachine, false, "zf test: no QEMU\n", living}}, exitMachine, "", "0 runs", "^$", "zf test: no QEMU\n", true},
		{"no room", "", []run{{exitUsage, true, "zf test: -record: no room\n", living}}, exitUsage, "", "0 runs", "^$", "no room", true},
	} {
		dir := t.TempDir()
		var stdout, stderr bytes.Buffer
		c := calling("test", append(strings.Fields("-record-failures -outputdir "+dir+" "+tt.flags), "./p"), &stderr)
		c.stdout = &stdout
		f := testFlags{machine: machine{streams: c.streams, quiet: true}}
		if _, err := f.parse(c); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		s := &series{packageTest: &packageTest{testFlags: &f, streams: c.streams}, of: 100, to: filepath.Join(dir, "p")}
		ctx := living
		for i, r := range tt.runs {
			final := s.path(uint64(i + 1))
			part := final + ".part"
			if r.file {
				if err := os.WriteFile(part, []byte("x"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			ctx = r.ctx
			s.took(r.ctx, uint64(i+1), r.code, []byte(r.output), part, final)
		}
		s.sayNext(ctx)
		var files []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			files = append(files, e.Name())
		}
		if got := strings.Join(files, " "); got != tt.files || s.code != tt.code || s.result() != tt.result || s.over != tt.over {
			t.Errorf("%s: status %d, files %q, %s, over: %v; want %d, %q, %s, %v", tt.name, s.code, got, s.result(), s.over, tt.code, tt.files, tt.result, tt.over)
		}
		if !regexp.MustCompile(tt.stdout).MatchString(stdout.String()) || !strings.Contains(stderr.String(), tt.stderr) {
			t.Errorf("%s: it says %q, %q; want %q, %q", tt.name, &stdout, &stderr, tt.stdout, tt.stderr)
		}
	}
}

// TestRecordFailuresNames: recordings of packages with the same last name do not take each other's
// place.
func TestRecordFailuresNames(t *testing.T) {
	var r recordFailures
	r.names([]image.TestPackage{{ImportPath: "example.org/a/util"}, {ImportPath: "example.org/b/util"}, {ImportPath: "example.org/b"}})
	for _, tt := range [][2]string{{"example.org/a/util", "example.org.a.util"}, {"example.org/b/util", "example.org.b.util"}, {"example.org/b", "b"}} {
		if got := r.name(tt[0]); got != tt[1] {
			t.Errorf("%s: %s; want %s", tt[0], got, tt[1])
		}
	}
}

// TestRecordFailuresPath: the recordings of an earlier run stay.
func TestRecordFailuresPath(t *testing.T) {
	s := series{to: filepath.Join(t.TempDir(), "p")}
	for _, want := range []string{"p.7.zfr", "p.7-2.zfr", "p.7-3.zfr"} {
		path := s.path(7)
		if filepath.Base(path) != want {
			t.Errorf("%s; want %s", path, want)
		}
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if path := s.path(8); filepath.Base(path) != "p.8.zfr" {
		t.Errorf("%s; want p.8.zfr", path)
	}
}
