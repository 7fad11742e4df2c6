import HTTP2Client
import NIOSSL
import Synchronization

/// TLS configurations by what they say, as far as NIOSSL can compare them.
struct TLSKey: Hashable {
    let configuration: TLSConfiguration

    init(_ configuration: TLSConfiguration) { self.configuration = configuration }

    static func == (one: TLSKey, other: TLSKey) -> Bool { one.configuration.bestEffortEquals(other.configuration) }

    func hash(into hasher: inout Hasher) { configuration.bestEffortHash(into: &hasher) }
}

/// Contexts of TLS, each made once: to read trust roots takes long.
final class TLSContexts: Sendable {
    private let held = Mutex<[TLSKey?: NIOSSLContext]>([:])

    /// Tenants have trust roots of their own.
    private static let heldMax = 256

    /// - Parameter key: nil for the standard.
    func context(for key: TLSKey?) throws(HTTP2ConnectError) -> NIOSSLContext {
        if let known = held.withLock({ $0[key] }) { return known }
        let made = try HTTP2Endpoint.makeContext(
            key?.configuration ?? Outbound.standardTLS, protocols: ["h2", "http/1.1"])
        held.withLock { held in
            if held.count >= Self.heldMax { held = [:] }
            held[key] = made
        }
        return made
    }
}
