// Shared reads a folder of the host: it prints what each file of the tree under its first
// argument is, with the checksum of its bytes. With "change" behind it, it then changes some of
// them, and prints the tree again, without times; with "folder" it says what
// file systems there are, and tries to rename a folder.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	root := os.Args[1]
	show(root, true)
	if len(os.Args) == 2 {
		return
	}
	switch os.Args[2] {
	case "change":
		change(root)
		show(root, false)
	case "folder":
		var share, tree syscall.Statfs_t
		err := errors.Join(syscall.Statfs(root, &share), syscall.Statfs("/", &tree))
		fmt.Printf("statfs %#x, of / %#x, %v\n", share.Type, tree.Type, err)
		fmt.Println("rename of a folder", os.Rename(filepath.Join(root, "sub"), filepath.Join(root, "sub2")))
	}
}

// show prints the tree.
func show(root string, times bool) {
	fmt.Println("tree")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(path, " ", fi.Mode())
		if times {
			line += fmt.Sprint(" ", fi.ModTime().UnixNano())
		}
		switch {
		case fi.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", fi.Size(), sha256.Sum256(b))
		case fi.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			_, err = os.Stat(path)
			line += fmt.Sprintf(" -> %s %v", to, err == nil)
		}
		fmt.Println(line)
		return nil
	})
	fmt.Println("end", err)
}

// change does what changes a tree, and prints what comes of it.
func change(root string) {
	in := func(name string) string { return filepath.Join(root, name) }
	say := func(what string, err error) { fmt.Println(what, err) }
	say("append", appendTo(in("script"), "more\n"))
	say("truncate", os.Truncate(in("big"), 1000))
	say("create", os.WriteFile(in("sub/new"), []byte("new"), 0o644))
	say("replace", os.WriteFile(in("link"), []byte("replaced"), 0o644)) // sub/small
	say("rename", os.Rename(in("many/file-5"), in("moved")))
	say("remove", os.Remove(in(".hidden")))
	say("remove of a full folder", os.Remove(in("many")))
	say("remove of an empty one", os.Remove(in("sticky")))
	say("mkdir", os.MkdirAll(in("one/two"), 0o755))
	say("chmod", os.Chmod(in("other"), 0o600))
	say("chmod of a folder", os.Chmod(in("sub/x"), 0o711))
	say("link", os.Link(in("sub/small"), in("hard")))
	say("symlink", os.Symlink("script", in("soft")))
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}
