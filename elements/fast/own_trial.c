/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <libelf.h>
#include <gelf.h>

#include "elements/fast/element_trial.skel.h"
#include "elements/fast/own_trial.h"

#define PROGRAM	    "sl_own_trial_run"
#define MAP	    "sl_own_trial"
#define LOG_BYTES   (1u << 20)
#define TIMES	    5
#define TIMED_TURNS 1000

static int refuse(char why[EL_WHY_BYTES], const char *reason)
{
	snprintf(why, EL_WHY_BYTES, "its program %s", reason);
	return -EINVAL;
}

/* --- What it may consist of --- */

/* Helpers of the kernel that look at the packet and the clock, and change the packet alone. */
static bool may_call(int32_t helper)
{
	static const int32_t allowed[] = { BPF_FUNC_ktime_get_ns,   BPF_FUNC_csum_diff,
					   BPF_FUNC_loop,	    BPF_FUNC_xdp_get_buff_len,
					   BPF_FUNC_xdp_load_bytes, BPF_FUNC_xdp_store_bytes };

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (allowed[i] == helper)
			return true;
	return false;
}

static int check_code(const struct bpf_insn *code, size_t n, char why[EL_WHY_BYTES])
{
	for (size_t i = 0; i < n; i++) {
		if (code[i].code == (BPF_LD | BPF_IMM | BPF_DW)) {
			i++; /* the other half of a long constant */
		} else if (code[i].code == (BPF_JMP | BPF_CALL) && code[i].src_reg == 0 &&
			   !may_call(code[i].imm)) {
			snprintf(why, EL_WHY_BYTES,
				 "its program calls helper %d of the kernel, which no element may",
				 code[i].imm);
			return -EINVAL;
		}
	}
	return 0;
}

/*
 * Others could take the place of a function of sl_edge, or reach its maps, when both are linked.
 * That of the licence is no function.
 */
static int check_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header, char why[EL_WHY_BYTES])
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);

		if (GELF_ST_BIND(symbol.st_info) == STB_LOCAL ||
		    (name && strcmp(name, SL_OWN_FUNCTION) == 0) ||
		    (symbol.st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT))
			continue;
		snprintf(why, EL_WHY_BYTES,
			 "its program has %.64s beside its one function: make it static",
			 name ? name : "a symbol");
		return -EINVAL;
	}
	return 0;
}

static int check_section(Elf *elf, Elf_Scn *scn, char why[EL_WHY_BYTES])
{
	GElf_Shdr header;
	Elf_Data *data;

	if (!gelf_getshdr(scn, &header))
		return refuse(why, "is no whole BPF object");
	if (header.sh_type == SHT_SYMTAB)
		return check_symbols(elf, scn, &header, why);
	if (header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_EXECINSTR))
		return 0;
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return 0;
	return check_code(data->d_buf, data->d_size / sizeof(struct bpf_insn), why);
}

static int check_sections(const struct sl_bpf_bytes *object, char why[EL_WHY_BYTES])
{
	Elf_Scn *scn = NULL;
	Elf *elf = NULL;
	int err = 0;

	if (elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_memory(object->bytes, object->n_bytes);
	if (!elf)
		return refuse(why, "is no whole BPF object");
	while (!err && (scn = elf_nextscn(elf, scn)))
		err = check_section(elf, scn, why);
	elf_end(elf);
	return err;
}

/* Only constants lie beside the code. */
static int check_maps(const struct sl_bpf_bytes *bytes, char why[EL_WHY_BYTES])
{
	struct bpf_object *object = NULL;
	struct bpf_map *map;
	int err = sl_bpf_object_open_bytes(bytes->bytes, bytes->n_bytes, &object);

	if (err) {
		snprintf(why, EL_WHY_BYTES, "its program is no whole BPF object: %s",
			 sl_bpf_object_said());
		return -EINVAL;
	}
	bpf_object__for_each_map(map, object)
		if (!err && !strstr(bpf_map__name(map), ".rodata"))
			err = refuse(why,
				     "has maps or variables, and an element there has no state");
	bpf_object__close(object);
	return err;
}

/* --- Loading --- */

/* Not the source, an instruction, a state or the sums. */
static bool is_reason(const char *line)
{
	static const char *const others[] = { ";", "processed ",
					      "cur state: ", "old state: ", "from " };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(line, others[i], strlen(others[i])) == 0)
			return false;
	return line[0] && line[strspn(line, "0123456789")] != ':';
}

