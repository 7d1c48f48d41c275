/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control socket and its client: what each sends, whom the daemon refuses, and that no client
 * can hold up the daemon.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/abi/abi.h"
#include "tests/lib/deadline.h"
#include "user/ipc/control_client.h"
#include "user/ipc/control_socket.h"

#define LONG_ROWS 200000

#define TEXT_OF(x) #x
#define NUMBER(x)  TEXT_OF(x)
#define HELLO	   "{\"hello\":{\"version\":\"" SL_VERSION "\",\"abi\":" NUMBER(SL_ABI_VERSION) "}}"

static char path[64];
static char context[] = "context";
static struct sl_ctl *ctl;

static void run_echo(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	sl_ctl_put(answer, json_pack("{s:s, s:O}", "ctx", ctx, "request", request));
}

static void run_fail(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	(void)ctx;
	(void)request;
	sl_ctl_put(answer, json_pack("{s:i}", "row", 1));
	sl_ctl_fail(answer, "no %s", "luck");
	sl_ctl_fail(answer, "second error");
	assert_int_not_equal(sl_ctl_put(answer, json_pack("{s:i}", "row", 2)), 0);
}

static void run_rows(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	(void)ctx;
	(void)request;
	for (int i = 0; i < LONG_ROWS; i++)
		if (sl_ctl_put(answer, json_pack("{s:i}", "row", i)))
			return;
}

static const struct sl_ctl_command commands[] = {
	{ "echo", false, run_echo }, { "fail", false, run_fail }, { "rows", true, run_rows },
	{ "many", false, run_rows }, { NULL, false, NULL },
};

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/sluice-test-ctl-%d", (int)getpid());
	return sl_ctl_open(path, 0640, NULL, commands, &ctl);
}

static int teardown(void **state)
{
	(void)state;
	sl_ctl_close(ctl);
	return access(path, F_OK) == 0;
}

static int dial(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Serve until the client has something to read. */
static void serve_until_readable(int fd)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = sl_ctl_fd(ctl), .events = POLLIN } };

	while (poll(fds, 2, DEADLINE_S * 1000) > 0 && !(fds[0].revents & POLLIN))
		sl_ctl_poll(ctl, context);
	assert_true(fds[0].revents & POLLIN);
}

static void expect_line(int fd, const char *expected)
{
	char line[1024];
	size_t n = 0;

	do {
		serve_until_readable(fd);
		assert_int_equal(read(fd, line + n, 1), 1);
	} while (line[n++] != '\n' && n < sizeof(line));
	line[n - 1] = '\0';
	assert_string_equal(line, expected);
}

static void expect_end(int fd)
{
	char byte;

	serve_until_readable(fd);
	assert_int_equal(read(fd, &byte, 1), 0);
	close(fd);
}

static int dial_and_send(const char *request)
{
	int fd = dial();

	expect_line(fd, HELLO);
	assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	return fd;
}

static void answer_is_hello_rows_and_end(void **state)
{
	int fd = dial_and_send("{\"command\":\"echo\",\"x\":[1]}\n");

	(void)state;
	expect_line(fd, "{\"ctx\":\"context\",\"request\":{\"command\":\"echo\",\"x\":[1]}}");
	expect_line(fd, "{\"end\":{}}");
	expect_end(fd);
}

static void request_in_pieces_is_one_request(void **state)
{
	int fd = dial_and_send("{\"command\":");

	(void)state;
	sl_ctl_poll(ctl, context);
	assert_int_equal(write(fd, "\"echo\"}\nrest", 12), 12);
	expect_line(fd, "{\"ctx\":\"context\",\"request\":{\"command\":\"echo\"}}");
	expect_line(fd, "{\"end\":{}}");
	close(fd);
}

static void failure_ends_the_answer_with_its_first_error(void **state)
{
	int fd = dial_and_send("{\"command\":\"fail\"}\n");

	(void)state;
	expect_line(fd, "{\"row\":1}");
	expect_line(fd, "{\"end\":{\"error\":\"no luck\"}}");
	expect_end(fd);
}

