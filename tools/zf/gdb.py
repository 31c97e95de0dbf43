# What `zf gdb` adds to gdb: an unwinder, so that bt, up, frame and finish cross the
# kernel's boundaries, and the commands that start with zf-. The lines before this
# one define MODULE, TRAP_MARK, SIGNATURE and VECTOR_CALL (tools/zf/gdb.go).

import struct

import gdb
import gdb.unwinder

LIMIT = 256  # frames of a walk


def words(addr, n):
    """n words of memory from addr up, or None."""
    try:
        return struct.unpack("<%dQ" % n, bytes(gdb.selected_inferior().read_memory(addr, 8 * n)))
    except (gdb.error, OverflowError):
        return None


def word(addr):
    w = words(addr, 1)
    return None if w is None else w[0]


def variable(name):
    """A global variable, which must be named in full."""
    symbol = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    if symbol is None:
        raise gdb.GdbError("%s is not in the symbols: build the image without -ldflags=-w" % name)
    return symbol.value()


def function(pc):
    """The name of the function at pc, or None."""
    try:
        block = gdb.block_for_pc(pc)
    except (gdb.error, RuntimeError):
        return None
    while block is not None and not block.is_global:
        if block.function is not None and not block.superblock.function:
            return str(block.function)
        block = block.superblock
    return None


def calls(pc):
    """The functions at pc with those that are inlined there, innermost first."""
    names = []
    try:
        block = gdb.block_for_pc(pc)
    except (gdb.error, RuntimeError):
        block = None
    while block is not None and not block.is_global and not block.is_static:
        if block.function is not None:
            names.append(str(block.function))
        block = block.superblock
    return names


# The record that an entry into the kernel leaves (tracer/walk.go): words from it up.
BP, MARK, VECTOR, ERROR, RIP, CS, RFLAGS, RSP, SS = range(9)

# The functions that make one, and run on it. Two of them save the other registers
# below it, in a TrapFrame.
ENTRIES = {"trapEntry": True, "syscallEntry": True, "onStack": False}


