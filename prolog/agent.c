/* nettopo-prolog: root's part of a sweep, in a job's prolog and epilog on each of its hosts. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "clock.h"
#include "conffile.h"
#include "monitor.h"
#include "publish.h"
#include "request.h"

static const char DEFAULT_CONF[] = NT_SYSCONFDIR "/nettopo/nettopo.conf";

static const char HELP[] =
    "Usage: nettopo-prolog run --job ID --uid UID [--gid GID] [--option TEXT] [--conf FILE]\n"
    "       nettopo-prolog remove --job ID [--conf FILE]\n"
    "       nettopo-prolog --from-prolog-script|--from-epilog-script [--conf FILE]\n"
    "\n"
    "Finds the network of a job in its prolog and publishes it for the job. Started by the\n"
    "plugin spank_nettopo.so, or by a Prolog script where Slurm does not call plugins\n"
    "(PrologFlags=RunInJob). See spank_nettopo(8).\n";

/* 0, 1 and 2 are open before anything else could take their place. */
static void open_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

static int report_error(const struct nt_request *request, const struct nt_err *err)
{
    syslog(LOG_WARNING, "%s", err->text);
    fprintf(stderr, "nettopo-prolog: %s\n", err->text);
    return request->from_script ? 0 : (int)err->kind;
}

static int run_job(struct nt_request *request, const struct nt_conf *conf, double began,
                   struct nt_err *err)
{
    double budget_s;
    if (request->option.off || (!request->wanted && !conf->default_on) || !conf->enabled)
        return 0;
    nt_request_limit(&request->option, conf, &budget_s);
    return nt_monitor_run(request, conf, budget_s, began, err);
}

int main(int argc, char **argv)
{
    double began = nt_clock_s();
    struct nt_request request;
    struct nt_conf conf;
    struct nt_err err;
    open_standard_descriptors();
    umask(022);
    signal(SIGPIPE, SIG_IGN);
    openlog("nettopo", LOG_PID, LOG_DAEMON);
    if (nt_request_read(&request, argc, argv, &err) != 0)
        return report_error(&request, &err);
    if (request.verb == NT_VERB_HELP || request.verb == NT_VERB_VERSION) {
        fputs(request.verb == NT_VERB_HELP ? HELP : "nettopo-prolog " NT_VERSION "\n", stdout);
        return fflush(stdout) == 0 ? 0 : NT_ERR_SYSTEM;
    }
    bool is_optional = request.conf == NULL;
    if (nt_conffile_read(is_optional ? DEFAULT_CONF : request.conf, is_optional, &conf, &err) != 0)
        return report_error(&request, &err);
    int rc = request.verb == NT_VERB_RUN ? run_job(&request, &conf, began, &err)
                                         : nt_publish_remove(conf.run_dir, request.job, &err);
    return rc == 0 ? 0 : report_error(&request, &err);
}
