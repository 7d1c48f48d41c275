/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice top: the terminal, its keys, and time. top_sample.c gets the figures, top_view.c draws
 * them.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "user/cli/top.h"

#define BATCH_COLUMNS 80
#define COLUMNS_LEAST 40
#define LINES_LEAST   8

#define ENTER "\033[?1049h\033[?25l" /* switch to the alternate screen, hide the cursor */
#define LEAVE "\033[?25h\033[?1049l"

static volatile sig_atomic_t resized, stop, suspend;
static struct termios before;

static void on_signal(int signal)
{
	if (signal == SIGWINCH)
		resized = 1;
	else if (signal == SIGTSTP)
		suspend = 1;
	else
		stop = 1;
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- The terminal --- */

static void enter(void)
{
	struct termios raw = before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs(ENTER, stdout);
	fflush(stdout);
}

static void leave(void)
{
	fputs(LEAVE, stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void sleep_in_background(void)
{
	suspend = 0;
	leave();
	raise(SIGSTOP);
	enter();
	resized = 1;
}

static void measure(struct sl_top_screen *screen)
{
	struct winsize size;

	resized = 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		size = (struct winsize){ .ws_col = BATCH_COLUMNS, .ws_row = 24 };
	screen->columns = size.ws_col < COLUMNS_LEAST ? COLUMNS_LEAST : size.ws_col;
	screen->lines = size.ws_row < LINES_LEAST ? LINES_LEAST : size.ws_row;
}

/* Write the whole screen at once and clear each line behind its text, so that nothing flickers. */
static void draw(const struct sl_top_sample *sample, struct sl_top_screen *screen)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);

	if (!memory)
		return;
	sl_top_draw(sample, screen, memory);
	fclose(memory);
	fputs("\033[H", stdout);
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");

		fwrite(line, 1, n, stdout);
		fputs("\033[K", stdout);
		line += n;
		if (*line == '\n') {
			fputs("\r\n", stdout);
			line++;
		}
	}
	fputs("\033[J", stdout);
	fflush(stdout);
	free(text);
}

/* --- Keys --- */

static void scroll(struct sl_top_screen *screen, int lines)
{
	if (lines < 0 && screen->first < (uint32_t)-lines)
		screen->first = 0;
	else
		screen->first += (uint32_t)lines;
}

static void press(struct sl_top_screen *screen, const char *key, size_t n)
{
	const int page = (int)screen->lines / 2;

	if (n >= 3 && key[0] == '\033' && (key[1] == '[' || key[1] == 'O')) {
		if (key[2] == 'A' || key[2] == 'B')
			scroll(screen, key[2] == 'A' ? -1 : 1);
		else if (key[2] == '5' || key[2] == '6')
			scroll(screen, key[2] == '5' ? -page : page);
		else if (key[2] == 'Z')
			screen->view = (screen->view + SL_TOP_VIEWS - 1) % SL_TOP_VIEWS;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		switch (key[i]) {
		case 'q':
		case 3: /* Ctrl-C, if the terminal sends no signal for it */
			stop = 1;
			break;
		case 'p':
		case ' ':
			screen->paused = !screen->paused;
			break;
		case 's':
			screen->sort = (screen->sort + 1) % SL_TOP_SORTS;
			break;
		case 'a':
			screen->all = !screen->all;
			break;
		case 'k':
			scroll(screen, -1);
			break;
		case 'j':
			scroll(screen, 1);
			break;
		case '\t':
			screen->view = (screen->view + 1) % SL_TOP_VIEWS;
			screen->first = 0;
			break;
		default:
			if (key[i] < '1' || key[i] >= '1' + SL_TOP_VIEWS)
				break;
			screen->view = (enum sl_top_list)(key[i] - '1');
			screen->first = 0;
		}
	}
}

/* Handle keys and changes of the terminal's size until the next sample is due. */
static void wait_until(double due_s, const struct sl_top_sample *sample,
		       struct sl_top_screen *screen)
{
	for (double left_s = due_s - now_s(); left_s > 0 && !stop; left_s = due_s - now_s()) {
		struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
		int ready = poll(&input, 1, (int)(left_s * 1000) + 1);
		char key[16];
		ssize_t n = 0;

		if (ready > 0)
			n = read(STDIN_FILENO, key, sizeof(key));
		if (ready > 0 && n <= 0) {
			stop = 1; /* the terminal is gone */
			return;
		}
		if (n > 0)
			press(screen, key, (size_t)n);
		if (suspend)
			sleep_in_background();
		if (resized)
			measure(screen);
		if (n > 0 || ready < 0)
			draw(sample, screen);
	}
}

