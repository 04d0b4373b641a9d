/*
 * The table is a deny list with an end: what is known to be dangerous or to reach past the sandbox is refused, and so
 * is every call newer than this table. Each entry has its reason. Numbers that an architecture lacks are left out by
 * the compiler.
 */
#include "backend/linux/seccomp_table.h"

#include <sys/syscall.h>

/* Calls that the build host's headers may not have yet. Since 5.x all architectures share these numbers. */
enum {
	nr_landlock_last = 446,
	nr_memfd_secret = 447,
	nr_process_mrelease = 448,
	nr_set_mempolicy_home_node = 450,
	nr_fchmodat2 = 452,
	nr_statmount = 457,
	nr_listmount = 458,
	nr_setxattrat = 463,
	nr_getxattrat = 464,
	nr_removexattrat = 466,
	nr_lsm_set_self_attr = 460,
	nr_open_tree_attr = 467,
};

/* 466 removexattrat is an ordinary file call; 467 open_tree_attr is a mount call. */
const int qsb__call_last = nr_open_tree_attr;

const struct qsb__call qsb__calls[] = {
	/* A sandbox inside could gain capabilities in a new user namespace, and with them the kernel's widest attack
	 * surface. clone3 hides its flags in memory where no filter sees them: libc falls back to clone. */
	{SYS_clone, QSB__CALL_NAMESPACES, 1},
	{SYS_unshare, QSB__CALL_NAMESPACES, 1},
	{SYS_clone3, QSB__CALL_ABSENT, 0},
	{SYS_setns, QSB__CALL_TELL, 1},
	/* Mounts, old and new. */
	{SYS_mount, QSB__CALL_TELL, 1},
	{SYS_umount2, QSB__CALL_TELL, 1},
	{SYS_pivot_root, QSB__CALL_TELL, 1},
	{SYS_chroot, QSB__CALL_TELL, 1},
	{SYS_open_tree, QSB__CALL_TELL, 1},
	{SYS_move_mount, QSB__CALL_TELL, 1},
	{SYS_fsopen, QSB__CALL_TELL, 1},
	{SYS_fsconfig, QSB__CALL_TELL, 1},
	{SYS_fsmount, QSB__CALL_TELL, 1},
	{SYS_fspick, QSB__CALL_TELL, 1},
	{SYS_mount_setattr, QSB__CALL_TELL, 1},
	{nr_open_tree_attr, QSB__CALL_TELL, 1},
	/* The path lies in a struct in memory; programs fall back to openat. */
	{SYS_openat2, QSB__CALL_ABSENT, 1},
	/* Opens sockets and files behind every filter. */
	{SYS_io_uring_setup, QSB__CALL_ABSENT, 0},
	{SYS_io_uring_enter, QSB__CALL_ABSENT, 0},
	{SYS_io_uring_register, QSB__CALL_ABSENT, 0},
	/* Opens a file by its number, past every path rule. */
	{SYS_open_by_handle_at, QSB__CALL_TELL, 0},
	/* Code in the kernel, and windows into it. */
	{SYS_bpf, QSB__CALL_TELL, 0},
	{SYS_perf_event_open, QSB__CALL_TELL, 0},
	{SYS_userfaultfd, QSB__CALL_TELL, 0},
	{SYS_init_module, QSB__CALL_TELL, 0},
	{SYS_finit_module, QSB__CALL_TELL, 0},
	{SYS_delete_module, QSB__CALL_TELL, 0},
	{SYS_kexec_load, QSB__CALL_TELL, 0},
	{SYS_kexec_file_load, QSB__CALL_TELL, 0},
	{SYS_kcmp, QSB__CALL_REFUSE, 0},
	{SYS_lookup_dcookie, QSB__CALL_REFUSE, 0},
	{SYS_syslog, QSB__CALL_TELL, 0},
	/* Keys are the user's, not the namespace's. */
	{SYS_add_key, QSB__CALL_TELL, 0},
	{SYS_keyctl, QSB__CALL_TELL, 0},
	{SYS_request_key, QSB__CALL_TELL, 0},
	/* The machine as a whole. */
	{SYS_reboot, QSB__CALL_TELL, 0},
	{SYS_swapon, QSB__CALL_TELL, 0},
	{SYS_swapoff, QSB__CALL_TELL, 0},
	{SYS_acct, QSB__CALL_TELL, 0},
	{SYS_quotactl, QSB__CALL_REFUSE, 0},
	{SYS_quotactl_fd, QSB__CALL_REFUSE, 0},
	{SYS_settimeofday, QSB__CALL_TELL, 0},
	{SYS_clock_settime, QSB__CALL_TELL, 0},
	{SYS_adjtimex, QSB__CALL_REFUSE, 0},
	{SYS_clock_adjtime, QSB__CALL_REFUSE, 0},
	{SYS_sethostname, QSB__CALL_TELL, 1},
	{SYS_setdomainname, QSB__CALL_TELL, 1},
	{SYS_vhangup, QSB__CALL_TELL, 0},
	{SYS_nfsservctl, QSB__CALL_REFUSE, 0},
	{SYS_fanotify_init, QSB__CALL_TELL, 0},
	{SYS_move_pages, QSB__CALL_REFUSE, 0},
	{SYS_migrate_pages, QSB__CALL_REFUSE, 0},
	{nr_lsm_set_self_attr, QSB__CALL_REFUSE, 0},
	/* Memory that no limit of ours sees. */
	{nr_memfd_secret, QSB__CALL_ABSENT, 0},
	{SYS_personality, QSB__CALL_PERSONALITY, 0},
	{SYS_ioctl, QSB__CALL_IOCTL, 0},
	/* A lease on a file of the host makes everybody else wait who opens it. */
	{SYS_fcntl, QSB__CALL_FCNTL, 0},
	{SYS_socket, QSB__CALL_SOCKET, 0},
	{SYS_socketpair, QSB__CALL_SOCKETPAIR, 0},
	/* A path or an address in memory: the supervisor copies it, judges it and makes the call itself. */
	{SYS_connect, QSB__CALL_ASK, 0},
	/* Memory that belongs to no process: the watch must know that there is some. */
	{SYS_memfd_create, QSB__CALL_ASK_MEMORY, 0},
	/* The limit on processors would be the command's own to lift. */
	{SYS_sched_setaffinity, QSB__CALL_ASK_CPUS, 0},
	/* A setuid file in the workspace would serve every other user of this machine. */
	{SYS_fchmod, QSB__CALL_MODE_1, 0},
	{SYS_fchmodat, QSB__CALL_MODE_2, 0},
	{nr_fchmodat2, QSB__CALL_MODE_2, 0},
	{SYS_mknodat, QSB__CALL_MODE_2, 0},
	{SYS_openat, QSB__CALL_OPEN_3, 0},
#ifdef SYS_chmod /* the calls that only older architectures have */
	{SYS_chmod, QSB__CALL_MODE_1, 0},
	{SYS_creat, QSB__CALL_MODE_1, 0},
	{SYS_mknod, QSB__CALL_MODE_1, 0},
	{SYS_open, QSB__CALL_OPEN_2, 0},
	{SYS_modify_ldt, QSB__CALL_REFUSE, 0},
	{SYS_iopl, QSB__CALL_TELL, 0},
	{SYS_ioperm, QSB__CALL_TELL, 0},
	{SYS_uselib, QSB__CALL_REFUSE, 0},
	{SYS_ustat, QSB__CALL_ABSENT, 0},
	{SYS_sysfs, QSB__CALL_ABSENT, 0},
	{SYS__sysctl, QSB__CALL_ABSENT, 0},
	{SYS_create_module, QSB__CALL_ABSENT, 0},
	{SYS_get_kernel_syms, QSB__CALL_ABSENT, 0},
	{SYS_query_module, QSB__CALL_ABSENT, 0},
	{SYS_vserver, QSB__CALL_ABSENT, 0},
#endif
};

