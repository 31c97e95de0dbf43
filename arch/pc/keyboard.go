package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The keyboard controller, only to see whether a key was pressed.
const (
	keyData   = 0x60
	keyStatus = 0x64
	keyFull   = 0x01 // there is data
	keyMouse  = 0x20 // and it is the mouse's
	keyUp     = 0x80 // in the data
)

// KeyPressed reports whether a key was pressed since the last call. Any context.
func KeyPressed() bool {
	status := amd64.In8(keyStatus)
	if status == 0xff || status&keyFull == 0 {
		return false
	}
	data := amd64.In8(keyData)
	return status&keyMouse == 0 && data&keyUp == 0
}
