/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "space.h"

void nt_artifact_files_init(struct nt_artifact_files *artifacts, uint64_t limit_bytes)
{
    *artifacts = (struct nt_artifact_files){.limit_bytes = limit_bytes};
    for (int k = 0; k < NT_ARTIFACT_END; k++)
        artifacts->fd[k] = -1;
}

void nt_artifact_files_fini(struct nt_artifact_files *artifacts)
{
    for (int k = 0; k < NT_ARTIFACT_END; k++) {
        if (artifacts->fd[k] >= 0)
            close(artifacts->fd[k]);
        artifacts->fd[k] = -1;
    }
}

int nt_write_all(int fd, const void *from, size_t bytes)
{
    const unsigned char *data = from;
    while (bytes > 0) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static void drop(struct nt_artifact_files *artifacts, uint32_t artifact)
{
    int fd = artifacts->fd[artifact];
    off_t bytes = lseek(fd, 0, SEEK_CUR);
    artifacts->dropped[artifact] = true;
    if (bytes > 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        artifacts->used_bytes -= (uint64_t)bytes;
}

static int check_limits(const struct nt_artifact_files *artifacts, uint32_t artifact, size_t bytes,
                        struct nt_err *err)
{
    if (bytes > artifacts->limit_bytes - artifacts->used_bytes)
        return nt_err_set(err, NT_ERR_INPUT, "%s: over the limit of %llu bytes for all files",
                          nt_artifact_name(artifact), (unsigned long long)artifacts->limit_bytes);
    return artifacts->keeps_room ? nt_space_check_free(artifacts->fd[artifact], bytes, err) : 0;
}

int nt_artifact_files_write(struct nt_artifact_files *artifacts, uint32_t artifact, bool more,
                            const void *data, size_t bytes, struct nt_err *err)
{
    const char *name = nt_artifact_name(artifact);
    if (name == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "unknown artifact %u", artifact);
    if (artifacts->fd[artifact] < 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "no directory to publish in");
    if (artifacts->complete[artifact])
        return nt_err_set(err, NT_ERR_INPUT, "%s: data after its last part", name);
    bool may_lack = artifact == NT_ARTIFACT_SAMPLES || artifact == NT_ARTIFACT_ARCHIVE;
    if (may_lack &&
        (artifacts->dropped[artifact] || bytes > artifacts->limit_bytes - artifacts->used_bytes)) {
        drop(artifacts, artifact);
        return 0;
    }
    if (check_limits(artifacts, artifact, bytes, err) != 0)
        return -1;
    if (nt_write_all(artifacts->fd[artifact], data, bytes) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", name, strerror(errno));
    artifacts->used_bytes += bytes;
    artifacts->complete[artifact] = !more;
    return 0;
}
