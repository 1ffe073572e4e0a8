/**
 * Below the root of a workspace, names belong to whoever works there; only sys/safe-fs opens them. Any other module that
 * opens files is listed here with what it opens, so that a new one is looked at before it is let in.
 */
import { expect, test } from 'vitest'
import { importsOf } from './imports.ts'
import { isTest, readFiles, type SourceFile } from './source-tree.ts'

const allowed: Readonly<Record<string, string>> = {
  'src/drivers/events/sqlite/mapped-file.ts': 'the file beside the log that SQLite maps into memory',
  'src/drivers/events/sqlite/wal.ts': 'the file beside the log in which SQLite writes what is committed',
  'src/drivers/events/sqlite/retry-busy.ts': 'the same file, to ask when it was written',
  'src/sys/trees/pair-renames.ts': 'nothing: closes files that were opened for it, by what was seen there before',
  'src/drivers/sandbox/box/kept-log.ts': 'the log of a run, which the supervisor writes outside every workspace',
  'src/drivers/agents/host/directories.ts':
    'nothing: asks whose a directory of ours is, and closes what it has made in it',
  'src/drivers/agents/host/user-files.ts': 'files of the user: profiles in the home, and credentials',
  'src/drivers/archives/archive/digest.ts': 'nothing: reads an open archive',
  'src/drivers/archives/archive/expand.ts': 'nothing: reads an open archive',
  'src/drivers/archives/archive/holes.ts': 'nothing: asks about an open file',
  'src/drivers/archives/archive/make-tree.ts':
    'nothing: closes what it has made, in a tree that nobody else can reach yet',
  'src/drivers/archives/archive/pack.ts': 'the top of a tree that nobody else writes to, and where the archive goes',
  'src/drivers/archives/archive/store.ts':
    'nothing: lists and asks about files in the directory for archives, which is ours alone',
  'src/drivers/archives/archive/source.ts': 'an archive that the user gave',
  'src/drivers/archives/archive/unpack.ts': 'the top of a tree that nobody else can reach yet',
  'src/drivers/archives/archive/write-tree.ts':
    'files of a tree that nobody else writes to, each by one name in an open directory',
  'src/sys/home/bridge-directory.ts': 'the directory of the home where the daemon listens for sandboxes',
  'src/sys/home/bridge-socket.ts': 'the same directory',
  'src/drivers/sandbox/box/program.ts': 'nothing: asks where a program of the package is',
  'src/drivers/sandbox/box/start/bwrap-program.ts': 'nothing: asks which build of a program there is',
  'src/drivers/sandbox/box/handles.ts': 'small files of the directory for sandboxes, and our own program',
  'src/drivers/sandbox/box/start/launch.ts': 'files in the directory of a sandbox, which is ours alone',
  'src/drivers/sandbox/box/start/layers.ts':
    'files of a tree that nobody else can reach, by one name in an open directory',
  'src/drivers/sandbox/box/start/mounts.ts': 'nothing: closes what was opened for it',
  'src/drivers/sandbox/box/start/host-view.ts': 'nothing: asks which directories may be entered',
  'src/drivers/sandbox/box/shared-files.ts': 'small files of the directory for sandboxes',
  'src/drivers/sandbox/box/start/proxy-settings.ts': 'nothing: closes what it has made in the directory of a sandbox',
  'src/drivers/sandbox/box/record.ts': 'the directory for sandboxes, which is ours alone',
  'src/drivers/sandbox/box/remove.ts': 'the directory of a sandbox, which is ours alone',
  'src/drivers/sandbox/box/start/mount-sources.ts':
    'what is mounted in a sandbox, for its name only and without following a link',
  'src/drivers/sandbox/box/start/start.ts': 'the directory of a sandbox, which is ours alone',
  'src/drivers/sandbox/box/start/system-view.ts': 'nothing: asks what the system has',
  'src/drivers/sandbox/wall-trial.ts': 'our own program, and an empty file that it makes to try walls with',
  'src/drivers/sandbox/box/tree.ts': 'nothing: asks about what is open',
  'src/drivers/sandbox/box/temporary-files.ts': 'nothing: closes what it has made in the directory for sandboxes',
  'src/drivers/sandbox/box/start/user.ts': 'nothing: asks about directories and file systems',
  'src/drivers/sandbox/walls/cgroups/control.ts': 'what the kernel tells and is told in its cgroups',
  'src/drivers/sandbox/walls/cgroups/group.ts': 'nothing: asks what there is in the cgroups',
  'src/drivers/sandbox/walls/cgroups/hierarchies.ts': '/proc',
  'src/drivers/sandbox/walls/landlock.ts': 'what a set of rules is about, for its name only',
  'src/drivers/storage/btrfs/kernel/files.ts':
    'files of a tree by descriptors, each found by a walk that follows nothing',
  'src/drivers/storage/btrfs/kernel/quota.ts': 'what the kernel tells in /sys',
  'src/drivers/storage/btrfs/kernel/subvolume.ts':
    'the directories that hold trees, and the roots of the trees themselves',
  'src/sys/fs/canonical.ts': 'nothing: asks where a path leads',
  'src/drivers/events/sqlite/connection.ts': 'nothing: asks how large a file beside the log is',
  'src/sys/trees/compare.ts': 'two trees by descriptors, files that are known to be files',
  'src/drivers/storage/btrfs/kernel/device.ts': 'the root of a btrfs, to ask about it',
  'src/sys/fs/file-system.ts': 'nothing: asks about the machine',
  'src/drivers/storage/root/remove-root.ts': 'the areas of a storage root, which hold trees and are not in one',
  'src/drivers/storage/pool/loop.ts': 'loop devices',
  'src/drivers/sandbox/walls/namespace-fix.ts': 'nothing: asks whether this is a container',
  'src/sys/copy/chown-like.ts': 'what was just made, in a tree that nobody else can reach yet',
  'src/sys/copy/chown-tree.ts': 'the top of what was just made, in a place that nobody else can reach yet',
  'src/drivers/storage/pool/image.ts': 'the image of a pool, a file of the home',
  'src/drivers/storage/pool/mount.ts': '/proc',
  'src/drivers/storage/pool/location.ts': 'the home and what holds the storage root',
  'src/drivers/storage/pool/record.ts': 'a file of the home',
  'src/drivers/storage/pool/report.ts': 'nothing: asks how much is free',
  'src/drivers/storage/pool/pool.ts': 'the mount point of a pool',
  'src/drivers/storage/dir/store/gather-contents.ts':
    'the folder that a tree was copied from, each directory and file by one name in an open one, and only files',
  'src/drivers/storage/dir/create.ts': 'the top of a tree that it makes, and of one that it fills',
  'src/drivers/storage/dir/store/damaged.ts': 'nothing: lists and asks about contents that the store has put aside',
  'src/sys/trees/directory-cache.ts': 'directories of a tree, each by one name in an open one',
  'src/drivers/storage/dir/snapshot.ts': 'the top of a tree',
  'src/drivers/storage/dir/store/inspect.ts': 'nothing: asks how large contents of the store are',
  'src/sys/trees/owner-and-mode.ts': 'what it has just made, by one name in an open directory',
  'src/drivers/storage/dir/store/make-entry.ts': 'what it has just made, by one name in an open directory',
  'src/drivers/storage/dir/store/manifest.ts': 'manifests of the store',
  'src/drivers/storage/dir/store/materialise.ts':
    'the directory of the contents of the store, and directories of a tree, each by one name in an open one',
  'src/drivers/storage/dir/store/objects.ts': 'contents of the store',
  'src/drivers/storage/dir/store/preconditions.ts': 'contents of the store',
  'src/drivers/storage/dir/store/scan/read-file.ts': 'contents of the store, and the top of a tree',
  'src/drivers/storage/dir/store/verify-recorded.ts': 'the top of a tree that nobody writes to',
  'src/drivers/storage/dir/restore.ts': 'journals of the store, and the top of a tree',
  'src/drivers/storage/dir/store/scan/read-entry.ts': 'nothing: reads and closes what was opened for it',
  'src/drivers/storage/dir/store/scan/stat-index.ts': 'indexes of the store',
  'src/drivers/storage/dir/store/store.ts': 'directories of the store',
  'src/drivers/storage/dir/store/sweep.ts': 'directories of the store',
  'src/sys/copy/directory.ts': 'directories of a source folder and of its copy, each by one name in an open one',
  'src/sys/copy/entry.ts': 'a file of a source folder that is known to be a file',
  'src/sys/copy/git-link.ts': 'the .git of a directory of a source folder, by that name in an open one',
  'src/sys/copy/links.ts': 'directories of a tree that nobody else can reach yet, by descriptors',
  'src/sys/copy/helper.ts': 'nothing: asks where a program of the package is',
  'src/sys/processes/package-folder.ts': 'nothing: asks where our own package is',
  'src/sys/copy/tree.ts': 'a source folder, by descriptors, into a tree that nobody else can reach yet',
  'src/sys/locks/disk-full.ts': 'a file of the home, to see whether one can be written',
  'src/sys/fs/durable-file.ts': 'small files of the home',
  'src/drivers/repositories/git/fetch.ts': 'a repository of ours beside a cache',
  'src/sys/git/folder.ts': 'a repository that others write to, by descriptors, without following a link',
  'src/drivers/repositories/git/index-file.ts': 'what git has just written, in a tree that nobody else can reach yet',
  'src/drivers/repositories/git/inventory.ts': 'the directory of the caches',
  'src/sys/git/layout.ts': 'nothing: closes what it has made',
  'src/drivers/repositories/git/local-clone.ts': 'nothing: closes what was opened for it',
  'src/sys/git/local.ts': 'nothing: asks what a source repository is',
  'src/drivers/repositories/git/mirror.ts': 'caches of repositories, which only we write to',
  'src/drivers/repositories/git/objects.ts': 'nothing: closes what was opened for it',
  'src/drivers/repositories/git/read-object.ts': 'nothing: reads what was opened for it',
  'src/drivers/repositories/git/remote-clone.ts':
    'a directory that a clone is made in, which nobody else can reach yet',
  'src/drivers/results/git/result-files.ts': 'what git has just written into a repository of ours',
  'src/drivers/results/git/staging-repository.ts': 'the top of a tree that nobody else writes to',
  'src/drivers/repositories/git/scratch.ts': 'the directory of the caches',
  'src/drivers/results/git/target.ts': 'nothing: asks where a repository of the user is, and which work trees it has',
  'src/drivers/results/git/tree-stream.ts':
    'files of a tree that nobody else writes to, each by one name in an open directory',
  'src/cli/connect.ts': 'nothing: asks whether a daemon has left its socket, and when the settings were written',
  'src/sys/home/daemon-files.ts': 'the socket, the record and the log of a daemon, in the home itself',
  'src/cli/user-file/self-command.ts': 'nothing: asks where our own command is',
  'src/cli/hook/find-workspace.ts': 'nothing: asks where a path leads',
  'src/sys/git/work-tree.ts': 'nothing: asks what there is; a repository of the user is read by folder',
  'src/drivers/repositories/git/uncommitted.ts':
    'nothing: asks what there is; a repository of the user is read by folder',
  'src/sys/home/user-file.ts': 'a settings file of the user',
  'src/drivers/repositories/git/update-mirror.ts': 'caches of repositories, which only we write to',
  'src/sys/trees/folder-index.ts': 'indexes of the storage root',
  'src/sys/home/home.ts': 'the home itself',
  'src/sys/copy/host-copy.ts': 'what a user names on the machine; what is in a tree by copy-tree',
  'src/sys/fs/host-fs.ts': 'nothing by itself: the calls that others make',
  'src/sys/processes/ids.ts': '/proc',
  'src/sys/home/inspect.ts': 'nothing: asks about the machine',
  'src/sys/fs/directories.ts': 'the directories of the home and the storage root',
  'src/sys/fs/links.ts': 'the links to workspaces, in directories of the home',
  'src/sys/locks/lock-file.ts': 'the lock files of the home',
  'src/drivers/storage/overlay/kernel/mounted-once.ts': 'the mount namespaces of the machine',
  'src/sys/fs/mounts.ts': '/proc, and what it has mounted itself',
  'src/sys/fs/cache-file.ts': 'small files of the home',
  'src/sys/fs/new-file.ts': 'nothing: makes a file where the user wants one',
  'src/sys/syscalls/native.ts': 'nothing by itself: the calls that others make',
  'src/drivers/storage/overlay/kernel/changes.ts': 'the top of a layer or of a tree; what is below it by descriptors',
  'src/drivers/storage/overlay/kernel/other-namespaces.ts':
    'the top of a tree that a sandbox has mounted, name by name, without following a link',
  'src/drivers/storage/overlay/kernel/holder.ts': 'the top of what it has mounted itself',
  'src/drivers/storage/overlay/kernel/layers.ts':
    'layers of a storage root, and their tops, which have no names of others on the way',
  'src/drivers/storage/overlay/kernel/links.ts':
    'the index that the kernel keeps beside a layer; files of a tree by descriptors',
  'src/drivers/storage/overlay/kernel/mount-lock.ts': 'a file for locks in the storage root',
  'src/sys/locks/queue-lock.ts': 'a file for locks in the storage root',
  'src/drivers/storage/overlay/kernel/mount-point.ts': 'the areas of a storage root, where trees are mounted',
  'src/drivers/storage/overlay/probe.ts': 'nothing: asks what file system a directory is on',
  'src/drivers/storage/overlay/kernel/records.ts': 'the records of a storage root, which say what trees are made of',
  'src/drivers/storage/overlay/kernel/replay.ts': 'a tree by descriptors, into one that nobody else can reach yet',
  'src/sys/processes/process.ts': '/proc',
  'src/sys/processes/process-use.ts': '/proc, and the top of a tree to ask for its mount',
  'src/drivers/sandbox/proxy/log.ts': 'nothing: writes to an open file',
  'src/drivers/sandbox/proxy/settings.ts': 'a file that the driver of a box wrote for its proxy',
  'src/drivers/agents/programs/find.ts': 'nothing: asks where programs of the user are',
  'src/drivers/agents/programs/package.ts': 'the package.json of a program of the user',
  'src/drivers/agents/programs/script.ts': 'how a program of the user begins',
  'src/sys/trees/read.ts': 'one file of a tree by descriptors, without following a link',
  'src/sys/copy/read-named.ts': 'what a descriptor names already',
  'src/sys/copy/read-rules.ts': 'a file of a source folder that is known to be a file, without following a link',
  'src/sys/fs/reserve.ts': 'a file of the home that only takes up room',
  'src/sys/processes/run.ts': 'nothing: asks where a program is',
  'src/drivers/storage/overlay/kernel/sealed-directory.ts':
    'a directory that a tree is mounted on, which nobody else may enter',
  'src/sys/copy/source-folder.ts': 'nothing: asks what a source folder is',
  'src/sys/processes/start-program.ts': 'nothing: opens the device that swallows what a program complains about',
  'src/drivers/storage/root/root.ts': 'the areas of a storage root, which hold trees and are not in one',
  'src/sys/trees/sync.ts': 'files of a tree by descriptors, to make them durable',
  'src/sys/copy/target-path.ts': 'nothing: asks where a path leads',
  'src/sys/processes/tcp-peers.ts': 'lists of sockets that the kernel has in /proc',
  'src/sys/trees/writeback.ts': 'the top of a tree that nobody else can reach yet',
  'src/sys/trees/content-hash.ts': 'nothing: reads an open file',
  'src/sys/trees/link-target.ts': 'nothing: asks where a link in an open directory leads',
  'src/sys/trees/mounts-in.ts': 'the top of a tree, to learn what is mounted below it',
  'src/sys/trees/open-into.ts': 'directories of a tree, each by one name in an open one',
  'src/sys/trees/open-subpath.ts': 'directories of a tree, each by one name in an open one',
  'src/sys/trees/same-bytes.ts': 'nothing: reads open files',
  'src/sys/trees/stat.ts': 'names in an open directory, without opening what they name',
  'src/sys/trees/unlock.ts': 'a file in an open directory that is known to be a file',
  'src/sys/trees/walk.ts': 'directories of a tree, each by one name in an open one',
  'src/sys/trees/write-out.ts': 'the top of a tree or a source folder, to have all of its file system written out',
  'src/cli/help/explain.ts': 'nothing: asks whether there is what the user gave on the command line',
  'src/cli/input/input.ts': 'what the user gave on the command line',
  'src/cli/io.ts': 'what the user gave on the command line',
  'src/cli/tour.ts': 'a directory of its own, to show things in',
}