const size_t qsb__call_count = sizeof(qsb__calls) / sizeof(qsb__calls[0]);

const struct qsb__told_call qsb__told_calls[] = {
	{SYS_clone, "clone", "a sandbox inside, or other mounts"},
	{SYS_unshare, "unshare", "a sandbox inside, or other mounts"},
	{SYS_setns, "setns", "a sandbox inside, or other mounts"},
	{SYS_mount, "mount", "a sandbox inside, or other mounts"},
	{SYS_umount2, "umount", "a sandbox inside, or other mounts"},
	{SYS_pivot_root, "pivot_root", "a sandbox inside, or other mounts"},
	{SYS_chroot, "chroot", "a sandbox inside, or other mounts"},
	{SYS_open_tree, "open_tree", "a sandbox inside, or other mounts"},
	{SYS_move_mount, "move_mount", "a sandbox inside, or other mounts"},
	{SYS_fsopen, "fsopen", "a sandbox inside, or other mounts"},
	{SYS_fsconfig, "fsconfig", "a sandbox inside, or other mounts"},
	{SYS_fsmount, "fsmount", "a sandbox inside, or other mounts"},
	{SYS_fspick, "fspick", "a sandbox inside, or other mounts"},
	{SYS_mount_setattr, "mount_setattr", "a sandbox inside, or other mounts"},
	{SYS_open_by_handle_at, "open_by_handle_at", "files by number, past every path"},
	{SYS_bpf, "bpf", "code in the kernel, or a view into it"},
	{SYS_perf_event_open, "perf_event_open", "code in the kernel, or a view into it"},
	{SYS_userfaultfd, "userfaultfd", "code in the kernel, or a view into it"},
	{SYS_init_module, "init_module", "code in the kernel, or a view into it"},
	{SYS_finit_module, "finit_module", "code in the kernel, or a view into it"},
	{SYS_delete_module, "delete_module", "code in the kernel, or a view into it"},
	{SYS_kexec_load, "kexec_load", "code in the kernel, or a view into it"},
	{SYS_kexec_file_load, "kexec_file_load", "code in the kernel, or a view into it"},
	{SYS_syslog, "syslog", "the kernel's messages"},
	{SYS_add_key, "add_key", "the user's own keys"},
	{SYS_keyctl, "keyctl", "the user's own keys"},
	{SYS_request_key, "request_key", "the user's own keys"},
	{SYS_reboot, "reboot", "the machine as a whole"},
	{SYS_swapon, "swapon", "the machine as a whole"},
	{SYS_swapoff, "swapoff", "the machine as a whole"},
	{SYS_acct, "acct", "the machine as a whole"},
	{SYS_settimeofday, "settimeofday", "the machine as a whole"},
	{SYS_clock_settime, "clock_settime", "the machine as a whole"},
	{SYS_sethostname, "sethostname", "the machine as a whole"},
	{SYS_setdomainname, "setdomainname", "the machine as a whole"},
	{SYS_vhangup, "vhangup", "the machine as a whole"},
	{SYS_fanotify_init, "fanotify_init", "what others do with files"},
	{SYS_socket, "socket", "sockets that reach past the sandbox"},
	{SYS_ioctl, "ioctl", "keys typed into the terminal"},
	{nr_open_tree_attr, "open_tree_attr", "a sandbox inside, or other mounts"},
#ifdef SYS_iopl
	{SYS_iopl, "iopl", "the machine's ports"},
	{SYS_ioperm, "ioperm", "the machine's ports"},
#endif
};