/* --- Both ways to run --- */

/* Replace *now by a new sample, with its rates against the old one. */
static void next_sample(const struct sl_cmd_options *options, struct sl_top_sample *now)
{
	struct sl_top_sample last = *now;

	sl_top_ask(options, now);
	sl_top_rates(now, last.rows[SL_TOP_STAGES] || last.rows[SL_TOP_VOQS] ? &last : NULL);
	sl_top_free(&last);
}

static int run_screen(const struct sl_cmd_options *options, struct sl_top_screen *screen)
{
	/*
	 * SA_RESTART: a write that a signal interrupted would look like an error of the output. A
	 * signal ends poll() all the same.
	 */
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sl_top_sample sample = { 0 };
	double due_s;

	if (tcgetattr(STDIN_FILENO, &before)) {
		fprintf(stderr, "sluice: top: standard input is no terminal: use -b\n");
		return SL_EXIT_USAGE;
	}
	sigaction(SIGWINCH, &action, NULL);
	sigaction(SIGTSTP, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	screen->colour = screen->keys = true;
	enter();
	measure(screen);
	due_s = now_s();
	for (uint32_t round = 0; !stop && (!options->rounds || round <= options->rounds);) {
		if (!screen->paused) {
			next_sample(options, &sample);
			draw(&sample, screen);
			round++;
		}
		/* Show the first rates soon. */
		due_s += round == 1 && screen->interval_s > 0.3 ? 0.3 : screen->interval_s;
		if (due_s < now_s())
			due_s = now_s() + screen->interval_s;
		wait_until(due_s, &sample, screen);
	}
	leave();
	sl_top_free(&sample);
	return SL_EXIT_OK;
}

static void print_batch(const struct sl_cmd_options *options, const struct sl_top_sample *sample,
			struct sl_top_screen *screen)
{
	if (options->json) {
		json_t *json = sl_top_json(sample, screen->interval_s);

		json_dumpf(json, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(json);
	} else {
		for (int view = 0; view < SL_TOP_VIEWS; view++) {
			if (sample->alone && view != SL_TOP_PORTS && view != SL_TOP_DROPS)
				continue;
			screen->view = (enum sl_top_list)view;
			sl_top_draw(sample, screen, stdout);
			putchar('\n');
		}
	}
	fflush(stdout);
}

static void sleep_s(double seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds };

	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	nanosleep(&left, NULL);
}

static int run_batch(const struct sl_cmd_options *options, struct sl_top_screen *screen)
{
	const char *columns = getenv("COLUMNS");
	struct sl_top_sample sample = { 0 };
	bool answered = false;

	screen->columns = columns ? (uint32_t)strtoul(columns, NULL, 10) : BATCH_COLUMNS;
	if (screen->columns < COLUMNS_LEAST)
		screen->columns = COLUMNS_LEAST;
	next_sample(options, &sample);
	for (uint32_t round = 0; (!options->rounds || round < options->rounds) && !ferror(stdout);
	     round++) {
		sleep_s(screen->interval_s);
		next_sample(options, &sample);
		answered |= sample.rows[SL_TOP_STAGES] || sample.rows[SL_TOP_FABRIC];
		print_batch(options, &sample, screen);
	}
	sl_top_free(&sample);
	return answered ? SL_EXIT_OK : SL_EXIT_NOT_RUNNING;
}

int sl_cmd_top(const struct sl_cmd_options *options, int argc, char **argv)
{
	struct sl_top_screen screen = { .interval_s = options->delay_s, .all = options->all };

	if (argc > 0) {
		fprintf(stderr, "sluice: top: \"%s\" is one argument too many\n", argv[0]);
		return SL_EXIT_USAGE;
	}
	if (options->batch || options->json)
		return run_batch(options, &screen);
	return run_screen(options, &screen);
}
