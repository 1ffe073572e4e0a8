"""The trees that a snapshot must keep; each is made in the current directory."""

import os
import random
import socket
import stat
import struct
import subprocess

NOBODY = 65534


def put(path, content=b'', mode=None):
    with open(path, 'wb') as file:
        file.write(content)
    if mode is not None:
        os.chmod(path, mode)


def contents():
    put('empty')
    put('text', b'line\n' * 3)
    put('binary', bytes(range(256)))
    put('zeros', b'\0' * 9000)
    put('no newline', b'x')
    put('3 MB', random.Random(3).randbytes(3_000_001))
    put('one block', random.Random(4).randbytes(4096))
    put('one block and one', random.Random(5).randbytes(4097))


def holes():
    for name, parts in {
        'only a hole': [],
        'data first': [(0, b'start')],
        'data last': [((8 << 20) - 3, b'end')],
        'data between': [(4 << 20, b'middle')],
        'many': [(i << 20, b'%d' % i) for i in range(0, 8, 2)],
    }.items():
        with open(name, 'wb') as file:
            file.truncate(8 << 20)
            for offset, data in parts:
                file.seek(offset)
                file.write(data)


def modes():
    for mode in (0o644, 0o600, 0o755, 0o444, 0o400, 0o666, 0o777, 0o4755, 0o2755, 0o1644, 0o6711, 0o7777):
        put('file %o' % mode, b'x', mode)
    for mode in (0o755, 0o700, 0o777, 0o555, 0o500, 0o1777, 0o2755, 0o2775, 0o3777):
        name = 'directory %o' % mode
        os.mkdir(name)
        put(name + '/inside', b'x')
        os.chmod(name, mode)


def owners():
    for uid, gid in ((0, 0), (1234, 0), (0, 1234), (NOBODY, NOBODY), (2**31, 2**31 + 1), (2**32 - 2, 2**32 - 2)):
        name = '%d %d' % (uid, gid)
        put(name, b'x')
        os.chown(name, uid, gid)
        os.chmod(name, 0o6755)
        os.mkdir('d ' + name)
        os.symlink('nowhere', 'l ' + name)
        os.mkfifo('p ' + name)
        for kind in ('d ', 'l ', 'p '):
            os.chown(kind + name, uid, gid, follow_symlinks=False)


def times():
    moments = (0, 1, 999_999_999, 1_600_000_000_123_456_789, -1, -1_500_000_000, 2_000_000_000_000_000_001)
    for moment in moments:
        os.mkdir('directory %d' % moment)
        put('directory %d/file' % moment, b'x')
        put('file %d' % moment, b'x')
        os.symlink('nowhere', 'link %d' % moment)
        os.mkfifo('pipe %d' % moment)
        for kind in ('directory %d/file', 'directory %d', 'file %d', 'link %d', 'pipe %d'):
            os.utime(kind % moment, ns=(moment, moment), follow_symlinks=False)


def links():
    put('target', b'x')
    os.mkdir('directory')
    for name, target in {
        'relative': b'target',
        'up': b'../up',
        'absolute': b'/etc/passwd',
        'dangling': b'nowhere/at/all',
        'itself': b'itself',
        'to a directory': b'directory',
        'long': b'x/' * 500,
        'not text': b'\xff\xfe',
        'newline': b'a\nb',
        'spaces': b'  ',
        'slashes': b'a//b/./..//',
    }.items():
        os.symlink(target, os.fsencode(name))
    try:
        os.symlink(b'x/' * 2000, 'very long')
    except OSError:
        # XFS ends at 1024 bytes.
        pass


def hard_links():
    os.makedirs('a/deep')
    os.makedirs('b')
    put('one', b'one')
    for name in ('two', 'a/deep/three', 'b/four'):
        os.link('one', name)
    put('b/alone', b'one')
    put('b/executable', b'#!', 0o755)
    os.link('b/executable', 'a/executable')
    os.symlink('nowhere', 'link')
    os.link('link', 'b/link', follow_symlinks=False)
    os.mkfifo('pipe')
    os.link('pipe', 'b/pipe')


def attributes():
    put('file', b'x')
    put('empty', b'')
    put('read-only', b'x')
    os.mkdir('directory')
    for path in ('file', 'empty', 'directory', 'read-only'):
        os.setxattr(path, 'user.text', b'value')
        os.setxattr(path, 'user.binary', bytes(range(256)))
        os.setxattr(path, 'user.none', b'')
    os.setxattr('file', 'user.large', b'v' * 2000)
    os.setxattr('file', 'user.' + 'n' * 200, b'long name')
    os.chmod('read-only', 0o400)


def locked_attributes():
    """Only who may read a file may read the attributes of users, and only who may write to it may set them."""
    for name, mode in {'secret': 0, 'write only': 0o200, 'read-only': 0o400, 'run only': 0o100}.items():
        for path, content in ((name, b'x'), ('empty ' + name, b'')):
            put(path, content)
            os.link(path, 'twin of ' + path)
            os.setxattr(path, 'user.text', name.encode())
            os.chmod(path, mode)
    for mode in (0, 0o100, 0o200, 0o300, 0o400, 0o500, 0o600):
        name = 'directory %o' % mode
        os.makedirs(name + '/inner')
        put(name + '/inner/file', b'x')
        for path in (name + '/inner/file', name + '/inner', name):
            os.setxattr(path, 'user.text', name.encode())
            os.chmod(path, mode if path == name else 0o200)
    os.setxattr('.', 'user.text', b'of the tree itself')


