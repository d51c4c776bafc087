// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* JSON strings from arbitrary bytes, as in names of client processes. */
#include <string.h>

#include "process.h"
#include "vnetd.h"

/* Returns the length of the UTF-8 sequence at `s`, 0 if it is invalid (Unicode table 3-7). */
static size_t utf8_length(const u8 *s)
{
	size_t length = s[0] < 0x80 ? 1 :
			s[0] < 0xc2 ? 0 :
			s[0] < 0xe0 ? 2 :
			s[0] < 0xf0 ? 3 :
			s[0] < 0xf5 ? 4 :
				      0;

	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and code points above U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

void json_string(FILE *out, const char *text)
{
	const u8 *s = (const u8 *)text;

	putc('"', out);
	while (*s) {
		size_t length = utf8_length(s);

		if (length == 0)
			putc('?', out);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(out, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fwrite(s, 1, length, out);
		s += length ? length : 1;
	}
	putc('"', out);
}
