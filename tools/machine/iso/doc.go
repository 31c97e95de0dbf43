// Package iso makes ISO images from which real machines start a kernel: GRUB, a finished
// image, its command line and its files. It runs on the host.
//
//	iso.go     making one, by GRUB's own grub-mkrescue
//	config.go  GRUB's configuration, and how a command line gets through it
//	kernel.go  finding the kernel in one again
package iso
