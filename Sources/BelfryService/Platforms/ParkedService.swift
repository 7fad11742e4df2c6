/// A push service that refuses our credentials, of a platform whose devices name several. Nothing is sent to its devices; other
/// services go on.
package struct ParkedService: Sendable, Hashable {
    /// Such as `https://web.push.apple.com`.
    package let origin: String
    package let parking: Parking

    /// The most parked services that are kept; devices of further services are tried again one by one.
    package static let countMax = 16
}

extension [ParkedService] {
    package subscript(_ origin: String) -> Parking? { first { $0.origin == origin }?.parking }

    /// The services after a change of one, which is removed if `change` leaves it without a parking.
    package func changing(_ origin: String, _ change: (Parking?) -> Parking?) -> [ParkedService] {
        var services = filter { $0.origin != origin }
        if let parking = change(self[origin]), services.count < ParkedService.countMax {
            services.append(ParkedService(origin: origin, parking: parking))
        }
        return services
    }

    /// Reads the stored form. Unreadable services are left out, and so are tried again.
    package init(stored text: String) {
        self = text.split(separator: "\n").compactMap { ParkedService(line: $0) }
    }

    /// A line for each service; nil for none.
    package var storedText: String? { isEmpty ? nil : map(\.line).joined(separator: "\n") }
}

extension Platform {
    /// Sentences that say which parts are parked, why, and when each is tried again.
    package func parkedInWords(at now: Instant) -> [String] {
        let name = "platform \(uuid.lowercased) (\(self.name))"
        return (parked.map { [$0.inWords(name, at: now)] } ?? [])
            + parkedServices.map { $0.parking.inWords("push service \($0.origin) of \(name)", at: now) }
    }
}

extension Parking {
    fileprivate func inWords(_ name: String, at now: Instant) -> String {
        "\(name) is parked since \(since.text): \(detail)" + (nextProbe(at: now).map { "; it is \($0)" } ?? "")
    }
}

extension ParkedService {
    /// The detail is printable ASCII, and so is an origin.
    fileprivate var line: String {
        let probe = parking.probe ?? Parking.Probe(at: parking.since, count: 0)
        let detail = ProviderWords.printable(parking.detail, bytesMax: AttemptNote.historyBytesMax)
        return "\(origin)\t\(parking.since.milliseconds)\t\(probe.at.milliseconds)\t\(probe.count)\t\(detail)"
    }

    fileprivate init?(line: Substring) {
        let parts = line.split(separator: "\t", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, let since = Int64(parts[1]), let at = Int64(parts[2]), let count = Int(parts[3]) else {
            return nil
        }
        self.init(
            origin: String(parts[0]),
            parking: Parking(
                cause: .credentials, detail: String(parts[4]), since: Instant(milliseconds: since),
                probe: Parking.Probe(at: Instant(milliseconds: at), count: count)))
    }
}
