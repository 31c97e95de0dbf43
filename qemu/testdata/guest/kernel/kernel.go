// Package kernel stands for the kernel, which a bootable main package imports.
package kernel

import _ "guest/boot"