const size_t qsb__told_call_count = sizeof(qsb__told_calls) / sizeof(qsb__told_calls[0]);

const struct qsb__call qsb__guarded_calls[] = {
	{SYS_openat, QSB__CALL_ASK_OPEN_3, 0},
	{SYS_mkdirat, QSB__CALL_ASK, 0},
	{SYS_mknodat, QSB__CALL_ASK_MODE_2, 0},
	{SYS_symlinkat, QSB__CALL_ASK, 0},
	{SYS_linkat, QSB__CALL_ASK, 0},
	{SYS_unlinkat, QSB__CALL_ASK, 0},
	{SYS_renameat, QSB__CALL_ASK, 0},
	{SYS_renameat2, QSB__CALL_ASK, 0},
	{SYS_bind, QSB__CALL_ASK, 0},
	{SYS_fchmod, QSB__CALL_ASK_MODE_1, 0},
	{SYS_fchmodat, QSB__CALL_ASK_MODE_2, 0},
	{nr_fchmodat2, QSB__CALL_ASK_MODE_2, 0},
	{SYS_fchown, QSB__CALL_ASK, 0},
	{SYS_fchownat, QSB__CALL_ASK, 0},
	{SYS_utimensat, QSB__CALL_ASK_PATH_1, 0},
	{SYS_truncate, QSB__CALL_ASK, 0},
	{SYS_setxattr, QSB__CALL_ASK, 0},
	{SYS_lsetxattr, QSB__CALL_ASK, 0},
	{SYS_fsetxattr, QSB__CALL_ASK, 0},
	{SYS_removexattr, QSB__CALL_ASK, 0},
	{SYS_lremovexattr, QSB__CALL_ASK, 0},
	{SYS_fremovexattr, QSB__CALL_ASK, 0},
	/* Only counted: files are made with the caller's umask, which is read anew after it. */
	{SYS_umask, QSB__CALL_ASK, 0},
	/* Only counted, too: the guard keeps a caller's working folder until then. */
	{SYS_chdir, QSB__CALL_ASK, 0},
	{SYS_fchdir, QSB__CALL_ASK, 0},
	/* Only waits until the guard has closed what it opened for somebody. */
	{SYS_flock, QSB__CALL_ASK, 0},
	{SYS_fcntl, QSB__CALL_GUARDED_FCNTL, 0},
	/* The same by other means: programs take the calls above then. */
	{nr_setxattrat, QSB__CALL_ABSENT, 0},
	{nr_removexattrat, QSB__CALL_ABSENT, 0},
	/* Rules that a program sets for itself would not bind what the guard does for it: it is told of none. */
	{SYS_landlock_create_ruleset, QSB__CALL_ABSENT, 0},
	{SYS_landlock_add_rule, QSB__CALL_ABSENT, 0},
	{SYS_landlock_restrict_self, QSB__CALL_ABSENT, 0},
	{SYS_ioctl, QSB__CALL_GUARDED_IOCTL, 0},
	{SYS_clone, QSB__CALL_GUARDED_CLONE, 0},
#ifdef SYS_chmod
	{SYS_open, QSB__CALL_ASK_OPEN_2, 0},
	{SYS_creat, QSB__CALL_ASK_MODE_1, 0},
	{SYS_mkdir, QSB__CALL_ASK, 0},
	{SYS_mknod, QSB__CALL_ASK_MODE_1, 0},
	{SYS_symlink, QSB__CALL_ASK, 0},
	{SYS_link, QSB__CALL_ASK, 0},
	{SYS_unlink, QSB__CALL_ASK, 0},
	{SYS_rmdir, QSB__CALL_ASK, 0},
	{SYS_rename, QSB__CALL_ASK, 0},
	{SYS_chmod, QSB__CALL_ASK_MODE_1, 0},
	{SYS_chown, QSB__CALL_ASK, 0},
	{SYS_lchown, QSB__CALL_ASK, 0},
	{SYS_utime, QSB__CALL_ASK, 0},
	{SYS_utimes, QSB__CALL_ASK, 0},
	{SYS_futimesat, QSB__CALL_ASK, 0},
#endif
};

const size_t qsb__guarded_call_count = sizeof(qsb__guarded_calls) / sizeof(qsb__guarded_calls[0]);

const struct qsb__call qsb__guarded_reads[] = {
	{SYS_openat, QSB__CALL_ASK_READ_3, 0},
#ifdef SYS_chmod
	{SYS_open, QSB__CALL_ASK_READ_2, 0},
#endif
	/* An attribute's value can be as secret as the file. */
	{SYS_getxattr, QSB__CALL_NO_ATTRIBUTE, 0},
	{SYS_lgetxattr, QSB__CALL_NO_ATTRIBUTE, 0},
	{nr_getxattrat, QSB__CALL_ABSENT, 0},
};

const size_t qsb__guarded_read_count = sizeof(qsb__guarded_reads) / sizeof(qsb__guarded_reads[0]);
