"""Appends numbered records to the files `a` and `b` of a directory in turn, until it is ended or its parent is gone.

Record 1 goes to `a`, 2 to `b`, 3 to `a`. Both files stay open, and only when a record has been written does the next one
begin: at any instant `a` has as many as `b`, or one more. A record fills a block, so that the kernel has no reason to
wait for the one before to reach the disk.
"""

import os
import sys
import time

SIZE = 4096
LARGEST = 4096

files = [os.open(os.path.join(sys.argv[1], name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) for name in 'ab']
number = 0
parent = os.getppid()
while os.getppid() == parent:
    number += 1
    os.write(files[(number - 1) % 2], b'%0*d\n' % (SIZE - 1, number))
    if number == 10:
        os.write(1, b'writing')
    if number > LARGEST:
        time.sleep(0.001)
