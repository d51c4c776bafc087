/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * SPMD jobs: the processes of one parallel program as endpoints that know each other.
 *
 * vnet-launch(1), "vnet run -n N", mpirun, or any other launcher that provides PMIx starts
 * the job. Each process gets an endpoint whose translation table contains the endpoints of
 * all processes, including its own, indexed by rank.
 *
 * Only one thread may call these functions. They return the same values as those of am.h.
 */
#ifndef AM_SPMD_H
#define AM_SPMD_H

#include "am.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Joins the job, calls AM_Init(), allocates a bundle (@type: AM_SEQ or AM_PAR) and an
 * endpoint in it, and fills its translation table. The program must then set its handlers,
 * and call AM_SPMDBarrier() before it sends anything. AM_ERR_RESOURCE, after a message on
 * stderr: the launcher or the device cannot be used.
 */
int AM_SPMDStartup(int type, eb_t *eb, ep_t *ep);

/* Rank of this process, and number of processes. 0 and 1 before AM_SPMDStartup(). */
int AM_SPMDMyProc(void);
int AM_SPMDNumProcs(void);

/*
 * Returns when all processes have called it. Runs handlers meanwhile. Not to be called by a
 * handler.
 */
int AM_SPMDBarrier(void);

/*
 * Gathers @len bytes at @source from each process, in the order of ranks, at @dest. All
 * processes must call it with the same @len. Runs handlers before it waits for the others,
 * but not while it waits.
 */
int AM_SPMDAllGather(const void *source, void *dest, size_t len);

/*
 * Ends this process with status @exitcode. With 0, all other processes must do the same,
 * and each waits for the last one. Otherwise, all processes are ended at once. Does not
 * return.
 */
void AM_SPMDExit(int exitcode) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
