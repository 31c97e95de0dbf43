// Package unpack takes the ELF files out of a distribution's package: .deb (of Debian and
// Ubuntu), .rpm (of Fedora, SUSE and others) and tar (.tar.xz, .pkg.tar.zst of Arch), whose
// contents are compressed by xz, zstd or gzip, or not at all.
//
//	unpack.go  what kind a file is, and what is taken out
//	deb.go     .deb
//	rpm.go     .rpm
//
// A package comes from anywhere: what it says of itself is used as no length, its names lead
// nowhere but below the folder that was given, and links in it are not made. Context: the host.
package unpack
