/*
 * A raw load generator: it finds the ceiling of a broker, so it must cost as little as possible itself.
 *
 * Every request is a frame that was built beforehand (bench/frames.py). A run is made of groups of connections; all
 * groups run at the same time on one thread, so that "a small request beside two bulk streams" is two groups.
 * Each connection keeps `depth` requests in flight, or sends at a steady rate whatever the answers do. A response is
 * checked at one place only, its error code, because decoding it would measure this program and not the broker.
 *
 *     loadgen HOST PORT WARMUP_SECONDS SECONDS GROUP...
 *     GROUP: name=N,frame=FILE,connections=1,depth=5,error_at=OFFSET[,rate=N][,offset_at=OFFSET,stride=N,last=N][,at_least=N]
 *            [,ports=N:N:N][,tls=FILE][,login=NAME:PASSWORD]
 *
 *     frame        one frame, or several of the same length that are sent in turn (one for each partition)
 *     depth=0      the connections stay idle
 *     error_at     where the two bytes of the error code stand in a response, counted from its length field
 *     rate         requests per second of all the group's connections together. A latency then counts from the moment
 *                  the request was due, so that a broker that stalls is not asked less and looks better for it
 *     offset_at    where the fetch offset stands in the request; it grows by `stride` and starts again after `last`
 *     at_least     a response shorter than this counts as an error: a fetch that brought nothing
 *     ports        of the nodes of a cluster: the first connection goes to the first port and sends the first frame only,
 *                  the second the second, and so on: each leader is sent what is for the partition it leads
 *
 *     tls          the authority of a listener that is encrypted, in PEM; login: a user by SCRAM-SHA-512. Both only where
 *                  this was compiled with -DSECURED, secured.c and OpenSSL
 *
 * Prints one JSON object on standard output. What arrives during the warm-up or after the end is not counted.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef SECURED
#include "secured.h"
#define PUT(connection, data, size) door_send((connection)->tls, (connection)->fd, data, size)
#define GET(connection, into, size) door_receive((connection)->tls, (connection)->fd, into, size)
#define IS_SECURE(connection) ((connection)->tls != NULL)
#else
#define PUT(connection, data, size) send((connection)->fd, data, size, MSG_NOSIGNAL)
#define GET(connection, into, size) recv((connection)->fd, into, size, 0)
#define IS_SECURE(connection) 0
#endif

enum {
    MAX_GROUPS = 16,
    MAX_PORTS = 16,
    MAX_DEPTH = 64,
    HEAD_BYTES = 512,              /* how much of a response is kept; the error code must lie inside */
    RECEIVE_BYTES = 1 << 18,
    EVENTS = 256,
    CONNECT_SECONDS = 10,
    DRAIN_SECONDS = 10,            /* how long outstanding answers are waited for, and how long silence may last */
    SUB_BITS = 6,                  /* histogram: 64 steps per power of two, so a value is at most 1.6 % off */
    BUCKETS = 64 << SUB_BITS,
};

typedef struct {
    const char *name;
    const char *frame_path;
    uint8_t *frame;
    size_t frame_length;
    unsigned frames;               /* how many of that length stand in `frame` */
    int connections, depth;
    double rate;
    int64_t interval;              /* between two requests of one connection; 0: as fast as the answers come */
    size_t error_at, offset_at;    /* offset_at == 0: the frame is sent as it is */
    int64_t stride, last;
    uint64_t at_least;
    uint16_t ports[MAX_PORTS];
    int port_count;                /* 0: all connections go to the port of the command line */
    char *trusted, *login;
#ifdef SECURED
    Door door;
#endif

    uint64_t responses, bytes_acknowledged, bytes_received, errors;
    int first_error;
    uint64_t histogram[BUCKETS];   /* of latencies, in units of 100 ns */
} Group;

typedef struct {
    Group *group;
    int fd;
#ifdef SECURED
    SSL *tls;                      /* NULL: it is not encrypted */
#endif
    int in_flight, waiting_for_write;
    size_t sent;                   /* of the frame being sent; 0: between two frames */
    uint8_t *frame;                /* own copy when the fetch offset changes, else one of the group's */
    unsigned next_frame;
    int64_t next_offset, next_due;
    int64_t started[MAX_DEPTH];    /* a ring of send times, oldest at `oldest` */
    unsigned oldest, newest;
    uint8_t head[HEAD_BYTES];
    size_t head_length;
    uint64_t body_left;            /* bytes of the current response still to come, once its length is known */
    uint64_t response_length;
} Connection;

