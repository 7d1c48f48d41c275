/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rights of a trial: no capabilities, no new files but for reading, no processes, no network, a
 * second of processor time, 256 MiB.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elements/install/trial_process.h"

#define MEMORY_MAX_BYTES (256u << 20)
#define NICE		 10 /* the packets of others come first */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "trial_confine.c: name the architecture of this machine"
#endif

static int limit(__rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
	const struct rlimit value = { soft, hard };

	return setrlimit(resource, &value) ? -errno : 0;
}

int el_trial_limit_time(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return limit(RLIMIT_CPU, EL_TRIAL_CPU_S, EL_TRIAL_CPU_S + 1);
}

static int set_limits(void)
{
	int err = limit(RLIMIT_AS, MEMORY_MAX_BYTES, MEMORY_MAX_BYTES);

	if (!err)
		err = limit(RLIMIT_CORE, 0, 0);
	return err ? err : limit(RLIMIT_FSIZE, 0, 0);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

#define FIELD(member)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define END(what)	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##what)
#define ALLOW(call)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), END(ALLOW)
#define LOW_ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))

static int filter_calls(void)
{
	struct sock_filter code[] = {
		FIELD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		END(KILL_PROCESS),
		FIELD(nr),
		ALLOW(read),
		ALLOW(pread64),
		ALLOW(write), /* to what is open: the pipe, and standard error */
		ALLOW(close),
		ALLOW(fstat),
		ALLOW(newfstatat),
		ALLOW(lseek),
		ALLOW(mmap),
		ALLOW(mprotect),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW(brk),
		ALLOW(futex),
		ALLOW(getrandom),
		ALLOW(rt_sigreturn),
		ALLOW(exit),
		ALLOW(exit_group),
		/* its program is loaded, and is run */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 4),
		LOW_ARGUMENT(0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_PROG_TEST_RUN, 1, 0),
		END(KILL_PROCESS),
		END(ALLOW),
		/* the dynamic linker opens what it loads */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
		END(KILL_PROCESS),
		LOW_ARGUMENT(2),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC, 0, 1),
		END(KILL_PROCESS),
		END(ALLOW),
	};
	const struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -errno;
	return 0;
}

int el_trial_confine(void)
{
	int err;

	if (close_range(EL_TRIAL_PROGRAM_FD + 1, ~0u, 0) || setpriority(PRIO_PROCESS, 0, NICE))
		return -errno;
	err = set_limits();
	if (!err)
		err = drop_capabilities();
	return err ? err : filter_calls();
}
