package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	format "github.com/zeroframe/zeroframe/tracer/stream"
)

// sent returns what a target sends: records by kind and data, as lines with text between.
func sent(t *testing.T, records ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w format.Writer
	w.Out = func(p []byte) { b.Write(p) }
	for i := 0; i < len(records); i += 2 {
		b.WriteString("text, ")
		w.Begin(records[i])
		w.Bytes([]byte(records[i+1]))
		w.End()
		b.WriteString("more\n")
	}
	return b.Bytes()
}

func TestRecordTakers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for _, tt := range []struct {
		name, dir string
		fail      bool
		files     []string
		log       string
	}{
		{"taken and left", "", false, nil, "zf x: 9 bytes in records that nobody asked for (2) were left out; -records DIR keeps them\n"},
		{"all kept", dir, false, []string{"1-wanted", "2-other", "3-.._up"}, ""},
		{"a taker fails", "", true, nil, "zf x: record 1 (wanted): no room\n" + "zf x: 9 bytes in records that nobody asked for (2) were left out; -records DIR keeps them\n"},
	} {
		var text, log bytes.Buffer
		taken := ""
		r := &records{dir: tt.dir}
		r.take("wanted", func(data []byte) error {
			taken += string(data)
			if tt.fail {
				return errors.New("no room")
			}
			return nil
		})
		between := r.text(&text, &streams{who: "zf x", stderr: &log})
		between.Write(sent(t, "wanted", "data", "other", "12345", "../up", "1234"))
		between.Close()
		if err := r.end(); (err != nil) != tt.fail {
			t.Errorf("%s: %v", tt.name, err)
		}
		if taken != "data" || text.String() != "text, more\ntext, more\ntext, more\n" || log.String() != tt.log || !r.any() {
			t.Errorf("%s: taken %q, text %q, log %q; want log %q", tt.name, taken, text.String(), log.String(), tt.log)
		}
		for _, name := range tt.files {
			if _, err := os.Stat(filepath.Join(tt.dir, name)); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
}

// TestRecordsFolder: a run that does not come to a boot leaves no folder for records.
func TestRecordsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if code, _, stderr := zf(nil, "run", "-records", dir, "nosuch.elf"); code != exitUsage {
		t.Errorf("zf run = %d, %q; want %d", code, stderr, exitUsage)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}
