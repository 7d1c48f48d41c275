# SPDX-License-Identifier: BSD-2-Clause
# An element as a shared object: make -f element.mk [test | sign KEY=me.pem]
# With $(NAME).bpf.c beside it, the object has the half for the fast path in it.
NAME   := hop_limit
# The headers: /usr/include/sluice after an installation, or the source tree
SLUICE ?= /usr/local/include/sluice
KEY    ?= $(error write KEY=, the file of the key that signs: openssl genpkey -algorithm ed25519 -out me.pem)
ELEMENTS ?= sluice-elements
CC     ?= gcc
CFLAGS ?= -O2 -g -Wall -Wextra -Werror
CLANG  ?= clang
BPF_CFLAGS ?= -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror

$(NAME).so: $(NAME).c $(patsubst %.c,%.o,$(wildcard $(NAME).bpf.c))
	$(CC) $(CFLAGS) -std=gnu11 -fPIC -shared -fvisibility=hidden -I$(SLUICE) -o $@ $<

%.bpf.o: %.bpf.c
	$(CLANG) $(BPF_CFLAGS) -I$(SLUICE) -I/usr/include/$(shell uname -m)-linux-gnu -c $< -o $@

test: $(NAME).so
	$(ELEMENTS) --try ./$(NAME).so

sign: $(NAME).so
	openssl pkeyutl -sign -rawin -inkey $(KEY) -in $(NAME).so -out $(NAME).so.sig

clean:
	rm -f $(NAME).so $(NAME).so.sig $(NAME).bpf.o

.PHONY: test sign clean
