#include "door.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "now.h"

static const double GUEST_S = 1.0;  /* to prove oneself */
static const double IDLER_S = 0.25; /* and when others wait for the place */
static const double REST_S = 0.05;  /* until the system may have an open file left again */

enum { BACKLOG = 1024, GUEST_QUEUE = 2 * (NT_FRAME_HEAD_BYTES + NT_PROOF_MAX) };

size_t nt_port_count(const struct nt_conf *conf)
{
    size_t range = (size_t)conf->port_last - conf->port_first + 1;
    return range < NT_PORT_TRIES ? range : NT_PORT_TRIES;
}

uint16_t nt_port_candidate(const struct nt_conf *conf, uint32_t job, size_t k)
{
    size_t range = (size_t)conf->port_last - conf->port_first + 1;
    return (uint16_t)(conf->port_first + (job % range + k) % range);
}

static int listen_on(uint16_t port)
{
    static const int families[] = {AF_INET6, AF_INET}; /* the first takes IPv4 as well */
    for (size_t k = 0; k < 2; k++) {
        int one = 1, zero = 0;
        int fd = socket(families[k], SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        bool six = families[k] == AF_INET6;
        if (six)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
        /* our own connections of an earlier job rest on the port; a listener still excludes */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, six ? (void *)&v6 : (void *)&v4, six ? sizeof v6 : sizeof v4) == 0 &&
            listen(fd, BACKLOG) == 0)
            return fd;
        int why = errno;
        close(fd);
        errno = why;
        if (why == EADDRINUSE)
            return -1;
    }
    return -1;
}

int nt_door_open(struct nt_door *door, const struct nt_conf *conf, const struct nt_job *job,
                 struct nt_err *err)
{
    memset(door, 0, sizeof *door);
    door->fd = -1;
    door->job = job;
    door->conf = conf;
    for (size_t k = 0; k < nt_port_count(conf); k++) {
        uint16_t port = nt_port_candidate(conf, job->id, k);
        door->fd = listen_on(port);
        if (door->fd >= 0) {
            door->port = port;
            return 0;
        }
    }
    return nt_err_set(err, NT_ERR_SYSTEM, "no port free of %zu from %u on: %s", nt_port_count(conf),
                      (unsigned)nt_port_candidate(conf, job->id, 0), strerror(errno));
}

static void dismiss(struct nt_door *door, size_t k)
{
    nt_conn_fini(&door->guest[k].conn);
    memmove(door->guest + k, door->guest + k + 1, (door->guests - k - 1) * sizeof door->guest[0]);
    door->guests--;
}

void nt_door_fini(struct nt_door *door)
{
    while (door->guests > 0)
        dismiss(door, door->guests - 1);
    if (door->fd >= 0)
        close(door->fd);
    door->fd = -1;
}

size_t nt_door_polls(const struct nt_door *door, struct pollfd *polls)
{
    size_t n = 0;
    if (door->fd < 0)
        return 0;
    bool rests = door->guests == NT_DOOR_PLACES || nt_now() < door->rest_until;
    polls[n++] = (struct pollfd){.fd = rests ? -1 : door->fd, .events = POLLIN};
    for (size_t k = 0; k < door->guests; k++)
        polls[n++] = (struct pollfd){.fd = door->guest[k].conn.fd, .events = POLLIN};
    return n;
}

static void refuse(struct nt_door *door, size_t k)
{
    door->refused++;
    dismiss(door, k);
}

/* Guests stand in the order in which they came. */
static void greet(struct nt_door *door, int fd)
{
    int one = 1;
    struct nt_guest *guest = &door->guest[door->guests];
    if (nt_conn_init(&guest->conn, fd, NT_PROOF_MAX, GUEST_QUEUE, &door->last) != 0)
        return;
    door->guests++;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    guest->since = nt_now();
    unsigned char bytes[NT_HELLO_BYTES];
    struct nt_hello hello = {
        .version = NT_WIRE_VERSION, .job = door->job->id, .restart = door->job->restart};
    struct nt_frame frame = {
        .type = NT_FRAME_HELLO, .host = (uint32_t)door->job->me, .payload_bytes = NT_HELLO_BYTES};
    if (nt_nonce_make(guest->nonce, &door->last) != 0)
        goto send_away;
    memcpy(hello.nonce, guest->nonce, NT_NONCE_BYTES);
    nt_hello_encode(&hello, bytes);
    if (nt_conn_send(&guest->conn, &frame, bytes, &door->last) != 0)
        goto send_away;
    return;
send_away:
    refuse(door, door->guests - 1);
}

