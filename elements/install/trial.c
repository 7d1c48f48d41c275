/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elements/install/trial.h"
#include "elements/install/trial_process.h"
#include "user/lib/clock.h"

/* More than the processor time that it may take, for a machine that has other work. */
#define DEADLINE_NS 60000000000ull

extern char **environ;

int el_trial_start(struct el_trial *trial, const char *program, int fd)
{
	static char name[] = "sluice-elements", option[] = EL_TRIAL_OPTION;
	char *argv[] = { name, option, NULL };
	posix_spawn_file_actions_t actions;
	int pipe_fds[2], err;

	*trial = (struct el_trial){ .pidfd = -1, .said = -1 };
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	err = -posix_spawn_file_actions_adddup2(&actions, fd, EL_TRIAL_OBJECT_FD);
	if (!err)
		err = -posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], EL_TRIAL_SAYS_FD);
	if (!err)
		err = -posix_spawn(&trial->pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pipe_fds[1]);
	if (!err) {
		trial->pidfd = pidfd_open(trial->pid, 0);
		err = trial->pidfd < 0 ? -errno : 0;
	}
	trial->said = pipe_fds[0];
	trial->deadline_ns = sl_now_ns() + DEADLINE_NS;
	if (err)
		el_trial_stop(trial);
	return err;
}

static void forget(struct el_trial *trial)
{
	if (trial->pidfd >= 0)
		close(trial->pidfd);
	if (trial->said >= 0)
		close(trial->said);
	*trial = (struct el_trial){ .pidfd = -1, .said = -1 };
}

void el_trial_stop(struct el_trial *trial)
{
	if (trial->pid > 0) {
		kill(trial->pid, SIGKILL);
		waitpid(trial->pid, NULL, 0);
	}
	forget(trial);
}

/* What it was doing when it ended, by the last letter that it has said. */
static const char *doing(char letter)
{
	switch (letter) {
	case EL_TRIAL_VERIFIES:
		return "while the kernel verified its program";
	case EL_TRIAL_LOADS:
		return "while it was loaded";
	case EL_TRIAL_TESTS_ITSELF:
		return "in its own test";
	case EL_TRIAL_EXERCISES:
		return "with packets";
	case EL_TRIAL_UNLOADS:
		return "while it was unloaded";
	default:
		return "before its trial";
	}
}

static void explain_signal(int signal, char letter, char why[EL_WHY_BYTES])
{
	if (signal == SIGXCPU || signal == SIGKILL)
		snprintf(why, EL_WHY_BYTES, "it did not end within %u s of processor time %s",
			 EL_TRIAL_CPU_S, doing(letter));
	else if (signal == SIGSYS)
		snprintf(why, EL_WHY_BYTES, "it made a system call that elements may not make %s",
			 doing(letter));
	else
		snprintf(why, EL_WHY_BYTES, "it crashed %s: %s", doing(letter), strsignal(signal));
}

bool el_trial_over(struct el_trial *trial, int *err, char why[EL_WHY_BYTES])
{
	char said[EL_TRIAL_SAYS_MAX + 1];
	siginfo_t info = { 0 };
	const char *reason;
	ssize_t n;

	if (sl_now_ns() > trial->deadline_ns)
		kill(trial->pid, SIGKILL);
	if (waitid(P_PIDFD, (id_t)trial->pidfd, &info, WEXITED | WNOHANG) || !info.si_pid)
		return false;
	n = read(trial->said, said, EL_TRIAL_SAYS_MAX);
	said[n > 0 ? n : 0] = '\0';
	/* letters, then the reason behind a colon */
	reason = strchr(said, ':');
	*err = -EINVAL;
	if (info.si_code != CLD_EXITED)
		explain_signal(info.si_status, n > 0 ? said[n - 1] : 0, why);
	else if (info.si_status == 0)
		*err = 0;
	else
		snprintf(why, EL_WHY_BYTES, "%s", reason ? reason + 1 : "its trial did not begin");
	forget(trial);
	return true;
}
