package vfs

// Errno is the outcome of an operation: a Linux error number, or 0 for success.
type Errno int

// Error numbers (Linux, include/uapi/asm-generic/errno-base.h and errno.h).
const (
	EPERM        Errno = 1
	ENOENT       Errno = 2
	ENXIO        Errno = 6
	EBUSY        Errno = 16
	EEXIST       Errno = 17
	EXDEV        Errno = 18
	ENOTDIR      Errno = 20
	EISDIR       Errno = 21
	EINVAL       Errno = 22
	EFBIG        Errno = 27
	ENOSPC       Errno = 28
	EROFS        Errno = 30
	ERANGE       Errno = 34
	ENAMETOOLONG Errno = 36
	ENOTEMPTY    Errno = 39
	ELOOP        Errno = 40
	EOPNOTSUPP   Errno = 95
)

// Flags of Open, as Linux has them on amd64.
const (
	O_WRONLY    = 0x1
	O_RDWR      = 0x2
	O_ACCMODE   = 0x3
	O_CREAT     = 0x40
	O_EXCL      = 0x80
	O_TRUNC     = 0x200
	O_DIRECTORY = 0x10000
	O_NOFOLLOW  = 0x20000
	O_PATH      = 0x200000
	O_TMPFILE   = 0x400000 | O_DIRECTORY
)

// Flags of Rename.
const (
	RENAME_NOREPLACE = 1
	RENAME_EXCHANGE  = 2
)

// Bits of a mode: what kind of file it is, and its permissions.
const (
	S_IFMT   = 0xf000
	S_IFSOCK = 0xc000
	S_IFLNK  = 0xa000
	S_IFREG  = 0x8000
	S_IFBLK  = 0x6000
	S_IFDIR  = 0x4000
	S_IFCHR  = 0x2000
	S_IFIFO  = 0x1000
	S_ISUID  = 0x800
	S_ISGID  = 0x400

	modeBits = 0xfff // what Chmod can change
	hostBits = 0x3ff // the bits that reach a host's folder: no set-user-ID, no set-group-ID
	dirBits  = 0x3ff // what a directory can be made with
)

// Limits.
const (
	NameMax = 255     // bytes of a name
	PathMax = 4095    // bytes of a path, and of a symbolic link's target
	LinkMax = 40      // symbolic links in one walk
	SizeMax = 1 << 48 // bytes of a file
)
