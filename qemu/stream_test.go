package qemu

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
)

// Records from a running machine: whole on either port, and the text between them as it
// was written.

// recordData is what testdata/records sends.
func recordData(seed uint64, n int) []byte {
	b := make([]byte, n)
	x := seed*2685821657736338717 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 32)
	}
	return b
}

// reading collects what the readers of records say.
type reading struct {
	text    log
	records map[string][]byte
	damages []string
}

func (r *reading) options() eventstream.Options {
	return eventstream.Options{
		OnRecord: func(rec eventstream.Record) { r.records[fmt.Sprintf("%d %s", rec.ID, rec.Kind)] = rec.Data },
		OnDamage: func(d eventstream.Damage) { r.damages = append(r.damages, d.Error()) },
	}
}

// read reads what has come by both ports.
func read(serial, second []byte) *reading {
	r := &reading{records: map[string][]byte{}}
	text, frames := eventstream.NewText(&r.text, r.options()), eventstream.NewFrames(r.options())
	text.Write(serial)
	text.Close()
	frames.Write(second)
	frames.Close()
	return r
}

// records boots testdata/records and returns what has come by both ports.
func records(t *testing.T, cfg Config, options string, args ...string) (serial, second []byte, res Result) {
	t.Helper()
	var one, two log
	cfg.Kernel, cfg.Timeout, cfg.Stdout, cfg.Records = program(t, "records"), max(cfg.Timeout, limit), &one, &two
	cfg.Append = options + " -- " + strings.Join(args, " ")
	vm, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if res, err = vm.Wait(); err != nil {
		t.Fatalf("%v; serial port:\n%.3000q", err, one.String())
	}
	return []byte(one.String()), []byte(two.String()), res
}

// wantRecords are the records of `records text`.
func wantRecords() map[string][]byte {
	want := map[string][]byte{}
	for i, n := range []int{0, 1, 479, 480, 481, 5000} {
		want[fmt.Sprintf("%d test.size", i+1)] = recordData(uint64(i), n)
	}
	for i := range 10 {
		want["7 test.a"] = append(want["7 test.a"], recordData(uint64(100+i), 700)...)
		want["8 test.b"] = append(want["8 test.b"], recordData(uint64(200+i), 900)...)
	}
	return want
}

