package qemu

import "time"

// A machine that may reboot stops at each reset like any other, so that the host decides
// whether it goes on: QEMU's own count would be wrong, as SeaBIOS resets once more when
// it finds that it has run before.

// reboot lets a machine that has stopped for a reset boot again, if it may, and reports
// whether it does.
func (vm *VM) reboot() bool {
	vm.rebooting.Lock()
	defer vm.rebooting.Unlock()
	// A kernel that tries one way after the other has asked for several resets by the
	// time that it is stopped.
	if running, err := vm.monitor.isRunning(); err != nil || running {
		return err == nil
	}
	regs, err := vm.Registers()
	if err != nil {
		return false
	}
	if rip, ok := InstructionPointer(regs); !ok || !inFirmware(rip) {
		if vm.reboots == vm.cfg.Reboots {
			return false
		}
		vm.reboots++
	}
	select {
	case <-vm.resets: // an old one
	default:
	}
	if vm.onReset("reset") != nil {
		return false
	}
	if _, err := vm.QMP("system_reset", nil); err != nil {
		return false
	}
	select {
	case <-vm.resets:
	case <-vm.monitor.closed:
		return false
	case <-time.After(commandTimeout):
		return false
	}
	return vm.onReset("shutdown") == nil && vm.Continue() == nil
}

// onReset says what QEMU does when the machine resets.
func (vm *VM) onReset(action string) error {
	_, err := vm.QMP("set-action", map[string]string{"reboot": action})
	return err
}

// isRunning reports whether the machine is not stopped.
func (m *monitor) isRunning() (bool, error) {
	var status struct{ Running bool }
	err := m.query("query-status", nil, &status)
	return status.Running, err
}

// inFirmware reports whether an address is that of a BIOS: below 1 MiB, or below 4 GiB,
// or the reset vector's offset. No kernel of ours is there.
func inFirmware(rip uint64) bool {
	return rip >= 0xc0000 && rip < 1<<20 || rip >= 0xff000000 && rip < 1<<32 || rip == 0xfff0
}
