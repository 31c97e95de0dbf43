// Command finish turns the ELF file that the Go linker wrote into an image that QEMU, GRUB
// and other PVH and multiboot loaders boot:
//
//	finish LINKED IMAGE
package main

import (
	"fmt"
	"os"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: finish LINKED IMAGE")
		os.Exit(2)
	}
	file, err := os.ReadFile(os.Args[1])
	if err == nil {
		file, err = image.Finish(file, image.AllLoaders)
	}
	if err == nil {
		err = os.WriteFile(os.Args[2], file, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "finish:", err)
		os.Exit(1)
	}
}
