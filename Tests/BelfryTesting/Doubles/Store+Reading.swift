package import BelfryService

/// All that a small database has, for tests to look at.
extension Store {
    /// The oldest first.
    package func auditLog() async throws -> [AuditEntry] {
        try await auditLog(AuditQuery(bounds: .everything, limit: 1_000)).reversed()
    }

    /// In the order of their acceptance.
    package func allPushes() async throws -> [Push] {
        var found: [Push] = []
        for application in try await applications() {
            for head in try await pushes(of: application.key, before: nil, limit: 1_000) {
                if let push = try await push(head.key) { found.append(push) }
            }
        }
        return found.sorted { $0.key < $1.key }
    }

    /// The next devices that were imported and not seen since, ascending, behind a device.
    package func unseenDevices(
        on platforms: [Key<Platform>], after: Key<Device>?, limit: Int
    ) async throws -> [Device] {
        var filter = DeviceFilter()
        filter.isUnseen = true
        return try await devices(DeviceSearch(platforms: platforms, filter: filter), after: after, limit: limit)
    }

    /// In the order of their first registration.
    package func allDevices() async throws -> [Device] {
        var found: [Device] = []
        for application in try await applications() {
            for platform in try await platforms(of: application.key) {
                found += try await devices(DeviceSearch(platforms: [platform.key]), after: nil, limit: 10_000)
            }
        }
        return found.sorted { $0.key < $1.key }
    }
}

extension DeliveryStore {
    /// The next devices of a fan-out.
    package func devices(in fanOut: FanOut, after: Key<Device>?, limit: Int) async throws -> [Key<Device>] {
        try await devices(of: fanOut.audience, on: fanOut.platformKey, after: after, limit: limit)
    }

    /// The batches of all bursts that it claims.
    package func claimBatches(_ claim: BatchClaim) async throws -> [Batch] {
        try await claimBursts(claim).flatMap(\.self)
    }

    /// Fans out and sends what is due, as workers would. A batch of which `answer` knows nothing is handed back.
    package func deliver(_ answer: (Batch, Key<Device>) -> Answer?) async throws {
        for fanOut in try await claimFanOuts(atMost: 10, lanes: Lane.allCases, for: .seconds(60)) {
            let found = try await devices(in: fanOut, after: nil, limit: Batch.devicesMax)
            _ = try await advance(FanOutStep(fanOut: fanOut, batches: found.isEmpty ? [] : [found], isLast: true))
        }
        let claim = BatchClaim(burstsMax: 100, roomElsewhere: 100, lease: .seconds(60))
        for batch in try await claimBatches(claim) {
            let answers = batch.devices.compactMap { answer(batch, $0) }
            let isKnown = answers.count == batch.devices.count
            _ = try await settle(
                isKnown
                    ? Settlement(batch: batch, answers: answers, retryAt: nil)
                    : Settlement(handingBack: batch, at: .zero))
        }
    }
}

extension SQLiteStore {
    /// Changes rows against all rules, to plant a fault.
    package func run(_ script: SQLText) async throws {
        try await write { session in
            try session.db.run(script: script)
            session.registryChanged()
        }
    }

    /// The number that a statement finds.
    package func number(_ sql: SQLText) async throws -> Int {
        try await read { try $0.prepared(sql).first { Int($0.integer(0)) } ?? 0 }
    }

    /// All rows of all tables.
    package func dump() async throws -> [String: [[BulkValue]]] {
        var found: [String: [[BulkValue]]] = [:]
        for table in try await copiedTables() {
            found[table.name] = try await rows(of: table, after: nil, limit: 10_000)
        }
        return found
    }
}
