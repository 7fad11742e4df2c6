import BelfryAPI
import BelfryDelivery
import BelfryProviders

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
