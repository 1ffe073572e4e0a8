"""Tells everything there is to know about trees, or changes everything in them.

It knows nothing of how aw reads trees: it asks the kernel by itself, step by step with descriptors, so that no path is
too long, and it opens for a moment what its owner has locked.

Every line it reads is a request, every line it prints an answer, both JSON:

    ["tell", ROOT]          by path, what is there
    ["wreck", ROOT]
    ["make", CASE, ROOT]    one of the trees in fidelity_cases.py
    ["mapped", ROOT]        whether it can be mounted as if it belonged to others
"""

import ctypes
import hashlib
import json
import os
import shutil
import stat
import struct
import sys
from contextlib import contextmanager

import fidelity_cases

KINDS = {
    stat.S_IFREG: 'file',
    stat.S_IFDIR: 'directory',
    stat.S_IFLNK: 'symlink',
    stat.S_IFIFO: 'fifo',
    stat.S_IFSOCK: 'socket',
    stat.S_IFBLK: 'block',
    stat.S_IFCHR: 'char',
}
MEGABYTE = 1 << 20


def near(directory, name):
    """A path to a name in an open directory, for the calls that take no descriptor."""
    return b'/proc/self/fd/%d/%s' % (directory, name)


@contextmanager
def unlocked(directory, name, status, need):
    """The owner may always give himself what he lacks; it is taken back, and no time of modification has changed."""
    mode = stat.S_IMODE(status.st_mode)
    locked = os.getuid() != 0 and mode & need != need
    if locked:
        os.chmod(near(directory, name), mode | need)
    try:
        yield
    finally:
        if locked:
            os.chmod(near(directory, name), mode)


