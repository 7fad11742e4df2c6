import BelfryProviders
import BelfryService
import Foundation
import NIOCore

extension ServerConfiguration {
    /// All listeners, by the names of their settings.
    var listeners: [(name: String, address: ListenerConfiguration)] {
        var all: [(name: String, address: ListenerConfiguration)] = [("http", http), ("management", management)]
        if let genero { all.append(("genero", genero.listener)) }
        if let gateway {
            for (name, port) in [("gateway", gateway.port), ("gateway.feedback", gateway.feedbackPort)] {
                if let port { all.append((name, ListenerConfiguration(host: gateway.host, port: port))) }
            }
        }
        if let address = dashboard.listener { all.append(("dashboard", address)) }
        return all
    }

    /// Ports that two listeners have at one address, which the second could not get.
    private var portFaults: [String] {
        let all = listeners
        return all.indices.flatMap { place in
            all[..<place].filter { $0.address.sharesPort(with: all[place].address) }
                .map { "\($0.name).port and \(all[place].name).port are both \($0.address.port)" }
        }
    }

    /// Why listeners cannot have their hosts, or their ports beside one another: a server that runs may have those.
    var hostFaults: [String] {
        var faults = portFaults
        for (name, address) in listeners {
            guard let fault = address.fault(name: name, port: 0), !faults.contains(fault) else { continue }
            faults.append(fault)
        }
        return faults
    }

    /// Throws while a listener cannot have its address, before anything is made on this machine.
    package func demandListeners() throws(ConfigurationFaults) {
        let faults = portFaults + listeners.compactMap { $0.address.fault(name: $0.name, port: $0.address.port) }
        guard faults.isEmpty else { throw ConfigurationFaults(lines: faults) }
    }
}

extension ListenerConfiguration {
    /// Whether the port of another listener is this one's, at an address of both: `::` is every address, `0.0.0.0` each of IPv4.
    fileprivate func sharesPort(with other: ListenerConfiguration) -> Bool {
        guard port != 0, port == other.port else { return false }
        guard let own = address, let others = other.address else { return host == other.host }
        let both = [own, others]
        return own == others || both.contains(NetworkAddress(high: 0, low: 0))
            || (both.contains(NetworkAddress(v4: 0)) && both.allSatisfy(\.isV4))
    }

    /// nil where the host has none.
    private var address: NetworkAddress? {
        (try? SocketAddress.makeAddressResolvingHost(host, port: port)).flatMap { NetworkAddress($0) }
    }

    /// Why the address with this port cannot be listened on; nil when it can.
    fileprivate func fault(name: String, port: Int) -> String? {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &found)
        guard result == 0, let first = found else {
            return "\(name).host: `\(host.quotable)` has no address: \(String(cString: gai_strerror(result)))"
        }
        defer { freeaddrinfo(found) }
        let descriptor = socket(first.pointee.ai_family, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return fault(errno, name: name) }
        defer { close(descriptor) }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, first.pointee.ai_addr, first.pointee.ai_addrlen) != 0 else { return nil }
        return errno == EADDRNOTAVAIL
            ? "\(name).host: `\(host.quotable)` is not an address of this machine" : fault(errno, name: name)
    }

    /// Why it could not be listened on, in words that name the settings.
    func fault(_ code: Int32, name: String) -> String {
        let reason = code == EADDRINUSE ? "the port is in use already" : String(cString: strerror(code))
        let setting = name == "gateway.feedback" ? "gateway.host, gateway.feedback.port" : "\(name).host, \(name).port"
        return "cannot listen on \(Self.inURL(host.quotable)):\(port) (\(setting)): \(reason)"
    }
}

extension ServerConfiguration {
    /// Lines for a person to look at although a server runs with the configuration.
    package var notices: [String] {
        var notices: [String] = []
        if !injectedVariables.isEmpty {
            notices.append(
                "passed over, since Kubernetes or Docker set them for a service of this name: "
                    + injectedVariables.joined(separator: ", "))
        }
        notices += strayOldNames.map { "\($0) means nothing here: \(LegacySettings.reason(for: $0))" }
        if let notice = DescriptorPlan(self).notice { notices.append(notice) }
        return notices
    }

    /// Facts of a sound configuration, by name: its file, where data is, where it listens, its limits.
    package var findings: [(name: String, value: String)] {
        let descriptors = DescriptorPlan(self)
        let file = ("settings file", self.file ?? "none")
        let ring = ("key ring", storage.keyRingFile)
        let database = ("database", storage.databaseURL == nil ? storage.databaseFile : "PostgreSQL (database.url)")
        let listeners = listeners.map { ("\($0.name) listens on", $0.address.url) }
        let callers = min(connections.totalMax, descriptors.callersMax)
        return [file, ("data directory", storage.directory), ring, database] + listeners + [
            (
                "connections",
                "\(callers) of callers, \(connections.perAddressMax) from one address, \(min(providers.posting.connectionsMax, descriptors.providersMax)) to "
                    + "providers, of \(descriptors.limit) open files"
            ),
            ("bodies", "\(pcf.bodyBytesMax) bytes (http.body.bytes.max)"),
            ("in flight", "\(delivery.batchesInFlightMax) batches, \(delivery.urgentBatchesInFlightMax) urgent ones"),
        ]
    }
}

extension ConcurrencyLimiter {
    /// `share.<name>.max` for each `Share` except `uploads`, and `share.uploads.mib`: what one application, and one
    /// admin key, may use at once on a node. A tenant may use a quarter of the total.
    static func limits(_ settings: Settings) -> Limits {
        Dictionary(uniqueKeysWithValues: Share.allCases.map { ($0, settings.limit(of: $0)) })
    }
}

extension Settings {
    fileprivate func limit(of share: Share) -> ShareLimit {
        let standard = ShareLimit.standard[share] ?? ShareLimit(perCaller: 1, total: 1)
        // Uploads are counted in KiB.
        let unit = share == .uploads ? 1_024 : 1
        let most = [.streams, .fetches, .uploads].contains(share) ? 1_024 : 64
        let each = int("share.\(share.settingName)", default: standard.perCaller / unit, in: 1...most)
        return ShareLimit(perCaller: each * unit, total: standard.total)
    }
}
