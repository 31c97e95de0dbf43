package kernel

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/dev/share"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Folders of the host: the options share=TAG,MODE,PATH, by which zf run -mount says where each
// virtio-9p device appears.

// findShares starts the devices, if there is such an option. Early context, before the frames of
// RAM are given away.
func findShares() {
	if _, ok := option.Value("share"); parts.Shares && ok {
		share.Init()
	}
}

// mountShares makes the folders of the host part of the tree. Early context.
func mountShares() {
	if !parts.Shares {
		return
	}
	if share.Count() > 0 {
		fault.OnInterrupt(arch.InterruptShare, linux.Shared)
	}
	for value, line, ok := option.Next(option.Line(), "share"); ok; value, line, ok = option.Next(line,
		"share") {
		if wrong := mountShare(value); wrong != "" {
			option.Ignored("share", value, wrong)
		}
	}
}

// mountShare mounts the folder of one option. It returns "", or what is wrong.
func mountShare(value []byte) (wrong string) {
	tag, rest := untilComma(value)
	mode, path := untilComma(rest)
	kind := vfs.ShareReadOnly
	switch string(mode) {
	case "ro":
	case "private":
		kind = vfs.SharePrivate
	case "rw":
		kind = vfs.ShareWritable
	default:
		kind, path = 0, nil
	}
	if len(tag) == 0 || len(path) == 0 || path[0] != '/' {
		return "want TAG,MODE,PATH with the mode ro, private or rw"
	}
	n := share.Find(tag)
	if n == 0 {
		return "there is no virtio-9p device with that tag that works"
	}
	switch e := vfs.Mount(n, path, kind, clock.Wall()); e {
	case 0:
		return ""
	case vfs.EBUSY:
		return "there is a share already, or its device is one already"
	case vfs.ENOTDIR, vfs.ENAMETOOLONG:
		return "that path cannot be a directory"
	}
	return "it cannot be made part of the file tree"
}

// untilComma splits b at its first comma.
func untilComma(b []byte) (before, behind []byte) {
	for i := range b {
		if b[i] == ',' {
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}

// printShares prints the boot report's line about the devices, if any were searched for.
func printShares() {
	if _, ok := option.Value("share"); ok {
		console.Printf("\nshares  %d virtio-9p", uint64(share.Count()))
	}
}
