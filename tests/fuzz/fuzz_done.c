/* SPDX-License-Identifier: Apache-2.0 */
/* DONE, which ends a sweep: any text from the probe of rank 0 at the job's first host, and from
 * that host at the others; and the result that is reported and published. No probe, no directory.
 */
#include "fuzz.h"
#include "service.h"
#include "session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *names[] = {"first", "own"};
    static struct nt_service service;
    static struct nt_session session;
    static struct nt_option option;
    struct nt_conf conf;
    struct nt_job job = {.id = 1, .hosts = 2, .host = names, .self = 1};
    if (size == 0)
        return 0;
    nt_conf_default(&conf);
    service = (struct nt_service){.conf = &conf,
                                  .job = &job,
                                  .option = &option,
                                  .child = {.pidfd = -1},
                                  .probe_socket = -1,
                                  .publish = {.run_fd = -1, .dir_fd = -1, .reason_fd = -1}};
    nt_artifact_files_init(&service.publish.artifacts, 65536);
    nt_session_init(&session, &service, -1);
    session.artifacts->complete[NT_ARTIFACT_ENV] = (data[0] & 1) != 0;
    char *text = malloc(size); /* of its size, so that what is read beyond is seen */
    if (text == NULL)
        abort();
    memcpy(text, data + 1, size - 1);
    struct nt_frame done = {.type = NT_FRAME_DONE,
                            .flags = (data[0] & 2) != 0 ? NT_FRAME_AGENT : 0,
                            .payload_bytes = (uint32_t)(size - 1)};
    nt_session_finish(&session, &done, text);
    free(text);
    if (!session.outcome.decided || !service.has_result)
        abort();
    nt_service_publish(&service);
    if (!service.outcome.decided ||
        memchr(service.outcome.text, '\0', sizeof service.outcome.text) == NULL)
        abort();
    for (const char *c = service.outcome.text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            abort(); /* it goes to the job */
    nt_session_fini(&session);
    return 0;
}
