/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One program, many processes: the job is started by vnet-launch(1), "vnet run
 * -n N", mpirun, or any other launcher that serves PMIx; each process gets an
 * endpoint that has all processes' endpoints, its own included, in its
 * translation table, at their ranks.
 *
 * These functions are for one thread. Functions return as those of am.h.
 */
#ifndef AM_SPMD_H
#define AM_SPMD_H

#include "am.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Joins the job, calls AM_Init(), allocates a bundle (AM_SEQ, or AM_PAR by @type)
 * and an endpoint in it, and fills its translation table. The program sets its
 * handlers next, and calls AM_SPMDBarrier() before it sends anything.
 * AM_ERR_RESOURCE, after a message on stderr: the launcher, or the device, cannot
 * be used.
 */
int AM_SPMDStartup(int type, eb_t *eb, ep_t *ep);

/* Which process this is, and how many there are. Before AM_SPMDStartup(): 0 and 1. */
int AM_SPMDMyProc(void);
int AM_SPMDNumProcs(void);

/* Returns when all processes have called it; runs handlers meanwhile. Not in a handler. */
int AM_SPMDBarrier(void);

/*
 * Everybody's @len bytes at @source, in the order of their ranks, at @dest. All
 * have to call it, with the same @len. Runs handlers before it waits for others,
 * not while.
 */
int AM_SPMDAllGather(const void *source, void *dest, size_t len);

/*
 * Ends this process with status @exitcode. 0: all others must do the same, and all
 * wait for the last; otherwise all processes are ended at once. Does not return.
 */
void AM_SPMDExit(int exitcode) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
