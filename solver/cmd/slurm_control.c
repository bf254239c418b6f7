/* SPDX-License-Identifier: Apache-2.0 */
#include "slurm_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "import.h"
#include "lines.h"
#include "strbuf.h"

enum { TEXT_MAX = 64 << 20, ARGUMENTS_MAX = 8 };

static int read_pipe(int fd, char **out, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    char piece[4096];
    size_t bytes;
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && d.used + (size_t)n <= TEXT_MAX)
            nt_strbuf_put(&d, piece, (size_t)n);
    nt_strbuf_puts(&d, "");
    return nt_strbuf_finish(&d, out, &bytes, err);
}

static void run_scontrol(const char *const *arguments)
{
    const char *argv[ARGUMENTS_MAX + 2] = {"scontrol"};
    for (size_t k = 0; k < ARGUMENTS_MAX && arguments[k] != NULL; k++)
        argv[k + 1] = arguments[k];
    execvp("scontrol", (char *const *)argv);
    _exit(127);
}

static int check_exit(int status, struct nt_err *err)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return nt_err_set(err, NT_ERR_SYSTEM, "scontrol: expected to run it, found none");
    return 0;
}

int nt_slurm_ask(const char *const *arguments, char **text, struct nt_err *err)
{
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        run_scontrol(arguments);
    }
    close(ends[1]);
    int rc = pid > 0 ? read_pipe(ends[0], text, err)
                     : nt_err_set(err, NT_ERR_SYSTEM, "fork: %s", strerror(errno));
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (rc == 0 && check_exit(status, err) != 0) {
        free(*text);
        rc = -1;
    }
    return rc;
}

int nt_slurm_tell(const char *const *arguments, struct nt_err *err)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        run_scontrol(arguments);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return nt_err_set(err, NT_ERR_SYSTEM, "scontrol: %s", strerror(errno));
    if (check_exit(status, err) != 0)
        return -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "scontrol refused: %.40s %.200s %.200s", arguments[0],
                          arguments[1], arguments[2]);
    return 0;
}

enum { SWITCH, BLOCK, BELOW, NODES, KEYS };

/* Of a line of scontrol what topology.conf has: of a switch with switches its hosts are theirs, and
 * blocks that Slurm has put together are none. */
static void put_line(struct nt_strbuf *d, struct nt_text_line line)
{
    static const char *const keys[KEYS] = {"SwitchName=", "BlockName=", "Switches=", "Nodes="};
    struct nt_word word, found[KEYS] = {0};
    while (nt_line_next_word(&line, &word))
        for (size_t k = 0; k < KEYS; k++)
            if (word.bytes > strlen(keys[k]) && memcmp(word.at, keys[k], strlen(keys[k])) == 0)
                found[k] = word;
    size_t name = found[SWITCH].at != NULL ? SWITCH : BLOCK;
    size_t below = found[BELOW].at != NULL ? BELOW : NODES;
    if (found[name].at == NULL || found[below].at == NULL)
        return;
    nt_strbuf_put(d, found[name].at, found[name].bytes);
    nt_strbuf_puts(d, " ");
    nt_strbuf_put(d, found[below].at, found[below].bytes);
    nt_strbuf_puts(d, "\n");
}

int nt_slurm_topology(const char *topology, struct nt_map **out, bool *block, struct nt_err *err)
{
    const char *const ask[] = {"show", "topology", topology, NULL};
    struct nt_strbuf d = {0};
    char *said, *text;
    size_t bytes;
    if (nt_slurm_ask(ask, &said, err) != 0)
        return -1;
    struct nt_text lines = {.at = said, .end = said + strlen(said)};
    for (struct nt_text_line line; nt_text_next_line(&lines, &line);)
        put_line(&d, line);
    free(said);
    nt_strbuf_puts(&d, "");
    if (nt_strbuf_finish(&d, &text, &bytes, err) != 0)
        return -1;
    *block = bytes > 0 ? strncmp(text, "BlockName=", 10) == 0 : *block;
    int rc = bytes == 0 ? 0 : nt_import_topology_conf("scontrol", text, bytes, out, err);
    free(text);
    return rc;
}
