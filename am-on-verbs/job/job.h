/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A job: the processes of one parallel program, how many they are, which of
 * them this one is, and how they tell each other what they must know before
 * they can communicate by themselves (addresses, keys).
 *
 * It is a client of PMIx, thus works under every launcher that is a PMIx
 * server: vnet-launch(1), mpirun, prterun, srun. A process that was started
 * plainly is a job by itself.
 *
 * Functions that return int return 0 or an errno value, unless they say
 * otherwise; EIO stands for trouble of PMIx for which errno has no better name,
 * ECONNRESET says that the launcher is gone.
 *
 * Threads: job_exchange(), job_barrier(), job_open() and job_close() may be
 * called by one thread at a time, the others by all at any time; none of them in
 * a signal handler. None may be called by a child made with fork().
 */
#ifndef VNET_JOB_H
#define VNET_JOB_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct job;

/*
 * Join the job. Every process that its launcher started has to, and to leave it
 * by job_close(); a process can do so once. Waits for nobody else. *@job belongs
 * to the caller until job_close().
 *
 * EALREADY: this process has joined before. ECONNREFUSED: it was started by a
 * PMIx server that does not answer. ENOMEM, EMFILE, EIO. Then *@job is unchanged.
 */
int job_open(struct job **job);

/* Which process of the job this is: 0 to job_size() - 1. */
int job_rank(const struct job *job);

/* How many there are, this one included. */
int job_size(const struct job *job);

/*
 * How many of them share this machine's processors, this one included. Nodes
 * that are only emulated are one machine in this.
 */
int job_local_size(const struct job *job);

/*
 * Give @len bytes at @mine to everybody, and get everybody's: those of rank r
 * are at @all + r * @len then. @all has room for job_size() times @len bytes,
 * and may not overlap @mine. All processes must call it, with the same @len, as
 * often as the others and in the same order as job_barrier(); it returns when
 * all have.
 *
 * It may be called as often as one likes, but it is for the beginning: the
 * launcher keeps what was exchanged, and each call costs a little more than the
 * one before.
 *
 * EPROTO: another process gave another length. ENOMEM, ECONNRESET, EIO. After an
 * error the contents of @all are undefined.
 */
int job_exchange(struct job *job, const void *mine, size_t len, void *all);

/* Wait until all processes have called it. ECONNRESET, EIO. */
int job_barrier(struct job *job);

/*
 * The rank of a process that ended without leaving the job (the first one, if
 * there are several), or -1. Launchers usually end all others then, some let
 * them go on; not every launcher tells.
 */
int job_failed(const struct job *job);

/*
 * A descriptor that becomes readable, and stays so, when job_failed() is no
 * longer -1, to poll. It belongs to the job: do not read from it or close it.
 */
int job_failed_fd(const struct job *job);

/*
 * End all processes of the job, this one with @status, and say why: one line on
 * stderr, with the rank and @message. @status is 1 to 255, anything else means
 * 1. Under vnet-launch it is the exit status of the launcher, too. Does what
 * _exit() does, so buffers of stdio are not written. @job may be NULL: before
 * job_open(), it ends this process only.
 */
void job_abort(struct job *job, int status, const char *message) __attribute__((noreturn));

/*
 * Leave the job and free @job, also where it returns an error. Waits for nobody
 * else; who wants that calls job_barrier() before. NULL is nothing to leave.
 */
int job_close(struct job *job);

#ifdef __cplusplus
}
#endif

#endif