func (r *reading) check(t *testing.T, want map[string][]byte, damages ...string) {
	t.Helper()
	for name, data := range want {
		if got, ok := r.records[name]; !ok || !bytes.Equal(got, data) {
			t.Errorf("record %s: %d bytes, there: %v; want %d bytes", name, len(got), ok, len(data))
		}
	}
	if len(r.records) != len(want) {
		t.Errorf("%d records; want %d", len(r.records), len(want))
	}
	if strings.Join(r.damages, "\n") != strings.Join(damages, "\n") {
		t.Errorf("damages: %q; want %q", r.damages, damages)
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 6 {
		fmt.Fprintf(&text, "before %d, €, after\n", i)
	}
	for i := range 10 {
		fmt.Fprint(&text, i, " ")
	}
	text.WriteString("end\n")
	for _, tt := range []struct {
		name, options string
		cfg           Config
		second        bool
	}{
		{"COM1", "", Config{}, false},
		{"COM1 by name, pc", "record.port=com1", Config{Machine: "pc"}, false},
		{"COM2", "record.port=com2", Config{}, true},
		{"COM2, microvm", "record.port=com2", Config{Machine: "microvm"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			serial, second, res := records(t, tt.cfg, tt.options, "text")
			if res.Outcome != Exited || res.Program != 0 {
				t.Errorf("%v, status %d", res.Outcome, res.Program)
			}
			if tt.second == (len(second) == 0) || tt.second == bytes.Contains(serial, []byte("zfr")) {
				t.Errorf("%d bytes came by COM2", len(second))
			}
			r := read(serial, second)
			r.check(t, wantRecords())
			if got := said(r.text.String()); got != text.String() {
				t.Errorf("the text: %q\nwant: %q", got, text.String())
			}
			if tt.second {
				return
			}
			// A byte of the fourth record's first piece is damaged on the line.
			broken := bytes.Clone(serial)
			at := bytes.Index(broken, []byte("zfr test.size 5 0 "))
			if at < 0 {
				t.Fatal("there is no first piece of record 5")
			}
			broken[at+100] ^= 1
			r = read(broken, second)
			want := wantRecords()
			delete(want, "5 test.size")
			r.check(t, want, "record 5 (test.size) is damaged: 1 of its 2 pieces was lost")
			if got := said(r.text.String()); got != text.String() {
				t.Errorf("with a damaged piece, the text: %q\nwant: %q", got, text.String())
			}
		})
	}
}

// TestNoSecondPort: a machine without COM2 says so, and the records come all the same.
func TestNoSecondPort(t *testing.T) {
	t.Parallel()
	var serial log
	vm, err := Start(t.Context(), Config{Kernel: program(t, "records"), Timeout: limit, Stdout: &serial, Append: "record.port=com2 -- text"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vm.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := "record.port=com2 is ignored: there is no second serial port (COM2): records go by COM1"; !strings.Contains(serial.String(), want) {
		t.Errorf("the kernel does not say %q", want)
	}
	read([]byte(serial.String()), nil).check(t, wantRecords())
}

// TestLargeRecord: megabytes, five of them by the port for it.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	for port, n := range map[string]int{"com1": 1 << 20, "com2": 5 << 20} {
		t.Run(port, func(t *testing.T) {
			t.Parallel()
			serial, second, _ := records(t, Config{Timeout: 5 * limit}, "record.port="+port, "large", fmt.Sprint(n))
			r := read(serial, second)
			r.check(t, map[string][]byte{"1 test.large": recordData(7, n)})
			t.Logf("%s", said(r.text.String()))
		})
	}
}

// TestRecordLeftOpen: a program that ends closes its records, as it does all files. The short
// one, begun first, goes out when it is closed.
func TestRecordLeftOpen(t *testing.T) {
	t.Parallel()
	serial, second, _ := records(t, Config{}, "", "open")
	read(serial, second).check(t, map[string][]byte{"1 test.long": recordData(4, 1000), "2 test.short": recordData(3, 5)})
}

// TestRecordOfADeath: the record that was open is cut, the text and the trace are whole.
func TestRecordOfADeath(t *testing.T) {
	t.Parallel()
	serial, second, res := records(t, Config{}, "", "death")
	if res.Outcome != Traced {
		t.Errorf("%v; want %v", res.Outcome, Traced)
	}
	r := read(serial, second)
	if len(r.records) != 0 || len(r.damages) != 1 || !strings.HasPrefix(r.damages[0], "record 1 (test.death) was cut after ") {
		t.Errorf("%d records, damages %q; want one that was cut", len(r.records), r.damages)
	}
	text := r.text.String()
	if !strings.Contains(said(text), "about to die") {
		t.Errorf("the text is %q", said(text))
	}
	path, symbols, err := programSymbols(t, "records")
	if err != nil {
		t.Fatal(err)
	}
	if all := traces(t, symbols, text); len(all) != 1 || all[0].Damaged || !all[0].Complete || !strings.Contains(all[0].Reason, "in the middle of a record") {
		t.Errorf("%d traces of %s; want one, whole", len(all), filepath.Base(path))
	}
}

// TestRecordCommands: zf run and zf symbolize keep records as files, of either port.
func TestRecordCommands(t *testing.T) {
	t.Parallel()
	zf := zfCommand(t)
	for _, port := range []string{"com1", "com2"} {
		t.Run(port, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var stdout, stderr bytes.Buffer
			cmd := zfRun(t, "-q", "-records", filepath.Join(dir, "run"), "-append", "record.port="+port, "./testdata/records", "--", "text")
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("zf run: %v\n%s", err, stderr.String())
			}
			if s := stdout.String(); strings.Contains(s, "zfr") || !strings.Contains(s, "before 5, €, after\n") {
				t.Errorf("zf run shows %q", s)
			}
			checkFiles(t, filepath.Join(dir, "run"))

			serial, _, _ := records(t, Config{}, "record.port="+port, "text")
			if port == "com2" { // zf run alone reads it
				return
			}
			log := filepath.Join(dir, "serial.log")
			if err := os.WriteFile(log, serial, 0o666); err != nil {
				t.Fatal(err)
			}
			path := program(t, "records")
			out, err := exec.Command(zf, "symbolize", "-e", path, "-records", filepath.Join(dir, "symbolize"), log).CombinedOutput()
			if err != nil || bytes.Contains(out, []byte("zfr")) {
				t.Errorf("zf symbolize: %v\n%s", err, out)
			}
			checkFiles(t, filepath.Join(dir, "symbolize"))

			// Without -records they are counted.
			out, err = exec.Command(zf, "symbolize", "-e", path, log).CombinedOutput()
			if want := regexp.MustCompile(`zf symbolize: \d+ bytes in records that nobody asked for \(8\) were left out; -records DIR keeps them`); err != nil || !want.Match(out) {
				t.Errorf("zf symbolize without -records: %v\n%s", err, out)
			}
		})
	}
}

// checkFiles compares the files that -records has made.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	want := wantRecords()
	for name, data := range want {
		b, err := os.ReadFile(filepath.Join(dir, strings.Replace(name, " ", "-", 1)))
		if err != nil || !bytes.Equal(b, data) {
			t.Errorf("%v, %d bytes; want %d", err, len(b), len(data))
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != len(want) {
		t.Errorf("%d files; want %d", len(list), len(want))
	}
}
