#include "core/base/check.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(check, ends_the_process_when_it_fails, .signal = SIGABRT)
{
    ASSERT(1 + 1 == 3);
}

Test(check, evaluates_its_condition_once)
{
    int calls = 0;
    ASSERT(++calls == 1);
    cr_expect_eq(calls, 1);
}

Test(check, is_one_statement)
{
    if (1 > 2)
        ASSERT(0);
    else
        ASSERT(1);
}
