/* SPDX-License-Identifier: Apache-2.0 */
#include "rescue.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t installed, inside, caught; /* caught: signal number; 0: none */
static _Thread_local volatile sig_atomic_t owns;        /* this thread calls nt_rescue_run */

static void on_signal(int number)
{
    if (!owns &&
        number !=
            SIGALRM) { /* a thread of UCX: the call that waits for it exceeds its time limit */
        caught = number;
        for (;;)
            pause();
    }
    if (!owns)
        return;
    if (inside) {
        inside = 0;
        caught = number;
        siglongjmp(back, 1);
    }
    if (number != SIGALRM)
        signal(number, SIG_DFL); /* the signal repeats and ends the process */
}

void nt_rescue_install(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    owns = 1;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        sigaction(numbers[k], &action, NULL);
    installed = 1;
}

static void set_alarm(double after_s)
{
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)after_s}};
    timer.it_value.tv_usec = (suseconds_t)((after_s - (double)timer.it_value.tv_sec) * 1e6);
    setitimer(ITIMER_REAL, &timer, NULL);
}

bool nt_rescue_run(void (*call)(void *), void *context, double most_s,
                   char why[NT_RESCUE_WHY_BYTES])
{
    if (!installed) {
        call(context);
        return true;
    }
    if (caught == 0 && sigsetjmp(back, 0) == 0) {
        inside = 1;
        set_alarm(most_s);
        call(context);
        inside = 0;
        set_alarm(0);
    }
    if (caught == 0)
        return true;
    set_alarm(0);
    if (caught == SIGALRM)
        snprintf(why, NT_RESCUE_WHY_BYTES, "hung");
    else
        snprintf(why, NT_RESCUE_WHY_BYTES, "crashed (signal %d)", (int)caught);
    return false;
}

bool nt_rescue_was_needed(void)
{
    return caught != 0;
}
