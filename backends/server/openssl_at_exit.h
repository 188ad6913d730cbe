// OpenSSL, which client libraries use for encryption, frees its state when exit() is called.
#pragma once

namespace lockset::server {

// Keeps OpenSSL working until the process has ended. A client that is not destroyed before exit()
// continues to renew and to reconnect while the process's exit handlers run, and would crash or
// hang in a library that was already cleaned up.
//
// OpenSSL obeys the first request in a process. This library asks before main begins. A program
// that uses OpenSSL still earlier asks itself (OPENSSL_init_crypto with OPENSSL_INIT_NO_ATEXIT), or
// destroys its clients before it exits. Does nothing if the process has no OpenSSL. Thread-safe.
void keep_openssl_during_exit();

// Empties this thread's list of OpenSSL's errors. A client library that does not do it itself takes
// an error of another connection for one of its own. Does nothing if the process has no OpenSSL.
void forget_openssl_errors();

}  // namespace lockset::server
