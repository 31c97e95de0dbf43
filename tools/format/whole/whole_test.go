package whole

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFile: a file comes whole or not at all, through a symbolic link too, and no file that its
// owner keeps for himself is opened to others.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	old, link := filepath.Join(dir, "old"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(old, []byte("old"), 0o600), os.Symlink("old", link)); err != nil {
		t.Fatal(err)
	}
	is := func(path, want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s has %q, %v; want %q", path, b, err, want)
		}
	}
	broken := errors.New("broken")
	for _, path := range []string{old, link, filepath.Join(dir, "new")} {
		if err := Try(path); err != nil {
			t.Error(err)
		}
		if err := File(path, 0o666, func(to *os.File) error {
			to.WriteString("half")
			_, err := to.Seek(-1, 0) // an error that names the file
			return errors.Join(broken, err)
		}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "seek "+path+":") {
			t.Errorf("File(%s) = %v; want its name and the cause", path, err)
		}
		is(old, "old")
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("the folder has %v; want the two files", all)
	}
	if err := WriteFile(link, []byte("new"), 0o666); err != nil {
		t.Error(err)
	}
	is(old, "new")
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", fi, err)
	}
	if fi, err := os.Stat(old); err != nil || fi.Mode() != 0o600 {
		t.Errorf("its mode is %v, %v; want that of before", fi.Mode(), err)
	}
	for path, want := range map[string]string{dir: "is a folder", dir + "/no/x": "there is no folder"} {
		if err := Try("", "-", path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Try(%s) = %v; want %q", path, err, want)
		}
	}
}

// TestDirect: what is no regular file gets the text itself, and so does standard output under another name.
func TestDirect(t *testing.T) {
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile("/dev/null", []byte("lost"), 0o666); err != nil {
		t.Error(err)
	}
	os.Stdout = file
	defer file.Close()
	for range 2 {
		if err := WriteFile(file.Name(), []byte("text"), 0o666); err != nil {
			t.Error(err)
		}
	}
	if b, _ := os.ReadFile(file.Name()); string(b) != "texttext" {
		t.Errorf("standard output has %q; want both texts", b)
	}
}