const opensFiles = (file: SourceFile): boolean =>
  importsOf(file).some(({ kind, specifier }) => kind !== 'type' && /^(node:)?fs(\/promises)?$/.test(specifier))

const isFree = ({ path }: SourceFile): boolean => path.startsWith('src/sys/safe-fs/') || path in allowed

const uninvited = (files: readonly SourceFile[]): string[] =>
  files.filter((file) => opensFiles(file) && !isFree(file)).map(({ path }) => path)

test('below a root, only sys/safe-fs opens anything', () => {
  const sources = readFiles('src/**/*.ts').filter((file) => !isTest(file))
  expect(sources.some(({ path }) => path.startsWith('src/sys/safe-fs/'))).toBe(true)
  expect(uninvited(sources)).toEqual([])
})

test('the list names only modules that open files', () => {
  const opening = readFiles('src/**/*.ts').filter(opensFiles)
  const paths = new Set(opening.map(({ path }) => path))
  expect(Object.keys(allowed).filter((path) => !paths.has(path))).toEqual([])
})

test.each([
  `import * as fs from 'node:fs'`,
  `const { open } = await import('node:fs/promises')`,
  `import fs from 'fs'`,
])('the rule finds %s', (text) => {
  expect(uninvited([{ path: 'src/sys/another.ts', text }])).toEqual(['src/sys/another.ts'])
})

test('types alone open nothing', () => {
  expect(uninvited([{ path: 'src/sys/another.ts', text: `import type { Stats } from 'node:fs'` }])).toEqual([])
})
