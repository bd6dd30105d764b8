#include "daemon/metrics_server.h"

namespace thermocline {
namespace {

constexpr int kAnswersPerCall = 16;

std::string http(const char* status, const std::string& body) {
  return std::string("HTTP/1.1 ") + status +
         "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8"
         "\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace

std::string answer_http(std::string_view request,
                        const std::function<std::string()>& text) {
  const auto line = request.substr(0, request.find("\r\n"));
  const auto blank = line.find(' ');
  const auto target = blank == line.npos
                          ? std::string_view{}
                          : line.substr(blank + 1, line.rfind(' ') - blank - 1);
  if (blank == line.npos || line.find(" HTTP/1.") == line.npos) {
    return http("400 Bad Request", "this is an HTTP server\n");
  }
  if (line.substr(0, blank) != "GET") {
    return http("405 Method Not Allowed", "only GET\n");
  }
  if (target.substr(0, target.find('?')) != "/metrics") {
    return http("404 Not Found", "only /metrics\n");
  }
  return http("200 OK", text());
}

MetricsServer::MetricsServer(zmq::context_t& context, int port)
    : socket_(context, zmq::socket_type::stream) {
  socket_.set(zmq::sockopt::linger, 100);
  socket_.set(zmq::sockopt::maxmsgsize, std::int64_t{8192});
  socket_.bind("tcp://127.0.0.1:" + std::to_string(port));
}

bool MetricsServer::serve(const std::function<std::string()>& text) {
  for (int i = 0; i < kAnswersPerCall; ++i) {
    zmq::message_t peer;
    zmq::message_t data;
    if (!socket_.recv(peer, zmq::recv_flags::dontwait)) return false;
    if (!peer.more() || !socket_.recv(data)) continue;
    if (data.size() == 0) continue;  // somebody came or went
    const auto answer = answer_http(data.to_string_view(), text);
    try {
      // An empty frame closes the connection.
      for (const auto& part : {answer, std::string()}) {
        zmq::message_t to;
        to.copy(peer);
        socket_.send(to, zmq::send_flags::sndmore);
        socket_.send(zmq::buffer(part), zmq::send_flags::dontwait);
      }
    } catch (const zmq::error_t&) {  // gone meanwhile
    }
  }
  return true;
}

}  // namespace thermocline