def record_above(sp):
    """The address of the first trap record at sp or above, or None."""
    for at in range(sp, sp + 8 * 128, 8):
        w = word(at)
        if w is None:
            return None
        if w == TRAP_MARK:
            return at - 8
    return None


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Boundaries(gdb.unwinder.Unwinder):
    """Unwinds the functions behind which no table leads further.

gdb has no notion of a stack that goes on further down in memory than it was, and
ends there ("previous frame inner to this frame"); and it takes what was interrupted
for a call, so that the line may be the one before. zf-trace knows better."""

    def __init__(self):
        super().__init__("zeroframe")

    def __call__(self, pending):
        pc = pending.read_register("rip")
        sp = pending.read_register("rsp")
        self.type = pc.type
        name = function(int(pc))
        if name is None:
            return None
        if name.startswith(MODULE + "arch/amd64."):
            entry = name.rsplit(".", 1)[1]
            if entry in ENTRIES:
                return self.trap(pending, int(sp), ENTRIES[entry])
        if name == "runtime.systemstack":
            return self.switch(pending, int(sp))
        return None

    def trap(self, pending, sp, frame):
        at = record_above(sp)
        w = at and words(at, 9)
        if not w:
            return None
        info = pending.create_unwind_info(self.id(sp, pending))
        registers = {"rip": w[RIP], "rsp": w[RSP], "rbp": w[BP]}
        if frame:
            kind = gdb.lookup_type(MODULE + "arch/amd64.TrapFrame")
            fields = {f.name: f.bitpos // 8 for f in kind.fields()}
            for name in "AX BX CX DX SI DI".split():
                registers["r" + name.lower()] = word(at + fields[name] - fields["FP"])
            for name in "R8 R9 R10 R11 R12 R13 R14 R15".split():
                registers[name.lower()] = word(at + fields[name] - fields["FP"])
        for name, value in registers.items():
            if value is not None:
                info.add_saved_register(name, self.value(value))
        return info

    def switch(self, pending, sp):
        # On its new stack, systemstack has called a function, which has saved the
        # frame pointer that still leads to the old one.
        fp = word(sp - 16)
        w = fp and fp % 8 == 0 and words(fp, 2)
        if not w or sp <= fp < sp + 0x10000 or function(w[1] - 1) is None:
            return None
        info = pending.create_unwind_info(self.id(sp, pending))
        for name, value in (("rip", w[1]), ("rsp", fp + 16), ("rbp", w[0])):
            info.add_saved_register(name, self.value(value))
        return info

    def id(self, sp, pending):
        return FrameId(self.value(sp), pending.read_register("rip"))

    def value(self, v):
        return gdb.Value(struct.pack("<Q", v), self.type)


gdb.unwinder.register_unwinder(None, Boundaries(), replace=True)


def text(value):
    """A Go string."""
    return bytes(gdb.selected_inferior().read_memory(int(value["str"]), int(value["len"]))).decode()


def goroutines():
    """The program's goroutines, without those that have ended."""
    all = variable("runtime.allgs")
    for i in range(int(all["len"])):
        g = all["array"][i].dereference()
        if int(g["atomicstatus"]["value"]) & 0xfff != DEAD:
            yield g


DEAD = 6  # _Gdead


def kernel_stacks():
    """The kernel's own stacks: name, lo, hi, limit."""
    table = variable(MODULE + "kernel/stack.Table")
    rows = []
    for i in range(int(table["len"])):
        s = table["array"][i]
        name = text(s["Name"])
        if name == "g":
            break  # what follows is the program's, as the last trace has found it
        if int(s["Lo"]):
            rows.append((name, int(s["Lo"]), int(s["Hi"]), int(s["Limit"])))
    return rows


def thread_stacks():
    """The stacks of the program's threads: name, lo, hi."""
    m = variable("runtime.allm")
    rows = []
    while int(m):
        for prefix in ("g0", "gsignal"):
            g = m.dereference()[prefix]
            if int(g) and int(g.dereference()["stack"]["hi"]):
                stack = g.dereference()["stack"]
                rows.append(("%s.m%d" % (prefix, int(m.dereference()["id"])), int(stack["lo"]), int(stack["hi"])))
        m = m.dereference()["alllink"]
    return rows


def tables(pc, sp, fp):
    """The address that the function at pc returns to, by gdb's unwind tables, or None."""
    registers = {"rip": pc, "rsp": sp, "rbp": fp}
    thread = gdb.selected_thread()
    try:
        for t in gdb.selected_inferior().threads():
            t.switch()  # a core file has a thread for each pc
            if all(int(gdb.newest_frame().read_register(r)) == v for r, v in registers.items()):
                return caller()
        thread.switch()
        was = {r: int(gdb.newest_frame().read_register(r)) for r in registers}
        try:
            for r, v in registers.items():
                gdb.execute("set $%s = %d" % (r, v))
            return caller()
        finally:
            for r, v in was.items():
                gdb.execute("set $%s = %d" % (r, v))
    except gdb.error:
        return None  # a core file, or a stub that cannot
    finally:
        thread.switch()


def caller():
    """The pc of the function that has called the one at frame 0, or None."""
    frame = gdb.newest_frame()
    while frame is not None and frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    frame = frame and frame.older()
    return int(frame.pc()) if frame else None


class Trace(gdb.Command):
    """Walk the stack by its frame pointers, as the kernel's own traces do.

Usage: zf-trace

It begins at frame 0, and goes on behind traps, system calls and changes of stack.
Unlike bt it needs no unwind tables: where the two differ, look at the code."""

    def __init__(self):
        super().__init__("zf-trace", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        try:
            self.stacks = [row[:3] for row in kernel_stacks()] + thread_stacks()
            for g in goroutines():
                self.stacks.append(("g%d" % int(g["goid"]), int(g["stack"]["lo"]), int(g["stack"]["hi"])))
        except gdb.error:
            self.stacks = []  # a core file has none
        self.n = 0
        frame = gdb.newest_frame()
        print("stop " + self.walk(*(int(frame.read_register(r)) for r in ("rip", "rsp", "rbp"))))

    def walk(self, pc, sp, fp):
        self.exact(pc, sp, fp)
        left, on, last = set(), None, 0  # stacks and records behind us
        while self.n < LIMIT:
            if fp == 0:
                return "zero"
            if fp % 8:
                return "misaligned %#x (truncated)" % fp
            if self.stacks and self.stack(fp) == "-":
                return "outside %#x (truncated)" % fp
            if self.stack(fp) != on:
                left.add(on)
                on, last = self.stack(fp), 0
                if on in left:
                    return "revisit %#x (truncated)" % fp
            if fp <= last:
                return "backward %#x (truncated)" % fp
            last = fp
            w = words(fp, 2)
            if w is None:
                return "unreadable %#x (truncated)" % fp
            if w[MARK] == TRAP_MARK:
                w = words(fp, 9)
                if w is None:
                    return "unreadable %#x (truncated)" % fp
                print("-- trap, vector %d, error %#x --" % (w[VECTOR], w[ERROR]))
                if w[VECTOR] == VECTOR_CALL:  # code that called asked for it
                    self.show("ra", w[RIP], w[RSP])
                else:
                    self.exact(w[RIP], w[RSP], w[BP])
                fp, last = w[BP], 0
                continue
            if w == (0, 0):
                return "zero"
            if function(w[1] - 1) is None:
                return "text %#x (truncated)" % w[1]
            if function(w[1]) != "runtime.sigreturn__sigaction":
                self.show("ra", w[1], fp)
            fp = w[0]
        return "limit (truncated)"

    def exact(self, pc, sp, fp):
        """Shows the function at an exact pc, and its caller if the function has no
        record of its own: what fp leads to is the caller's then."""
        self.show("pc", pc, sp)
        ra = tables(pc, sp, fp)
        w = words(fp, 2)
        if ra and function(ra - 1) and not (w and w[MARK] == ra):
            self.show("ra", ra, sp)

    def stack(self, addr):
        for name, lo, hi in self.stacks:
            if lo <= addr < hi:
                return name
        return "-"

    def show(self, kind, addr, on):
        pc = addr if kind == "pc" else addr - 1
        names = calls(pc) or ["?"]
        line = gdb.find_pc_line(pc)
        place = " at %s:%d" % (line.symtab.filename, line.line) if line.symtab else ""
        print("#%-2d %s %#x %s%s [%s]" % (self.n, kind, addr, names[0], place, self.stack(on)))
        for name in names[1:]:
            print("       inlined into %s" % name)
        self.n += 1


class Stacks(gdb.Command):
    """Show the stacks of the kernel and of the program's threads.

Usage: zf-stacks

The kernel's own have a high-water mark, which is a lower bound: at least so many
bytes have been used."""

    def __init__(self):
        super().__init__("zf-stacks", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        rows = kernel_stacks()
        if not rows:
            raise gdb.GdbError("the kernel has not laid out its stacks yet: continue, and stop it later")
        print("%-10s %18s %8s %8s %8s" % ("stack", "lo", "size", "used>=", "limit"))
        for name, lo, hi, limit in rows:
            used = self.mark(lo, hi)
            self.row(name, lo, hi, "?" if used is None else used, limit)
        for name, lo, hi in thread_stacks():
            self.row(name, lo, hi, "", "")

    def row(self, name, lo, hi, used, limit):
        sp = int(gdb.newest_frame().read_register("rsp"))
        here = "  <- RSP" if lo <= sp < hi else ""
        print("%-10s %#18x %8d %8s %8s%s" % (name, lo, hi - lo, used, limit, here))

    def mark(self, lo, hi):
        for page in range(lo, hi, 4096):
            w = words(page, (min(page + 4096, hi) - page) // 8)
            if w is None:
                return None
            for i, x in enumerate(w):
                if x != SIGNATURE:
                    return hi - page - 8 * i
        return 0


class Goroutines(gdb.Command):
    """List the program's goroutines: number, state, and where each goes on.

Usage: zf-goroutines"""

    STATES = {0: "idle", 1: "runnable", 2: "running", 3: "syscall", 4: "waiting",
              8: "copystack", 9: "preempted", 10: "leaked", 11: "deadextra"}

    def __init__(self):
        super().__init__("zf-goroutines", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        reasons = variable("runtime.waitReasonStrings")
        for g in goroutines():
            state = int(g["atomicstatus"]["value"]) & 0xfff
            start = int(g["startpc"])
            pc = int(g["syscallpc"]) if state == 3 else int(g["sched"]["pc"])
            where = "goes on in %s" % ((calls(pc if pc == start else pc - 1) or ["%#x" % pc])[0])
            if state == 2:
                where = "is running"
            elif state == 4:
                where = "waits: " + text(reasons[int(g["waitreason"])])
            print("%4d %-9s %s (started as %s)" % (
                int(g["goid"]), self.STATES.get(state, "state %d" % state), where, function(start) or "?"))


Trace()
Stacks()
Goroutines()
