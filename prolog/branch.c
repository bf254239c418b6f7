#include "branch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const double STALL_S = 1.0; /* a member that takes nothing for so long is lost */
static const double TURN_S = 1.0;  /* for those whose leader is lost to come to the first host */

enum { STAR_HOSTS_MAX = 256, BLOCK_HOSTS_MIN = 32, OTHER_FILES = 256 };

/* ---- blocks ---- */

size_t nt_block_hosts(size_t hosts, uint32_t configured)
{
    size_t block = BLOCK_HOSTS_MIN;
    if (configured != 0)
        return configured < hosts ? configured : hosts;
    if (hosts <= STAR_HOSTS_MAX)
        return hosts;
    while (block * block < hosts)
        block *= 2;
    return block;
}

size_t nt_block_leader(size_t block, size_t host)
{
    size_t leader = host - host % block;
    return leader == host ? 0 : leader;
}

/* ---- life ---- */

/* Every member is an open file. The hard limit is the administrator's. */
static void allow_files(size_t members)
{
    struct rlimit limit;
    rlim_t want = (rlim_t)members + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want)
        return;
    limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int nt_branch_init(struct nt_branch *branch, size_t hosts, size_t me, size_t block,
                   struct nt_err *err)
{
    memset(branch, 0, sizeof *branch);
    branch->door.fd = -1;
    branch->hosts = branch->lost_at = hosts;
    branch->me = me;
    branch->block = block;
    if (nt_star_init(&branch->star, hosts, me, err) != 0)
        return -1;
    branch->look_at = INFINITY;
    branch->told = calloc(hosts, sizeof *branch->told);
    branch->awaited_until = calloc(hosts / block + 1, sizeof *branch->awaited_until);
    if (branch->told == NULL || branch->awaited_until == NULL) {
        nt_branch_fini(branch);
        return nt_err_set(err, NT_ERR_SYSTEM, "out of memory");
    }
    allow_files(nt_branch_expects(branch));
    return 0;
}

void nt_branch_fini(struct nt_branch *branch)
{
    nt_door_fini(&branch->door);
    nt_star_fini(&branch->star);
    free(branch->told);
    free(branch->awaited_until);
    branch->told = NULL;
    branch->awaited_until = NULL;
}

size_t nt_branch_expects(const struct nt_branch *b)
{
    size_t left = b->hosts - b->me, own = left < b->block ? left : b->block;
    size_t blocks = (b->hosts + b->block - 1) / b->block;
    return own - 1 + (b->me == 0 ? blocks - 1 : 0);
}

/* ---- who comes ---- */

size_t nt_branch_polls_max(const struct nt_branch *b)
{
    return NT_DOOR_POLLS + b->hosts;
}

size_t nt_branch_polls(const struct nt_branch *b, bool read, struct pollfd *polls)
{
    size_t n = nt_star_polls(&b->star, read, polls);
    return n + nt_door_polls(&b->door, polls + n);
}

void nt_branch_heed(struct nt_branch *b, const struct pollfd *polls)
{
    nt_star_heed(&b->star, polls);
}

static void let_in(struct nt_branch *b)
{
    struct nt_conn conn;
    size_t host;
    while (nt_door_step(&b->door, &host, &conn) == 1)
        if (nt_star_join(&b->star, host, &conn, NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX) &&
            b->greeting.payload_bytes > 0)
            nt_star_send(&b->star, host, &b->greeting, b->greeting_text);
}

void nt_branch_step(struct nt_branch *b)
{
    let_in(b);
    nt_star_flush(&b->star, STALL_S);
}

/* ---- down ---- */

static int set_greeting(struct nt_branch *b, const struct nt_frame *frame, const void *payload)
{
    if (frame->payload_bytes > sizeof b->greeting_text)
        return -1;
    b->greeting = *frame;
    memcpy(b->greeting_text, payload, frame->payload_bytes);
    return 0;
}

int nt_branch_greet(struct nt_branch *b, const struct nt_frame *frame, const void *payload)
{
    if (set_greeting(b, frame, payload) != 0)
        return -1;
    nt_star_cast(&b->star, frame, payload);
    return 0;
}

void nt_branch_shut(struct nt_branch *b)
{
    static const char late[] = "failed came when the result was already on its way";
    struct nt_frame frame = {.type = NT_FRAME_DONE, .payload_bytes = sizeof late - 1};
    set_greeting(b, &frame, late);
}

void nt_branch_send(struct nt_branch *b, const struct nt_frame *frame, const void *payload)
{
    if ((frame->flags & NT_FRAME_ONE) == 0) {
        nt_star_cast(&b->star, frame, payload);
        return;
    }
    size_t host = frame->host, leader = host - host % b->block;
    if (host >= b->hosts)
        return;
    if (nt_star_has(&b->star, host))
        nt_star_send(&b->star, host, frame, payload);
    else if (leader != b->me && nt_star_has(&b->star, leader))
        nt_star_send(&b->star, leader, frame, payload);
}

/* ---- up ---- */

/* For whom the host at the other end speaks: for itself, and as a leader for its block, except
 * for those who have come here themselves. */
static bool names_speaker(const struct nt_branch *b, size_t from, struct nt_frame *frame)
{
    bool leads = b->block < b->hosts && from % b->block == 0;
    if (!leads || frame->host == from) {
        frame->host = (uint32_t)from;
        return true;
    }
    return frame->host < b->hosts && frame->host / b->block == from / b->block &&
           !nt_star_has(&b->star, frame->host);
}

int nt_branch_next(struct nt_branch *b, struct nt_frame *frame, const unsigned char **payload)
{
    struct nt_star *star = &b->star;
    while (b->at < star->here) {
        size_t from = star->order[b->at];
        int got = star->ready[from] ? nt_conn_next(&star->conn[from], frame, payload, NULL) : 0;
        if (got == 0) {
            star->ready[from] = false;
            b->at++;
        } else if (got < 0 || (frame->type != NT_FRAME_GATHER && frame->type != NT_FRAME_DONE)) {
            nt_star_drop(star, from); /* another stands here now */
        } else if (names_speaker(b, from, frame)) {
            return 1;
        }
    }
    b->at = 0;
    return 0;
}

/* Neither it nor who should speak for it is here, and one of them was; who has lost his leader has
 * had the time to come himself. */
static bool is_lost(struct nt_branch *b, size_t host, double now)
{
    size_t leader = host - host % b->block;
    double *until = &b->awaited_until[host / b->block];
    if (host == b->me || nt_star_has(&b->star, host))
        return false;
    if (nt_star_has_lost(&b->star, host))
        return true;
    if (leader == b->me || !nt_star_has_lost(&b->star, leader))
        return false;
    if (*until == 0)
        *until = now + TURN_S;
    if (now < *until && *until < b->look_at)
        b->look_at = *until;
    return now >= *until;
}

int nt_branch_next_lost(struct nt_branch *b, double now, size_t *host)
{
    if (b->lost_seen != b->star.dropped || now >= b->look_at) {
        b->lost_seen = b->star.dropped;
        b->lost_at = 0;
        b->look_at = INFINITY;
    }
    while (b->lost_at < b->hosts) {
        size_t k = b->lost_at++;
        if (b->told[k] || !is_lost(b, k, now))
            continue;
        b->told[k] = true;
        *host = k;
        return 1;
    }
    return 0;
}

bool nt_branch_farewell(struct nt_branch *b)
{
    struct nt_frame frame;
    const unsigned char *payload;
    nt_branch_step(b);
    nt_star_close_out(&b->star);
    while (nt_branch_next(b, &frame, &payload) == 1)
        ; /* too late */
    return b->star.here == 0;
}
