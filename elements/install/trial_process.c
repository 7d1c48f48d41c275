/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elements/install/exercise.h"
#include "elements/install/object.h"
#include "elements/install/trial_process.h"

static void say(const char *text)
{
	(void)!write(EL_TRIAL_SAYS_FD, text, strlen(text));
}

static void begin(char step)
{
	const char text[] = { step, '\0' };

	say(text);
}

/* While there are rights: load its program, if it has one, which then lies at a number of its own.
 */
static int verify(struct el_own_trial *own, char why[EL_WHY_BYTES])
{
	struct sl_bpf_bytes program;
	int err = el_object_program(EL_TRIAL_OBJECT_FD, &program);

	*own = (struct el_own_trial){ .program_fd = -1 };
	if (!err && program.n_bytes) {
		begin(EL_TRIAL_VERIFIES);
		err = el_own_trial_open(&program, own, why);
	}
	free(program.bytes);
	if (err || own->program_fd < 0 || own->program_fd == EL_TRIAL_PROGRAM_FD)
		return err;
	if (dup2(own->program_fd, EL_TRIAL_PROGRAM_FD) < 0)
		return -errno;
	close(own->program_fd);
	own->program_fd = EL_TRIAL_PROGRAM_FD;
	return 0;
}

static int try_object(struct el_own_trial *own, char why[EL_WHY_BYTES])
{
	struct el_object object;
	const char *reason = NULL;
	int err;

	begin(EL_TRIAL_LOADS);
	err = el_object_open(EL_TRIAL_OBJECT_FD, &object, why);
	if (err)
		return err;
	begin(EL_TRIAL_TESTS_ITSELF);
	if (object.package->self_test)
		reason = object.package->self_test();
	if (reason) {
		snprintf(why, EL_WHY_BYTES, "its own test: %s", reason);
		return -1;
	}
	begin(EL_TRIAL_EXERCISES);
	err = el_exercise(object.package->class, object.package->trial_parameters,
			  own->program_fd < 0 ? NULL : own, why);
	if (err)
		return err;
	begin(EL_TRIAL_UNLOADS);
	el_object_close(&object);
	if (!el_object_stays(EL_TRIAL_OBJECT_FD))
		return 0;
	snprintf(why, EL_WHY_BYTES, "it stays in memory when it is unloaded (-z nodelete)");
	return -1;
}

int el_trial_run(void)
{
	char why[EL_WHY_BYTES] = "not enough memory for its trial";
	struct el_own_trial own;

	if (el_trial_limit_time()) {
		say(":the process of its trial cannot be confined");
		return 1;
	}
	if (verify(&own, why)) {
		say(":");
		say(why);
		return 1;
	}
	if (own.program_fd < 0)
		close(EL_TRIAL_PROGRAM_FD);
	if (el_trial_confine()) {
		say(":the process of its trial cannot be confined");
		return 1;
	}
	if (!try_object(&own, why))
		return 0;
	say(":");
	say(why);
	return 1;
}