static void bad_requests_are_refused_by_name(void **state)
{
	static const struct {
		const char *request, *error;
	} cases[] = {
		{ "\n", "{\"end\":{\"error\":\"the request is not a JSON object on one line\"}}" },
		{ "[]\n",
		  "{\"end\":{\"error\":\"the request is not a JSON object on one line\"}}" },
		{ "{\"command\":\"echo\"\n",
		  "{\"end\":{\"error\":\"the request is not a JSON object on one line\"}}" },
		{ "{\"command\":\"echo\",\"command\":\"echo\"}\n",
		  "{\"end\":{\"error\":\"the request is not a JSON object on one line\"}}" },
		{ "{\"command\":\"reboot\"}\n", "{\"end\":{\"error\":\"unknown command\"}}" },
		{ "{\"command\":7}\n", "{\"end\":{\"error\":\"unknown command\"}}" },
		{ "{}\n", "{\"end\":{\"error\":\"unknown command\"}}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = dial_and_send(cases[i].request);

		expect_line(fd, cases[i].error);
		expect_end(fd);
	}
}

static void request_without_end_is_refused(void **state)
{
	char *request = malloc(SL_CTL_REQUEST_MAX + 1);
	int fd;

	(void)state;
	memset(request, 'x', SL_CTL_REQUEST_MAX);
	request[SL_CTL_REQUEST_MAX] = '\0';
	fd = dial_and_send(request);
	expect_line(fd, "{\"end\":{\"error\":\"the request is longer than 4096 bytes\"}}");
	close(fd);
	free(request);
}

static void short_answer_beyond_its_limit_is_refused_whole(void **state)
{
	int fd = dial_and_send("{\"command\":\"many\"}\n");

	(void)state;
	expect_line(fd, "{\"end\":{\"error\":\"the answer is too long\"}}");
	expect_end(fd);
}

/* A child writes the answer: it is complete, and the daemon serves others meanwhile. */
static void long_answer_to_a_slow_reader_does_not_hold_up_the_daemon(void **state)
{
	int slow = dial_and_send("{\"command\":\"rows\"}\n"), fd, n = 0;
	char line[64];
	FILE *stream;

	(void)state;
	serve_until_readable(slow);
	fd = dial_and_send("{\"command\":\"echo\"}\n");
	expect_line(fd, "{\"ctx\":\"context\",\"request\":{\"command\":\"echo\"}}");
	close(fd);
	stream = fdopen(slow, "r");
	while (fgets(line, sizeof(line), stream) && strncmp(line, "{\"row\"", 6) == 0)
		n++;
	assert_int_equal(n, LONG_ROWS);
	assert_string_equal(line, "{\"end\":{}}\n");
	assert_null(fgets(line, sizeof(line), stream));
	fclose(stream);
}

/*
 * The daemon does not watch the client of a child: it would be woken by it again and again, and
 * have nothing to do.
 */
static void client_of_a_child_does_not_wake_the_daemon(void **state)
{
	int slow = dial_and_send("{\"command\":\"rows\"}\n");
	struct pollfd daemon = { .fd = sl_ctl_fd(ctl), .events = POLLIN };

	(void)state;
	serve_until_readable(slow);
	assert_int_equal(write(slow, "more", 4), 4);
	assert_int_equal(poll(&daemon, 1, 0), 0);
	assert_int_equal(shutdown(slow, SHUT_WR), 0);
	assert_int_equal(poll(&daemon, 1, 0), 0);
	close(slow);
}

static void one_client_too_many_is_refused_as_busy(void **state)
{
	int fds[SL_CTL_CLIENTS_MAX], extra;

	(void)state;
	for (int i = 0; i < SL_CTL_CLIENTS_MAX; i++) {
		fds[i] = dial();
		serve_until_readable(fds[i]);
	}
	extra = dial();
	expect_line(extra, HELLO);
	expect_line(extra, "{\"end\":{\"error\":\"busy: too many clients\"}}");
	expect_end(extra);
	for (int i = 0; i < SL_CTL_CLIENTS_MAX; i++)
		close(fds[i]);
	sl_ctl_poll(ctl, context);
	extra = dial_and_send("{\"command\":\"echo\"}\n");
	expect_line(extra, "{\"ctx\":\"context\",\"request\":{\"command\":\"echo\"}}");
	close(extra);
}

static void client_that_leaves_in_the_middle_is_forgotten(void **state)
{
	int fd = dial_and_send("{\"command\":\"rows\"}\n");

	(void)state;
	serve_until_readable(fd);
	close(fd);
	fd = dial_and_send("{\"comm");
	close(fd);
	fd = dial_and_send("{\"command\":\"echo\"}\n");
	close(fd);
	sl_ctl_poll(ctl, context);
	sl_ctl_tick(ctl);
	fd = dial_and_send("{\"command\":\"echo\"}\n");
	expect_line(fd, "{\"ctx\":\"context\",\"request\":{\"command\":\"echo\"}}");
	close(fd);
}

/* As a daemon that was killed leaves it. */
static void leave_dead_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path, name, strlen(name) + 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

static void socket_where_a_process_listens_is_left_to_it(void **state)
{
	struct sl_ctl *other;

	assert_int_equal(sl_ctl_open(path, 0600, NULL, commands, &other), -EADDRINUSE);
	assert_null(other);
	answer_is_hello_rows_and_end(state);
}

/* Of a process that was killed, the threads end one after the other, and its sockets with the last.
 */
static void socket_of_a_process_that_ends_is_waited_for(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timespec late = { .tv_nsec = 200000000 };
	struct sl_ctl *other;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), status;
	pid_t child;

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s-late", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		nanosleep(&late, NULL);
		_exit(0);
	}
	close(fd);
	assert_int_equal(sl_ctl_open(address.sun_path, 0600, NULL, commands, &other), 0);
	sl_ctl_close(other);
	unlink(address.sun_path);
	assert_int_equal(waitpid(child, &status, 0), child);
}

