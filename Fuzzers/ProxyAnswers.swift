@testable import Tunnel

/// Whatever a proxy says, in pieces of any size, the handshake waits, goes on, or says why not; and whatever is written where a
/// proxy should be named is one or is refused.
///
/// The first byte says how large the pieces are.
func proxyAnswers(_ bytes: [UInt8]) {
    let pieces = Int(bytes.first ?? 0) % 64 + 1
    let target = Target(host: "push.example", port: 443)
    for login in [nil, ProxyLogin(user: "user", password: "password")] {
        var connect = ConnectHandshake(target: target, login: login)
        feed(bytes.dropFirst(), in: pieces, to: &connect)
        var socks = SOCKS5Handshake(target: target, login: login)
        feed(bytes.dropFirst(), in: pieces, to: &socks)
    }
    let text = String(decoding: bytes, as: UTF8.self)
    if let proxy = try? Proxy(url: text) { precondition(1...65_535 ~= proxy.port && !proxy.host.isEmpty) }
}

private func feed(_ bytes: ArraySlice<UInt8>, in pieces: Int, to handshake: inout some Handshake) {
    precondition(!handshake.begin().isEmpty)
    var rest = bytes
    while !rest.isEmpty {
        guard let step = try? handshake.receive(rest.prefix(pieces)) else { return }
        rest = rest.dropFirst(pieces)
        if case .open(let early) = step { return precondition(early.count <= pieces) }
    }
}
