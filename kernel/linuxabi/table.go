package linuxabi

import "github.com/zeroframe/zeroframe/kernel/resource"

// The system calls by number (Linux: arch/x86/entry/syscalls/syscall_64.tbl).

// do makes the call with that number.
func (c *call) do(number uintptr) int64 {
	switch number {
	case 0:
		return c.read()
	case 1:
		return c.write()
	case 2:
		return c.openat(here, c.a, c.b, c.c)
	case 3:
		return c.close()
	case 4:
		return c.fstatat(here, c.a, c.b, 0)
	case 5:
		return c.fstat()
	case 6:
		return c.fstatat(here, c.a, c.b, atNoFollow)
	case 7:
		return c.poll(millis(c.c))
	case 8:
		return c.lseek()
	case 9:
		return c.mmap()
	case 10:
		return c.mprotect()
	case 11:
		return c.munmap()
	case 13:
		return c.sigaction()
	case 14:
		return c.sigprocmask()
	case 15:
		return c.sigreturn()
	case 16:
		return c.ioctl()
	case 17:
		return c.pread()
	case 18:
		return c.pwrite()
	case 19:
		return c.vector(false, false)
	case 20:
		return c.vector(true, false)
	case 21:
		return c.faccessat(here, c.a, c.b, 0)
	case 22:
		return c.pipe2(0)
	case 24:
		return c.schedYield()
	case 27:
		return c.mincore()
	case 28:
		return c.madvise()
	case 32:
		return c.dup()
	case 33:
		return c.dup3(true)
	case 35:
		return c.nanosleep()
	case 36:
		return c.getitimer()
	case 38:
		return c.setitimer()
	case 39, 110, 111, 121, 124: // getpid and its relatives
		return pid
	case 40:
		return c.sendfile()
	case 41:
		return c.socket()
	case 42:
		return c.connect()
	case 43:
		return c.accept(0)
	case 44:
		return c.sendto()
	case 45:
		return c.recvfrom()
	case 46:
		return c.sendmsg()
	case 47:
		return c.recvmsg()
	case 48:
		return c.shutdown()
	case 49:
		return c.bind()
	case 50:
		return c.listen()
	case 51:
		return c.getsockname()
	case 52:
		return c.getpeername()
	case 53:
		return c.socketpair()
	case 54:
		return c.setsockopt()
	case 55:
		return c.getsockopt()
	case 56:
		return c.clone()
	case 60:
		return c.exit()
	case 61:
		return -eCHILD // wait4
	case 62:
		return c.kill()
	case 63:
		return c.uname()
	case 72:
		return c.fcntl()
	case 73:
		return c.flock()
	case 74, 75:
		return c.fsync()
	case 76:
		return c.truncate()
	case 77:
		return c.ftruncate()
	case 79:
		return c.getcwd()
	case 80:
		return c.chdir()
	case 81:
		return c.fchdir()
	case 82:
		return c.renameat(here, c.a, here, c.b, 0)
	case 83:
		return c.mkdirat(here, c.a, c.b)
	case 84:
		return c.unlinkat(here, c.a, atRemoveDir)
	case 85: // creat: O_CREAT, O_WRONLY, O_TRUNC
		return c.openat(here, c.a, 0x40|oWronly|0x200, c.b)
	case 86:
		return c.linkat(here, c.a, here, c.b, 0)
	case 87:
		return c.unlinkat(here, c.a, 0)
	case 88:
		return c.symlinkat(c.a, here, c.b)
	case 89:
		return c.readlinkat(here, c.a, c.b, c.c)
	case 90:
		return c.fchmodat(here, c.a, c.b, 0)
	case 91:
		return c.fchmod()
	case 92:
		return c.fchownat(here, c.a, c.b, c.c, 0)
	case 93:
		return c.fchown()
	case 94:
		return c.fchownat(here, c.a, c.b, c.c, atNoFollow)
	case 95: // umask
		old := umask
		umask = uint32(c.a) & 0o777
		return int64(old)
	case 96:
		return c.gettimeofday()
	case 97:
		if c.b == 0 {
			return -eFAULT
		}
		return outLimit(c.b, c.a)
	case 98:
		return c.getrusage()
	case 99:
		return c.sysinfo()
	case 100:
		return c.times()
	case 102, 104, 107, 108: // getuid, getgid, geteuid, getegid
		return 0
	case 105, 106, 109, 112, 113, 114, 116, 117, 119, 122, 123: // set user, group, session
		return 0
	case 115: // getgroups
		return 0
	case 118, 120: // getresuid, getresgid
		return c.getIDs()
	case 125:
		return c.capget()
	case 127:
		return c.sigpending()
	case 128:
		return c.sigtimedwait()
	case 130:
		return c.sigsuspend()
	case 131:
		return c.sigaltstack()
	case 133:
		return c.mknodat(here, c.a, c.b, c.c)
	case 137:
		return c.statfs()
	case 138:
		return c.fstatfs()
	case 157:
		return c.prctl()
	case 158:
		return c.archPrctl()
	case 160:
		return setLimit(c.b, c.a)
	case 162: // sync
		return 0
	case 186: // gettid
		return c.gettid()
	case 200:
		return c.tkill()
	case 201:
		return c.time()
	case 202:
		return c.futex()
	case 203:
		return c.schedSetaffinity()
	case 204:
		return c.schedGetaffinity()
	case 213:
		return c.epollCreate(0)
	case 217:
		return c.getdents()
	case 218:
		return c.setTIDAddress()
	case 221: // fadvise64
		return c.fsync()
	case 222:
		return c.timerCreate()
	case 223:
		return c.timerSettime()
	case 224:
		return c.timerGettime()
	case 225:
		return c.timerGetoverrun()
	case 226:
		return c.timerDelete()
	case 227:
		return c.clockSettime()
	case 228:
		return c.clockGettime()
	case 229:
		return c.clockGetres()
	case 230:
		return c.clockNanosleep()
	case 231:
		return c.exitGroup()
	case 232:
		return c.epollWait(millis(c.d))
	case 233:
		return c.epollCtl()
	case 234:
		return c.tgkill()
	case 257:
		return c.openat(c.a, c.b, c.c, c.d)
	case 258:
		return c.mkdirat(c.a, c.b, c.c)
	case 259:
		return c.mknodat(c.a, c.b, c.c, c.d)
	case 260:
		return c.fchownat(c.a, c.b, c.c, c.d, c.e)
	case 262:
		return c.fstatat(c.a, c.b, c.c, c.d)
	case 263:
		return c.unlinkat(c.a, c.b, c.c)
	case 264:
		return c.renameat(c.a, c.b, c.c, c.d, 0)
	case 265:
		return c.linkat(c.a, c.b, c.c, c.d, c.e)
	case 266:
		return c.symlinkat(c.a, c.b, c.c)
	case 267:
		return c.readlinkat(c.a, c.b, c.c, c.d)
	case 268:
		return c.fchmodat(c.a, c.b, c.c, 0)
	case 269:
		return c.faccessat(c.a, c.b, c.c, 0)
	case 271:
		return c.ppoll()
	case 275: // splice: programs then read and write
		return -eINVAL
	case 280:
		return c.utimensat(c.a, c.b, c.c, c.d)
	case 281:
		return c.epollPwait(millis(c.d))
	case 284:
		return c.eventfd2(c.a, 0)
	case 285:
		return c.fallocate()
	case 288:
		return c.accept(c.d)
	case 290:
		return c.eventfd2(c.a, c.b)
	case 291:
		return c.epollCreate(c.a)
	case 292:
		return c.dup3(false)
	case 293:
		return c.pipe2(c.b)
	case 295:
		return c.vector(false, true)
	case 296:
		return c.vector(true, true)
	case 302:
		return c.prlimit()
	case 309:
		return c.getcpu()
	case 316:
		return c.renameat(c.a, c.b, c.c, c.d, c.e)
	case 318:
		return randomOut(c.a, min(c.b, ioMax))
	case 436:
		return c.closeRange()
	case 439:
		return c.faccessat(c.a, c.b, c.c, c.d)
	case 441:
		return c.epollPwait2()
	case 452:
		return c.fchmodat(c.a, c.b, c.c, c.d)
	case PanicCall:
		return c.panic()
	case resource.Call:
		return c.resource()
	}
	return noSuchCall(number)
}
