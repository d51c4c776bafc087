/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Types, atomics and compiler attributes of the firmware. In user mode it is freestanding; with
 * __KERNEL__ the types are the kernel's.
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
/* Compilers may call these two implicitly, so each host has them. */
void *memcpy(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* For functions off the fast path: keeps their code and registers out of it. */
#define NIC_COLD __attribute__((__noinline__, __cold__))

/*
 * For large local variables that are written before they are read: exempts them where the compiler
 * initialises all local variables, as the kernel's does. That took longer than all other work of a
 * short request.
 */
#ifndef __has_attribute
#define NIC_SCRATCH
#elif __has_attribute(__uninitialized__)
#define NIC_SCRATCH __attribute__((__uninitialized__))
#else
#define NIC_SCRATCH
#endif

/* Prefetch cache lines, so that they travel at the same time as others. */
#define nic_prefetch(p) __builtin_prefetch((p), 0)
#ifdef __x86_64__
/*
 * In assembler, because compilers emit a read prefetch for the oldest processors, which lack this
 * one.
 */
#define nic_prefetch_write(p) __asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)(p)))
#else
#define nic_prefetch_write(p) __builtin_prefetch((p), 1)
#endif

/*
 * Atomics on words of NIC memory. Each use names the use that it pairs with. Exchanges and
 * read-modify-writes are full barriers.
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
