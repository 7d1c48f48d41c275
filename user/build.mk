# SPDX-License-Identifier: BSD-2-Clause
# libsluice is everything but the main files, so that tests link what the daemon runs.
USER_MAINS := user/sluiced.c user/sluice.c
LIBS += libsluice
libsluice_SRCS := $(filter-out $(USER_MAINS),$(wildcard user/*.c user/*/*.c user/*/*/*.c))

PROGRAMS += $(patsubst user/%.c,%,$(wildcard $(USER_MAINS)))
sluiced_SRCS := user/sluiced.c
sluiced_USES := libsluice libcc
sluiced_LDLIBS := -lmicrohttpd
sluice_SRCS  := user/sluice.c
sluice_USES  := libsluice libcc
