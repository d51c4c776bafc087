/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Macros for functions that exist once for each number of words. */
#ifndef AM_TEST_WORDS_H
#define AM_TEST_WORDS_H

/* , int32_t a0, int32_t a1 ... */
#define PARAMETERS0
#define PARAMETERS1 , int32_t a0
#define PARAMETERS2 PARAMETERS1, int32_t a1
#define PARAMETERS3 PARAMETERS2, int32_t a2
#define PARAMETERS4 PARAMETERS3, int32_t a3
#define PARAMETERS5 PARAMETERS4, int32_t a4
#define PARAMETERS6 PARAMETERS5, int32_t a5
#define PARAMETERS7 PARAMETERS6, int32_t a6
#define PARAMETERS8 PARAMETERS7, int32_t a7
#define PARAMETERS9 PARAMETERS8, int32_t a8
#define PARAMETERS10 PARAMETERS9, int32_t a9
#define PARAMETERS11 PARAMETERS10, int32_t a10
#define PARAMETERS12 PARAMETERS11, int32_t a11
#define PARAMETERS13 PARAMETERS12, int32_t a12
#define PARAMETERS14 PARAMETERS13, int32_t a13
#define PARAMETERS15 PARAMETERS14, int32_t a14
#define PARAMETERS16 PARAMETERS15, int32_t a15

/* , a0, a1 ... */
#define NAMES0
#define NAMES1 , a0
#define NAMES2 NAMES1, a1
#define NAMES3 NAMES2, a2
#define NAMES4 NAMES3, a3
#define NAMES5 NAMES4, a4
#define NAMES6 NAMES5, a5
#define NAMES7 NAMES6, a6
#define NAMES8 NAMES7, a7
#define NAMES9 NAMES8, a8
#define NAMES10 NAMES9, a9
#define NAMES11 NAMES10, a10
#define NAMES12 NAMES11, a11
#define NAMES13 NAMES12, a12
#define NAMES14 NAMES13, a13
#define NAMES15 NAMES14, a14
#define NAMES16 NAMES15, a15

/* , w[0], w[1] ... */
#define WORDS0
#define WORDS1 , w[0]
#define WORDS2 WORDS1, w[1]
#define WORDS3 WORDS2, w[2]
#define WORDS4 WORDS3, w[3]
#define WORDS5 WORDS4, w[4]
#define WORDS6 WORDS5, w[5]
#define WORDS7 WORDS6, w[6]
#define WORDS8 WORDS7, w[7]
#define WORDS9 WORDS8, w[8]
#define WORDS10 WORDS9, w[9]
#define WORDS11 WORDS10, w[10]
#define WORDS12 WORDS11, w[11]
#define WORDS13 WORDS12, w[12]
#define WORDS14 WORDS13, w[13]
#define WORDS15 WORDS14, w[14]
#define WORDS16 WORDS15, w[15]

#define FOR_ALL(M)                                                                                 \
	M(0)                                                                                       \
	M(1)                                                                                       \
	M(2)                                                                                       \
	M(3)                                                                                       \
	M(4)                                                                                       \
	M(5)                                                                                       \
	M(6)                                                                                       \
	M(7)                                                                                       \
	M(8)                                                                                       \
	M(9)                                                                                       \
	M(10)                                                                                      \
	M(11)                                                                                      \
	M(12)                                                                                      \
	M(13)                                                                                      \
	M(14)                                                                                      \
	M(15)                                                                                      \
	M(16)

/* Calls a macro whose arguments are expanded first. */
#define CALL(macro, ...) macro(__VA_ARGS__)

#endif
