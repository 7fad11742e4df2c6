package import Tunnel

/// The proxy of each family of providers.
package struct ProxyPlan: Sendable, Hashable {
    package enum Way: Sendable, Hashable {
        case direct
        case through(Proxy)
    }

    /// The way for families without a route of their own.
    package var standard: Way
    package var own: [ProviderFamily: Way]

    package init(standard: Way = .direct, own: [ProviderFamily: Way] = [:]) {
        self.standard = standard
        self.own = own
    }

    package subscript(family: ProviderFamily) -> Proxy? {
        switch own[family] ?? standard {
        case .direct: nil
        case .through(let proxy): proxy
        }
    }

    /// Each proxy, with the families that use it.
    package var users: [Proxy: [ProviderFamily]] {
        let used = ProviderFamily.allCases.compactMap { family in self[family].map { (family, $0) } }
        return Dictionary(grouping: used, by: \.1).mapValues { $0.map(\.0) }
    }
}
