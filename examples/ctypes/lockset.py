"""Lockset in Python, by ctypes over lockset/c.h: as much of it as most programs need.

    import lockset
    with lockset.open("sqlite:/var/lib/jobs/locks.db", label="nightly") as locks:
        with locks.acquire(write=["ws2"], read=["ws1"], wait=5) as hold:
            work(hold.stamp)

The library is found by the name in LOCKSET_LIBRARY, or as an installed liblockset.so.
Times are in seconds; None means: for ever. Any number of threads may share a Locks.
"""

import ctypes
import ctypes.util
import os

_lib = ctypes.CDLL(os.environ.get("LOCKSET_LIBRARY") or ctypes.util.find_library("lockset"))

# lockset_code
TIMEOUT, CANCELLED, NOT_HELD, INVALID, UNAVAILABLE, INDETERMINATE = 1, 2, 3, 7, 10, 11


class _Request(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("mode", ctypes.c_int32)]


class _Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("app", ctypes.c_char_p),
        ("label", ctypes.c_char_p),
        ("lease", ctypes.c_int64),
        ("io_timeout", ctypes.c_int64),
        ("store_patience", ctypes.c_int64),
        ("open_patience", ctypes.c_int64),
        ("reclaim", ctypes.c_int32),
    ]


_object = ctypes.c_void_p
_result = ctypes.POINTER(ctypes.c_void_p)
_on_lost = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _declare(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype = result
    function.argtypes = arguments
    return function


_text_free = _declare("lockset_text_free", None, _object)
_code_name = _declare("lockset_code_name", ctypes.c_char_p, ctypes.c_int32)
_open = _declare(
    "lockset_open", ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_Options), _result, _result
)
_locks_free = _declare("lockset_locks_free", None, _object)
_acquire = _declare(
    "lockset_acquire", ctypes.c_int, _object, ctypes.POINTER(_Request), ctypes.c_size_t,
    ctypes.c_int64, _object, _result, _result,
)
_break = _declare("lockset_break_stamp", ctypes.c_int, _object, ctypes.c_int64, _result)
_stamp = _declare("lockset_hold_stamp", ctypes.c_int64, _object)
_valid_for = _declare("lockset_hold_valid_for", ctypes.c_int32, _object, ctypes.c_int64)
_hold_on_lost = _declare(
    "lockset_hold_on_lost", ctypes.c_int, _object, _on_lost, ctypes.c_void_p, _result
)
_renew = _declare("lockset_hold_renew", ctypes.c_int, _object, _result)
_release = _declare("lockset_hold_release", ctypes.c_int, _object, _result)
_hold_free = _declare("lockset_hold_free", None, _object)


class Error(Exception):
    """What a call returned: its code, the name of that, and one line for people."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
        self.name = _code_name(code).decode()


def _check(function, *arguments):
    why = ctypes.c_void_p()
    code = function(*arguments, ctypes.byref(why))
    if code == 0:
        return
    text = ctypes.string_at(why.value).decode() if why.value else ""
    _text_free(why)
    raise Error(code, text)


def _milliseconds(seconds):
    return -1 if seconds is None else round(seconds * 1000)


class Hold:
    """A granted set. Use it in a `with`, or call release()."""

    def __init__(self, handle):
        self._handle = handle
        self._callbacks = []  # ctypes functions have to live as long as they may be called

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    @property
    def stamp(self):
        """The fencing token."""
        return _stamp(self._handle)

    def valid(self, seconds=0):
        """True if nobody else can have it for so long, even if no renewal succeeds."""
        return _valid_for(self._handle, _milliseconds(seconds)) == 1

    def on_lost(self, callback):
        """Calls callback(), on a thread of the library, if the hold is lost."""
        function = _on_lost(lambda _: callback())
        self._callbacks.append(function)
        _check(_hold_on_lost, self._handle, function, None)

    def renew(self):
        _check(_renew, self._handle)

    def release(self):
        """Releases it; raises Error if it had ended before."""
        try:
            _check(_release, self._handle)
        finally:
            self.close()

    def close(self):
        handle, self._handle = self._handle, None
        _hold_free(handle)


class Locks:
    """A client of a lock space."""

    def __init__(self, handle):
        self._handle = handle

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def acquire(self, write=(), read=(), wait=None):
        """Waits until all of these are granted at once."""
        wanted = [(name, 1) for name in write] + [(name, 0) for name in read]
        requests = (_Request * len(wanted))(*((name.encode(), mode) for name, mode in wanted))
        handle = ctypes.c_void_p()
        _check(
            _acquire, self._handle, requests, len(wanted), _milliseconds(wait), None,
            ctypes.byref(handle),
        )
        return Hold(handle)

    def break_stamp(self, stamp):
        """Ends somebody's hold: for emergencies."""
        _check(_break, self._handle, stamp)

    def close(self):
        """Releases all holds."""
        handle, self._handle = self._handle, None
        _locks_free(handle)


def open(url, app=None, label=None, lease=0):
    """Opens the lock space at this address."""
    options = _Options(size=ctypes.sizeof(_Options), lease=_milliseconds(lease))
    options.app = app.encode() if app else None
    options.label = label.encode() if label else None
    handle = ctypes.c_void_p()
    _check(_open, url.encode(), ctypes.byref(options), ctypes.byref(handle))
    return Locks(handle)
