/// Attempts with credentials that were refused. The time of the next one is a lease as well: the worker that makes it moves it to the end
/// of the attempt, so that no second worker makes it too, and one that dies is followed by another.
extension Store {
    package func takeProbe(of service: String, on platform: Key<Platform>, until end: Instant) async throws -> Bool {
        try await write { session in
            try session.changeServices(of: platform, version: nil) { services in
                guard let parking = services[service], parking.isProbed(at: session.now) else { return nil }
                return services.changing(service) { $0?.probed(until: end) }
            }
        }
    }

    package func note(_ finding: ProbeFinding, of service: String?, on platform: Platform) async throws {
        try await write { session in
            if let service {
                let isChanged = try session.changeServices(of: platform.key, version: platform.credentialsVersion) {
                    $0.changing(service) {
                        finding.parking($0, seen: platform.parkedServices[service], at: session.now)
                    }
                }
                if isChanged, finding == .accepted { try session.releaseBatches(of: platform.key) }
                return
            }
            switch finding {
            case .accepted:
                let isParked = try session.prepared(ProbeStatements.isTried).hasRow(
                    platform.key, platform.credentialsVersion)
                if isParked { try session.resume(platform.key) }
            case .unused: try session.returnProbe(of: platform.key)
            case .refused: break
            }
        }
    }
}

extension WriteSession {
    /// Takes the turn to try a parked platform's credentials; false where another has it.
    func takeProbe(of platform: Key<Platform>, until end: Instant) throws -> Bool {
        guard try prepared(ProbeStatements.take).run(end, platform, now) > 0 else { return false }
        registryChanged()
        return true
    }

    /// Lets another make the attempt at once.
    func returnProbe(of platform: Key<Platform>) throws {
        if try prepared(ProbeStatements.giveBack).run(now, platform) > 0 { registryChanged() }
    }

    /// Whether there was a change.
    ///
    /// - Parameters:
    ///   - version: of the credentials that it is about; nil for any.
    ///   - change: nil from it changes nothing.
    fileprivate func changeServices(
        of platform: Key<Platform>, version: Int64?, _ change: ([ParkedService]) throws -> [ParkedService]?
    ) throws -> Bool {
        guard try prepared(PlatformStatements.lockForUpdate).hasRow(platform),
            let row = try prepared(PlatformStatements.byKey).first(platform, as: Platform.init),
            version.map({ $0 == row.credentialsVersion }) ?? true, let changed = try change(row.parkedServices),
            changed != row.parkedServices
        else { return false }
        try prepared(PlatformStatements.setParkedServices).run(changed.storedText, platform)
        registryChanged()
        return true
    }
}

extension PlatformStatements {
    static let setParkedServices: SQLText = """
        UPDATE platform /* platforms.set_parked_services */ SET parked_services = $1 WHERE id = $2
        """
}

enum ProbeStatements {
    static let take: SQLText = """
        UPDATE platform /* probes.take */ SET probe_at_ms = $1
         WHERE id = $2 AND parked_cause = 'credentials' AND probe_at_ms <= $3
        """

    static let giveBack: SQLText = """
        UPDATE platform /* probes.give_back */ SET probe_at_ms = $1
         WHERE id = $2 AND parked_cause = 'credentials' AND probe_at_ms > $1
        """

    /// Notes a refused attempt. Of several batches of one attempt, the first counts.
    static let refused: SQLText = """
        UPDATE platform /* probes.refused */ SET parked_detail = $1, probe_at_ms = $2, probe_count = $3
         WHERE id = $4 AND parked_cause = 'credentials' AND credentials_version = $5 AND probe_count = $6
        """

    static let isTried: SQLText = """
        SELECT 1 /* probes.is_tried */ FROM platform
         WHERE id = $1 AND parked_cause = 'credentials' AND credentials_version = $2
        """
}
