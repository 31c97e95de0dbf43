package receive

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"
)

// oopsObject sends text as an oops to a reporter that has no ELF file, and returns the
// object that it makes of it.
func oopsObject(t testing.TB, text string) (object struct {
	Kind, Reason, Context, Fingerprint, Text string
	BuildID                                  string `json:"build_id"`
	Thread                                   uint64
	Registers                                map[string]string
	Frames                                   []struct {
		Kind, Function, Module string
		Offset                 uint64
	}
}) {
	t.Helper()
	var out bytes.Buffer
	r := NewReporter(context.Background(), ReportOptions{Out: &out, JSON: true})
	r.Trace(&Arrival{Machine: "m", Addr: alice, Time: t0, Bytes: []byte(text), Oops: true})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &object); err != nil {
		t.Fatalf("%v in %s", err, out.Bytes())
	}
	return object
}

// TestOopsAlone: an oops that no ELF file resolves says what it is, why, where and with
// which registers; and one cause is one fingerprint, however the lines come.
func TestOopsAlone(t *testing.T) {
	for _, tt := range []struct{ name, text, kind, reason, frames string }{
		{"x86", oopsText, "oops", "BUG: kernel NULL pointer dereference, address: 0000000000000008",
			"pc do_init_module+4c[sample] ra load_module+2115 ra __do_sys_init_module.cold+17a ra do_syscall_64+3b"},
		{"arm64", "[    2.1] Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008\n[    2.1] pc : do_one+0x10/0x20\n" +
			"[    2.1] lr : do_two+0x14/0x40\n[    2.1] x29: ffff80000803bd40 x28: 0000000000000000\n[    2.1] Call trace:\n[    2.1]  do_one+0x10/0x20\n[    2.1]  do_two+0x14/0x40\n[    2.1] ---[ end trace 0000000000000000 ]---\n",
			"oops", "Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008", "pc do_one+10 ra do_two+14"},
		{"a warning", "------------[ cut here ]------------\nrefcount_t: underflow; use-after-free.\nWARNING: CPU: 1 PID: 2 at lib/refcount.c:28 refcount_warn_saturate+0xba/0x110\n" +
			"RIP: 0010:refcount_warn_saturate+0xba/0x110\nCall Trace:\n <TASK>\n put_it+0x8/0x10 [drv]\n ? gone+0x1/0x2\n </TASK>\n---[ end trace 0 ]---\n",
			"warning", "WARNING: CPU: 1 PID: 2 at lib/refcount.c:28 refcount_warn_saturate+0xba/0x110", "pc refcount_warn_saturate+ba ra put_it+8[drv]"},
		{"a panic", "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\nCall Trace:\n dump_stack+0x5/0x6\n mount_root+0x7/0x10\n---[ end Kernel panic - not syncing: VFS ]---\n",
			"panic", "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)", "ra dump_stack+5 ra mount_root+7"},
		{"without frames", "BUG: \x1b[2Junable to handle page fault\n", "oops", "BUG: \x1b[2Junable to handle page fault", ""},
	} {
		got := oopsObject(t, tt.text)
		var frames []string
		for _, f := range got.Frames {
			s := f.Kind + " " + f.Function + "+" + strconv.FormatUint(f.Offset, 16)
			if f.Module != "" {
				s += "[" + f.Module + "]"
			}
			frames = append(frames, s)
		}
		if all := strings.Join(frames, " "); got.Kind != tt.kind || got.Reason != tt.reason || all != tt.frames || got.Context != "kernel" || got.Text == "" {
			t.Errorf("%s: %q %q %q\nwant %q %q %q", tt.name, got.Kind, got.Reason, all, tt.kind, tt.reason, tt.frames)
		}
		var later strings.Builder
		for line := range strings.Lines(tt.text) {
			later.WriteString("[  T77] " + strings.ReplaceAll(line, "2.1", "9999.3"))
		}
		if again := oopsObject(t, later.String()); tt.frames != "" && again.Fingerprint != got.Fingerprint {
			t.Errorf("%s, later: another fingerprint: %+v", tt.name, again)
		}
	}
	got := oopsObject(t, strings.Replace(oopsText, "[    2.100005]", "[    2.100004] RAX: 000000000000002a RBX: ffff888003c00000\n[    2.100005]", 1))
	if got.Registers["rax"] != "0x2a" || got.Thread != 1 || got.BuildID != "aa23f7a1231c229de205662d5a9e0d4c580f19a1" {
		t.Errorf("registers %v, process %d, build %s", got.Registers, got.Thread, got.BuildID)
	}
}

func BenchmarkOops(b *testing.B) {
	r := NewReporter(context.Background(), ReportOptions{Out: io.Discard, JSON: true})
	s := newResolver(r)
	a := &Arrival{Machine: "m", Addr: alice, Time: t0, Bytes: []byte(oopsText), Oops: true}
	for b.Loop() {
		s.resolve(a)
	}
	b.StopTimer()
	r.Close()
}
