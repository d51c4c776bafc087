/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The numbered forms of requests and replies: AM_Request0() to AM_Request16() and so on.
 *
 * AM-II programs call these. am.h includes this file.
 */
#ifndef AM_FORMS_H
#define AM_FORMS_H

/* Converts an argument to a word, as if the forms were functions with int32_t parameters. */
#define AM_WORD(a) ((int32_t)(a))

#define AM_WORDS1(a0) AM_WORD(a0)
#define AM_WORDS2(a0, a1) AM_WORD(a0), AM_WORD(a1)
#define AM_WORDS3(a0, a1, a2) AM_WORD(a0), AM_WORD(a1), AM_WORD(a2)
#define AM_WORDS4(a0, a1, a2, a3) AM_WORD(a0), AM_WORD(a1), AM_WORD(a2), AM_WORD(a3)
#define AM_WORDS5(a0, a1, a2, a3, a4) AM_WORDS4(a0, a1, a2, a3), AM_WORD(a4)
#define AM_WORDS6(a0, a1, a2, a3, a4, a5) AM_WORDS5(a0, a1, a2, a3, a4), AM_WORD(a5)
#define AM_WORDS7(a0, a1, a2, a3, a4, a5, a6) AM_WORDS6(a0, a1, a2, a3, a4, a5), AM_WORD(a6)
#define AM_WORDS8(a0, a1, a2, a3, a4, a5, a6, a7) AM_WORDS7(a0, a1, a2, a3, a4, a5, a6), AM_WORD(a7)
#define AM_WORDS9(a0, a1, a2, a3, a4, a5, a6, a7, a8)                                              \
	AM_WORDS8(a0, a1, a2, a3, a4, a5, a6, a7), AM_WORD(a8)
#define AM_WORDS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)                                         \
	AM_WORDS9(a0, a1, a2, a3, a4, a5, a6, a7, a8), AM_WORD(a9)
#define AM_WORDS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)                                    \
	AM_WORDS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9), AM_WORD(a10)
#define AM_WORDS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)                               \
	AM_WORDS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10), AM_WORD(a11)
#define AM_WORDS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)                          \
	AM_WORDS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11), AM_WORD(a12)
#define AM_WORDS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)                     \
	AM_WORDS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12), AM_WORD(a13)
#define AM_WORDS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14)                \
	AM_WORDS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13), AM_WORD(a14)
#define AM_WORDS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)           \
	AM_WORDS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14), AM_WORD(a15)

#define AM_Request0(ep, index, handler) AM_RequestV(ep, index, handler, 0)
#define AM_Request1(ep, index, handler, a0) AM_RequestV(ep, index, handler, 1, AM_WORDS1(a0))
#define AM_Request2(ep, index, handler, a0, a1)                                                    \
	AM_RequestV(ep, index, handler, 2, AM_WORDS2(a0, a1))
#define AM_Request3(ep, index, handler, a0, a1, a2)                                                \
	AM_RequestV(ep, index, handler, 3, AM_WORDS3(a0, a1, a2))
#define AM_Request4(ep, index, handler, a0, a1, a2, a3)                                            \
	AM_RequestV(ep, index, handler, 4, AM_WORDS4(a0, a1, a2, a3))
#define AM_Request5(ep, index, handler, a0, a1, a2, a3, a4)                                        \
	AM_RequestV(ep, index, handler, 5, AM_WORDS5(a0, a1, a2, a3, a4))
#define AM_Request6(ep, index, handler, a0, a1, a2, a3, a4, a5)                                    \
	AM_RequestV(ep, index, handler, 6, AM_WORDS6(a0, a1, a2, a3, a4, a5))
#define AM_Request7(ep, index, handler, a0, a1, a2, a3, a4, a5, a6)                                \
	AM_RequestV(ep, index, handler, 7, AM_WORDS7(a0, a1, a2, a3, a4, a5, a6))
#define AM_Request8(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7)                            \
	AM_RequestV(ep, index, handler, 8, AM_WORDS8(a0, a1, a2, a3, a4, a5, a6, a7))
#define AM_Request9(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8)                        \
	AM_RequestV(ep, index, handler, 9, AM_WORDS9(a0, a1, a2, a3, a4, a5, a6, a7, a8))
