package linux

import "github.com/zeroframe/zeroframe/kernel/parts"

// Calls that may be answered without the kernel lock.
const (
	callYield  = 24
	callGetpid = 39
	callGettid = 186
	callFutex  = 202
	callClock  = 228
)

// numCalls is above the number of each call in the tables.
const numCalls = 453

// calls are the functions that answer system calls, by their numbers. Never written.
var calls = [numCalls]func(c *call) int64{
	2:   sysOpenat,
	3:   sysClose,
	4:   sysNewfstatat,
	6:   sysNewfstatat,
	7:   sysPoll,
	9:   sysMmap,
	10:  sysMprotect,
	11:  sysMunmap,
	13:  sysSigaction,
	14:  sysSigprocmask,
	15:  sysSigreturn,
	21:  sysFaccessat2,
	22:  sysPipe2,
	23:  sysSelectTimed,
	24:  sysSchedYield,
	25:  sysMremap,
	26:  sysMsync,
	27:  sysMincore,
	28:  sysMadvise,
	33:  sysDup2,
	35:  sysClockNanosleep,
	36:  sysGetitimer,
	38:  sysSetitimer,
	39:  sysGetpid,
	40:  sysSendfile,
	41:  sysSocket,
	43:  sysAccept4,
	53:  sysSocketpair,
	56:  sysClone,
	60:  sysExit,
	61:  sysWait4,
	62:  sysKill,
	63:  sysUname,
	73:  sysFlock,
	76:  sysTruncate,
	79:  sysGetcwd,
	80:  sysChdir,
	82:  sysRenameat2,
	83:  sysMkdirat,
	84:  sysUnlinkat,
	85:  sysOpenat,
	86:  sysLinkat,
	87:  sysUnlinkat,
	88:  sysSymlinkat,
	89:  sysReadlinkat,
	90:  sysFchmodat2,
	92:  sysFchownat,
	94:  sysFchownat,
	95:  sysUmask,
	96:  sysGettimeofday,
	97:  sysGetrlimit,
	98:  sysGetrusage,
	99:  sysSysinfo,
	100: sysTimes,
	102: sysZero,
	104: sysZero,
	105: sysSetID,
	106: sysSetID,
	107: sysZero,
	108: sysZero,
	109: sysSetpgid,
	110: sysZero,
	111: sysGetpid,
	112: sysRefused,
	113: sysSetREIDs,
	114: sysSetREIDs,
	115: sysGetgroups,
	116: sysSetgroups,
	117: sysSetIDsAll,
	118: sysGetIDs,
	119: sysSetIDsAll,
	120: sysGetIDs,
	121: sysOfProcess,
	122: sysZero,
	123: sysZero,
	124: sysOfProcess,
	125: sysCapget,
	127: sysSigpending,
	128: sysSigtimedwait,
	130: sysSigsuspend,
	131: sysSigaltstack,
	132: sysOldTimes,
	133: sysMknodat,
	137: sysStatfs,
	149: sysMlock,
	150: sysMunlock,
	151: sysMlockall,
	152: sysZero,
	157: sysPrctl,
	158: sysArchPrctl,
	160: sysSetrlimit,
	162: sysZero,
	186: sysGettid,
	188: sysSetxattr,
	189: sysSetxattr,
	190: sysSetxattr,
	191: sysGetxattr,
	192: sysGetxattr,
	193: sysGetxattr,
	194: sysListxattr,
	195: sysListxattr,
	196: sysListxattr,
	197: sysRemovexattr,
	198: sysRemovexattr,
	199: sysRemovexattr,
	200: sysTkill,
	201: sysTime,
	202: sysFutex,
	203: sysSchedSetaffinity,
	204: sysSchedGetaffinity,
	213: sysEpollCreate,
	218: sysSetTIDAddress,
	222: sysTimerCreate,
	223: sysTimerSettime,
	224: sysTimerGettime,
	225: sysTimerGetoverrun,
	226: sysTimerDelete,
	227: sysClockSettime,
	228: sysClockGettime,
	229: sysClockGetres,
	230: sysClockNanosleep,
	231: sysExitGroup,
	232: sysEpollPwait,
	233: sysEpollCtl,
	234: sysTgkill,
	235: sysOldTimes,
	247: sysWaitid,
	253: sysInotifyInit1,
	254: sysInotifyAddWatch,
	257: sysOpenat,
	258: sysMkdirat,
	259: sysMknodat,
	260: sysFchownat,
	261: sysOldTimes,
	262: sysNewfstatat,
	263: sysUnlinkat,
	264: sysRenameat2,
	265: sysLinkat,
	266: sysSymlinkat,
	267: sysReadlinkat,
	268: sysFchmodat2,
	269: sysFaccessat2,
	270: sysPselect6,
	271: sysPpoll,
	275: sysSplice,
	280: sysUtimensat,
	281: sysEpollPwait,
	283: sysTimerfdCreate,
	284: sysEventfd2,
	286: sysTimerfdSettime,
	288: sysAccept4,
	290: sysEventfd2,
	291: sysEpollCreate1,
	292: sysDup3,
	293: sysPipe2,
	294: sysInotifyInit1,
	298: sysNoAccess,
	302: sysPrlimit,
	303: sysUnsupported,
	304: sysRefused,
	309: sysGetcpu,
	316: sysRenameat2,
	318: sysGetrandom,
	321: sysRefused,
	323: sysRefused,
	324: sysMembarrier,
	325: sysMlock2,
	326: sysCopyFileRange,
	332: sysStatx,
	424: sysPidfdSendSignal,
	434: sysPidfdOpen,
	436: sysCloseRange,
	437: sysOpenat2,
	439: sysFaccessat2,
	441: sysEpollPwait2,
	452: sysFchmodat2,
}