static Group groups[MAX_GROUPS];
static int group_count;
static Connection *connections;
static int connection_count;
static int epoll_fd;
static uint8_t receive_buffer[RECEIVE_BYTES];
static int64_t connect_until;
static int paced;                  /* a group has a rate */
static int counting;               /* set between the end of the warm-up and the end of the run */

static void fail(const char *what) {
    fprintf(stderr, "loadgen: %s\n", what);
    exit(1);
}

static void fail_system(const char *what) {
    fprintf(stderr, "loadgen: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* --- latencies -------------------------------------------------------------------------------------------------- */

static int bucket_of(uint64_t value) {
    if (value < (1u << SUB_BITS)) return (int)value;
    int shift = 63 - __builtin_clzll(value) - SUB_BITS;
    return ((shift + 1) << SUB_BITS) + (int)((value >> shift) & ((1u << SUB_BITS) - 1));
}

static uint64_t value_of(int bucket) {
    int shift = (bucket >> SUB_BITS) - 1;
    if (shift < 0) return (uint64_t)bucket;
    return ((1ull << SUB_BITS) | (bucket & ((1u << SUB_BITS) - 1))) << shift;
}

static double percentile_us(const Group *group, double share) {
    uint64_t seen = 0, wanted = (uint64_t)(group->responses * share);
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        seen += group->histogram[bucket];
        if (seen > wanted) return value_of(bucket) / 10.0;
    }
    return 0;
}

/* --- set-up ------------------------------------------------------------------------------------------------------ */

static void read_frame(Group *group) {
    FILE *file = fopen(group->frame_path, "rb");
    if (!file) fail_system(group->frame_path);
    fseek(file, 0, SEEK_END);
    group->frame_length = (size_t)ftell(file);
    rewind(file);
    group->frame = malloc(group->frame_length);
    if (!group->frame || fread(group->frame, 1, group->frame_length, file) != group->frame_length)
        fail_system(group->frame_path);
    fclose(file);
    uint32_t body;
    memcpy(&body, group->frame, sizeof body);
    size_t one = sizeof body + ntohl(body);
    if (group->frame_length % one) fail("the frames of a group are not all of the same length");
    group->frames = (unsigned)(group->frame_length / one);
    group->frame_length = one;
    if (group->offset_at && group->frames > 1) fail("a moving fetch offset needs a single frame");
}

static void parse_ports(Group *group, char *text) {
    for (char *save, *port = strtok_r(text, ":", &save); port; port = strtok_r(NULL, ":", &save)) {
        if (group->port_count == MAX_PORTS) fail("too many ports");
        group->ports[group->port_count++] = (uint16_t)atoi(port);
    }
}

static void parse_group(char *text) {
    if (group_count == MAX_GROUPS) fail("too many groups");
    Group *group = &groups[group_count++];
    group->connections = group->depth = 1;
    for (char *save, *pair = strtok_r(text, ",", &save); pair; pair = strtok_r(NULL, ",", &save)) {
        char *value = strchr(pair, '=');
        if (!value) fail("a group is key=value,key=value");
        *value++ = 0;
        if (!strcmp(pair, "name")) group->name = value;
        else if (!strcmp(pair, "frame")) group->frame_path = value;
        else if (!strcmp(pair, "connections")) group->connections = atoi(value);
        else if (!strcmp(pair, "depth")) group->depth = atoi(value);
        else if (!strcmp(pair, "rate")) group->rate = atof(value);
        else if (!strcmp(pair, "error_at")) group->error_at = (size_t)atol(value);
        else if (!strcmp(pair, "offset_at")) group->offset_at = (size_t)atol(value);
        else if (!strcmp(pair, "stride")) group->stride = atoll(value);
        else if (!strcmp(pair, "last")) group->last = atoll(value);
        else if (!strcmp(pair, "ports")) parse_ports(group, value);
        else if (!strcmp(pair, "tls")) group->trusted = value;
        else if (!strcmp(pair, "login")) group->login = value;
        else if (!strcmp(pair, "at_least")) group->at_least = strtoull(value, NULL, 10);
        else fail(pair);
    }
    if (group->depth > MAX_DEPTH || group->error_at + 2 > HEAD_BYTES) fail("depth or error_at too large");
    if (group->depth) read_frame(group);
    if (group->port_count && !group->frames) fail("idle connections have one port");
#ifdef SECURED
    door_init(&group->door, group->trusted, group->login);
#else
    if (group->trusted || group->login) fail("this program was compiled without OpenSSL");
#endif
    if (group->rate > 0) {
        group->interval = (int64_t)(group->connections * 1e9 / group->rate);
        paced = 1;
    }
}

static void receive_all(const Connection *connection, uint8_t *into, size_t size) {
    while (size) {
        ssize_t got = GET(connection, into, size);
        if (got <= 0) fail("the broker did not answer ApiVersions");
        into += got;
        size -= (size_t)got;
    }
}

/* Every Kafka client opens with this question. Waiting for the answer also keeps the queue of the listener short. */
static void ask_versions(const Connection *connection) {
    static const uint8_t question[] = {0, 0, 0, 15, 0, 18, 0, 0, 0, 0, 0, 0, 0, 5, 'b', 'e', 'n', 'c', 'h'};
    uint8_t head[4];
    if (PUT(connection, question, sizeof question) != sizeof question) fail_system("send");
    receive_all(connection, head, sizeof head);
    size_t left = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (left > sizeof receive_buffer) fail("the answer to ApiVersions is too long");
    receive_all(connection, receive_buffer, left);
}

/* `number`: of this connection in its group. */
static void connect_one(Connection *connection, Group *group, int number, struct sockaddr_in address) {
    connection->group = group;
    connection->frame = group->frame;
    connection->next_frame = group->frames ? (unsigned)(connection - connections) % group->frames : 0;
    if (group->port_count) {
        address.sin_port = htons(group->ports[number % group->port_count]);
        connection->next_frame = (unsigned)(number % group->port_count) % group->frames;
    }
    if (group->offset_at) {
        connection->frame = malloc(group->frame_length);
        if (!connection->frame) fail_system("memory");
        memcpy(connection->frame, group->frame, group->frame_length);
    }
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0) fail_system("socket");
    struct timeval patience = {.tv_sec = CONNECT_SECONDS};   /* for connect and the first question; later nothing blocks */
    setsockopt(connection->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(connection->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int refused = connect(connection->fd, (const struct sockaddr *)&address, sizeof address);
    if (refused || now_ns() > connect_until) {
        fprintf(stderr, "loadgen: only %d of %d connections were accepted within %d s\n", (int)(connection - connections),
                connection_count, CONNECT_SECONDS);
        exit(1);
    }
    int one = 1;
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
#ifdef SECURED
    connection->tls = door_open(&group->door, connection->fd);
#endif
    ask_versions(connection);
#ifdef SECURED
    door_log_in(&group->door, connection->tls, connection->fd);
#endif
    fcntl(connection->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, connection->fd, &event)) fail_system("epoll_ctl");
}

/* --- the two directions ------------------------------------------------------------------------------------------- */

static void finish_response(Connection *connection, int64_t now) {
    Group *group = connection->group;
    int64_t started = connection->started[connection->oldest++ % MAX_DEPTH];
    connection->in_flight--;
    if (connection->in_flight < 0) fail("an answer that nobody asked for");
    if (!counting) return;
    group->responses++;
    group->bytes_acknowledged += group->frame_length;
    group->histogram[bucket_of((uint64_t)(now - started) / 100)]++;
    int error = 0;
    if (connection->head_length >= group->error_at + 2)
        error = (int16_t)(connection->head[group->error_at] << 8 | connection->head[group->error_at + 1]);
    if (error || connection->response_length < group->at_least) {
        if (!group->errors++) group->first_error = error;
    }
}

/* Takes what was received; keeps the first bytes of each response and forgets the rest. */
static void take(Connection *connection, const uint8_t *data, size_t length) {
    Group *group = connection->group;
    int64_t now = now_ns();
    if (counting) group->bytes_received += length;
    while (length) {
        size_t wanted = connection->response_length ? connection->body_left : 4 - connection->head_length;
        size_t part = wanted < length ? wanted : length;
        if (connection->head_length < HEAD_BYTES) {
            size_t kept = HEAD_BYTES - connection->head_length;
            if (kept > part) kept = part;
            memcpy(connection->head + connection->head_length, data, kept);
            connection->head_length += kept;
        }
        data += part;
        length -= part;
        if (!connection->response_length) {
            if (connection->head_length < 4) return;
            uint32_t size;
            memcpy(&size, connection->head, 4);
            connection->body_left = ntohl(size);
            connection->response_length = 4 + connection->body_left;
        } else {
            connection->body_left -= part;
        }
        if (connection->body_left == 0) {
            finish_response(connection, now);
            connection->head_length = 0;
            connection->response_length = 0;
        }
    }
}

static void receive(Connection *connection) {
    for (;;) {
        ssize_t got = GET(connection, receive_buffer, sizeof receive_buffer);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got < 0) fail_system("recv");
        if (got == 0) fail("the broker closed a connection");
        take(connection, receive_buffer, (size_t)got);
        /* Of what is encrypted a record comes at a time, and what was read ahead wakes nobody. */
        if ((size_t)got < sizeof receive_buffer && !IS_SECURE(connection)) return;
    }
}

