package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestAddrView: source and links are shown where they are asked for, and nothing of
// them where they are not.
func TestAddrView(t *testing.T) {
	elf := buildSample(t, "-g", "-fdebug-prefix-map="+mustAbs(t, filepath.Join("..", "symbol", "testdata"))+"=/elsewhere",
		"-fdebug-prefix-map=../symbol/testdata=/elsewhere")
	here := mustAbs(t, filepath.Join("..", "symbol", "testdata"))
	addrs := textAddresses(t, elf)
	addr := addrs[len(addrs)-1]
	for _, tt := range []struct {
		args      []string
		want, not string
	}{
		{nil, "csample.c:", "|"},
		{[]string{"-context", "1"}, "/elsewhere/csample.c:", "|"}, // it is not there
		{[]string{"-context", "1", "-source", "/elsewhere=" + here}, "        > ", "\x1b"},
		{[]string{"-context=1", "-source=/elsewhere=" + here, "-p", "-f"}, " | ", "\x1b"},
		{[]string{"-links=always", "-source", "/elsewhere=" + here}, "\x1b]8;;file://", "|"},
		{[]string{"-links=x-editor:{path}", "-links=always", "-source", "/elsewhere=" + here}, "/csample.c\x1b\\", "|"},
		{[]string{"-links=auto", "-source", "/elsewhere=" + here}, "/elsewhere/csample.c:", "\x1b"}, // no terminal
	} {
		var out, msg bytes.Buffer
		code := zfTo("addr", append([]string{"-e", elf, addr}, tt.args...), strings.NewReader(""), &out, &msg)
		if code != exitOK || !strings.Contains(out.String(), tt.want) || strings.Contains(out.String(), tt.not) {
			t.Errorf("%q: status %d, %q (%s); want %q, not %q", tt.args, code, &out, &msg, tt.want, tt.not)
		}
	}
	for _, args := range [][]string{{"-context", "x"}, {"-context", "101"}, {"-source", "x"}, {"-links=sometimes"}} {
		var out, msg bytes.Buffer
		if code := zfTo("addr", append([]string{"-e", elf, addr}, args...), strings.NewReader(""), &out, &msg); code != exitUsage || !strings.Contains(msg.String(), args[0][:6]) {
			t.Errorf("%q: status %d, %q", args, code, &msg)
		}
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
