// What lockset says on standard error while it holds locks.
//
// A terminal that somebody stopped (^S), or a pipe that nobody reads, can block a write for ever.
// The threads that renew a lease, or end a command whose lock was lost, must not wait for that: a
// thread of its own does the writing.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/signals.h"

namespace lockset::cli {

class ChatWriter;

// While it exists, say() and write_chat() queue and return. One at a time.
//
// Its destructor waits until all was written, or for a signal that asks to end.
class Chat {
 public:
  explicit Chat(Signals& signals);
  Chat(const Chat&) = delete;
  Chat& operator=(const Chat&) = delete;
  ~Chat();

 private:
  Signals& signals_;
  std::shared_ptr<ChatWriter> writer_;
};

// A line "lockset: ..." on standard error, as write_chat.
void say(std::string_view line);
// To standard error as it is, in one write, so that lines of several processes never mix.
void write_chat(std::string text);
// As write_chat, for what is worth something only now. False: left out, for something else is
// still being written.
bool write_fleeting(std::string text);

}  // namespace lockset::cli
