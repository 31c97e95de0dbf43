package tty

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// How a real terminal, tmux, shows lines that were edited: tmux can print its screen.

// screens lets a terminal with that many columns show each of the texts on an empty screen, and
// returns the screen from the first row that is not blank, and where the cursor is: row from there,
// and column.
func screens(t *testing.T, columns int, texts []string) (all []string) {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatalf("%v: run tools/setup.sh test, which installs it", err)
	}
	dir, err := os.MkdirTemp("", "tty") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for i, s := range texts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d", i)), []byte("\x1bc"+s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// The terminal reports its cursor once it has shown the bytes before.
	const script = `stty raw -echo
for f in "$1"/0*; do
	cat "$f"
	printf '\033[6n'
	IFS= read -r -s -d R pos
	{ "$2" -S "$1/socket" capture-pane -p -t "$TMUX_PANE"; printf %s "${pos#*[}"; } >"$f.screen"
done
echo >"$1/done"`
	done := filepath.Join(dir, "done")
	if err := syscall.Mkfifo(done, 0o666); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(tmux, "-f", "/dev/null", "-u", "-S", filepath.Join(dir, "socket"), "new-session", "-d", "-x", fmt.Sprint(columns), "-y", "24",
		"bash", "-c", script, "bash", dir, tmux)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	if _, err := os.ReadFile(done); err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%04d.screen", i)))
		if err != nil {
			t.Fatal(err)
		}
		var row, column int
		rows := strings.Split(string(b), "\n")
		if _, err := fmt.Sscanf(rows[len(rows)-1], "%d;%d", &row, &column); err != nil {
			t.Fatalf("%v: %q", err, b)
		}
		first := 0
		for rows[first] == "" {
			first++
		}
		all = append(all, fmt.Sprintf("%s\n%d;%d", strings.TrimRight(strings.Join(rows[first:len(rows)-1], "\n"), "\n"), row-first, column))
	}
	return all
}

// TestEditedScreen: after any editing, also across the edges of rows and where the screen has
// scrolled, the terminal shows the same as if the line had been typed at once.
func TestEditedScreen(t *testing.T) {
	defer Serial.SetWinsize(24, 80, 0, 0)
	keys := []string{"a", "b", "c", "word ", "long_identifier", " ", "é", "€", "\t", "\x01", strings.Repeat("0123456789", 7),
		"\x7f", "\x7f", strings.Repeat("\x7f", 12), strings.Repeat("\x7f", 90), "\x17", "\x17", "\x15"}
	for _, columns := range []uint16{80, 33, 100} {
		r := rand.New(rand.NewSource(int64(columns)))
		var typed, texts, plain []string
		for range 40 {
			before := strings.Repeat("\r\n", r.Intn(2)*23) + []string{"", "name: ", "\x1b[1;32m$\x1b[0m "}[r.Intn(3)]
			in := ""
			for range 5 + r.Intn(40) {
				in += keys[r.Intn(len(keys))]
			}
			in += "x" // after it, no terminal has a cursor that is in two places
			show := func(keys string) (line string) {
				reset(Cooked)
				Serial.SetWinsize(24, columns, 0, 0)
				for i := range len(before) {
					Serial.Out(before[i])
				}
				typeIn(keys)
				for i := Serial.ready; i != Serial.head; i++ {
					line += string([]byte{Serial.at(i)})
				}
				texts = append(texts, string(shown))
				return line
			}
			line := show(in)
			if show(line) != line {
				t.Fatalf("%q is not typed as it is", line)
			}
			typed, plain = append(typed, in), append(plain, line)
		}
		all := screens(t, int(columns), texts)
		for i, in := range typed {
			if got, want := all[2*i], all[2*i+1]; got != want {
				t.Errorf("%d columns: %q\nhas sent %q\nand the terminal shows\n%s\nwant the line %q\n%s", columns, in, texts[2*i], got, plain[i], want)
			}
			text := strings.ReplaceAll(plain[i], "\x01", "^A")
			if rows := strings.ReplaceAll(all[2*i], "\n", ""); !strings.Contains(text, "\t") && !strings.Contains(text, " ") && !strings.Contains(rows, text) {
				t.Errorf("%d columns: the terminal does not show %q\n%s", columns, text, all[2*i])
			}
		}
	}
}
