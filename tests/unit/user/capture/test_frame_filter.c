/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine that the kernel runs a filter on, beside libpcap's: on each frame they agree, unless
 * the first bytes do not decide. Both run what libpcap makes of expressions, and random programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pcap/pcap.h>

#include "bpf/lib/classic_filter.bpf.h"
#include "user/capture/frame_filter.h"

#define FRAMES 2000
#define STEPS  SL_FILTER_INSNS_MAX

static uint64_t random_state = 20261128;

static uint32_t draw(uint32_t n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(random_state >> 33) % n;
}

static void put(uint8_t *at, const char *bytes, uint32_t n)
{
	memcpy(at, bytes, n);
}

/* A frame that the expressions below find something in; its length. */
static uint32_t make_frame(uint8_t *frame)
{
	static const uint8_t protocols[] = { 1, 6, 17, 47, 58, 132, 0, 43, 60 };
	static const uint16_t ports[] = { 53, 80, 443, 4791, 5000, 9000 };
	uint32_t n = 14 + draw(draw(4) ? 60 : 1500), at = 12;

	for (uint32_t i = 0; i < 1600; i++)
		frame[i] = (uint8_t)draw(draw(2) ? 4 : 256);
	put(frame,
	    draw(4)   ? "\2\0\0\0\0\1"
	    : draw(2) ? "\xff\xff\xff\xff\xff\xff"
		      : "\1\0\x5e\0\0\5",
	    6);
	while (draw(3) == 0 && at < 24) {
		put(frame + at, draw(2) ? "\x81\0\0" : "\x88\xa8\0", 3);
		at += 4;
	}
	if (draw(2)) {
		uint32_t ihl = draw(3) ? 5 : 5 + draw(11), port;

		put(frame + at, "\x08\0", 2);
		at += 2;
		frame[at] = (uint8_t)(0x40 | ihl);
		put(frame + at + 6, draw(4) ? "\x40\0" : "\0\x10", 2);
		frame[at + 9] = protocols[draw(sizeof(protocols))];
		put(frame + at + 12, draw(2) ? "\x0a\0\1\2" : "\x0a\0\2\2", 4);
		put(frame + at + 16, draw(2) ? "\x0a\0\1\2" : "\xe0\0\0\5", 4);
		at += ihl * 4;
		for (uint32_t i = 0; i < 2; i++, at += 2) {
			port = ports[draw(sizeof(ports) / sizeof(ports[0]))];
			frame[at] = (uint8_t)(port >> 8);
			frame[at + 1] = (uint8_t)port;
		}
	} else if (draw(4)) {
		put(frame + at, "\x86\xdd\x60", 3);
		frame[at + 8] = protocols[draw(sizeof(protocols))];
		for (uint32_t i = 0; i < 2; i++)
			put(frame + at + 10 + 16 * i, draw(2) ? "\xfd\0\0\1" : "\xff\2\0\0", 4);
		frame[at + 42] = protocols[draw(sizeof(protocols))];
		frame[at + 43] = (uint8_t)draw(3);
	} else {
		put(frame + at, draw(2) ? "\x08\x06" : "\x88\xcc", 2);
	}
	return n;
}

static enum sl_filter_verdict run(const struct sl_capture_filter *filter, const uint8_t *frame,
				  uint32_t n)
{
	struct sl_filter_run r = { .frame_bytes = n };

	r.head_bytes = n < SL_FILTER_HEAD ? n : SL_FILTER_HEAD;
	memcpy(r.head, frame, r.head_bytes);
	for (uint32_t i = 0; i < STEPS && sl_filter_step(&r, filter); i++)
		;
	return r.verdict;
}

struct told {
	uint32_t chosen, rejected, undecided;
};

static void compare(const struct sl_capture_filter *filter, const uint8_t *frame, uint32_t n,
		    bool passes, const char *of, struct told *told)
{
	enum sl_filter_verdict verdict = run(filter, frame, n);

	told->undecided += verdict == SL_FILTER_UNDECIDED;
	told->chosen += verdict == SL_FILTER_CHOOSES;
	told->rejected += verdict == SL_FILTER_REJECTS;
	if (verdict != SL_FILTER_UNDECIDED && (verdict == SL_FILTER_CHOOSES) != passes)
		fail_msg("%s: a frame of %u bytes is %s, and not for libpcap", of, n,
			 passes ? "rejected" : "chosen");
}

/* --- Expressions --- */