static void begin_request(Connection *connection) {
    Group *group = connection->group;
    if (group->offset_at) {
        uint64_t wire = __builtin_bswap64((uint64_t)connection->next_offset);
        memcpy(connection->frame + group->offset_at, &wire, sizeof wire);
    } else {
        connection->frame = group->frame + connection->next_frame * group->frame_length;
    }
    connection->started[connection->newest % MAX_DEPTH] = group->interval ? connection->next_due : now_ns();
}

/* The first bytes have left: now the request exists, and the next one is another. */
static void request_left(Connection *connection) {
    Group *group = connection->group;
    connection->newest++;
    connection->in_flight++;
    connection->next_due += group->interval;
    if (!group->port_count) connection->next_frame = (connection->next_frame + 1) % group->frames;
    connection->next_offset += group->stride;
    if (connection->next_offset > group->last) connection->next_offset = 0;
}

static int may_begin(const Connection *connection, int running) {
    const Group *group = connection->group;
    if (!running || connection->in_flight >= group->depth) return 0;
    return !group->interval || connection->next_due <= now_ns();
}

static void send_more(Connection *connection, int running) {
    Group *group = connection->group;
    int blocked = 0;
    while (connection->sent || may_begin(connection, running)) {
        if (!connection->sent) begin_request(connection);
        ssize_t put = PUT(connection, connection->frame + connection->sent, group->frame_length - connection->sent);
        if (put < 0 && errno != EAGAIN && errno != EINTR) fail_system("send");
        if (put < 0) {
            blocked = 1;
            break;
        }
        if (!connection->sent) request_left(connection);
        connection->sent += (size_t)put;
        if (connection->sent == group->frame_length) connection->sent = 0;
    }
    if (blocked != connection->waiting_for_write) {
        connection->waiting_for_write = blocked;
        struct epoll_event event = {.events = EPOLLIN | (blocked ? EPOLLOUT : 0), .data.ptr = connection};
        if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, connection->fd, &event)) fail_system("epoll_ctl");
    }
}

