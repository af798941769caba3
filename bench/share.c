/*
 * A share group: members that acquire records side by side and accept them with their next request.
 *
 * Each member is a connection with a share session of its own. It asks for records, and when they have come it asks for
 * the next ones and says in the same request that it accepts those it had, as a consumer with implicit acknowledgement
 * does. Members share the partitions out among themselves as the group would: member i reads partition i, and where
 * there are fewer members than partitions each reads several.
 *
 *     share HOST PORT GROUP TOPIC_ID PARTITIONS MEMBERS WARMUP COUNT [PRODUCE_FRAMES RATE]
 *
 *     TOPIC_ID          32 hexadecimal digits; the group begins at the start of the topic
 *     WARMUP COUNT      so many records, of all members together
 *     PRODUCE_FRAMES    one request of one record for each partition, all of the same length
 *     RATE              records a second that are sent to the partitions in turn, on a connection of its own
 *
 * Without PRODUCE_FRAMES the records are there already. Prints as JSON how many records a second were accepted: one
 * counts when the broker has answered that it wrote it down. With them it prints, in microseconds, how long after its
 * moment to be sent each record was in the hands of a member.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    SHARE_FETCH = 78, VERSION = 2, MAX_WAIT_MS = 500, MAX_BYTES = 50 << 20, MAX_RECORDS = 500, ACCEPT = 1,
    MOST_RANGES = 4096, MOST_ERRORS = 10000, PATIENCE_S = 30, REQUEST_ROOM = 256 << 10
};

typedef struct {
    int32_t partition;
    int64_t first, last;
} Range;

typedef struct {
    int fd, is_new, told;               /* told: ranges that go with the request under way */
    int32_t epoch;
    char id[40];
    uint8_t *in;
    size_t room, have;
    Range ranges[MOST_RANGES];
    int count;                          /* ranges that were acquired and not told of */
} Member;

typedef struct {
    const uint8_t *at, *end;
} Cursor;

static const char *group;
static uint8_t topic[16];
static int partitions, members;
static int64_t warmup, count, accepted, errors, seen, again;
static int64_t began, counted_from, warm_at;
static int64_t *due, *latency;
static uint8_t *request;

static void fail(const char *what) {
    fprintf(stderr, "share: %s\n", what);
    exit(1);
}