static const char *const expressions[] = {
	"ip",
	"ip6",
	"arp",
	"icmp",
	"icmp6",
	"tcp",
	"udp port 53",
	"tcp dst portrange 80-443",
	"not udp and not tcp",
	"host 10.0.1.2",
	"src net 10.0.0.0/16 and dst host 224.0.0.5",
	"ip6 net fd00:1::/32 and not dst net ff02::/16",
	"vlan",
	"vlan 3 and ip",
	"vlan and vlan and icmp",
	"ether host 02:00:00:00:00:01",
	"ether multicast or ether broadcast",
	"ip multicast",
	"len > 200",
	"less 64 or greater 1000",
	"ip[0] & 0xf != 5",
	"ip[6:2] & 0x1fff = 0 and ip[8] < 3",
	"tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
	"(ip[2:2] - ((ip[0] & 0xf) << 2)) % 7 = 3",
	"ether[0] * 3 + ether[1] / 2 = ether[2] ^ 5 or ether[13] >> ether[7] = 1",
	"ether[14] / ether[15] > 1",
	"ip proto 132 or ip6 proto 58",
	"ip6 protochain 17",
	"ip protochain 17",
	"udp dst port 4791 or sctp port 5000 or proto gre",
	"len - 14 >= ip[2:2]",
};

static void expressions_are_as_libpcap_runs_them(void **state)
{
	static struct sl_capture_filter kernel;
	static uint8_t frame[1700];
	struct told told = { 0 };

	(void)state;
	for (uint32_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
		struct told its = { 0 };
		struct sl_frame_filter *filter;
		char why[256] = "";

		if (sl_frame_filter_create(expressions[i], &filter, why, sizeof(why)))
			fail_msg("%s: %s", expressions[i], why);
		sl_frame_filter_for_kernel(filter, &kernel);
		assert_true(kernel.n > 0);
		for (uint32_t k = 0; k < FRAMES; k++) {
			uint32_t n = make_frame(frame);

			compare(&kernel, frame, n, sl_frame_filter_passes(filter, frame, n, n),
				expressions[i], &its);
		}
		print_message("# %s: %u instructions; %u chosen, %u rejected, %u undecided\n",
			      expressions[i], kernel.n, its.chosen, its.rejected, its.undecided);
		if (!its.chosen || !its.rejected)
			fail_msg("%s says the same of all frames", expressions[i]);
		told.undecided += its.undecided;
		sl_frame_filter_destroy(filter);
	}
	/* Only `protochain` goes far into a frame. */
	assert_true(told.undecided < FRAMES / 10);
}

static void no_filter_and_one_too_long_are_all_frames(void **state)
{
	static struct sl_capture_filter kernel;
	static char text[16384] = "port 1000";
	struct sl_frame_filter *filter;
	char why[256];

	(void)state;
	sl_frame_filter_for_kernel(NULL, &kernel);
	assert_int_equal(kernel.n, 0);
	for (uint32_t i = 1; i < 300; i++)
		snprintf(text + strlen(text), 32, " or port %u", 1000 + 7 * i);
	assert_int_equal(sl_frame_filter_create(text, &filter, why, sizeof(why)), 0);
	sl_frame_filter_for_kernel(filter, &kernel);
	assert_int_equal(kernel.n, 0);
	sl_frame_filter_destroy(filter);
}

/* --- What the first bytes do not decide --- */

static enum sl_filter_verdict of_frame(const struct sl_filter_insn *insns, uint32_t n_insns,
				       uint32_t frame_bytes)
{
	static struct sl_capture_filter filter;
	static const uint8_t frame[2048];

	filter = (struct sl_capture_filter){ .n = n_insns };
	memcpy(filter.insn, insns, n_insns * sizeof(*insns));
	return run(&filter, frame, frame_bytes);
}

static void beyond_the_first_bytes_nothing_is_decided(void **state)
{
	const struct sl_filter_insn load = { BPF_LD | BPF_W | BPF_ABS, 0, 0, SL_FILTER_HEAD - 4 };
	const struct sl_filter_insn all = { BPF_RET | BPF_K, 0, 0, 1 };
	const struct sl_filter_insn loop = { BPF_JMP | BPF_JA, 0, 0, (uint32_t)-1 };
	struct sl_filter_insn two[] = { load, all };

	(void)state;
	assert_int_equal(of_frame(two, 2, 1000), SL_FILTER_CHOOSES);
	assert_int_equal(of_frame(two, 2, SL_FILTER_HEAD), SL_FILTER_CHOOSES);
	assert_int_equal(of_frame(two, 2, SL_FILTER_HEAD - 1), SL_FILTER_REJECTS);
	two[0].k++;
	assert_int_equal(of_frame(two, 2, 1000), SL_FILTER_UNDECIDED);
	assert_int_equal(of_frame(two, 2, SL_FILTER_HEAD), SL_FILTER_REJECTS);
	two[0].k = UINT32_MAX;
	assert_int_equal(of_frame(two, 2, 1000), SL_FILTER_REJECTS);
	assert_int_equal(of_frame(&loop, 1, 1000), SL_FILTER_UNDECIDED);
}

/* --- Random programs, all of whose jumps go forward --- */

