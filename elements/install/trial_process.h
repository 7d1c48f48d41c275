/* SPDX-License-Identifier: BSD-2-Clause */
/* What the process of a trial and who starts it agree on. */
#ifndef EL_TRIAL_PROCESS_H
#define EL_TRIAL_PROCESS_H

#define EL_TRIAL_OBJECT_FD 3 /* the object */
/* a pipe: a letter for each step that begins, then ':' and a reason */
#define EL_TRIAL_SAYS_FD    4
#define EL_TRIAL_PROGRAM_FD 5 /* that of its program, in the process alone */
#define EL_TRIAL_SAYS_MAX   512
#define EL_TRIAL_CPU_S	    1u

#define EL_TRIAL_VERIFIES     'v'
#define EL_TRIAL_LOADS	      'l'
#define EL_TRIAL_TESTS_ITSELF 't'
#define EL_TRIAL_EXERCISES    'e'
#define EL_TRIAL_UNLOADS      'u'

#define EL_TRIAL_OPTION "--trial"

/* What such a process does. Returns its exit status. */
int el_trial_run(void);
/* From now on there is EL_TRIAL_CPU_S of processor time. 0 or -errno. */
int el_trial_limit_time(void);
/* Give up all rights but those to memory and processor time, and to run the program. 0 or -errno.
 */
int el_trial_confine(void);

#endif