static void socket_has_the_permissions_asked_for_and_replaces_a_dead_one(void **state)
{
	struct sl_ctl *other;
	char copy[80];
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	snprintf(copy, sizeof(copy), "%s-dead", path);
	assert_int_equal(sl_ctl_open(copy, 0600, "no-such-group", commands, &other), -ENOENT);
	leave_dead_socket(copy);
	assert_int_equal(sl_ctl_open(copy, 0600, "root", commands, &other), 0);
	assert_int_equal(stat(copy, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	sl_ctl_close(other);
	assert_int_not_equal(stat(copy, &st), 0);
}

static void client_reports_that_nobody_listens(void **state)
{
	struct sl_client *client;

	(void)state;
	assert_false(sl_client_listens("/nonexistent/socket"));
	assert_int_equal(sl_client_open("/nonexistent/socket", json_object(), 1, &client), -ENOENT);
	assert_null(client);
}

/* A listening socket that says only what the test writes. */
static int listen_silently(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink(path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 0), 0);
	return fd;
}

static void client_gives_up_on_a_daemon_that_is_silent(void **state)
{
	int fd = listen_silently();
	struct sl_client *client;

	(void)state;
	assert_true(sl_client_listens(path));
	/*
	 * The first client gets into the queue of the socket, the next ones do not even get there.
	 */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sl_client_open(path, json_object(), 1, &client), -ETIMEDOUT);
		assert_null(client);
	}
	assert_true(sl_client_listens(path));
	close(fd);
	assert_false(sl_client_listens(path));
}

/* The whole answer takes ten times as long as the client waits for a piece. */
#define PIECES	    10
#define PATIENCE_MS 20 /* whole ticks of any kernel */

/* A client that connects while `greeter` listens finds the hello there before it waits for it. */
static int greeter = -1, caller, called;

static void say(const char *line)
{
	assert_int_equal(write(called, line, strlen(line)), strlen(line));
}

