# SPDX-License-Identifier: BSD-2-Clause
# What daemon, command and bridge share: values and texts, the configuration, netlink, sockets between the processes.
LIBS += libbase libetcd libdaemon libcapture libcli
libbase_SRCS := $(call sources_in,$(addprefix user/,text lib classify rtnl ipc config))
libbase_USES := libcc libqueues
# Configurations in etcd: what the command and the agent share
libetcd_SRCS := $(call sources_in,$(addprefix user/,etcd document agent))
libetcd_USES := libbase
# The daemon but for its main file, so that tests link what it runs.
libdaemon_SRCS := $(call sources_in,$(addprefix user/,fib datapath mirror mirror/sync cluster copies reserve tables daemon show metrics))
libdaemon_USES := libbase
# What captures frames needs libpcap.
libcapture_SRCS := $(call sources_in,user/capture)
libcapture_USES := libdaemon
# The command reads counters and pins where the daemon does not answer.
libcli_SRCS := $(call sources_in,user/cli user/chains user/flows user/import user/join user/keys user/routing user/sflow user/trace user/versions user/web)
libcli_USES := libdaemon libcapture libetcd libelementsignal

PROGRAMS += sluiced sluice sluice-cluster
sluiced_SRCS := user/sluiced.c
sluiced_USES := libdaemon
sluiced_LDLIBS := -lmicrohttpd
sluice_SRCS := user/sluice.c
sluice_USES := libcli
# libcurl fetches elements and asks etcd, libcrypto has base64 and seals keys.
sluice_LDLIBS := -lpcap -lmicrohttpd -lcurl -lcrypto

sluice-cluster_SRCS := user/sluice-cluster.c
sluice-cluster_USES := libetcd
sluice-cluster_LDLIBS := -lcurl -lcrypto

# The page of sluice web, as string literals
WEB_PAGE_OBJS := $(foreach kind,obj asan tsan fuzz,$(BUILD)/$(kind)/user/web/web_page.o)
$(BUILD)/user/web/page.inc: user/web/page.html
	$(call say,TEXT,$@)
	@mkdir -p $(@D)
	$(Q)sed 's/[?\\"]/\\&/g; s/.*/"&\\n"/' $< >$@
$(WEB_PAGE_OBJS): $(BUILD)/user/web/page.inc
$(WEB_PAGE_OBJS): CPPFLAGS += -I$(BUILD)
