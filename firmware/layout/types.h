/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The few words that the firmware needs of its compiler and nothing else of
 * its host: integer types, atomics, branch hints. Freestanding in user mode,
 * and the kernel's own types under __KERNEL__.
 */
#ifndef NIC_TYPES_H
#define NIC_TYPES_H

#ifdef __KERNEL__
#include <asm/byteorder.h>
#include <linux/types.h>
#include <linux/string.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
/* The compiler may call these two by itself, so every host has them. */
void *memcpy(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* What plain traffic never does: kept out of its way, and out of its registers. */
#define NIC_COLD __attribute__((__noinline__, __cold__))

/*
 * Large, on the stack, and written before it is read: not cleared first where the compiler
 * has to clear what functions begin with, as the kernel's does. That took longer than all
 * else that a short request takes.
 */
#ifndef __has_attribute
#define NIC_SCRATCH
#elif __has_attribute(__uninitialized__)
#define NIC_SCRATCH __attribute__((__uninitialized__))
#else
#define NIC_SCRATCH
#endif

/* Lines that are wanted soon: they travel while others are waited for. */
#define nic_prefetch(p) __builtin_prefetch((p), 0)
#ifdef __x86_64__
/* By its name: compilers make it one for reading, as the oldest processors know no other. */
#define nic_prefetch_write(p) __asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)(p)))
#else
#define nic_prefetch_write(p) __builtin_prefetch((p), 1)
#endif

/*
 * Atomics on words of NIC memory. Each use says which other use it pairs
 * with. Exchanges and read-modify-writes are full barriers.
 */
#define nic_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define nic_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define nic_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define nic_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define nic_xchg(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define nic_fetch_or(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define nic_fetch_and(p, v) __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)
#define nic_fetch_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define nic_barrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)

#endif /* NIC_TYPES_H */
