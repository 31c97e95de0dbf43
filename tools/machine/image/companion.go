package image

// Companions: commands of this module that zf starts and does not contain, since most of
// its users never need what they are made of. One is built when it is wanted first, from
// the very source that zf was built from.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/zeroframe/zeroframe/tools/machine/host"
)

// ErrNoCompanion is returned when a companion can be neither found nor built.
var ErrNoCompanion = errors.New("a part of zf is missing")

// Companion returns the path of the companion of that name, such as "zf-receive", which is made of
// package pkg of this module: the program beside this one, or one that it builds in the user's
// cache. building is called before that, if it will take a while; nil: one is
// taken that has been built, as old as it may be. Host.
func Companion(ctx context.Context, pkg, name string, building func()) (string, error) {
	installed := path.Base(pkg) // by go install
	if runtime.GOOS == "windows" {
		name, installed = name+".exe", installed+".exe"
	}
	if beside := beside(name); beside != "" {
		return beside, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %s: %v", ErrNoCompanion, name, err)
	}
	cache = filepath.Join(cache, "zeroframe", "bin")
	o := &BuildOptions{Env: os.Environ()}
	args, env := []string{"install", modulePath + "/" + pkg + "@"}, "GOBIN="
	switch dir, version := sourceFolder(), moduleVersion(); {
	case dir != "":
		// The go command knows what has changed since, if anything.
		o.Dir = dir
		args = []string{"build", "-o", filepath.Join(cache, name), "./" + pkg}
	case version != "":
		cache = filepath.Join(cache, version)
		if built := filepath.Join(cache, name); isFile(built) {
			return built, nil
		}
		args[1] += version
		env += cache
	default:
		return "", fmt.Errorf(
			"%w: %s is not beside zf, and where its source is is not known; set %s to the folder of module %s",
			ErrNoCompanion, name, SourceEnv, modulePath)
	}
	built := filepath.Join(cache, name)
	switch there := isFile(built); {
	case building == nil && there:
		return built, nil
	case building == nil:
		return "", fmt.Errorf("%w: %s is not beside zf; make build puts it there", ErrNoCompanion, name)
	case !there:
		building()
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("%w: %s: %v", ErrNoCompanion, name, err)
	}
	end, err := o.begin()
	if err != nil {
		return "", err
	}
	defer end()
	cmd := o.goCommand(ctx, "0", args...)
	// GOFLAGS and a workspace are for the user's program.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off",
		"TMPDIR="+o.work, env)
	var msg bytes.Buffer
	cmd.Stderr = &msg
	if err := host.Run(ctx, cmd); err != nil {
		return "", o.goError(ctx, err, fmt.Errorf("%w: %s cannot be built%s", ErrNoCompanion, name,
			goSaid(msg.Bytes(), err)))
	}
	if installed != name && args[0] == "install" {
		return built, os.Rename(filepath.Join(cache, installed), built)
	}
	return built, nil
}

// beside returns the path of a program that lies beside this one, "" if there is none.
func beside(name string) string {
	self, err := os.Executable()
	if real, lerr := filepath.EvalSymlinks(self); lerr == nil {
		self = real
	}
	if path := filepath.Join(filepath.Dir(self), name); err == nil && isFile(path) {
		return path
	}
	return ""
}

// sourceFolder returns the folder of this module's source: the one that the environment
// names, or that this program was built from, if that is still there; else "".
func sourceFolder() string {
	if dir := os.Getenv(SourceEnv); dir != "" && isModule(dir) {
		return dir
	}
	return builtFrom()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
