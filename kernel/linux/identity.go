package linux

// Who the program is: root, without groups, and the leader of its session, for good. A
// call that would change that is refused as Linux refuses it where there is nobody else to
// be: in a user namespace with one user, and for the leader of a session.

const unchanged = ^uint32(0) // as a user or a group: it stays as it is

// setIDs takes n users or groups, each of which must be the one that there is, or unchanged.
func (c *call) setIDs(n int) int64 {
	for _, a := range c.args[:n] {
		if id := a.Uint(); id != 0 && (id != unchanged || n == 1) {
			return -eINVAL
		}
	}
	return 0
}

func (c *call) setID() int64     { return c.setIDs(1) }
func (c *call) setREIDs() int64  { return c.setIDs(2) }
func (c *call) setIDsAll() int64 { return c.setIDs(3) }

// setgroups: there are no groups to have.
func (c *call) setgroups() int64 {
	if c.args[0].Int() != 0 {
		return -ePERM
	}
	return 0
}

// getgroups: there are none.
func (c *call) getgroups() int64 {
	if c.args[0].Int() < 0 {
		return -eINVAL
	}
	return 0
}

// ofProcess is a call that tells which group or session a process is in.
func (c *call) ofProcess() int64 {
	if p := c.args[0].Int(); p != 0 && p != pid {
		return -eSRCH
	}
	return pid
}

func (c *call) setpgid() int64 {
	switch p, group := c.args[0].Int(), c.args[1].Int(); {
	case group < 0:
		return -eINVAL
	case p != 0 && p != pid:
		return -eSRCH
	}
	return -ePERM
}

func (c *call) setsid() int64 { return -ePERM }
