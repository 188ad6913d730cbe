// OpenSSL, which client libraries encrypt with, frees what it needs when exit() is called.
#pragma once

namespace lockset::connections {

// Keeps OpenSSL in working order until the process has ended: a client that is not destroyed before
// exit() goes on renewing, and reconnecting, beside the process's exit handlers, and would crash or
// hang in a library that was cleaned up under it.
//
// OpenSSL obeys the first to ask in a process. This library asks before main begins; a program that
// uses OpenSSL still earlier asks itself (OPENSSL_init_crypto with OPENSSL_INIT_NO_ATEXIT) or
// destroys its clients before it exits. Without OpenSSL in the process it does nothing.
// Thread-safe.
void keep_openssl_during_exit();

}  // namespace lockset::connections
