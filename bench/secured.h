/* A connection that is encrypted and logged in before any request is sent on it: for loadgen.c and logins.c. */
#ifndef SECURED_H
#define SECURED_H

#include <openssl/ssl.h>
#include <sys/types.h>

enum { LARGEST_RECORD = 16384 };

/* What a listener asks for. `trusted` is the file of the authority, NULL without TLS; `user` NULL without a login. */
typedef struct {
    const char *trusted, *user, *password;
    SSL_CTX *context;
} Door;

/* `text` is `authority.pem` or nothing, and `name:password` or nothing; it is taken apart in place. */
void door_init(Door *door, char *trusted, char *login);

/* On a socket that is connected and blocks. NULL without TLS. Whoever is refused ends the program. */
SSL *door_open(const Door *door, int fd);
void door_log_in(const Door *door, SSL *tls, int fd);

/* As send and recv: -1 with EAGAIN where the socket is not ready. */
ssize_t door_send(SSL *tls, int fd, const void *data, size_t size);
ssize_t door_receive(SSL *tls, int fd, void *into, size_t size);

/* Blocking. */
void door_send_all(SSL *tls, int fd, const void *data, size_t size);
void door_receive_all(SSL *tls, int fd, void *into, size_t size);

#endif