static void make_program(struct bpf_program *program, struct sl_capture_filter *filter)
{
	static const uint16_t codes[] = {
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_H | BPF_ABS,
		BPF_LD | BPF_B | BPF_ABS,
		BPF_LD | BPF_W | BPF_IND,
		BPF_LD | BPF_H | BPF_IND,
		BPF_LD | BPF_B | BPF_IND,
		BPF_LD | BPF_IMM,
		BPF_LD | BPF_W | BPF_LEN,
		BPF_LD | BPF_MEM,
		BPF_LDX | BPF_IMM,
		BPF_LDX | BPF_W | BPF_LEN,
		BPF_LDX | BPF_MEM,
		BPF_LDX | BPF_B | BPF_MSH,
		BPF_ST,
		BPF_STX,
		BPF_ALU | BPF_ADD | BPF_K,
		BPF_ALU | BPF_SUB | BPF_X,
		BPF_ALU | BPF_MUL | BPF_K,
		BPF_ALU | BPF_DIV | BPF_X,
		BPF_ALU | BPF_MOD | BPF_X,
		BPF_ALU | BPF_OR | BPF_X,
		BPF_ALU | BPF_AND | BPF_K,
		BPF_ALU | BPF_XOR | BPF_X,
		BPF_ALU | BPF_LSH | BPF_K,
		BPF_ALU | BPF_RSH | BPF_X,
		BPF_ALU | BPF_NEG,
		BPF_ALU | BPF_LSH | BPF_X,
		BPF_JMP | BPF_JEQ | BPF_K,
		BPF_JMP | BPF_JGT | BPF_X,
		BPF_JMP | BPF_JGE | BPF_K,
		BPF_JMP | BPF_JSET | BPF_K,
		BPF_JMP | BPF_JEQ | BPF_X,
		BPF_JMP | BPF_JA,
		BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA,
		BPF_RET | BPF_K,
	};
	uint32_t n = BPF_MEMWORDS + 2 + draw(30);

	*filter = (struct sl_capture_filter){ .n = n };
	for (uint32_t i = 0; i < n; i++) {
		struct bpf_insn *insn = &program->bf_insns[i];
		uint32_t left = n - 1 - i, ahead = left > 1 ? left - 1 : 0;

		*insn = (struct bpf_insn){ .code = codes[draw(sizeof(codes) / sizeof(codes[0]))] };
		/*
		 * libpcap leaves open what is in a word that nothing was stored in, and a shift by
		 * a constant of more than 31 bits, which it compiles nothing to.
		 */
		if (i < BPF_MEMWORDS)
			insn->code = BPF_ST;
		if (i == n - 1)
			insn->code = BPF_RET | BPF_A;
		insn->k = draw(3) ? draw(40) : draw(UINT32_MAX);
		if (BPF_CLASS(insn->code) == BPF_ST || BPF_CLASS(insn->code) == BPF_STX ||
		    ((BPF_CLASS(insn->code) == BPF_LD || BPF_CLASS(insn->code) == BPF_LDX) &&
		     BPF_MODE(insn->code) == BPF_MEM))
			insn->k = i < BPF_MEMWORDS ? i : insn->k % BPF_MEMWORDS;
		if (insn->code == (BPF_ALU | BPF_LSH | BPF_K))
			insn->k %= 32;
		if (BPF_CLASS(insn->code) == BPF_JMP) {
			insn->jt = (uint8_t)draw(ahead + 1);
			insn->jf = (uint8_t)draw(ahead + 1);
			if (BPF_OP(insn->code) == BPF_JA)
				insn->k = draw(ahead + 1);
		}
		filter->insn[i] =
			(struct sl_filter_insn){ insn->code, insn->jt, insn->jf, insn->k };
	}
	program->bf_len = n;
}

static void random_programs_are_as_libpcap_runs_them(void **state)
{
	static struct sl_capture_filter filter;
	static uint8_t frame[1700];
	static struct bpf_insn insns[64];
	struct bpf_program program = { .bf_insns = insns };
	struct told told = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		struct pcap_pkthdr header = { 0 };
		char name[32];

		snprintf(name, sizeof(name), "program %u", i);
		make_program(&program, &filter);
		header.len = header.caplen = make_frame(frame);
		compare(&filter, frame, header.len,
			pcap_offline_filter(&program, &header, frame) != 0, name, &told);
	}
	print_message("# %u chosen, %u rejected, %u undecided\n", told.chosen, told.rejected,
		      told.undecided);
	assert_true(told.chosen > 1000 && told.rejected > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_are_as_libpcap_runs_them),
		cmocka_unit_test(no_filter_and_one_too_long_are_all_frames),
		cmocka_unit_test(beyond_the_first_bytes_nothing_is_decided),
		cmocka_unit_test(random_programs_are_as_libpcap_runs_them),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