static void fail_with(const char *what, int code) {
    fprintf(stderr, "share: %s %d\n", what, code);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *room_for(size_t number, size_t size) {
    void *room = calloc(number, size);
    if (!room) fail("no memory");
    return room;
}

/* ------------------------------------------------------------------------------------------------------- writing */

static uint8_t *put(uint8_t *at, const void *data, size_t length) {
    memcpy(at, data, length);
    return at + length;
}

static uint8_t *put8(uint8_t *at, int value) {
    *at = (uint8_t)value;
    return at + 1;
}

static uint8_t *put16(uint8_t *at, int value) {
    uint16_t wire = htons((uint16_t)value);
    return put(at, &wire, sizeof wire);
}

static uint8_t *put32(uint8_t *at, int32_t value) {
    uint32_t wire = htonl((uint32_t)value);
    return put(at, &wire, sizeof wire);
}

static uint8_t *put64(uint8_t *at, int64_t value) {
    uint64_t wire = __builtin_bswap64((uint64_t)value);
    return put(at, &wire, sizeof wire);
}

static uint8_t *put_varint(uint8_t *at, uint32_t value) {
    for (; value >= 128; value >>= 7) at = put8(at, (int)(value & 127) | 128);
    return put8(at, (int)value);
}

static uint8_t *put_string(uint8_t *at, const char *text) {
    at = put_varint(at, (uint32_t)strlen(text) + 1);
    return put(at, text, strlen(text));
}

static int reads(int member, int partition) {
    return members >= partitions ? member % partitions == partition : partition % members == member;
}

static int by_place(const void *one, const void *other) {
    const Range *a = one, *b = other;
    if (a->partition != b->partition) return a->partition - b->partition;
    return (a->first > b->first) - (a->first < b->first);
}

static uint8_t *put_partition(uint8_t *at, const Range *ranges, int number) {
    at = put_varint(at, (uint32_t)number + 1);
    for (int each = 0; each < number; each++) {
        at = put64(put64(at, ranges[each].first), ranges[each].last);
        at = put8(put8(put_varint(at, 2), ACCEPT), 0);
    }
    return put8(at, 0);
}

static uint8_t *put_topics(uint8_t *at, Member *member, int number) {
    int wanted = 0;
    if (member->is_new) {
        for (int each = 0; each < partitions; each++) wanted += reads(number, each);
        at = put(put_varint(at, 2), topic, sizeof topic);
        at = put_varint(at, (uint32_t)wanted + 1);
        for (int each = 0; each < partitions; each++)
            if (reads(number, each)) at = put_partition(put32(at, each), NULL, 0);
        return put8(at, 0);
    }
    if (!member->count) return put_varint(at, 1);
    qsort(member->ranges, (size_t)member->count, sizeof *member->ranges, by_place);
    for (int each = 0; each < member->count; each++)
        wanted += !each || member->ranges[each].partition != member->ranges[each - 1].partition;
    at = put(put_varint(at, 2), topic, sizeof topic);
    at = put_varint(at, (uint32_t)wanted + 1);
    for (int from = 0, to; from < member->count; from = to) {
        for (to = from; to < member->count && member->ranges[to].partition == member->ranges[from].partition;) to++;
        at = put_partition(put32(at, member->ranges[from].partition), member->ranges + from, to - from);
    }
    return put8(at, 0);
}

static void send_all(int fd, const uint8_t *data, size_t length) {
    while (length) {
        ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);
        if (sent <= 0) fail("the broker closed a connection");
        data += sent;
        length -= (size_t)sent;
    }
}

static void ask(Member *member, int number) {
    uint8_t *at = request + 4;
    at = put32(put16(put16(at, SHARE_FETCH), VERSION), member->epoch);
    at = put8(put(put16(at, 5), "bench", 5), 0);
    at = put_string(put_string(at, group), member->id);
    at = put32(put32(put32(put32(at, member->epoch), MAX_WAIT_MS), 1), MAX_BYTES);
    at = put32(put32(at, MAX_RECORDS), MAX_RECORDS);
    at = put8(put8(at, 0), 0);
    at = put_topics(at, member, number);
    at = put8(put_varint(at, 1), 0);
    put32(request, (int32_t)(at - request - 4));
    member->told = member->count;
    member->is_new = 0;
    member->epoch++;
    send_all(member->fd, request, (size_t)(at - request));
}

/* ------------------------------------------------------------------------------------------------------- reading */

static const uint8_t *skip(Cursor *cursor, size_t length) {
    const uint8_t *at = cursor->at;
    if ((size_t)(cursor->end - at) < length) fail("an answer is not whole");
    cursor->at += length;
    return at;
}

static int get16(Cursor *cursor) {
    const uint8_t *at = skip(cursor, 2);
    return (int16_t)(at[0] << 8 | at[1]);
}

static int32_t get32(Cursor *cursor) {
    uint32_t wire;
    memcpy(&wire, skip(cursor, 4), 4);
    return (int32_t)ntohl(wire);
}

static int64_t get64(Cursor *cursor) {
    uint64_t wire;
    memcpy(&wire, skip(cursor, 8), 8);
    return (int64_t)__builtin_bswap64(wire);
}

static uint32_t get_varint(Cursor *cursor) {
    uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        uint8_t byte = *skip(cursor, 1);
        value |= (uint32_t)(byte & 127) << shift;
        if (!(byte & 128)) return value;
    }
    fail("a number has no end");
    return 0;
}