/* Connections with a rate take their turns evenly, not all at the same moment. */
static void stagger(int64_t now) {
    for (int i = 0; i < connection_count; i++) {
        const Group *group = connections[i].group;
        connections[i].next_due = now + group->interval / group->connections * i;
    }
}

static void send_what_is_due(void) {
    for (int i = 0; i < connection_count; i++)
        if (connections[i].group->interval && !connections[i].sent) send_more(&connections[i], 1);
}

/* Until something arrives, and with a rate until the next request is due: milliseconds are too coarse for that. */
static int wait_for_events(struct epoll_event *events, int running) {
    int64_t wait = running ? 100000000LL : 1000000000LL;
    if (!paced || !running) return epoll_wait(epoll_fd, events, EVENTS, (int)(wait / 1000000));
    int64_t now = now_ns();
    for (int i = 0; i < connection_count; i++) {
        const Connection *connection = &connections[i];
        if (!connection->group->interval || connection->in_flight >= connection->group->depth) continue;
        int64_t left = connection->next_due - now;
        if (left < wait) wait = left > 0 ? left : 0;
    }
    struct timespec patience = {.tv_sec = wait / 1000000000LL, .tv_nsec = wait % 1000000000LL};
    long count = syscall(SYS_epoll_pwait2, epoll_fd, events, EVENTS, &patience, NULL, 0);
    if (count < 0 && errno == ENOSYS) count = epoll_wait(epoll_fd, events, EVENTS, (int)(wait / 1000000));
    return (int)count;
}

