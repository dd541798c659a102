"""Returns the memory of large requests to the system. On another C library than glibc nothing happens."""

import ctypes
import gc
from contextlib import suppress
from typing import Any, Final

LARGE: Final = 4 * 2**20  # octets of a request after which it is worth a few milliseconds
_MMAP_THRESHOLD: Final = -3  # mallopt's M_MMAP_THRESHOLD


def _library() -> Any:
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        return library if library.malloc_trim and library.mallopt else None
    return None


_libc: Final = _library()


def keep_large_blocks_apart() -> None:
    """Called once in each process. glibc otherwise learns from each freed block to keep larger ones, up to 32 MiB."""
    if _libc is not None:
        _libc.mallopt(_MMAP_THRESHOLD, 2**20)


def give_back() -> None:
    """Return what is free, after a large request. An error in it leaves its body in a cycle, which is ended first."""
    gc.collect()  # milliseconds: what was loaded at the start is frozen and not looked through
    if _libc is not None:
        _libc.malloc_trim(0)
