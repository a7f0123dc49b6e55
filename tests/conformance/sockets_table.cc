// Unix sockets by path, and connect of other kinds.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "probe.h"

namespace conformance {
namespace {

using std::string;

constexpr struct {
  int type;
  const char* name;
} kTypes[] = {{SOCK_STREAM, "stream"}, {SOCK_SEQPACKET, "seqpacket"}, {SOCK_DGRAM, "datagram"}};

struct Address {
  sockaddr_un un{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }
};

// `size`: how many bytes of the path are given, -1 for the path with its end.
Address At(const string& path, int size = -1) {
  Address address;
  address.un.sun_family = AF_UNIX;
  path.copy(address.un.sun_path, sizeof address.un.sun_path);
  const std::size_t bytes = size < 0 ? path.size() + 1 : static_cast<std::size_t>(size);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + bytes);
  return address;
}

int New(int type, int more = 0) {
  return Current().Keep(socket(AF_UNIX, type | SOCK_CLOEXEC | more, 0));
}

string NameAsKept(int fd, bool peer) {
  sockaddr_un un{};
  socklen_t size = sizeof un;
  const int result = peer ? getpeername(fd, reinterpret_cast<sockaddr*>(&un), &size)
                          : getsockname(fd, reinterpret_cast<sockaddr*>(&un), &size);
  if (result != 0) return ErrnoName(errno);
  const auto bytes =
      size < offsetof(sockaddr_un, sun_path) ? 0 : size - offsetof(sockaddr_un, sun_path);
  string name(un.sun_path, std::min<std::size_t>(bytes, sizeof un.sun_path));
  // Names chosen by the kernel differ.
  if (!name.empty() && name[0] == '\0' && name.size() == 6) name = "(chosen)";
  return std::to_string(size) + Printable(name);
}

void Bind() {
  for (const auto& type : kTypes) {
    if (!Wanted(string("bind/") + type.name)) continue;
    for (const Situation& situation : Situations()) {
      // A path longer than an address is another question.
      if (situation.name.starts_with("name-of-")) continue;
      Case c(string("bind/") + type.name + "/" + situation.name);
      const string path = situation.make("");
      if (path.size() > 107) continue;
      const Address address = At(path);
      const int fd = New(type.type);
      if (fd < 0) {
        c.Add("socket", ErrnoName(errno));
        continue;
      }
      c.Add(Outcome(bind(fd, address.get(), address.size))).Add(NameAsKept(fd, false));
    }
  }
}

void BindForms() {
  if (!Wanted("bind-forms")) return;
  struct Form {
    const char* name;
    Address address;
  };
  const string long_name(108, 'n');
  Address short_address = At("new");
  short_address.size = 1;
  Address other_family = At("new");
  other_family.un.sun_family = AF_INET;
  Address too_big = At("new");
  too_big.size = sizeof(sockaddr_un) + 1;
  Address whole = At("new");
  whole.size = sizeof(sockaddr_un);
  const Form forms[] = {{"107-bytes", At(long_name.substr(1))},
                        {"108-bytes-without-end", At(long_name, 108)},
                        {"without-end", At("new", 3)},
                        {"cut", At("newer", 3)},
                        {"end-inside", At(string("new\0er", 6), 6)},
                        {"whole", whole},
                        {"too-big", too_big},
                        {"family-alone", At("", 0)},
                        {"empty", At("", 1)},
                        {"one-byte", short_address},
                        {"other-family", other_family},
                        {"abstract", At(string("\0posix-probe", 12), 12)},
                        {"abstract-zeros", At(string("\0a\0b\0", 5), 5)}};
  for (const auto& form : forms) {
    Case c(string("bind-forms/") + form.name);
    const int fd = New(SOCK_STREAM);
    c.Add(Outcome(bind(fd, form.address.get(), form.address.size))).Add(NameAsKept(fd, false));
    c.Add("listen", Outcome(listen(fd, 4)));
    const int client = New(SOCK_STREAM);
    const auto result = connect(client, form.address.get(), form.address.size);
    c.Add("connect", Outcome(result)).Add(NameAsKept(client, true)).Add(NameAsKept(client, false));
  }
  {
    Case c("bind-forms/twice");
    const int fd = New(SOCK_STREAM);
    for (const char* path : {"one", "two"}) {
      const Address address = At(path);
      c.Add(Outcome(bind(fd, address.get(), address.size))).Add(NameAsKept(fd, false));
    }
  }
  {
    Case c("bind-forms/not-a-socket");
    const Address address = At("new");
    MakeFile("file");
    c.Add(Outcome(bind(c.Keep(open("file", O_RDWR | O_CLOEXEC)), address.get(), address.size)));
    c.Add(Outcome(bind(c.Keep(open("file", O_PATH | O_CLOEXEC)), address.get(), address.size)));
    c.Add(Outcome(bind(899, address.get(), address.size)));
    c.Add(Outcome(bind(-1, address.get(), address.size)));
  }
  for (const char* place : {"other/one", "../c/other/one"}) {
    // The name is looked up where the call was made, and kept as it was written.
    Case c(string("bind-forms/in/") + place);
    MakeDirectory("other");
    const Address address = At(place);
    const int fd = New(SOCK_STREAM);
    c.Add(Outcome(bind(fd, address.get(), address.size))).Add(NameAsKept(fd, false));
    c.Add(Outcome(listen(fd, 1)));
    if (chdir("other") != 0) c.Add("SETUP");
    const Address near = At("one");
    const int client = New(SOCK_STREAM);
    c.Add(Outcome(connect(client, near.get(), near.size))).Add(NameAsKept(client, true));
  }
}

string Credentials(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return ErrnoName(errno);
  return std::to_string(peer.uid) + ":" + std::to_string(peer.gid);
}

void Connect() {
  for (const auto& type : kTypes) {
    if (!Wanted(string("connect/") + type.name)) continue;
    for (const Situation& situation : Situations()) {
      if (situation.name.starts_with("name-of-")) continue;
      Case c(string("connect/") + type.name + "/" + situation.name);
      const string path = situation.make("");
      if (path.size() > 107) continue;
      const Address address = At(path);
      const int fd = New(type.type);
      if (fd < 0) {
        c.Add("socket", ErrnoName(errno));
        continue;
      }
      c.Add(Outcome(connect(fd, address.get(), address.size)));
    }
    for (const char* way :
         {"plain", "link", "dotted", "proc", "absolute", "renamed", "hard-link"}) {
      Case c(string("connect/") + type.name + "/listening/" + way);
      const Address bound = At("socket");
      const int server = New(type.type);
      if (server < 0) {
        c.Add("socket", ErrnoName(errno));
        continue;
      }
      c.Add(Outcome(bind(server, bound.get(), bound.size)));
      if (type.type != SOCK_DGRAM) c.Add(Outcome(listen(server, 4)));
      string path = "socket";
      if (string(way) == "link") MakeLink("socket", path = "link");
      if (string(way) == "dotted") path = ".//../c/./socket";
      if (string(way) == "proc") path = "/proc/self/cwd/socket";
      if (string(way) == "absolute" && options.top.size() < 90) path = options.top + "/c/socket";
      if (string(way) == "renamed" && rename("socket", (path = "moved").c_str()) != 0)
        c.Add("SETUP");
      if (string(way) == "hard-link" && link("socket", (path = "hard").c_str()) != 0)
        c.Add("SETUP");
      const Address address = At(path);
      const int client = New(type.type);
      c.Add(Outcome(connect(client, address.get(), address.size)));
      c.Add(NameAsKept(client, true)).Add(NameAsKept(client, false)).Add(Credentials(client));
      c.Add("again", Outcome(connect(client, address.get(), address.size)));
      if (type.type == SOCK_DGRAM) continue;
      fcntl(server, F_SETFL, O_NONBLOCK);
      const int peer = c.Keep(accept4(server, nullptr, nullptr, SOCK_CLOEXEC));
      c.Add(Credentials(peer)).Add(NameAsKept(peer, false)).Add(NameAsKept(peer, true));
      c.Add(Outcome(write(client, "xy", 2)));
      char bytes[4];
      c.Add(Outcome(read(peer, bytes, sizeof bytes)));
    }
  }
}

void ConnectForms() {
  if (!Wanted("connect-forms")) return;
  const auto server_at = [](Case& c, const char* path, int backlog) {
    const Address address = At(path);
    const int server = New(SOCK_STREAM);
    c.Add(Outcome(bind(server, address.get(), address.size))).Add(Outcome(listen(server, backlog)));
    return server;
  };
  const Address address = At("socket");
  {
    Case c("connect-forms/peer-pid");
    const int server = server_at(c, "socket", 2);
    const int client = New(SOCK_STREAM);
    c.Add(Outcome(connect(client, address.get(), address.size)));
    ucred peer{};
    socklen_t size = sizeof peer;
    getsockopt(c.Keep(accept(server, nullptr, nullptr)), SOL_SOCKET, SO_PEERCRED, &peer, &size);
    c.Add(peer.pid == getpid() ? "mine" : "another's");
  }
  {
    Case c("connect-forms/full-backlog-nonblocking");
    server_at(c, "socket", 0);
    for (int i = 0; i < 4; ++i) {
      c.Add(Outcome(connect(New(SOCK_STREAM, SOCK_NONBLOCK), address.get(), address.size)));
    }
  }
  {
    Case c("connect-forms/full-backlog-waits");
    const int server = server_at(c, "socket", 0);
    c.Add(Outcome(connect(New(SOCK_STREAM), address.get(), address.size)));
    c.Add(InChild([&] {
      const pid_t child = fork();
      if (child == 0) {
        for (int i = 0; i < 2; ++i) accept(server, nullptr, nullptr);
        _exit(0);
      }
      const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
      const string result = Outcome(connect(fd, address.get(), address.size));
      waitpid(child, nullptr, 0);
      return result;
    }));
  }
  {
    Case c("connect-forms/wrong-type");
    server_at(c, "socket", 2);
    c.Add(Outcome(connect(New(SOCK_SEQPACKET), address.get(), address.size)));
  }
  {
    Case c("connect-forms/bound-client");
    const int server = server_at(c, "socket", 2);
    const Address own = At("client");
    const int client = New(SOCK_STREAM);
    c.Add(Outcome(bind(client, own.get(), own.size)));
    c.Add(Outcome(connect(client, address.get(), address.size)));
    c.Add(NameAsKept(c.Keep(accept(server, nullptr, nullptr)), true));
  }
  {
    Case c("connect-forms/listener-itself");
    const int server = server_at(c, "socket", 2);
    c.Add(Outcome(connect(server, address.get(), address.size)));
  }
  {
    Case c("connect-forms/not-a-socket");
    server_at(c, "socket", 2);
    MakeFile("file");
    c.Add(Outcome(connect(c.Keep(open("file", O_RDWR)), address.get(), address.size)));
    c.Add(Outcome(connect(c.Keep(open("file", O_PATH)), address.get(), address.size)));
    c.Add(Outcome(connect(899, address.get(), address.size)));
  }
  {
    Case c("connect-forms/closed-listener");
    const int server = New(SOCK_STREAM);
    c.Add(Outcome(bind(server, address.get(), address.size)));
    c.Add("not-listening", Outcome(connect(New(SOCK_STREAM), address.get(), address.size)));
    shutdown(server, SHUT_RDWR);
  }
  for (const mode_t mode : {0777, 0666, 0444, 0222, 0}) {
    Case c("connect-forms/mode/" + std::to_string(mode));
    server_at(c, "socket", 2);
    SetMode("socket", mode);
    c.Add(Outcome(connect(New(SOCK_STREAM), address.get(), address.size)));
  }
}

void Pairs() {
  if (!Wanted("socketpair")) return;
  for (const auto& type : kTypes) {
    Case c(string("socketpair/") + type.name);
    int ends[2];
    const int result = socketpair(AF_UNIX, type.type | SOCK_CLOEXEC, 0, ends);
    c.Add(Outcome(result));
    if (result != 0) continue;
    c.Keep(ends[0]);
    c.Keep(ends[1]);
    char byte = 'x';
    c.Add(Outcome(write(ends[0], &byte, 1))).Add(Outcome(read(ends[1], &byte, 1)));
    const Address address = At("socket");
    c.Add("bind", Outcome(bind(ends[0], address.get(), address.size)));
    c.Add("connect", Outcome(connect(ends[1], address.get(), address.size)));
  }
}

void Internet() {
  if (!Wanted("internet")) return;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  for (const bool nonblocking : {false, true}) {
    Case c(string("internet/tcp/") + (nonblocking ? "nonblocking" : "blocking"));
    const int server = c.Keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address.sin_port = 0;
    c.Add(Outcome(bind(server, any, sizeof address)));
    getsockname(server, any, &size);
    const int early = c.Keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    c.Add("refused", Outcome(connect(early, any, sizeof address)));
    c.Add(Outcome(listen(server, 4)));
    const int client =
        c.Keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0));
    c.Add(Outcome(connect(client, any, sizeof address)));
    pollfd ready{client, POLLOUT, 0};
    poll(&ready, 1, 5000);
    c.Add("again", Outcome(connect(client, any, sizeof address)));
    c.Add("once-more", Outcome(connect(client, any, sizeof address)));
    c.Add("short", Outcome(connect(client, any, 4)));
  }
  {
    Case c("internet/udp");
    const int fd = c.Keep(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    address.sin_port = htons(9);
    c.Add(Outcome(connect(fd, any, sizeof address)));
    sockaddr none{};
    none.sa_family = AF_UNSPEC;
    c.Add(Outcome(connect(fd, &none, sizeof none)));
    c.Add(Outcome(connect(fd, &none, 1)));
  }
}

}  // namespace

void SocketsTable() {
  Bind();
  BindForms();
  Connect();
  ConnectForms();
  Pairs();
  Internet();
}

}  // namespace conformance
