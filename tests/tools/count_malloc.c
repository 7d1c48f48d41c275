/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that counts a program's allocations, preloaded:
 *
 *   COUNT_MALLOC=FILE LD_PRELOAD=build/tests/tools/count_malloc.so build/sluice-bridge ...
 *
 * The first 8 bytes of FILE, which must exist and have as many, are the number of calls of malloc,
 * calloc and realloc, in host order.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static uint64_t *count;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("COUNT_MALLOC");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED
			 : mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED)
		count = p;
}

static void count_one(void)
{
	if (count)
		__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
	count_one();
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count_one();
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	count_one();
	return __libc_realloc(p, size);
}
