import BelfryService
import NIOSSL
import Outbound

/// Connects to the hosts that devices name, exactly as a push does.
struct HostCheck: Sendable {
    let outbound: Outbound
    let tls: TLSConfiguration?

    /// The deadline for one host.
    private static let deadline = Duration.seconds(5)
    private static let hostsMax = 3

    /// `reached` when one of the hosts answers: a device may name a host that cannot be reached.
    ///
    /// - Parameters:
    ///   - origins: `https://host` or `https://host:port`, of some devices.
    ///   - unasked: the verdict when there are none.
    func test(_ origins: [String], reached: CredentialsTest, unasked: CredentialsTest) async -> CredentialsTest {
        var faults: [String] = []
        for origin in Set(origins).sorted().prefix(Self.hostsMax) {
            guard let fault = await outbound.reach("\(origin)/", tls: tls, deadline: Self.deadline) else {
                return reached
            }
            faults.append("\(origin) cannot be reached: \(fault)\(advice(on: fault))")
        }
        return faults.isEmpty ? unasked : .unknown(faults.joined(separator: "; "))
    }

    private func advice(on fault: OutboundFault) -> String {
        fault.code == .addressRefused ? "; providers.addresses.allow lets it be posted to" : ""
    }

    /// The part of a channel's URI that names its host.
    static func origin(of uri: String) -> String? {
        let parts = uri.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[1].isEmpty, !parts[2].isEmpty else { return nil }
        return "\(parts[0])//\(parts[2].prefix { $0 != "?" && $0 != "#" })"
    }
}