/* The last reason that the verifier gives. */
static void explain(char *log, int err, char why[EL_WHY_BYTES])
{
	char *last = NULL, *rest = log;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (is_reason(line))
			last = line;
	if (last)
		snprintf(why, EL_WHY_BYTES, "the verifier refuses its program: %.180s", last);
	else
		snprintf(why, EL_WHY_BYTES, "its program cannot be loaded: %s (%.120s)",
			 strerror(-err), sl_bpf_object_said());
}

static int load(struct bpf_object *object, char why[EL_WHY_BYTES])
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, PROGRAM);
	char *log = calloc(1, LOG_BYTES);
	int err = log ? 0 : -ENOMEM;

	if (!err)
		err = bpf_program__set_log_buf(program, log, LOG_BYTES);
	if (!err)
		err = bpf_object__load(object);
	if (err)
		explain(log ? log : why, err, why);
	free(log);
	return err;
}

static int keep(struct bpf_object *object, struct el_own_trial *out)
{
	int map_fd = bpf_object__find_map_fd_by_name(object, MAP);

	out->record =
		mmap(NULL, sizeof(*out->record), PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (out->record == MAP_FAILED) {
		out->record = NULL;
		return -errno;
	}
	out->program_fd = dup(bpf_program__fd(bpf_object__find_program_by_name(object, PROGRAM)));
	return out->program_fd < 0 ? -errno : 0;
}

int el_own_trial_open(const struct sl_bpf_bytes *object, struct el_own_trial *out,
		      char why[EL_WHY_BYTES])
{
	struct sl_bpf_bytes objects[2] = { { 0 } }, linked = { 0 };
	struct bpf_object *loaded = NULL;
	int err;

	*out = (struct el_own_trial){ .program_fd = -1 };
	snprintf(why, EL_WHY_BYTES, "not enough memory for the trial of its program");
	objects[1].n_bytes = object->n_bytes;
	objects[1].bytes = malloc(object->n_bytes ? object->n_bytes : 1);
	if (!objects[1].bytes)
		return -ENOMEM;
	memcpy(objects[1].bytes, object->bytes, object->n_bytes);
	err = check_sections(&objects[1], why);
	if (!err)
		err = check_maps(&objects[1], why);
	if (!err && sl_bpf_object_place(&objects[1], 0))
		err = refuse(why, "has no function " SL_OWN_FUNCTION);
	if (!err) {
		objects[0].bytes = (void *)el_element_trial_bpf__elf_bytes(&objects[0].n_bytes);
		err = sl_bpf_object_link(objects, 2, &linked);
		if (!err)
			err = sl_bpf_object_open_bytes(linked.bytes, linked.n_bytes, &loaded);
		if (err)
			snprintf(why, EL_WHY_BYTES, "its program cannot be linked: %s",
				 sl_bpf_object_said());
	}
	if (!err)
		err = load(loaded, why);
	if (!err)
		err = keep(loaded, out);
	bpf_object__close(loaded);
	free(linked.bytes);
	free(objects[1].bytes);
	if (err)
		el_own_trial_close(out);
	return err;
}

void el_own_trial_close(struct el_own_trial *trial)
{
	if (trial->record)
		munmap(trial->record, sizeof(*trial->record));
	if (trial->program_fd >= 0)
		close(trial->program_fd);
	*trial = (struct el_own_trial){ .program_fd = -1 };
}

/* --- Running --- */

int el_own_trial_run(struct el_own_trial *trial, const struct sl_own_config *config,
		     struct sl_own_packet *packet, uint8_t *frame, uint32_t n)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = n, .data_out = frame,
		    .data_size_out = n, .repeat = 1);
	int err;

	trial->record->config = *config;
	trial->record->packet = *packet;
	err = bpf_prog_test_run_opts(trial->program_fd, &opts);
	if (err)
		return err;
	*packet = trial->record->packet;
	return trial->record->output < SL_OWN_DROP ? (int)trial->record->output : (int)SL_OWN_DROP;
}

int el_own_trial_time(struct el_own_trial *trial, const uint8_t *frame, uint32_t n)
{
	uint32_t least_ns = UINT32_MAX;

	for (int i = 0; i < TIMES; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = n,
			    .repeat = TIMED_TURNS);
		int err = bpf_prog_test_run_opts(trial->program_fd, &opts);

		if (err)
			return err;
		if (opts.duration < least_ns)
			least_ns = opts.duration;
	}
	return (int)least_ns;
}