static size_t skip_bytes(Cursor *cursor) {
    uint32_t length = get_varint(cursor);
    if (length) skip(cursor, length - 1);
    return length ? length - 1 : 0;
}

static void skip_tags(Cursor *cursor) {
    for (uint32_t left = get_varint(cursor); left; left--) {
        get_varint(cursor);
        skip(cursor, get_varint(cursor));
    }
}

static void acquired(Member *member, int32_t partition, int64_t first, int64_t last, int64_t now) {
    if (member->count == MOST_RANGES) fail("an answer has too many ranges");
    member->ranges[member->count++] = (Range){partition, first, last};
    if (!due) return;
    for (int64_t offset = first; offset <= last; offset++) {
        int64_t number = offset * partitions + partition;
        if (number >= warmup + count) fail("there is a record nobody sent");
        if (latency[number]) again++;
        else seen++;
        latency[number] = now - due[number];
    }
}

static void read_partition(Cursor *cursor, Member *member, int64_t now) {
    int32_t partition = get32(cursor);
    int code = get16(cursor);
    skip_bytes(cursor);
    /* A leader that has just been asked for the first time may have to read the state first. */
    if (code && ++errors > MOST_ERRORS) fail_with("records are refused with error", code);
    int refused = get16(cursor);
    skip_bytes(cursor);
    if (refused) fail_with("an acknowledgement was refused with error", refused);
    skip(cursor, 8);
    skip_tags(cursor);
    size_t size = skip_bytes(cursor);
    uint32_t ranges = get_varint(cursor);
    if (ranges > 1 && !size) fail("there are acquired records and no bytes of them");
    for (uint32_t left = ranges ? ranges - 1 : 0; left; left--) {
        int64_t first = get64(cursor), last = get64(cursor);
        again += get16(cursor) != 1;
        skip_tags(cursor);
        acquired(member, partition, first, last, now);
    }
    skip_tags(cursor);
}

static void answered(Member *member, const uint8_t *data, size_t length, int64_t now) {
    Cursor cursor = {data, data + length};
    for (int each = 0; each < member->told; each++) accepted += member->ranges[each].last - member->ranges[each].first + 1;
    member->count = member->told = 0;
    skip(&cursor, 4);
    skip_tags(&cursor);
    skip(&cursor, 4);
    int code = get16(&cursor);
    if (code) fail_with("a fetch was refused with error", code);
    skip_bytes(&cursor);
    skip(&cursor, 4);
    uint32_t topics = get_varint(&cursor);
    for (uint32_t left = topics ? topics - 1 : 0; left; left--) {
        skip(&cursor, sizeof topic);
        uint32_t rows = get_varint(&cursor);
        for (uint32_t row = rows ? rows - 1 : 0; row; row--) read_partition(&cursor, member, now);
        skip_tags(&cursor);
    }
    if (!warm_at && accepted >= warmup) {
        warm_at = now;
        counted_from = accepted;
    }
}

/* An answer, when all of it is there. */
static int receive(Member *member, int64_t *moment) {
    if (member->room - member->have < 1 << 16 && !(member->in = realloc(member->in, member->room += 1 << 20)))
        fail("no memory");
    ssize_t got = recv(member->fd, member->in + member->have, member->room - member->have, 0);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0) fail("the broker closed a connection");
    member->have += (size_t)got;
    uint32_t wire;
    if (member->have < sizeof wire) return 0;
    memcpy(&wire, member->in, sizeof wire);
    size_t length = ntohl(wire);
    if (member->have < sizeof wire + length) return 0;
    *moment = now_ns();
    answered(member, member->in + sizeof wire, length, *moment);
    member->have = 0;
    return 1;
}

/* ------------------------------------------------------------------------------------------------------ the load */

static int connect_to(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address)) fail("cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) fail(path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = room_for(*length, 1);
    if (fread(data, 1, *length, file) != *length) fail(path);
    fclose(file);
    return data;
}