@contextmanager
def opened(path, parent=None):
    """Nothing stays open: it would keep a tree from being unmounted."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def names_in(directory):
    """In the order of their bytes."""
    return sorted(os.fsencode(name) for name in os.listdir(directory))


def attributes_of(path):
    names = os.listxattr(path, follow_symlinks=False)
    return {name: os.getxattr(path, name, follow_symlinks=False).hex() for name in sorted(names)}


def content_of(path):
    with open(path, 'rb') as file:
        digest = hashlib.sha256()
        while block := file.read(MEGABYTE):
            digest.update(block)
        return digest.hexdigest()


def shown(path):
    """Far below, a path is only told by its hash: the report must not become longer than the tree."""
    if len(path) <= 1000:
        return path.decode('latin1')
    return 'deep: %d names, sha256 %s' % (path.count(b'/') + 1, hashlib.sha256(path).hexdigest())


def about(directory, name, status, path, first_names):
    kind = KINDS[stat.S_IFMT(status.st_mode)]
    here = near(directory, name)
    told = {
        'kind': kind,
        'mode': oct(stat.S_IMODE(status.st_mode)),
        'owner': '%d:%d' % (status.st_uid, status.st_gid),
        'modified': str(status.st_mtime_ns),
    }
    if kind == 'file':
        with unlocked(directory, name, status, 0o400):
            told.update(size=status.st_size, content=content_of(here), attributes=attributes_of(here))
        if status.st_size >= MEGABYTE:
            told['sparse'] = status.st_blocks * 512 * 2 < status.st_size
    else:
        told['attributes'] = attributes_of(here)
    if kind == 'symlink':
        told['target'] = os.readlink(here).decode('latin1')
    if kind in ('block', 'char'):
        told['device'] = status.st_rdev
    if kind != 'directory' and status.st_nlink > 1:
        told['first name'] = first_names.setdefault(status.st_ino, shown(path))
    return told


def tell(directory, prefix, told, first_names):
    for name in names_in(directory):
        path = prefix + name
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            told[shown(path)] = about(directory, name, status, path, first_names)
            continue
        with unlocked(directory, name, status, 0o700):
            told[shown(path)] = about(directory, name, status, path, first_names)
            with opened(name, directory) as inner:
                tell(inner, path + b'/', told, first_names)


def tell_all(root):
    told = {}
    name = os.fsencode(os.path.basename(root))
    with opened(os.path.dirname(root)) as top:
        status = os.stat(name, dir_fd=top, follow_symlinks=False)
        told['.'] = about(top, name, status, b'.', {})
        with unlocked(top, name, status, 0o700), opened(name, top) as inner:
            tell(inner, b'', told, {})
    return told


def wreck_file(directory, name, status, turn):
    here = near(directory, name)
    if turn == 0:
        os.unlink(here)
    elif turn == 1 and status.st_size > 0:
        os.chmod(here, stat.S_IMODE(status.st_mode) | 0o600)
        with open(here, 'r+b') as file:
            file.write(b'\xa5')
        os.chmod(here, stat.S_IMODE(status.st_mode))
        os.utime(here, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif turn == 2:
        os.chmod(here, 0o666)
        os.truncate(here, 0)
        # One may be told under two names.
        while left := os.listxattr(here):
            os.removexattr(here, left[0])
    else:
        os.unlink(here)
        os.symlink(b'was a file', here)


def wreck(directory, turn):
    for name in names_in(directory):
        turn += 1
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            wreck_file(directory, name, status, turn % 4)
        elif not stat.S_ISDIR(status.st_mode):
            os.unlink(name, dir_fd=directory)
            with open(near(directory, name), 'wb') as file:
                file.write(b'was something else')
        else:
            os.chmod(near(directory, name), 0o777)
            with opened(name, directory) as inner:
                turn = wreck(inner, turn)
            if turn % 3 == 0:
                shutil.rmtree(name, dir_fd=directory)
            elif turn % 3 == 1:
                os.rename(name, b'was ' + name[:200], src_dir_fd=directory, dst_dir_fd=directory)
    os.mkdir(b'new %d' % turn, dir_fd=directory)
    return turn


def wreck_all(root):
    os.chmod(root, 0o755)
    with opened(root) as top:
        wreck(top, 0)
    with open(os.path.join(root, 'new file'), 'w') as file:
        file.write('new')


def make(case, root):
    os.chdir(root)
    try:
        getattr(fidelity_cases, case)()
    finally:
        os.chdir('/')


CLONE_NEWUSER = 0x10000000
OPEN_TREE, MOUNT_SETATTR = 428, 442
OPEN_TREE_CLONE = 1
AT_EMPTY_PATH = 0x1000
MOUNT_ATTR_IDMAP = 0x100000


def mapped(root):
    libc = ctypes.CDLL(None, use_errno=True)
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        libc.unshare(CLONE_NEWUSER)
        os.write(ready[1], b'x')
        os.read(done[0], 1)
        os._exit(0)
    try:
        os.read(ready[0], 1)
        for kind in ('uid_map', 'gid_map'):
            with open(f'/proc/{child}/{kind}', 'w') as file:
                file.write('0 100000 1000')
        namespace = os.open(f'/proc/{child}/ns/user', os.O_RDONLY)
        tree = libc.syscall(OPEN_TREE, -100, os.fsencode(root), OPEN_TREE_CLONE)
        wish = struct.pack('QQQQ', MOUNT_ATTR_IDMAP, 0, 0, namespace)
        failed = tree < 0 or libc.syscall(MOUNT_SETATTR, tree, b'', AT_EMPTY_PATH, wish, len(wish)) != 0
        if tree >= 0:
            os.close(tree)
        os.close(namespace)
        return not failed
    except PermissionError:
        return False
    finally:
        os.write(done[1], b'x')
        os.waitpid(child, 0)
        for end in (*ready, *done):
            os.close(end)


if __name__ == '__main__':
    os.umask(0o022)
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        try:
            answer = {'tell': tell_all, 'wreck': wreck_all, 'make': make, 'mapped': mapped}[command](*arguments)
            print(json.dumps({'answer': answer}), flush=True)
        except Exception as error:
            print(json.dumps({'error': repr(error)}), flush=True)