#define AM_Request10(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)                   \
	AM_RequestV(ep, index, handler, 10, AM_WORDS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define AM_Request11(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)              \
	AM_RequestV(ep, index, handler, 11, AM_WORDS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define AM_Request12(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)         \
	AM_RequestV(ep, index, handler, 12,                                                        \
		    AM_WORDS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define AM_Request13(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)    \
	AM_RequestV(ep, index, handler, 13,                                                        \
		    AM_WORDS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define AM_Request14(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12,    \
		     a13)                                                                          \
	AM_RequestV(ep, index, handler, 14,                                                        \
		    AM_WORDS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define AM_Request15(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12,    \
		     a13, a14)                                                                     \
	AM_RequestV(ep, index, handler, 15,                                                        \
		    AM_WORDS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14))
#define AM_Request16(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12,    \
		     a13, a14, a15)                                                                \
	AM_RequestV(ep, index, handler, 16,                                                        \
		    AM_WORDS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14,    \
			       a15))

#define AM_RequestI0(ep, index, handler, source, nbytes)                                           \
	AM_RequestIV(ep, index, handler, source, nbytes, 0)
#define AM_RequestI1(ep, index, handler, source, nbytes, a0)                                       \
	AM_RequestIV(ep, index, handler, source, nbytes, 1, AM_WORDS1(a0))
#define AM_RequestI2(ep, index, handler, source, nbytes, a0, a1)                                   \
	AM_RequestIV(ep, index, handler, source, nbytes, 2, AM_WORDS2(a0, a1))
#define AM_RequestI3(ep, index, handler, source, nbytes, a0, a1, a2)                               \
	AM_RequestIV(ep, index, handler, source, nbytes, 3, AM_WORDS3(a0, a1, a2))
#define AM_RequestI4(ep, index, handler, source, nbytes, a0, a1, a2, a3)                           \
	AM_RequestIV(ep, index, handler, source, nbytes, 4, AM_WORDS4(a0, a1, a2, a3))
#define AM_RequestI5(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4)                       \
	AM_RequestIV(ep, index, handler, source, nbytes, 5, AM_WORDS5(a0, a1, a2, a3, a4))
#define AM_RequestI6(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5)                   \
	AM_RequestIV(ep, index, handler, source, nbytes, 6, AM_WORDS6(a0, a1, a2, a3, a4, a5))
#define AM_RequestI7(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6)               \
	AM_RequestIV(ep, index, handler, source, nbytes, 7, AM_WORDS7(a0, a1, a2, a3, a4, a5, a6))
#define AM_RequestI8(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7)           \
	AM_RequestIV(ep, index, handler, source, nbytes, 8,                                        \
		     AM_WORDS8(a0, a1, a2, a3, a4, a5, a6, a7))
#define AM_RequestI9(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8)       \
	AM_RequestIV(ep, index, handler, source, nbytes, 9,                                        \
		     AM_WORDS9(a0, a1, a2, a3, a4, a5, a6, a7, a8))
#define AM_RequestI10(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)  \
	AM_RequestIV(ep, index, handler, source, nbytes, 10,                                       \
		     AM_WORDS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define AM_RequestI11(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9,  \
		      a10)                                                                         \
	AM_RequestIV(ep, index, handler, source, nbytes, 11,                                       \
		     AM_WORDS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define AM_RequestI12(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9,  \
		      a10, a11)                                                                    \
	AM_RequestIV(ep, index, handler, source, nbytes, 12,                                       \
		     AM_WORDS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define AM_RequestI13(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9,  \
		      a10, a11, a12)                                                               \
	AM_RequestIV(ep, index, handler, source, nbytes, 13,                                       \
		     AM_WORDS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define AM_RequestI14(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9,  \
		      a10, a11, a12, a13)                                                          \
	AM_RequestIV(ep, index, handler, source, nbytes, 14,                                       \
		     AM_WORDS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define AM_RequestI15(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9,  \
		      a10, a11, a12, a13, a14)                                                     \
	AM_RequestIV(ep, index, handler, source, nbytes, 15,                                       \
		     AM_WORDS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14))
#define AM_RequestI16(ep, index, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9,  \
		      a10, a11, a12, a13, a14, a15)                                                \
	AM_RequestIV(ep, index, handler, source, nbytes, 16,                                       \
		     AM_WORDS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14,   \
				a15))

#define AM_RequestXfer0(ep, index, offset, handler, source, nbytes)                                \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 0)
#define AM_RequestXfer1(ep, index, offset, handler, source, nbytes, a0)                            \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 1, AM_WORDS1(a0))
#define AM_RequestXfer2(ep, index, offset, handler, source, nbytes, a0, a1)                        \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 2, AM_WORDS2(a0, a1))
#define AM_RequestXfer3(ep, index, offset, handler, source, nbytes, a0, a1, a2)                    \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 3, AM_WORDS3(a0, a1, a2))
#define AM_RequestXfer4(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3)                \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 4, AM_WORDS4(a0, a1, a2, a3))
#define AM_RequestXfer5(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4)            \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 5,                          \
			AM_WORDS5(a0, a1, a2, a3, a4))
#define AM_RequestXfer6(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5)        \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 6,                          \
			AM_WORDS6(a0, a1, a2, a3, a4, a5))
#define AM_RequestXfer7(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6)    \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 7,                          \
			AM_WORDS7(a0, a1, a2, a3, a4, a5, a6))
#define AM_RequestXfer8(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6,    \
			a7)                                                                        \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 8,                          \
			AM_WORDS8(a0, a1, a2, a3, a4, a5, a6, a7))
