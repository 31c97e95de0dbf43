// Package command is `zf receive`: flags to what package receive and those beside it
// do, and an exit status. Host.
package command
