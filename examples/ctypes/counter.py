"""Eight threads of two clients count in a file, one at a time. Then one of them loses its lock.

    LOCKSET_LIBRARY=liblockset.so python3 counter.py [URL]
"""

import os
import sys
import tempfile
import threading

import lockset

folder = tempfile.mkdtemp()
url = sys.argv[1] if len(sys.argv) > 1 else f"sqlite:{folder}/locks.db"
path = os.path.join(folder, "counter")
with open(path, "w", encoding="ascii") as file:
    file.write("0")


def count(locks, times):
    for _ in range(times):
        with locks.acquire(write=["counter"]) as hold:
            with open(path, encoding="ascii") as file:
                number = int(file.read())
            if not hold.valid(seconds=1):
                raise RuntimeError("lost")
            with open(path, "w", encoding="ascii") as file:
                file.write(str(number + 1))


with lockset.open(url, app="one") as one, lockset.open(url, app="two") as two:
    threads = [threading.Thread(target=count, args=(locks, 5)) for locks in [one, two] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(path, encoding="ascii") as file:
        counted = file.read()
    print(f"counted to {counted}")
    assert counted == "40"

    hold = one.acquire(write=["ws2"], read=["ws1"])
    try:
        two.acquire(read=["ws2"], wait=0)
        sys.exit("two holders")
    except lockset.Error as error:
        assert error.name == "timeout" and error.code == lockset.TIMEOUT, error
        print(f"refused: {error}")

    lost = threading.Event()
    hold.on_lost(lost.set)
    two.break_stamp(hold.stamp)
    try:
        hold.renew()
        sys.exit("renewed what was broken")
    except lockset.Error as error:
        assert error.code == lockset.NOT_HELD, error
    assert lost.wait(30) and not hold.valid()
    print("the loss was told")
    hold.close()
    with two.acquire(write=["ws1", "ws2"], wait=30) as later:
        assert later.stamp > 0
