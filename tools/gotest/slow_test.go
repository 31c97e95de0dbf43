package gotest

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestSlower: the program does the same work here, in about the same time.
func TestSlower(t *testing.T) {
	dir := t.TempDir()
	if err := WriteWork(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	if times, ok := Slower(string(out)); !ok || times <= 0 {
		t.Errorf("Slower(%q) = %v, %v; want a number", out, times, ok)
	}
	parts := regexp.MustCompile(`^work (\d+) (\d+)\n$`).FindStringSubmatch(string(out))
	if len(parts) != 3 {
		t.Fatalf("the program prints %q", out)
	}
	far, ok1 := Slower("work " + parts[1] + " 1000000000000\n")
	near, ok2 := Slower("work " + parts[1] + " 1000000\n")
	if !ok1 || !ok2 || far < 1000*near {
		t.Errorf("a machine that takes 1,000 s takes %v times as long, one of 1 ms %v", far, near)
	}
	for _, wrong := range []string{"", "work 1 1000\n", "work " + parts[1] + " 0\n", "panic: x"} {
		if times, ok := Slower(wrong); ok {
			t.Errorf("Slower(%q) = %v; want none", wrong, times)
		}
	}
}

func TestTimeoutHint(t *testing.T) {
	if got := TimeoutHint(10*time.Minute, 1.2, false); got != "" {
		t.Errorf("of a fast machine it is said %q", got)
	}
	want := "this machine is emulated, and takes 12 times as long as this host, as just measured: what go test does in 5s may need -timeout 1m1s"
	if got := TimeoutHint(5*time.Second, 12, true); got != want {
		t.Errorf("TimeoutHint = %q; want %q", got, want)
	}
	if got := TimeoutHint(5*time.Second, 2, false); !strings.HasPrefix(got, "this machine takes 2 times") {
		t.Errorf("TimeoutHint = %q", got)
	}
	for output, want := range map[string]bool{
		"=== RUN   T\npanic: test timed out after 3s\n": true,
		"panic: test timed out after 3s\n":              true,
		"says panic: test timed out after 3s\n":         false,
		"PASS\n":                                        false,
	} {
		if TimedOut([]byte(output)) != want {
			t.Errorf("TimedOut(%q) = %v; want %v", output, !want, want)
		}
	}
}