#define AM_RequestXfer9(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6,    \
			a7, a8)                                                                    \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 9,                          \
			AM_WORDS9(a0, a1, a2, a3, a4, a5, a6, a7, a8))
#define AM_RequestXfer10(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6,   \
			 a7, a8, a9)                                                               \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 10,                         \
			AM_WORDS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define AM_RequestXfer11(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6,   \
			 a7, a8, a9, a10)                                                          \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 11,                         \
			AM_WORDS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define AM_RequestXfer12(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6,   \
			 a7, a8, a9, a10, a11)                                                     \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 12,                         \
			AM_WORDS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define AM_RequestXfer13(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6,   \
			 a7, a8, a9, a10, a11, a12)                                                \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 13,                         \
			AM_WORDS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define AM_RequestXfer14(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6,   \
			 a7, a8, a9, a10, a11, a12, a13)                                           \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 14,                         \
			AM_WORDS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define AM_RequestXfer15(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6,   \
			 a7, a8, a9, a10, a11, a12, a13, a14)                                      \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 15,                         \
			AM_WORDS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13,     \
				   a14))
#define AM_RequestXfer16(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6,   \
			 a7, a8, a9, a10, a11, a12, a13, a14, a15)                                 \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 0, 16,                         \
			AM_WORDS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13,     \
				   a14, a15))

#define AM_RequestXferAsync0(ep, index, offset, handler, source, nbytes)                           \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 0)
#define AM_RequestXferAsync1(ep, index, offset, handler, source, nbytes, a0)                       \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 1, AM_WORDS1(a0))
#define AM_RequestXferAsync2(ep, index, offset, handler, source, nbytes, a0, a1)                   \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 2, AM_WORDS2(a0, a1))
#define AM_RequestXferAsync3(ep, index, offset, handler, source, nbytes, a0, a1, a2)               \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 3, AM_WORDS3(a0, a1, a2))
#define AM_RequestXferAsync4(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3)           \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 4, AM_WORDS4(a0, a1, a2, a3))
#define AM_RequestXferAsync5(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4)       \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 5,                          \
			AM_WORDS5(a0, a1, a2, a3, a4))
#define AM_RequestXferAsync6(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5)   \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 6,                          \
			AM_WORDS6(a0, a1, a2, a3, a4, a5))
#define AM_RequestXferAsync7(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,   \
			     a6)                                                                   \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 7,                          \
			AM_WORDS7(a0, a1, a2, a3, a4, a5, a6))
#define AM_RequestXferAsync8(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,   \
			     a6, a7)                                                               \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 8,                          \
			AM_WORDS8(a0, a1, a2, a3, a4, a5, a6, a7))
#define AM_RequestXferAsync9(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,   \
			     a6, a7, a8)                                                           \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 9,                          \
			AM_WORDS9(a0, a1, a2, a3, a4, a5, a6, a7, a8))
#define AM_RequestXferAsync10(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,  \
			      a6, a7, a8, a9)                                                      \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 10,                         \
			AM_WORDS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define AM_RequestXferAsync11(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,  \
			      a6, a7, a8, a9, a10)                                                 \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 11,                         \
			AM_WORDS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define AM_RequestXferAsync12(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,  \
			      a6, a7, a8, a9, a10, a11)                                            \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 12,                         \
			AM_WORDS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define AM_RequestXferAsync13(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,  \
			      a6, a7, a8, a9, a10, a11, a12)                                       \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 13,                         \
			AM_WORDS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define AM_RequestXferAsync14(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,  \
			      a6, a7, a8, a9, a10, a11, a12, a13)                                  \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 14,                         \
			AM_WORDS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define AM_RequestXferAsync15(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,  \
			      a6, a7, a8, a9, a10, a11, a12, a13, a14)                             \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 15,                         \
			AM_WORDS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13,     \
				   a14))
