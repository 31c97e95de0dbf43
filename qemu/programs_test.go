package qemu

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPrograms: servers of other people's, none of which knows of us, are reached by their clients.
// Their module has other versions of packages that the network stack is made of.
func TestPrograms(t *testing.T) {
	t.Parallel()
	const host, dir = "127.33.1.3", "testdata/programs"
	// It is built first: to build it may take minutes, and the machine's time runs.
	client := exec.Command(filepath.Join(t.TempDir(), "client"), host)
	build := exec.Command("go", "build", "-o", client.Path, "./client")
	build.Dir, build.Env = dir, append(testEnv(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := []string{"-timeout", "9m"}
	for _, ports := range []string{"50051:50051", "8080:80", "2222:22", "5353:53", "5353:53/udp",
		"4222:4222"} {
		args = append(args, "-p", host+":"+ports)
	}
	_, stderr := server(t, dir, append(args, ".")...)
	const want = `grpc: SERVING
websocket: true
metrics: true true
ssh: true, ann sent 30000, Process exited with status 7
dns udp: 192.0.2.1
dns tcp: 192.0.2.1
nats: 012345678
pprof: true
`
	var said bytes.Buffer
	client.Stderr = &said
	if out, err := client.Output(); err != nil || string(out) != want {
		t.Errorf("%v:\n%s%s\nwant\n%s\n%s", err, out, &said, want, stderr)
	}
}