def overlay_attributes():
    """As those have them who keep layers of overlays in a tree, containers say."""
    os.mkdir('directory')
    put('directory/file', b'x')
    put('removed')
    os.setxattr('directory', 'user.overlay.opaque', b'y')
    os.setxattr('directory/file', 'user.overlay.origin', b'')
    os.setxattr('directory/file', 'user.overlay.metacopy', b'')
    os.setxattr('removed', 'user.overlay.whiteout', b'')


def overlay_attributes_of_root():
    os.mkdir('directory')
    put('directory/file', b'x')
    os.setxattr('directory', 'trusted.overlay.opaque', b'y')
    os.setxattr('directory/file', 'trusted.overlay.redirect', b'/elsewhere')


def acls():
    def acl(*entries):
        return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in entries)

    nobody = 2**32 - 1
    # The owner, user 65534, the group, the mask and others.
    access = acl((1, 6, nobody), (2, 4, NOBODY), (4, 4, nobody), (16, 4, nobody), (32, 0, nobody))
    default = acl((1, 7, nobody), (2, 5, NOBODY), (4, 5, nobody), (16, 5, nobody), (32, 5, nobody))
    put('file', b'x')
    os.mkdir('directory')
    os.setxattr('file', 'system.posix_acl_access', access)
    os.setxattr('directory', 'system.posix_acl_access', default)
    os.setxattr('directory', 'system.posix_acl_default', default)
    # These inherit from it.
    put('directory/file', b'x')
    os.mkdir('directory/inner')


def privileged_attributes():
    put('program', b'x', 0o755)
    os.mkdir('directory')
    # Version 2: may bind to low ports.
    os.setxattr('program', 'security.capability', struct.pack('<5I', 0x02000001, 1 << 10, 0, 0, 0))
    for path in ('program', 'directory'):
        os.setxattr(path, 'trusted.note', b'only root sees this')
    os.symlink('nowhere', 'link')
    os.setxattr('link', 'trusted.note', b'on a link', follow_symlinks=False)


def empty_directories():
    os.makedirs('a/b/c')
    os.makedirs('a/d')
    os.mkdir('.hidden')


def repositories():
    def git(*words, at='.'):
        settings = ('-c', 'user.name=A', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main')
        environment = {**os.environ, 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_SYSTEM': '/dev/null'}
        subprocess.run(('git', *settings, *words), cwd=at, env=environment, check=True, stdout=subprocess.DEVNULL)

    for at in ('outer', 'outer/nested', 'outer/ignored/deep'):
        os.makedirs(at, exist_ok=True)
        git('init', '-q', at=at)
        put(at + '/.gitignore', b'ignored\n*.log\n')
        put(at + '/tracked', b'tracked')
        git('add', '.gitignore', 'tracked', at=at)
        git('commit', '-q', '-m', 'first', at=at)
        put(at + '/untracked', b'untracked')
        put(at + '/some.log', b'ignored')
    os.mkdir('outer/nested/ignored')
    put('outer/nested/ignored/file', b'kept all the same')


def names():
    for name in (
        b'-rf *',
        b'--',
        b'new\nline',
        b'carriage\rreturn',
        b'back\\slash',
        b'tab\t',
        b' space ',
        b'"quoted"',
        b"'",
        b'$(touch x)',
        b'%s%n',
        b'\x01\x02\x7f\x1b[31m',
        b'\xff\xfe',
        b'\xc3',
        'é'.encode(),
        'e\u0301'.encode(),
        '名前 🦀'.encode(),
        'x'.encode() * 255,
        '名'.encode() * 85,
        b'...',
        b'.. ',
        b'.wh.file',
        b'.wh..wh..opq',
        b'A',
        b'a',
        b'CON',
        b'index.lock',
        b'.aw-storage',
    ):
        put(name, name)
        os.mkdir(b'd' + name[:254])
        put(b'd' + name[:254] + b'/' + name, name)


def deep():
    for level in range(200):
        name = '%03d' % level + 'd' * 180
        os.mkdir(name)
        os.chdir(name)
    put('bottom', b'reached')
    os.symlink('bottom', 'link')


def locked():
    put('secret', b'nobody may read this', 0)
    put('write only', b'x', 0o200)
    os.mkdir('closed')
    os.mkdir('closed/inner')
    put('twin', b'under several names', 0o200)
    for name in ('another twin', 'closed/twin', 'closed/inner/twin'):
        os.link('twin', name)
    put('empty twin', b'', 0)
    os.link('empty twin', 'closed/empty twin')
    put('closed/inner/file', b'behind a closed door', 0)
    os.chmod('closed/inner', 0)
    os.chmod('closed', 0)
    os.mkdir('read-only')
    put('read-only/file', b'x', 0o444)
    os.mkdir('read-only/directory')
    os.chmod('read-only', 0o555)
    os.mkdir('not to be searched')
    put('not to be searched/file', b'x')
    os.chmod('not to be searched', 0o600)


def specials():
    os.mkfifo('pipe')
    os.mkfifo('private pipe', 0o600)
    os.mkdir('d')
    with socket.socket(socket.AF_UNIX) as server:
        server.bind('d/socket')
    os.chmod('d/socket', 0o755)


def devices():
    os.mknod('null', stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(7, 200))
    os.mknod('large number', stat.S_IFCHR | 0o644, os.makedev(511, 200_000))


def whiteouts():
    """Overlays mark what was removed with such a device; in another's tree it is one like any other."""
    os.mkdir('directory')
    for name in ('removed', 'directory/removed'):
        os.mknod(name, stat.S_IFCHR, os.makedev(0, 0))
