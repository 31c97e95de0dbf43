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

// table has a row for each system call that is answered, by its number. Never written.
var table = [...]row{
	0:   {file: sysRead},
	1:   {file: sysWrite},
	2:   {do: sysOpenat, args: "h012"},
	3:   {do: sysClose},
	4:   {do: sysNewfstatat, args: "h01"},
	5:   {file: sysFstat, path: true},
	6:   {do: sysNewfstatat, args: "h01n"},
	7:   {do: sysPoll},
	8:   {file: sysLseek},
	9:   {do: sysMmap},
	10:  {do: sysMprotect},
	11:  {do: sysMunmap},
	13:  {do: sysSigaction},
	14:  {do: sysSigprocmask},
	15:  {do: sysSigreturn},
	16:  {file: sysIoctl},
	17:  {file: sysPread},
	18:  {file: sysPwrite},
	19:  {file: sysReadv},
	20:  {file: sysWritev},
	21:  {do: sysFaccessat2, args: "h01"},
	22:  {do: sysPipe2, args: "0"},
	23:  {do: sysSelectTimed},
	24:  {do: sysSchedYield, quiet: true},
	25:  {do: sysMremap},
	26:  {do: sysMsync},
	27:  {do: sysMincore},
	28:  {do: sysMadvise},
	32:  {file: sysDup, path: true},
	33:  {do: sysDup2},
	35:  {do: sysClockNanosleep, args: "+-01"},
	36:  {do: sysGetitimer},
	38:  {do: sysSetitimer},
	39:  {do: sysGetpid, quiet: true},
	40:  {do: sysSendfile},
	41:  {do: sysSocket},
	42:  {socket: true},
	43:  {do: sysAccept4, args: "012"},
	44:  {socket: true},
	45:  {socket: true},
	46:  {socket: true},
	47:  {socket: true},
	48:  {socket: true},
	49:  {socket: true},
	50:  {socket: true},
	51:  {socket: true},
	52:  {socket: true},
	53:  {do: sysSocketpair},
	54:  {socket: true},
	55:  {socket: true},
	56:  {do: sysClone},
	57:  {starts: true},
	58:  {starts: true},
	59:  {starts: true},
	60:  {do: sysExit},
	61:  {do: sysWait4},
	62:  {do: sysKill},
	63:  {do: sysUname},
	72:  {file: sysFcntl, path: true},
	73:  {do: sysFlock},
	74:  {file: sysFsync},
	75:  {file: sysFsync},
	76:  {do: sysTruncate},
	77:  {file: sysFtruncate},
	79:  {do: sysGetcwd},
	80:  {do: sysChdir},
	81:  {file: sysFchdir, path: true},
	82:  {do: sysRenameat2, args: "h0h1"},
	83:  {do: sysMkdirat, args: "h01"},
	84:  {do: sysUnlinkat, args: "h0r"},
	85:  {do: sysOpenat, args: "h0c1"},
	86:  {do: sysLinkat, args: "h0h1"},
	87:  {do: sysUnlinkat, args: "h0"},
	88:  {do: sysSymlinkat, args: "0h1"},
	89:  {do: sysReadlinkat, args: "h012"},
	90:  {do: sysFchmodat2, args: "h01"},
	91:  {file: sysFchmod},
	92:  {do: sysFchownat, args: "h012"},
	93:  {file: sysFchown},
	94:  {do: sysFchownat, args: "h012n"},
	95:  {do: sysUmask},
	96:  {do: sysGettimeofday},
	97:  {do: sysGetrlimit},
	98:  {do: sysGetrusage},
	99:  {do: sysSysinfo},
	100: {do: sysTimes},
	102: {do: sysZero},
	104: {do: sysZero},
	105: {do: sysSetID},
	106: {do: sysSetID},
	107: {do: sysZero},
	108: {do: sysZero},
	109: {do: sysSetpgid},
	110: {do: sysZero},
	111: {do: sysGetpid},
	112: {do: sysRefused},
	113: {do: sysSetREIDs},
	114: {do: sysSetREIDs},
	115: {do: sysGetgroups},
	116: {do: sysSetgroups},
	117: {do: sysSetIDsAll},
	118: {do: sysGetIDs},
	119: {do: sysSetIDsAll},
	120: {do: sysGetIDs},
	121: {do: sysOfProcess},
	122: {do: sysZero},
	123: {do: sysZero},
	124: {do: sysOfProcess},
	125: {do: sysCapget},
	127: {do: sysSigpending},
	128: {do: sysSigtimedwait},
	130: {do: sysSigsuspend},
	131: {do: sysSigaltstack},
	132: {do: sysOldTimes, args: "h01"},
	133: {do: sysMknodat, args: "h012"},
	137: {do: sysStatfs},
	138: {file: sysFstatfs, path: true},
	149: {do: sysMlock},
	150: {do: sysMunlock},
	151: {do: sysMlockall},
	152: {do: sysZero},
	157: {do: sysPrctl},
	158: {do: sysArchPrctl},
	160: {do: sysSetrlimit},
	162: {do: sysZero},
	186: {do: sysGettid, quiet: true},
	187: {file: sysReadahead},
	188: {do: sysSetxattr, args: "01234"},
	189: {do: sysSetxattr, args: "01234n"},
	190: {do: sysSetxattr, args: "01234d"},
	191: {do: sysGetxattr, args: "0123"},
	192: {do: sysGetxattr, args: "0123-n"},
	193: {do: sysGetxattr, args: "0123-d"},
	194: {do: sysListxattr, args: "012"},
	195: {do: sysListxattr, args: "012--n"},
	196: {do: sysListxattr, args: "012--d"},
	197: {do: sysRemovexattr, args: "01"},
	198: {do: sysRemovexattr, args: "01---n"},
	199: {do: sysRemovexattr, args: "01---d"},
	200: {do: sysTkill},
	201: {do: sysTime},
	202: {do: sysFutex},
	203: {do: sysSchedSetaffinity},
	204: {do: sysSchedGetaffinity},
	213: {do: sysEpollCreate},
	217: {file: sysGetdents},
	218: {do: sysSetTIDAddress},
	221: {file: sysFadvise},
	222: {do: sysTimerCreate},
	223: {do: sysTimerSettime},
	224: {do: sysTimerGettime},
	225: {do: sysTimerGetoverrun},
	226: {do: sysTimerDelete},
	227: {do: sysClockSettime},
	228: {do: sysClockGettime, quiet: true},
	229: {do: sysClockGetres},
	230: {do: sysClockNanosleep},
	231: {do: sysExitGroup},
	232: {do: sysEpollPwait, args: "0123"},
	233: {do: sysEpollCtl},
	234: {do: sysTgkill},
	235: {do: sysOldTimes, args: "h01m"},
	247: {do: sysWaitid},
	253: {do: sysInotifyInit1, args: "-"},
	254: {do: sysInotifyAddWatch},
	255: {file: sysInotifyRmWatch},
	257: {do: sysOpenat},
	258: {do: sysMkdirat},
	259: {do: sysMknodat},
	260: {do: sysFchownat},
	261: {do: sysOldTimes, args: "012m"},
	262: {do: sysNewfstatat},
	263: {do: sysUnlinkat},
	264: {do: sysRenameat2, args: "0123"},
	265: {do: sysLinkat},
	266: {do: sysSymlinkat},
	267: {do: sysReadlinkat},
	268: {do: sysFchmodat2, args: "012"},
	269: {do: sysFaccessat2, args: "012"},
	270: {do: sysPselect6},
	271: {do: sysPpoll},
	275: {do: sysSplice},
	277: {file: sysSyncRange},
	280: {do: sysUtimensat},
	281: {do: sysEpollPwait},
	283: {do: sysTimerfdCreate},
	284: {do: sysEventfd2, args: "0"},
	285: {file: sysFallocate},
	286: {do: sysTimerfdSettime},
	287: {file: sysTimerfdGettime},
	288: {do: sysAccept4},
	290: {do: sysEventfd2},
	291: {do: sysEpollCreate1},
	292: {do: sysDup3},
	293: {do: sysPipe2},
	294: {do: sysInotifyInit1},
	295: {file: sysPreadv},
	296: {file: sysPwritev},
	298: {do: sysNoAccess},
	299: {socket: true},
	302: {do: sysPrlimit},
	303: {do: sysUnsupported},
	304: {do: sysRefused},
	306: {file: sysZeroOf},
	307: {socket: true},
	309: {do: sysGetcpu},
	316: {do: sysRenameat2},
	318: {do: sysGetrandom},
	321: {do: sysRefused},
	322: {starts: true},
	323: {do: sysRefused},
	324: {do: sysMembarrier},
	325: {do: sysMlock2},
	326: {do: sysCopyFileRange},
	332: {do: sysStatx},
	424: {do: sysPidfdSendSignal},
	434: {do: sysPidfdOpen},
	436: {do: sysCloseRange},
	437: {do: sysOpenat2},
	439: {do: sysFaccessat2},
	441: {do: sysEpollPwait2},
	452: {do: sysFchmodat2},
}

// onSocket makes a call for a socket. It is no column of the table, so that the linker can leave
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
