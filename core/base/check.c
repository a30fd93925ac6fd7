/*
 * check: the last words of a process whose own rules were broken. Written with one write(2), since
 * neither the heap nor stdio can be trusted any more; abort() leaves the core file.
 */
#include "core/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void check_failed(const char *file, int line, const char *condition)
{
    char text[512];
    int len = snprintf(text, sizeof(text), "%s:%d: assertion failed: %s\n", file, line, condition);
    if (len >= (int)sizeof(text))
        len = (int)sizeof(text) - 1;
    ssize_t written = write(STDERR_FILENO, text, len > 0 ? (size_t)len : 0);
    (void)written; /* if even that fails, nobody is left to tell */
    abort();
}