#define AM_RequestXferAsync16(ep, index, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5,  \
			      a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)                        \
	AM_RequestXferV(ep, index, offset, handler, source, nbytes, 1, 16,                         \
			AM_WORDS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13,     \
				   a14, a15))

#define AM_Reply0(token, handler) AM_ReplyV(token, handler, 0)
#define AM_Reply1(token, handler, a0) AM_ReplyV(token, handler, 1, AM_WORDS1(a0))
#define AM_Reply2(token, handler, a0, a1) AM_ReplyV(token, handler, 2, AM_WORDS2(a0, a1))
#define AM_Reply3(token, handler, a0, a1, a2) AM_ReplyV(token, handler, 3, AM_WORDS3(a0, a1, a2))
#define AM_Reply4(token, handler, a0, a1, a2, a3)                                                  \
	AM_ReplyV(token, handler, 4, AM_WORDS4(a0, a1, a2, a3))
#define AM_Reply5(token, handler, a0, a1, a2, a3, a4)                                              \
	AM_ReplyV(token, handler, 5, AM_WORDS5(a0, a1, a2, a3, a4))
#define AM_Reply6(token, handler, a0, a1, a2, a3, a4, a5)                                          \
	AM_ReplyV(token, handler, 6, AM_WORDS6(a0, a1, a2, a3, a4, a5))
#define AM_Reply7(token, handler, a0, a1, a2, a3, a4, a5, a6)                                      \
	AM_ReplyV(token, handler, 7, AM_WORDS7(a0, a1, a2, a3, a4, a5, a6))
#define AM_Reply8(token, handler, a0, a1, a2, a3, a4, a5, a6, a7)                                  \
	AM_ReplyV(token, handler, 8, AM_WORDS8(a0, a1, a2, a3, a4, a5, a6, a7))
#define AM_Reply9(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8)                              \
	AM_ReplyV(token, handler, 9, AM_WORDS9(a0, a1, a2, a3, a4, a5, a6, a7, a8))
