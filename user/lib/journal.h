/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries for the journal of systemd with fields of their own, by its native protocol
 * (https://systemd.io/JOURNAL_NATIVE_PROTOCOL): one datagram an entry. libsystemd does the same,
 * with a dozen libraries behind it.
 */
#ifndef SL_JOURNAL_H
#define SL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#define SL_JOURNAL_SOCKET      "/run/systemd/journal/socket"
#define SL_JOURNAL_ENTRY_BYTES 8192

struct sl_journal_entry {
	char bytes[SL_JOURNAL_ENTRY_BYTES];
	size_t n;
};

/* Is standard error the stream of the journal that JOURNAL_STREAM names, as systemd.exec(5) has it?
 */
bool sl_journal_has_stderr(void);

/*
 * Add a field. The name is prefix and name with each letter as a capital and '_' for what is
 * neither letter nor digit. A field that the entry has no room for is left out. text: NUL-ended,
 * any bytes.
 */
void sl_journal_text(struct sl_journal_entry *entry, const char *prefix, const char *name,
		     const char *text);
void sl_journal_number(struct sl_journal_entry *entry, const char *prefix, const char *name,
		       long long number);

/*
 * Send the entry to the journal's socket, without waiting for it. Thread-safe. 0, or -errno:
 * nothing was sent; -EAGAIN: the journal has no room now.
 */
int sl_journal_send(const struct sl_journal_entry *entry, const char *socket_path);

#endif