// fileCalls are those of calls whose first argument is an open descriptor. Never written.
var fileCalls = [numCalls]func(c *call, f *file) int64{
	0:   sysRead,
	1:   sysWrite,
	5:   sysFstat,
	8:   sysLseek,
	16:  sysIoctl,
	17:  sysPread,
	18:  sysPwrite,
	19:  sysReadv,
	20:  sysWritev,
	32:  sysDup,
	72:  sysFcntl,
	74:  sysFsync,
	75:  sysFsync,
	77:  sysFtruncate,
	81:  sysFchdir,
	91:  sysFchmod,
	93:  sysFchown,
	138: sysFstatfs,
	187: sysReadahead,
	217: sysGetdents,
	221: sysFadvise,
	255: sysInotifyRmWatch,
	277: sysSyncRange,
	285: sysFallocate,
	287: sysTimerfdGettime,
	295: sysPreadv,
	296: sysPwritev,
	306: sysZeroOf,
}

// forms say how some of calls get their arguments (arrange). Never written.
var forms = [numCalls]string{
	2:   "h012",
	4:   "h01",
	6:   "h01n",
	21:  "h01",
	22:  "0",
	35:  "+-01",
	43:  "012",
	82:  "h0h1",
	83:  "h01",
	84:  "h0r",
	85:  "h0c1",
	86:  "h0h1",
	87:  "h0",
	88:  "0h1",
	89:  "h012",
	90:  "h01",
	92:  "h012",
	94:  "h012n",
	132: "h01",
	133: "h012",
	188: "01234",
	189: "01234n",
	190: "01234d",
	191: "0123",
	192: "0123-n",
	193: "0123-d",
	194: "012",
	195: "012--n",
	196: "012--d",
	197: "01",
	198: "01---n",
	199: "01---d",
	232: "0123",
	235: "h01m",
	253: "-",
	261: "012m",
	264: "0123",
	268: "012",
	269: "012",
	284: "0",
}

// callTraits has the traits of calls. Never written.
var callTraits = [numCalls]callTrait{
	5:   ofPath,
	24:  quiet,
	32:  ofPath,
	39:  quiet,
	42:  ofSocket,
	44:  ofSocket,
	45:  ofSocket,
	46:  ofSocket,
	47:  ofSocket,
	48:  ofSocket,
	49:  ofSocket,
	50:  ofSocket,
	51:  ofSocket,
	52:  ofSocket,
	54:  ofSocket,
	55:  ofSocket,
	57:  starts,
	58:  starts,
	59:  starts,
	72:  ofPath,
	81:  ofPath,
	101: debugs,
	138: ofPath,
	186: quiet,
	228: quiet,
	299: ofSocket,
	307: ofSocket,
	322: starts,
}

