/**
 * What to do where this machine cannot have a sandbox, or a limit of one: the same words in every `sandbox_unenforceable`
 * and in `aw doctor`.
 */
export const fixes = {
  bubblewrap:
    'Install it with: sudo apt-get install bubblewrap (or dnf, apk, zypper, pacman); or ask for a level that holds less: --isolation guarded',
  newerBubblewrap: 'Install bubblewrap 0.8 or later (Debian 12, Ubuntu 24.04, Fedora 38 have it)',
  apparmor:
    'Ubuntu keeps user namespaces from programs without a profile. For bubblewrap alone: ' +
    `printf 'abi <abi/4.0>,\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/bwrap && ` +
    'sudo apparmor_parser -r /etc/apparmor.d/bwrap. For all programs: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0',
  maxUserNamespaces:
    'Allow user namespaces: sudo sysctl user.max_user_namespaces=10000, and in /etc/sysctl.d to keep it',
  usernsClone: 'Allow user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1, and in /etc/sysctl.d to keep it',
  noUserNamespaces: 'Use a kernel with user namespaces (CONFIG_USER_NS), or the isolation guarded',
  container:
    'A container keeps them away. Start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined ' +
    '--security-opt systempaths=unconfined (podman: --security-opt seccomp=unconfined --security-opt unmask=ALL) and run ' +
    'aw as a user that is not root, or add --cap-add SYS_ADMIN for root; or use the isolation guarded',
  containerProc:
    'A container hides a part of /proc, and the kernel then allows no other. Start it with --security-opt ' +
    'systempaths=unconfined (podman: --security-opt unmask=ALL), or use the isolation guarded',
  landlock:
    "Use Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK, and landlock in the list lsm= of the kernel's command line; " +
    'or use the isolation namespace',
  newerLandlock: 'Use Linux 6.12 or later, or the isolation namespace',
  calls:
    'The addon by which aw reaches Landlock does not load here. Install agent-workspaces again, or use the isolation ' +
    'namespace',
  cgroups:
    'Run aw as root, or where a cgroup is handed over to you: systemd-run --user --scope -p Delegate=yes aw ... ; in a ' +
    'container, mount /sys/fs/cgroup writable (--cgroupns=private -v /sys/fs/cgroup:/sys/fs/cgroup:rw)',
  box: 'The program for sandboxes is prebuilt for Linux on x64; elsewhere on Linux, build it in a checkout with: node tools/build-box.ts',
  doctor: 'See what this machine can do: aw doctor',
} as const
