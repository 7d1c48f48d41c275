/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handlers of signals use what signals may use: the process's memory as it is, and open, write and
 * kill. All paths are longer than a stack may be trusted with, so they are static.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "elements/worker/crash_guard.h"

#define LOOK_EVERY_US 250000
#define PATIENCE      3u /* looks at the same run of an element */
#define STACK_BYTES   65536u
#define LINE_BYTES    512u

static struct el_process *guarded; /* borrowed for the life of the process */
static uint8_t stack[STACK_BYTES];

struct line {
	char text[LINE_BYTES];
	size_t n;
};

static void put(struct line *line, const char *text)
{
	while (*text && line->n < sizeof(line->text))
		line->text[line->n++] = *text++;
}

static void write_line(int fd, const struct line *line)
{
	(void)!write(fd, line->text, line->n);
}

static void write_fault(const struct el_class *class, const struct line *line)
{
	static char path[PATH_MAX];
	int fd;

	if (!el_installed_find(&guarded->installed, class) ||
	    el_store_fault_path(guarded->paths.store_dir, class->name, path, sizeof(path)))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	write_line(fd, line);
	close(fd);
}

static void tell(const char *what)
{
	const struct el_graph *graph = guarded->worker.running;
	struct line fault = { .n = 0 }, said = { .n = 0 };
	const struct el_instance *at;

	if (!graph)
		return;
	at = &graph->instances[guarded->worker.running_element];
	put(&fault, what);
	put(&fault, " in element ");
	put(&fault, at->name);
	put(&fault, " of chain ");
	put(&fault, graph->name);
	put(&fault, "\n");
	put(&said, "sluice-elements: class ");
	put(&said, at->class->name);
	put(&said, ": ");
	fault.n = fault.n < LINE_BYTES ? fault.n : LINE_BYTES - 1;
	fault.text[fault.n] = '\0';
	put(&said, fault.text);
	write_line(STDERR_FILENO, &said);
	write_fault(at->class, &fault);
}

static const char *name_of(int number)
{
	switch (number) {
	case SIGSEGV:
		return "segmentation fault";
	case SIGBUS:
		return "bus error";
	case SIGFPE:
		return "arithmetic exception";
	case SIGILL:
		return "illegal instruction";
	default:
		return "abort";
	}
}

/* SA_RESETHAND: the signal comes again when this returns, and ends the process as it would have. */
static void on_crash(int number)
{
	tell(name_of(number));
	raise(number);
}

static void on_look(int number)
{
	static uint32_t runs, looks;

	(void)number;
	if (!guarded->worker.running || guarded->worker.runs != runs) {
		runs = guarded->worker.runs;
		looks = 0;
	} else if (++looks == PATIENCE) {
		tell("it did not end within 750 ms of processor time");
		kill(getpid(), SIGKILL);
	}
}

int el_crash_guard_open(struct el_process *process)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	const struct itimerval every = { .it_interval.tv_usec = LOOK_EVERY_US,
					 .it_value.tv_usec = LOOK_EVERY_US };
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = on_crash,
				    .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER };

	guarded = process;
	if (sigaltstack(&alternate, NULL))
		return -errno;
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		if (sigaction(crashes[i], &action, NULL))
			return -errno;
	action.sa_handler = on_look;
	action.sa_flags = SA_ONSTACK | SA_RESTART;
	if (sigaction(SIGPROF, &action, NULL) || setitimer(ITIMER_PROF, &every, NULL))
		return -errno;
	return 0;
}