static int outstanding(void) {
    int sum = 0;
    for (int i = 0; i < connection_count; i++) sum += connections[i].in_flight;
    return sum;
}

static double run(double warmup, double seconds) {
    int64_t begin = now_ns() + (int64_t)(warmup * 1e9);
    int64_t end = begin + (int64_t)(seconds * 1e9);
    int64_t counted_from = 0, counted_to = 0;
    int running = 1;
    struct epoll_event events[EVENTS];
    stagger(now_ns());
    for (int i = 0; i < connection_count; i++) send_more(&connections[i], running);
    for (;;) {
        int count = wait_for_events(events, running);
        int64_t now = now_ns();
        if (!counted_from && now >= begin) { counted_from = now; counting = 1; }
        for (int i = 0; i < count; i++) {
            Connection *connection = events[i].data.ptr;
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(connection);
            send_more(connection, running);
        }
        if (paced && running) send_what_is_due();
        if (running && now >= end) { counted_to = now_ns(); counting = running = 0; }
        if (!running && !outstanding()) break;
        if (now > end + DRAIN_SECONDS * 1000000000LL) { fail("answers are missing"); }
    }
    return (counted_to - counted_from) / 1e9;
}

int main(int argc, char **argv) {
    if (argc < 6) { fail("usage: loadgen HOST PORT WARMUP_SECONDS SECONDS GROUP..."); }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) fail("HOST is an IPv4 address");
    for (int i = 5; i < argc; i++) parse_group(argv[i]);
    for (int i = 0; i < group_count; i++) connection_count += groups[i].connections;
    struct rlimit limit = {(rlim_t)connection_count + 64, (rlim_t)connection_count + 64};
    struct rlimit current;
    if (!getrlimit(RLIMIT_NOFILE, &current) && current.rlim_cur < limit.rlim_cur) {
        limit.rlim_max = current.rlim_max > limit.rlim_max ? current.rlim_max : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit)) fail_system("more open files");
    }
    connections = calloc((size_t)connection_count, sizeof *connections);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!connections || epoll_fd < 0) fail_system("set-up");
    prctl(PR_SET_TIMERSLACK, 1000);   /* ns; the default would make every paced request 50 us late */
    connect_until = now_ns() + CONNECT_SECONDS * 1000000000LL;
    for (int i = 0, next = 0; i < group_count; i++)
        for (int j = 0; j < groups[i].connections; j++) connect_one(&connections[next++], &groups[i], j, address);

    double seconds = run(atof(argv[3]), atof(argv[4]));
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"seconds\": %.4f, \"cpu_seconds\": %.3f, \"groups\": {", seconds,
           usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    for (int i = 0; i < group_count; i++) {
        const Group *group = &groups[i];
        printf("%s\"%s\": {\"responses\": %llu, \"per_second\": %.1f, \"acknowledged_mb_s\": %.2f, \"received_mb_s\": %.2f, "
               "\"errors\": %llu, \"first_error\": %d, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f}",
               i ? ", " : "", group->name ? group->name : "group", (unsigned long long)group->responses,
               group->responses / seconds, group->bytes_acknowledged / seconds / 1e6, group->bytes_received / seconds / 1e6,
               (unsigned long long)group->errors, group->first_error, percentile_us(group, 0.50),
               percentile_us(group, 0.99), percentile_us(group, 0.999));
    }
    printf("}}\n");
    return 0;
}