static void read_topic(const char *text) {
    for (size_t each = 0; each < sizeof topic; each++) {
        unsigned byte;
        if (sscanf(text + 2 * each, "%2x", &byte) != 1) fail("TOPIC_ID has 32 hexadecimal digits");
        topic[each] = (uint8_t)byte;
    }
}

/* As group members are named: 16 bytes in base64, of which only the last digits differ. */
static void name_of(Member *member, int number) {
    snprintf(member->id, sizeof member->id, "AAAAAAAAAAAAAAAAAA%04d", number);
}

int main(int argc, char **argv) {
    if (argc != 9 && argc != 11)
        fail("usage: share HOST PORT GROUP TOPIC_ID PARTITIONS MEMBERS WARMUP COUNT [PRODUCE_FRAMES RATE]");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) fail("HOST is an IPv4 address");
    group = argv[3];
    read_topic(argv[4]);
    partitions = atoi(argv[5]), members = atoi(argv[6]);
    warmup = atoll(argv[7]), count = atoll(argv[8]);
    uint8_t *frames = NULL;
    size_t length = 0;
    double pause_ns = 0;
    request = room_for(REQUEST_ROOM, 1);
    Member *all = room_for((size_t)members, sizeof *all);
    struct pollfd *ready = room_for((size_t)members + 1, sizeof *ready);
    for (int each = 0; each < members; each++) {
        Member *member = all + each;
        *member = (Member){.fd = connect_to(&address), .is_new = 1};
        name_of(member, each);
        ready[each] = (struct pollfd){.fd = member->fd, .events = POLLIN};
        ask(member, each);
    }
    int producer = -1;
    if (argc == 11) {
        frames = read_file(argv[9], &length);
        length /= (size_t)partitions;
        pause_ns = 1e9 / atof(argv[10]);
        producer = connect_to(&address);
        due = room_for((size_t)(warmup + count), sizeof *due);
        latency = room_for((size_t)(warmup + count), sizeof *latency);
        ready[members] = (struct pollfd){.fd = producer, .events = POLLIN};
    }
    int64_t sent = 0, moment = now_ns(), last = moment;
    began = moment;
    while (due ? seen < warmup + count : accepted < warmup + count) {
        int wait_ms = 1000;
        if (due && sent < warmup + count) {
            moment = now_ns();
            /* The first one is sent a second after the members began to wait. */
            int64_t next = began + 1000000000LL + (int64_t)((double)sent * pause_ns);
            if (moment >= next) {
                due[sent] = next;
                send_all(producer, frames + (size_t)(sent % partitions) * length, length);
                sent++;
                continue;
            }
            wait_ms = next - moment > 2000000 ? (int)((next - moment) / 1000000) - 1 : 0;
        }
        int some = poll(ready, (nfds_t)(members + (due != NULL)), wait_ms);
        for (int each = 0; some > 0 && each < members; each++)
            if (ready[each].revents && receive(all + each, &moment)) {
                if (all[each].count) last = moment;
                ask(all + each, each);
            }
        if (due && some > 0 && ready[members].revents) {
            uint8_t answers[4096];
            if (recv(producer, answers, sizeof answers, 0) <= 0) fail("the broker closed a connection");
        }
        if (now_ns() - last > PATIENCE_S * 1000000000LL) fail("nothing came for 30 s");
    }
    if (due) {
        printf("{\"again\": %lld, \"latencies\": [", (long long)again);
        for (int64_t each = warmup; each < warmup + count; each++)
            printf("%s%.1f", each > warmup ? ", " : "", (double)latency[each] / 1000.0);
        printf("]}\n");
    } else {
        double seconds = (double)(now_ns() - warm_at) / 1e9;
        printf("{\"again\": %lld, \"per_second\": %.1f}\n", (long long)again, (double)(accepted - counted_from) / seconds);
    }
    return 0;
}
