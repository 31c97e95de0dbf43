package linux

// Who the program is: root, without groups, and the leader of its session, permanently. A call that
// would change that is refused as Linux refuses it in a user namespace with one user, and for the
// leader of a session.

const unchanged = ^uint32(0) // as a user or a group: no change

// setIDs checks n users or groups, each of which must be the only one there is, or unchanged.
func (c *call) setIDs(n int) int64 {
	for _, a := range c.args[:n] {
		if id := uint32(a); id != 0 && (id != unchanged || n == 1) {
			return -eINVAL
		}
	}
	return 0
}

func sysSetID(c *call) int64     { return c.setIDs(1) }
func sysSetREIDs(c *call) int64  { return c.setIDs(2) }
func sysSetIDsAll(c *call) int64 { return c.setIDs(3) }

// sysSetgroups refuses all groups.
func sysSetgroups(c *call) int64 {
	if c.int(0) != 0 {
		return -ePERM
	}
	return 0
}

// sysGetgroups returns none.
func sysGetgroups(c *call) int64 {
	if c.int(0) < 0 {
		return -eINVAL
	}
	return 0
}

// sysOfProcess returns the group or session of a process.
func sysOfProcess(c *call) int64 {
	if p := c.int(0); p != 0 && p != pid {
		return -eSRCH
	}
	return pid
}

func sysSetpgid(c *call) int64 {
	switch p, group := c.int(0), c.int(1); {
	case group < 0:
		return -eINVAL
	case p != 0 && p != pid:
		return -eSRCH
	}
	return -ePERM
}
