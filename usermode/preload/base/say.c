// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "base/say.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/sys.h"

void say(const char *format, ...)
{
	char line[1024] = "vnet: ";
	size_t prefix = 6;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, args);
	va_end(args);
	if (n < 0)
		return;
	n += (int)prefix;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n] = '\n';
	(void)sys(SYS_write, STDERR_FILENO, line, n + 1);
}
