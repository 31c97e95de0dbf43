// Package initrd packs files of the host into a cpio archive in the newc format,
// which a boot loader hands to the kernel and the kernel unpacks into its file
// tree: the one way for a program without a disk to find files.
//
// What lives here: [Archive], which collects folders, files and whole archives and
// writes them as one.
//
// Every regular file in an archive written here has its own data and its own inode
// number, hard links of the host too, and belongs to user and group 0, so that the
// kernel's reader can be simple and the archive does not depend on who made it. A
// file's parent folders come before it.
//
// Context: the host. It imports u-root's cpio package and the standard library.
package initrd
