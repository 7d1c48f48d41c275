# SPDX-License-Identifier: BSD-2-Clause
# An element as a shared object: make -f element.mk [test | sign KEY=me.pem]
NAME   := hop_limit
# The headers: /usr/include/sluice after an installation, or the source tree
SLUICE ?= /usr/local/include/sluice
ELEMENTS ?= sluice-elements
CC     ?= gcc
CFLAGS ?= -O2 -g -Wall -Wextra -Werror

$(NAME).so: $(NAME).c
	$(CC) $(CFLAGS) -std=gnu11 -fPIC -shared -fvisibility=hidden -I$(SLUICE) -o $@ $<

test: $(NAME).so
	$(ELEMENTS) --try ./$(NAME).so

sign: $(NAME).so
	openssl pkeyutl -sign -rawin -inkey $(KEY) -in $(NAME).so -out $(NAME).so.sig

clean:
	rm -f $(NAME).so $(NAME).so.sig

.PHONY: test sign clean
