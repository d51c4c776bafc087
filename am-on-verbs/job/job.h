/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A job: the processes of one parallel program, and how they exchange data before they are
 * connected.
 *
 * A process learns its rank and the number of processes, and exchanges addresses and keys.
 * The job is a client of PMIx, so it works with every launcher that is a PMIx server:
 * vnet-launch(1), mpirun, prterun, srun. A process that was started without a launcher is a
 * job of its own.
 *
 * Functions that return int return 0 or an errno value, unless stated otherwise. EIO is an
 * error of PMIx that has no better errno value; ECONNRESET means that the launcher is gone.
 *
 * Threads: job_exchange(), job_barrier(), job_open() and job_close() may be called by one
 * thread at a time, the other functions by any thread at any time. None may be called in a
 * signal handler, or by a child made with fork().
 */
#ifndef VNET_JOB_H
#define VNET_JOB_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct job;

/*
 * Joins the job. Each process that the launcher started must call it, and must leave the
 * job by job_close(). A process can join only once. Does not wait for other processes.
 * *@job belongs to the caller until job_close().
 *
 * EALREADY: this process has joined before. ECONNREFUSED: a PMIx server started it, but
 * does not answer. ENOMEM, EMFILE, EIO. After an error, *@job is unchanged.
 */
int job_open(struct job **job);

/* Rank of this process: 0 to job_size() - 1. */
int job_rank(const struct job *job);

/* Number of processes of the job. */
int job_size(const struct job *job);

/*
 * Number of processes of the job on this machine, including this one. Emulated nodes of one
 * machine count as one.
 */
int job_local_size(const struct job *job);

/*
 * Whether the job's processes on this machine are more than the CPUs that this process may
 * use (sched_setaffinity(2)). If so, a process that polls delays the one that it waits for.
 */
bool job_crowded(const struct job *job);

/*
 * All-gather: sends @len bytes at @mine to all processes. The bytes of rank r arrive at
 * @all + r * @len. @all has room for job_size() times @len bytes, and must not overlap
 * @mine. All processes must call it, with the same @len, equally often and in the same
 * order relative to job_barrier(). Returns when all processes have called it.
 *
 * There is no limit of calls, but it is meant for start-up: the launcher keeps all
 * exchanged data, and each call costs a little more than the previous one.
 *
 * EPROTO: another process used a different length. ENOMEM, ECONNRESET, EIO. After an error,
 * the contents of @all are undefined.
 */
int job_exchange(struct job *job, const void *mine, size_t len, void *all);

/* Waits until all processes have called it. ECONNRESET, EIO. */
int job_barrier(struct job *job);

/*
 * The rank of a process that ended without leaving the job (the first one, if there are
 * several), or -1. Most launchers then end all other processes; some let them continue. Not
 * all launchers report such a process.
 */
int job_failed(const struct job *job);

/*
 * A descriptor that is readable from the time when job_failed() is not -1. It is for poll()
 * only and belongs to the job: do not read from it or close it.
 */
int job_failed_fd(const struct job *job);

/*
 * Ends all processes of the job, this one with @status. Prints one line on stderr, with the
 * rank and @message. @status is 1 to 255; any other value means 1. vnet-launch also exits
 * with this status. Ends this process like _exit(), without flushing stdio buffers. @job
 * may be NULL, before job_open(): ends this process only.
 */
void job_abort(struct job *job, int status, const char *message) __attribute__((noreturn));

/*
 * Leaves the job and frees @job, even if it returns an error. Does not wait for other
 * processes; a caller that wants to wait calls job_barrier() first. @job may be NULL.
 */
int job_close(struct job *job);

#ifdef __cplusplus
}
#endif

#endif
