# A job whose memory comes and goes. Prints NAME START END of each area, in
# hexadecimal, once it is touched, and keeps it for long enough to be noticed.
import ctypes
import mmap
import os
import sys
import threading
import time

MIB = 1 << 20


def told(name, start, size):
    print(name, hex(start), hex(start + size), flush=True)
    time.sleep(0.35)


def private(size):
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def address_of(area):
    view = ctypes.c_char.from_buffer(area)
    try:
        return ctypes.addressof(view)
    finally:
        del view


def touch(area, size):
    for at in range(0, size, mmap.PAGESIZE):
        area[at] = 1


def life():
    area = private(4 * MIB)
    touch(area, 4 * MIB)
    told("mapped", address_of(area), 4 * MIB)
    area.resize(16 * MIB)  # mremap, which moves it
    touch(area, 16 * MIB)
    told("remapped", address_of(area), 16 * MIB)
    area.madvise(mmap.MADV_DONTNEED)
    touch(area, 16 * MIB)
    told("given-back-and-touched", address_of(area), 16 * MIB)
    huge = private(8 * MIB)
    huge.madvise(mmap.MADV_HUGEPAGE)
    touch(huge, 8 * MIB)
    told("huge", address_of(huge), 8 * MIB)


def stack():
    buffer = (ctypes.c_char * 1)()
    told("stack-of-a-thread", ctypes.addressof(buffer), 1)


if sys.argv[1:] == ["again"]:  # after exec
    life()
    library = ctypes.CDLL("libm.so.6")
    told("library", ctypes.cast(library.sin, ctypes.c_void_p).value, 1)
    thread = threading.Thread(target=stack)
    thread.start()
    thread.join()
    child = os.fork()
    if child == 0:
        area = private(MIB)
        touch(area, MIB)
        os._exit(0)
    os.waitpid(child, 0)
else:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