/* When many come at once those who are not let in yet wait outside, unless an idler is in. */
static bool makes_room(struct nt_door *door)
{
    if (door->guests < NT_DOOR_PLACES)
        return true;
    if (nt_now() - door->guest[0].since < IDLER_S)
        return false;
    nt_err_set(&door->last, NT_ERR_INPUT, "too many at the door");
    refuse(door, 0);
    return true;
}

/* Who is not taken stays before the door, and a poll for him would return at once. */
static bool lacks_means(int why)
{
    return why == EMFILE || why == ENFILE || why == ENOBUFS || why == ENOMEM;
}

static void let_in(struct nt_door *door)
{
    for (int k = 0; k < NT_DOOR_PLACES && makes_room(door); k++) {
        int fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && lacks_means(errno))
            door->rest_until = nt_now() + REST_S;
        if (fd < 0)
            return;
        greet(door, fd);
    }
}

static void send_away_idlers(struct nt_door *door)
{
    double now = nt_now();
    while (door->guests > 0 && now - door->guest[0].since > GUEST_S) {
        nt_err_set(&door->last, NT_ERR_INPUT, "no proof within %g s", GUEST_S);
        refuse(door, 0);
    }
}

/* The guest's proof holds: prove ourselves in turn. */
static int examine(struct nt_door *door, struct nt_guest *guest, const struct nt_frame *frame,
                   const unsigned char *payload)
{
    const struct nt_job *job = door->job;
    char credential[NT_CREDENTIAL_MAX];
    unsigned char answer[NT_PROOF_MAX];
    size_t bytes = frame->payload_bytes;
    if (frame->type != NT_FRAME_PROOF || bytes <= NT_NONCE_BYTES || bytes >= NT_PROOF_MAX ||
        frame->host == job->me || frame->host >= job->hosts)
        return nt_err_set(&door->last, NT_ERR_INPUT, "not a proof");
    memcpy(credential, payload + NT_NONCE_BYTES, bytes - NT_NONCE_BYTES);
    credential[bytes - NT_NONCE_BYTES] = '\0';
    unsigned char member_nonce[NT_NONCE_BYTES];
    memcpy(member_nonce, payload, NT_NONCE_BYTES);
    struct nt_claim claim = {.direction = NT_TO_LEADER,
                             .job = job->id,
                             .restart = job->restart,
                             .leader = job->host[job->me],
                             .member = job->host[frame->host],
                             .member_index = frame->host,
                             .port = door->port,
                             .leader_nonce = guest->nonce,
                             .member_nonce = member_nonce};
    if (nt_auth_check(door->conf->munge_socket, &claim, credential, &door->last) != 0)
        return -1;
    claim.direction = NT_TO_MEMBER;
    if (nt_auth_prove(door->conf->munge_socket, &claim, credential, &door->last) != 0)
        return -1;
    size_t length = strlen(credential);
    memcpy(answer, member_nonce, NT_NONCE_BYTES);
    memcpy(answer + NT_NONCE_BYTES, credential, length);
    struct nt_frame reply = {.type = NT_FRAME_PROOF,
                             .host = frame->host,
                             .payload_bytes = (uint32_t)(NT_NONCE_BYTES + length)};
    return nt_conn_send(&guest->conn, &reply, answer, &door->last);
}

int nt_door_step(struct nt_door *door, size_t *host, struct nt_conn *conn)
{
    if (door->fd < 0)
        return 0;
    let_in(door);
    send_away_idlers(door);
    for (size_t k = 0; k < door->guests;) {
        struct nt_guest *guest = &door->guest[k];
        struct nt_frame frame;
        const unsigned char *payload;
        int got = nt_conn_next(&guest->conn, &frame, &payload, &door->last);
        if (got == 0) {
            k++;
            continue;
        }
        if (got < 0 || examine(door, guest, &frame, payload) != 0) {
            refuse(door, k);
            continue;
        }
        *host = frame.host;
        *conn = guest->conn;
        guest->conn = (struct nt_conn){.fd = -1};
        dismiss(door, k);
        return 1;
    }
    return 0;
}