/* Takes the place of the library's connect(). */
int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t len)
{
	int (*libc)(int, __CONST_SOCKADDR_ARG, socklen_t) = dlsym(RTLD_NEXT, __func__);
	int err = libc(fd, address, len);

	if (greeter >= 0 && !err) {
		caller = fd;
		called = accept(greeter, NULL, NULL);
		say(HELLO "\n");
	}
	return err;
}

/* Each piece is there before the client waits for it. The socket shows how long it would wait. */
static void client_waits_for_each_piece_and_not_for_the_whole(void **state)
{
	static const char *const errors[] = { NULL, "the answer stopped before its end" };

	(void)state;
	greeter = listen_silently();
	for (size_t i = 0; i < 2; i++) {
		struct timeval patience = { 0 };
		socklen_t len = sizeof(patience);
		struct sl_client *client;

		assert_int_equal(sl_client_open(path, json_object(), PATIENCE_MS, &client), 0);
		assert_int_equal(getsockopt(caller, SOL_SOCKET, SO_RCVTIMEO, &patience, &len), 0);
		assert_int_equal(patience.tv_sec * 1000000 + patience.tv_usec, PATIENCE_MS * 1000);
		assert_false(fcntl(caller, F_GETFL) & O_NONBLOCK);
		for (int piece = 0; piece < PIECES; piece++) {
			json_t *row;

			usleep(PATIENCE_MS * 1000);
			say("{\"row\":1}\n");
			row = sl_client_row(client);
			assert_non_null(row);
			json_decref(row);
		}
		if (!errors[i])
			say("{\"end\":{}}\n");
		assert_null(sl_client_row(client));
		if (errors[i])
			assert_string_equal(sl_client_error(client), errors[i]);
		else
			assert_null(sl_client_error(client));
		sl_client_close(client);
		close(called);
	}
	close(greeter);
	greeter = -1;
}

static volatile sig_atomic_t signals;

static void on_alarm(int signal)
{
	static const char row[] = "{\"row\":1}\n";

	(void)signal;
	if (++signals == 20 && write(called, row, strlen(row)) < 0)
		close(called); /* the client says that the answer ended early */
}

/* Signals interrupt it as those of a terminal that is resized again and again. */
static void client_that_signals_interrupt_goes_on_waiting(void **state)
{
	const struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	struct sl_client *client;
	json_t *row;

	(void)state;
	greeter = listen_silently();
	assert_int_equal(sl_client_open(path, json_object(), 60000, &client), 0);
	signals = 0;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	row = sl_client_row(client);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_null(sl_client_error(client));
	assert_non_null(row);
	json_decref(row);
	sl_client_close(client);
	close(called);
	close(greeter);
	greeter = -1;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(answer_is_hello_rows_and_end),
		TEST(request_in_pieces_is_one_request),
		TEST(failure_ends_the_answer_with_its_first_error),
		TEST(bad_requests_are_refused_by_name),
		TEST(request_without_end_is_refused),
		TEST(short_answer_beyond_its_limit_is_refused_whole),
		TEST(long_answer_to_a_slow_reader_does_not_hold_up_the_daemon),
		TEST(client_of_a_child_does_not_wake_the_daemon),
		TEST(one_client_too_many_is_refused_as_busy),
		TEST(client_that_leaves_in_the_middle_is_forgotten),
		TEST(socket_where_a_process_listens_is_left_to_it),
		TEST(socket_of_a_process_that_ends_is_waited_for),
		TEST(socket_has_the_permissions_asked_for_and_replaces_a_dead_one),
		cmocka_unit_test(client_reports_that_nobody_listens),
		TEST(client_gives_up_on_a_daemon_that_is_silent),
		TEST(client_that_signals_interrupt_goes_on_waiting),
		TEST(client_waits_for_each_piece_and_not_for_the_whole),
	};
	return cmocka_run_group_tests_name("control_socket", tests, NULL, NULL);
}