// onSocket makes a call for a socket. It is no table, so that the linker can leave
// out what an image without sockets does not call.
func (c *call) onSocket(number uintptr, f *file, s *socket) int64 {
	if !parts.Sockets {
		return -eNOTSOCK
	}
	switch number {
	case 42:
		return sysConnect(c, f, s)
	case 44:
		return sysSendto(c, f, s)
	case 45:
		return sysRecvfrom(c, f, s)
	case 46:
		return sysSendmsg(c, f, s)
	case 47:
		return sysRecvmsg(c, f, s)
	case 48:
		return sysShutdown(c, f, s)
	case 49:
		return sysBind(c, f, s)
	case 50:
		return sysListen(c, f, s)
	case 51:
		return sysGetsockname(c, f, s)
	case 52:
		return sysGetpeername(c, f, s)
	case 54:
		return sysSetsockopt(c, f, s)
	case 55:
		return sysGetsockopt(c, f, s)
	case 299:
		return sysRecvmmsg(c, f, s)
	case 307:
		return sysSendmmsg(c, f, s)
	}
	return noSuchCall(c, number)
}

// callList has a line for each system call that is not answered, or not as on Linux: its number and
// name, then either the name of the error that it returns and why, or, after a colon, what of it is
// not supported or differs.
const callList = `
12 brk ENOSYS: Go takes its memory by mmap
16 ioctl: of terminals and sockets, and FIONREAD
25 mremap: one area at a time; a private one is not doubled
28 madvise: but MADV_DONTNEED and MADV_FREE, advice does nothing
29 shmget ENOSYS: there is one program, and nobody to share memory or messages with
30 shmat ENOSYS: there is one program, and nobody to share memory or messages with
31 shmctl ENOSYS: there is one program, and nobody to share memory or messages with
34 pause ENOSYS: Go waits by futex and epoll
37 alarm ENOSYS: Go has setitimer
38 setitimer: ITIMER_VIRTUAL counts time in the kernel, too
56 clone: threads only: ENOSYS without CLONE_VM
57 fork ENOSYS: no other program can be started: there is one address space
58 vfork ENOSYS: no other program can be started: there is one address space
59 execve ENOSYS: no other program can be started: there is one address space
61 wait4: there are no children: ECHILD
64 semget ENOSYS: there is one program, and nobody to share memory or messages with
65 semop ENOSYS: there is one program, and nobody to share memory or messages with
66 semctl ENOSYS: there is one program, and nobody to share memory or messages with
67 shmdt ENOSYS: there is one program, and nobody to share memory or messages with
68 msgget ENOSYS: there is one program, and nobody to share memory or messages with
69 msgsnd ENOSYS: there is one program, and nobody to share memory or messages with
70 msgrcv ENOSYS: there is one program, and nobody to share memory or messages with
71 msgctl ENOSYS: there is one program, and nobody to share memory or messages with
74 fsync: there is no disk to write to
75 fdatasync: there is no disk to write to
78 getdents ENOSYS: Go has getdents64
101 ptrace ENOSYS: there is no other process to look at
103 syslog ENOSYS: the kernel's log is the serial port
105 setuid: there is root alone: EINVAL for others
106 setgid: there is root alone: EINVAL for others
109 setpgid: there is one process: EPERM
112 setsid: there is one process: EPERM
113 setreuid: there is root alone: EINVAL for others
114 setregid: there is root alone: EINVAL for others
116 setgroups: there are no groups: EPERM
117 setresuid: there is root alone: EINVAL for others
119 setresgid: there is root alone: EINVAL for others
122 setfsuid: says that it is root, and stays so
123 setfsgid: says that it is root, and stays so
126 capset ENOSYS: there is root alone, who may do everything
129 rt_sigqueueinfo ENOSYS: Go sends signals without a value, by tgkill
134 uselib ENOSYS: Linux has it no more, or never had it
135 personality ENOSYS: there is one personality
136 ustat ENOSYS: Linux has it no more, or never had it
139 sysfs ENOSYS: Linux has it no more, or never had it
140 getpriority ENOSYS: threads take turns, and have no priority
141 setpriority ENOSYS: threads take turns, and have no priority
142 sched_setparam ENOSYS: threads take turns, and have no priority
143 sched_getparam ENOSYS: threads take turns, and have no priority
144 sched_setscheduler ENOSYS: threads take turns, and have no priority
145 sched_getscheduler ENOSYS: threads take turns, and have no priority
146 sched_get_priority_max ENOSYS: threads take turns, and have no priority
147 sched_get_priority_min ENOSYS: threads take turns, and have no priority
148 sched_rr_get_interval ENOSYS: threads take turns, and have no priority
149 mlock: nothing is swapped; pages come when they are touched
150 munlock: nothing is swapped
151 mlockall: nothing is swapped; pages come when they are touched
152 munlockall: nothing is swapped
153 vhangup ENOSYS: there is one session
154 modify_ldt ENOSYS: segments and ports are the kernel's
155 pivot_root ENOSYS: there is one tree of files; the command line mounts shares
156 _sysctl ENOSYS: Linux has it no more, or never had it
157 prctl: names, capabilities to keep; else EINVAL
158 arch_prctl: FS only
159 adjtimex ENOSYS: clock_settime sets the clock; nothing steers it
160 setrlimit: the stack's is kept, and no more: no stack grows but goroutines', for which Go has debug.SetMaxStack
161 chroot ENOSYS: there is one tree of files; the command line mounts shares
162 sync: there is no disk to write to
163 acct ENOSYS: there is no disk: no accounts, swap or quotas
164 settimeofday ENOSYS: clock_settime sets the clock; nothing steers it
165 mount ENOSYS: there is one tree of files; the command line mounts shares
166 umount2 ENOSYS: there is one tree of files; the command line mounts shares
167 swapon ENOSYS: there is no disk: no accounts, swap or quotas
168 swapoff ENOSYS: there is no disk: no accounts, swap or quotas
169 reboot ENOSYS: a program ends the machine by ending
170 sethostname ENOSYS: the name is built in
171 setdomainname ENOSYS: the name is built in
172 iopl ENOSYS: segments and ports are the kernel's
173 ioperm ENOSYS: segments and ports are the kernel's
174 create_module ENOSYS: Linux has it no more, or never had it
175 init_module ENOSYS: the kernel loads no modules
176 delete_module ENOSYS: the kernel loads no modules
177 get_kernel_syms ENOSYS: Linux has it no more, or never had it
178 query_module ENOSYS: Linux has it no more, or never had it
179 quotactl ENOSYS: there is no disk: no accounts, swap or quotas
180 nfsservctl ENOSYS: Linux has it no more, or never had it
181 getpmsg ENOSYS: Linux has it no more, or never had it
182 putpmsg ENOSYS: Linux has it no more, or never had it
183 afs_syscall ENOSYS: Linux has it no more, or never had it
184 tuxcall ENOSYS: Linux has it no more, or never had it
185 security ENOSYS: Linux has it no more, or never had it
188 setxattr: user.* of files in memory: EPERM or EOPNOTSUPP for others
189 lsetxattr: user.* of files in memory: EPERM or EOPNOTSUPP for others
190 fsetxattr: user.* of files in memory: EPERM or EOPNOTSUPP for others
202 futex: waiting and waking; ENOSYS for the rest
205 set_thread_area ENOSYS: Linux has it no more, or never had it
206 io_setup ENOSYS: Go has epoll
207 io_destroy ENOSYS: Go has epoll
208 io_getevents ENOSYS: Go has epoll
209 io_submit ENOSYS: Go has epoll
210 io_cancel ENOSYS: Go has epoll
211 get_thread_area ENOSYS: Linux has it no more, or never had it
212 lookup_dcookie ENOSYS: Linux has it no more, or never had it
214 epoll_ctl_old ENOSYS: Go waits by futex and epoll
215 epoll_wait_old ENOSYS: Go waits by futex and epoll
216 remap_file_pages ENOSYS: Linux has it no more, or never had it
219 restart_syscall ENOSYS: Go waits by futex and epoll
220 semtimedop ENOSYS: there is one program, and nobody to share memory or messages with
221 fadvise64: advice does nothing
230 clock_nanosleep: not by CLOCK_PROCESS_CPUTIME_ID
236 vserver ENOSYS: Linux has it no more, or never had it
237 mbind ENOSYS: there is one node of memory
238 set_mempolicy ENOSYS: there is one node of memory
239 get_mempolicy ENOSYS: there is one node of memory
240 mq_open ENOSYS: there is one program, and nobody to share memory or messages with
241 mq_unlink ENOSYS: there is one program, and nobody to share memory or messages with
242 mq_timedsend ENOSYS: there is one program, and nobody to share memory or messages with
243 mq_timedreceive ENOSYS: there is one program, and nobody to share memory or messages with
244 mq_notify ENOSYS: there is one program, and nobody to share memory or messages with
245 mq_getsetattr ENOSYS: there is one program, and nobody to share memory or messages with
246 kexec_load ENOSYS: a program ends the machine by ending
247 waitid: there are no children: ECHILD
248 add_key ENOSYS: the kernel keeps no keys
249 request_key ENOSYS: the kernel keeps no keys
250 keyctl ENOSYS: the kernel keeps no keys
251 ioprio_set ENOSYS: threads take turns, and have no priority
252 ioprio_get ENOSYS: threads take turns, and have no priority
256 migrate_pages ENOSYS: there is one node of memory
272 unshare ENOSYS: there is one tree of files; the command line mounts shares
273 set_robust_list ENOSYS: Go has no robust mutexes
274 get_robust_list ENOSYS: Go has no robust mutexes
275 splice: not from datagrams
276 tee ENOSYS: read the pipe and write twice, as io.TeeReader does
277 sync_file_range: there is no disk to write to
278 vmsplice ENOSYS: writev copies as fast: there is one address space
279 move_pages ENOSYS: there is one node of memory
282 signalfd ENOSYS: Go takes signals by handlers: os/signal
285 fallocate: pages come when they are written
289 signalfd4 ENOSYS: Go takes signals by handlers: os/signal
297 rt_tgsigqueueinfo ENOSYS: Go sends signals without a value, by tgkill
298 perf_event_open EACCES: there are no counters for programs
299 recvmmsg: the rest of the time is not written back
300 fanotify_init ENOSYS: inotify watches files
301 fanotify_mark ENOSYS: inotify watches files
303 name_to_handle_at EOPNOTSUPP: files have no handles
304 open_by_handle_at EPERM: files have no handles
305 clock_adjtime ENOSYS: clock_settime sets the clock; nothing steers it
306 syncfs: there is no disk to write to
308 setns ENOSYS: there is one tree of files; the command line mounts shares
310 process_vm_readv ENOSYS: there is no other process to look at
311 process_vm_writev ENOSYS: there is no other process to look at
312 kcmp ENOSYS: there is no other process to look at
313 finit_module ENOSYS: the kernel loads no modules
314 sched_setattr ENOSYS: threads take turns, and have no priority
315 sched_getattr ENOSYS: threads take turns, and have no priority
317 seccomp ENOSYS: there is nobody to confine
319 memfd_create ENOSYS: files are in memory: os.CreateTemp, or O_TMPFILE
320 kexec_file_load ENOSYS: a program ends the machine by ending
321 bpf EPERM: it takes a privilege
322 execveat ENOSYS: no other program can be started: there is one address space
323 userfaultfd EPERM: it takes a privilege
324 membarrier: rseq: there is none
325 mlock2: nothing is swapped; pages come when they are touched
327 preadv2 ENOSYS: Go has preadv; the flags concern disks
328 pwritev2 ENOSYS: Go has pwritev; the flags concern disks
329 pkey_mprotect ENOSYS: the kernel uses no protection keys
330 pkey_alloc ENOSYS: the kernel uses no protection keys
331 pkey_free ENOSYS: the kernel uses no protection keys
333 io_pgetevents ENOSYS: Go has epoll
334 rseq ENOSYS: the Go runtime does without
425 io_uring_setup ENOSYS: Go has epoll
426 io_uring_enter ENOSYS: Go has epoll
427 io_uring_register ENOSYS: Go has epoll
428 open_tree ENOSYS: there is one tree of files; the command line mounts shares
429 move_mount ENOSYS: there is one tree of files; the command line mounts shares
430 fsopen ENOSYS: there is one tree of files; the command line mounts shares
431 fsconfig ENOSYS: there is one tree of files; the command line mounts shares
432 fsmount ENOSYS: there is one tree of files; the command line mounts shares
433 fspick ENOSYS: there is one tree of files; the command line mounts shares
434 pidfd_open: there is one process
435 clone3 ENOSYS: no other program can be started: there is one address space
438 pidfd_getfd ENOSYS: there is one process: dup
440 process_madvise ENOSYS: there is no other process to look at
442 mount_setattr ENOSYS: there is one tree of files; the command line mounts shares
443 quotactl_fd ENOSYS: there is no disk: no accounts, swap or quotas
444 landlock_create_ruleset ENOSYS: there is nobody to confine
445 landlock_add_rule ENOSYS: there is nobody to confine
446 landlock_restrict_self ENOSYS: there is nobody to confine
447 memfd_secret ENOSYS: files are in memory: os.CreateTemp, or O_TMPFILE
448 process_mrelease ENOSYS: there is no other process to look at
449 futex_waitv ENOSYS: Go waits for one word at a time
450 set_mempolicy_home_node ENOSYS: there is one node of memory
`