#define AM_Reply10(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)                         \
	AM_ReplyV(token, handler, 10, AM_WORDS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define AM_Reply11(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)                    \
	AM_ReplyV(token, handler, 11, AM_WORDS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define AM_Reply12(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)               \
	AM_ReplyV(token, handler, 12, AM_WORDS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define AM_Reply13(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)          \
	AM_ReplyV(token, handler, 13,                                                              \
		  AM_WORDS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define AM_Reply14(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)     \
	AM_ReplyV(token, handler, 14,                                                              \
		  AM_WORDS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define AM_Reply15(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13,     \
		   a14)                                                                            \
	AM_ReplyV(token, handler, 15,                                                              \
		  AM_WORDS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14))
#define AM_Reply16(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13,     \
		   a14, a15)                                                                       \
	AM_ReplyV(token, handler, 16,                                                              \
		  AM_WORDS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14,      \
			     a15))

#define AM_ReplyI0(token, handler, source, nbytes) AM_ReplyIV(token, handler, source, nbytes, 0)
#define AM_ReplyI1(token, handler, source, nbytes, a0)                                             \
	AM_ReplyIV(token, handler, source, nbytes, 1, AM_WORDS1(a0))
#define AM_ReplyI2(token, handler, source, nbytes, a0, a1)                                         \
	AM_ReplyIV(token, handler, source, nbytes, 2, AM_WORDS2(a0, a1))
#define AM_ReplyI3(token, handler, source, nbytes, a0, a1, a2)                                     \
	AM_ReplyIV(token, handler, source, nbytes, 3, AM_WORDS3(a0, a1, a2))
#define AM_ReplyI4(token, handler, source, nbytes, a0, a1, a2, a3)                                 \
	AM_ReplyIV(token, handler, source, nbytes, 4, AM_WORDS4(a0, a1, a2, a3))
#define AM_ReplyI5(token, handler, source, nbytes, a0, a1, a2, a3, a4)                             \
	AM_ReplyIV(token, handler, source, nbytes, 5, AM_WORDS5(a0, a1, a2, a3, a4))
#define AM_ReplyI6(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5)                         \
	AM_ReplyIV(token, handler, source, nbytes, 6, AM_WORDS6(a0, a1, a2, a3, a4, a5))
#define AM_ReplyI7(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6)                     \
	AM_ReplyIV(token, handler, source, nbytes, 7, AM_WORDS7(a0, a1, a2, a3, a4, a5, a6))
#define AM_ReplyI8(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7)                 \
	AM_ReplyIV(token, handler, source, nbytes, 8, AM_WORDS8(a0, a1, a2, a3, a4, a5, a6, a7))
#define AM_ReplyI9(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8)             \
	AM_ReplyIV(token, handler, source, nbytes, 9, AM_WORDS9(a0, a1, a2, a3, a4, a5, a6, a7, a8))
#define AM_ReplyI10(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)        \
	AM_ReplyIV(token, handler, source, nbytes, 10,                                             \
		   AM_WORDS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define AM_ReplyI11(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)   \
	AM_ReplyIV(token, handler, source, nbytes, 11,                                             \
		   AM_WORDS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define AM_ReplyI12(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10,   \
		    a11)                                                                           \
	AM_ReplyIV(token, handler, source, nbytes, 12,                                             \
		   AM_WORDS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define AM_ReplyI13(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10,   \
		    a11, a12)                                                                      \
	AM_ReplyIV(token, handler, source, nbytes, 13,                                             \
		   AM_WORDS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define AM_ReplyI14(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10,   \
		    a11, a12, a13)                                                                 \
	AM_ReplyIV(token, handler, source, nbytes, 14,                                             \
		   AM_WORDS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define AM_ReplyI15(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10,   \
		    a11, a12, a13, a14)                                                            \
	AM_ReplyIV(token, handler, source, nbytes, 15,                                             \
		   AM_WORDS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14))
#define AM_ReplyI16(token, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10,   \
		    a11, a12, a13, a14, a15)                                                       \
	AM_ReplyIV(token, handler, source, nbytes, 16,                                             \
		   AM_WORDS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14,     \
			      a15))

#define AM_ReplyXfer0(token, offset, handler, source, nbytes)                                      \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 0)
#define AM_ReplyXfer1(token, offset, handler, source, nbytes, a0)                                  \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 1, AM_WORDS1(a0))
#define AM_ReplyXfer2(token, offset, handler, source, nbytes, a0, a1)                              \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 2, AM_WORDS2(a0, a1))
#define AM_ReplyXfer3(token, offset, handler, source, nbytes, a0, a1, a2)                          \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 3, AM_WORDS3(a0, a1, a2))
#define AM_ReplyXfer4(token, offset, handler, source, nbytes, a0, a1, a2, a3)                      \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 4, AM_WORDS4(a0, a1, a2, a3))
#define AM_ReplyXfer5(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4)                  \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 5, AM_WORDS5(a0, a1, a2, a3, a4))
#define AM_ReplyXfer6(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5)              \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 6, AM_WORDS6(a0, a1, a2, a3, a4, a5))
#define AM_ReplyXfer7(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6)          \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 7,                                   \
		      AM_WORDS7(a0, a1, a2, a3, a4, a5, a6))
#define AM_ReplyXfer8(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7)      \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 8,                                   \
		      AM_WORDS8(a0, a1, a2, a3, a4, a5, a6, a7))
#define AM_ReplyXfer9(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8)  \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 9,                                   \
		      AM_WORDS9(a0, a1, a2, a3, a4, a5, a6, a7, a8))
#define AM_ReplyXfer10(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
		       a9)                                                                         \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 10,                                  \
		      AM_WORDS10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define AM_ReplyXfer11(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
		       a9, a10)                                                                    \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 11,                                  \
		      AM_WORDS11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define AM_ReplyXfer12(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
		       a9, a10, a11)                                                               \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 12,                                  \
		      AM_WORDS12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define AM_ReplyXfer13(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
		       a9, a10, a11, a12)                                                          \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 13,                                  \
		      AM_WORDS13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define AM_ReplyXfer14(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
		       a9, a10, a11, a12, a13)                                                     \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 14,                                  \
		      AM_WORDS14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13))
#define AM_ReplyXfer15(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
		       a9, a10, a11, a12, a13, a14)                                                \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 15,                                  \
		      AM_WORDS15(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14))
#define AM_ReplyXfer16(token, offset, handler, source, nbytes, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
		       a9, a10, a11, a12, a13, a14, a15)                                           \
	AM_ReplyXferV(token, offset, handler, source, nbytes, 16,                                  \
		      AM_WORDS16(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14,  \
				 a15))

#endif
