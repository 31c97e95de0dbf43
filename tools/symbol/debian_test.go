package symbol

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// debPackage returns the path of a Debian package: one in the folder $ZF_DEB, or that
// apt-get downloads into the user's cache folder, once. There it is kept with the
// checksum that apt-get's lists have of it.
func debPackage(t testing.TB, name string) string {
	t.Helper()
	if dir := os.Getenv("ZF_DEB"); dir != "" {
		if files, _ := filepath.Glob(filepath.Join(dir, name+"_*.deb")); len(files) == 1 {
			return files[0]
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cache = filepath.Join(cache, "zeroframe", "debian")
	if err := os.MkdirAll(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, name+".deb")
	if sum, err := os.ReadFile(path + sumSuffix); err == nil && sameSum(path, string(sum)) {
		return path
	}
	file, sum, err := debFile(name)
	if err != nil { // there are no lists yet
		if msg, err := exec.Command("apt-get", "update").CombinedOutput(); err != nil {
			t.Fatalf("apt-get update: %v\n%s(the tests need Debian's packages)", err, msg)
		}
		if file, sum, err = debFile(name); err != nil {
			t.Fatal(err)
		}
	}
	tmp, err := os.MkdirTemp(cache, "tmp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	cmd := exec.Command("apt-get", "-o", "APT::Sandbox::User=root", "download", name)
	cmd.Dir = tmp
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s(the tests download Debian packages; $ZF_DEB may name a folder that has %s)", cmd, err, msg, file)
	}
	if !sameSum(filepath.Join(tmp, file), sum) {
		t.Fatalf("%v: %s is not what the list of packages says", cmd, file)
	}
	if err := os.Rename(filepath.Join(tmp, file), path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+sumSuffix, []byte(sum), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// sumSuffix is of the file with a package's SHA-256, in hexadecimal.
const sumSuffix = ".sha256"

var uriLine = regexp.MustCompile(`(?m)^'[^']*' (\S+\.deb) [0-9]+ SHA256:([0-9a-f]{64})$`)

// debFile returns the name and the checksum of a package's file.
func debFile(name string) (file, sum string, err error) {
	out, err := exec.Command("apt-get", "--print-uris", "download", name).Output()
	if err != nil {
		return "", "", fmt.Errorf("apt-get --print-uris download %s: %w", name, err)
	}
	m := uriLine.FindSubmatch(bytes.TrimSpace(out))
	if m == nil {
		return "", "", errors.New("apt-get knows no package " + name)
	}
	return string(m[1]), string(m[2]), nil
}

// sameSum reports whether a file is there and has the SHA-256.
func sameSum(path, sum string) bool {
	fd, err := os.Open(path)
	if err != nil {
		return false
	}
	defer fd.Close()
	h := sha256.New()
	if _, err := io.Copy(h, fd); err != nil {
		return false
	}
	return fmt.Sprintf("%x", h.Sum(nil)) == sum
}

// debian unpacks packages into one folder, which it returns.
func debian(t testing.TB, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if msg, err := exec.Command("dpkg-deb", "-x", debPackage(t, name), dir).CombinedOutput(); err != nil {
			t.Fatalf("dpkg-deb -x %s: %v\n%s", name, err, msg)
		}
	}
	return dir
}

// onlyFile returns the one regular file that matches.
func onlyFile(t testing.TB, pattern string) string {
	t.Helper()
	all, _ := filepath.Glob(pattern)
	var files []string
	for _, path := range all {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	if len(files) != 1 {
		t.Fatalf("%s: %q; want one file", pattern, files)
	}
	return files[0]
}

// TestGateDebian: Debian's libraries, stripped, are answered from the debug files that
// come in packages of their own: by build ID, and at the library's own path.
func TestGateDebian(t *testing.T) {
	for _, tt := range []struct{ name, library, at string }{
		{"libedac1", "usr/lib/libedac.so.*", ".build-id/*/*.debug"},
		{"libadns1", "usr/lib/libadns.so.*", "usr/lib/libadns.so.*"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := debian(t, tt.name, tt.name+"-dbg")
			path := onlyFile(t, filepath.Join(dir, tt.library))
			root := filepath.Join(dir, "usr/lib/debug")
			if !strings.HasPrefix(tt.at, ".build-id") {
				// The package's folders are those of a system's root.
				debug := onlyFile(t, filepath.Join(root, tt.at))
				place := filepath.Join(root, filepath.Dir(path))
				if err := os.MkdirAll(place, 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(debug, filepath.Join(place, filepath.Base(debug))); err != nil {
					t.Fatal(err)
				}
			}
			f := openTest(t, path)
			f.DebugDir = root
			if f.FirstSection(".debug_info") != nil || f.companion() == nil {
				t.Fatalf("the debug file of %s is not found", path)
			}
			addrs := sectionAddrs(f, ".text", 1)
			got := f.LookupAll(addrs, false)
			compare(addrs, got, askLLVM(t, f.companion().Name(), addrs), nil).gate(t, tt.name, 99.95)
			bare := openTest(t, path)
			bare.DebugDir = filepath.Join(root, "none")
			for i, frames := range bare.LookupAll(addrs, false) {
				if len(got[i]) > 0 && len(frames) > 0 && frames[0].Line != 0 {
					t.Fatalf("%#x has line %d without a debug file", addrs[i], frames[0].Line)
				}
			}
		})
	}
}

// BenchmarkOpenLibc is the first answer from the debug file of Debian's libc: two thousand
// units, each with a table in .debug_aranges, of which many are empty.
func BenchmarkOpenLibc(b *testing.B) {
	dir := debian(b, "libc6-dbg")
	all, _ := filepath.Glob(filepath.Join(dir, "usr/lib/debug/.build-id/*/*.debug"))
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		return info.Size()
	}
	path := slices.MaxFunc(all, func(x, y string) int { return cmp.Compare(size(x), size(y)) })
	plain := filepath.Join(dir, "libc.debug")
	if msg, err := exec.Command("objcopy", "--decompress-debug-sections", path, plain).CombinedOutput(); err != nil {
		b.Fatalf("objcopy: %v\n%s", err, msg)
	}
	addrs := textAddrs(openTest(b, plain), 1)
	pc := addrs[len(addrs)/3]
	for b.Loop() {
		f, err := Open(plain)
		if err != nil {
			b.Fatal(err)
		}
		if len(f.Lookup(pc, false)) == 0 {
			b.Fatal("no answer")
		}
		f.Close()
	}
}
