# SPDX-License-Identifier: BSD-2-Clause
# The statistics of delay are a library of their own: pure objects, for the tool and for whoever measures on line.
LIBS += libdelay libdelaystats
libdelaystats_SRCS := $(wildcard delay/stats/*.c)
libdelay_USES := libdelaystats libbase
libdelay_SRCS := $(filter-out delay/sluice-delay.c,$(wildcard delay/*.c delay/capture/*.c))
# Only what reads captures needs libpcap.
PROGRAMS += sluice-delay
sluice-delay_SRCS := delay/sluice-delay.c
sluice-delay_USES := libdelay
sluice-delay_LDLIBS := -lpcap -lm
