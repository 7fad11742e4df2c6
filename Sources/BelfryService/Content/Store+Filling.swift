import FoundationEssentials

extension Store {
    package func fill(_ requests: [FillingRequest]) async throws -> [[Key<Device>: PersonalizedValues.Values]?] {
        let counted: [[Int64]?] =
            requests.contains { $0.badge != nil }
            ? try await write { try BadgeCounting(session: $0).count(requests) } : requests.map { _ in [] }
        let known = try await values(for: requests)
        return zip(requests, counted).map { request, badges in
            badges.map { badges in
                var values: [Key<Device>: PersonalizedValues.Values] = [:]
                values.reserveCapacity(request.devices.count)
                for (place, device) in request.devices.enumerated() {
                    var own = known[device] ?? PersonalizedValues.Values()
                    if request.badge != nil { own.badge = badges[place] }
                    values[device] = own
                }
                return values
            }
        }
    }

    /// The present values of one device. Nothing is counted.
    package func values(
        of device: Key<Device>, on platform: Platform, _ needs: PersonalizationNeeds
    ) async throws -> PersonalizedValues.Values {
        let batch = Batch(
            key: Key(0), pushKey: Key(0), platformKey: platform.key, lane: .normal, devices: [device],
            answers: [.pending], attempt: 0, isLapsed: false)
        let request = FillingRequest(
            batch: batch, applicationKey: platform.applicationKey, devices: [device], badge: nil, needs: needs)
        return try await fill([request]).first??[device] ?? PersonalizedValues.Values()
    }

    /// The content as a push shows it on a device now, without signatures of its links.
    package func sample(
        of content: Push.Content, on device: Key<Device>, _ platform: Platform
    ) async throws -> Push.Content {
        guard content.isPersonal else { return content }
        let needs = PersonalizationNeeds(try content.placeholders())
        var values = try await values(of: device, on: platform, needs)
        switch content.badgeChange(on: platform.kind) {
        case .add(let number): values.badge = min(values.badge + number, BadgeChange.keptMax)
        case .set(let number): values.badge = number
        case nil: break
        }
        return try content.filled(with: PersonalizedValues(values))
    }

    /// The values of devices that placeholders need.
    private func values(for requests: [FillingRequest]) async throws -> [Key<Device>: PersonalizedValues.Values] {
        let reading = requests.filter { !$0.needs.isEmpty }
        guard let first = reading.first else { return [:] }
        let names = reading.reduce(into: Set<String>()) { $0.formUnion($1.needs.attributes) }
        let rows = reading.filter(\.needs.row).flatMap(\.devices)
        let badges = reading.filter { $0.needs.badge && $0.badge == nil }.flatMap(\.devices)
        return try await readCommitted { [secrets, damagedRows] db in
            var values: [Key<Device>: PersonalizedValues.Values] = [:]
            if !rows.isEmpty {
                try db.prepared(FillingStatements.rows).each(SQLKeys(rows), first.applicationKey) { row in
                    let key = Key<Device>(row.integer(0))
                    let own = try damagedRows.readable("user of device \(key)") {
                        try PersonalizedValues.Values(row, naming: secrets.naming, attributes: names)
                    }
                    values[key] = own ?? PersonalizedValues.Values()
                }
            }
            if !badges.isEmpty {
                try db.prepared(FillingStatements.badges).each(first.batch.platformKey, SQLKeys(badges)) { row in
                    values[Key(row.integer(0)), default: PersonalizedValues.Values()].badge = row.integer(1)
                }
            }
            return values
        }
    }
}

/// Counts badges, within a write.
///
/// What a batch shows is written beside it with the count itself, so that it is the same when the batch is sent again. Batches
/// ascend, and so do devices within a statement: workers that count the same devices wait for one another.
private struct BadgeCounting<Session: WriteSession> {
    let session: Session

    /// The number that each request shows on each of its devices; nil for a batch that another worker has claimed since. Empty
    /// where nothing is counted.
    func count(_ requests: [FillingRequest]) throws -> [[Int64]?] {
        var numbers: [[Int64]?] = requests.map { $0.badge == nil ? [] : nil }
        var shown = try countedBefore(requests)
        let open = shown.keys.sorted()
        let rest = open.map { place in requests[place].without(shown[place] ?? [:]) }
        var written: [(key: Key<Batch>, badges: [UInt8])] = []
        for run in runs(of: rest) {
            for (index, fresh) in zip(run, try count(Array(rest[run]))) where !fresh.isEmpty {
                let request = rest[index]
                shown[open[index]]?.merge(zip(request.devices, fresh)) { $1 }
                guard request.isAdding, let badges = shown[open[index]] else { continue }
                written.append(
                    (request.batch.key, BadgeList.encode(request.batch.devices.map { badges[$0] ?? 0 })))
            }
        }
        for (place, badges) in shown { numbers[place] = requests[place].devices.map { badges[$0] ?? 0 } }
        if !written.isEmpty {
            try session.prepared(BatchStatements.setBadges).sendEach(written.map(\.badges), written.map(\.key))
        }
        return numbers
    }

    /// The numbers that were counted before, by the places of the requests whose batches no other worker has claimed since. A list that
    /// cannot be read shows nothing.
    private func countedBefore(_ requests: [FillingRequest]) throws -> [Int: [Key<Device>: Int64]] {
        let places = Dictionary(
            requests.enumerated().filter { $0.element.badge != nil }.map { ($1.batch.key, $0) },
            uniquingKeysWith: { first, _ in first })
        var counted: [Int: [Key<Device>: Int64]] = [:]
        try session.prepared(BatchStatements.forCounting).each(SQLKeys(places.keys.sorted())) { row in
            guard let place = places[Key(row.integer(0))], row.integer(1) == requests[place].batch.attempt else {
                return
            }
            counted[place] = [:]
            guard requests[place].isAdding, let badges = row.blobIfAny(2) else { return }
            let devices = requests[place].batch.devices
            let list = BadgeList.decode(badges, count: devices.count)
            // A device has none in it that waited for the end of quiet hours.
            for (device, number) in zip(devices, list ?? devices.map { _ in 0 }) where number > 0 || list == nil {
                counted[place]?[device] = number
            }
        }
        return counted
    }

    /// Requests in a row whose changes are of one kind.
    private func runs(of requests: [FillingRequest]) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for (place, request) in requests.enumerated() {
            if let last = runs.last, requests[last.lowerBound].isAdding == request.isAdding {
                runs[runs.count - 1] = last.lowerBound..<place + 1
            } else {
                runs.append(place..<place + 1)
            }
        }
        return runs
    }

    private func count(_ requests: [FillingRequest]) throws -> [[Int64]] {
        guard let first = requests.first else { return [] }
        let count = BadgeCount(isAdding: first.isAdding, requests.map { ($0.change, $0.devices) })
        var ends: [Key<Device>: Int64] = [:]
        for step in count.steps {
            let platform = first.batch.platformKey
            if first.isAdding {
                try session.prepared(DeviceDetailStatements.count).each(
                    platform, SQLKeys(step.devices), step.number, BadgeChange.keptMax
                ) { ends[Key($0.integer(0))] = $0.integer(1) }
            } else {
                try session.prepared(DeviceDetailStatements.setBadges).send(
                    platform, SQLKeys(step.devices), step.number)
            }
        }
        return count.numbers(ends)
    }
}

extension FillingRequest {
    fileprivate var isAdding: Bool { if case .add? = badge { true } else { false } }

    fileprivate var change: Int64 {
        switch badge {
        case .add(let number): number
        case .set(let number): BadgeChange.kept(number)
        case nil: 0
        }
    }

    /// The request of the devices that were not counted before.
    fileprivate func without(_ counted: [Key<Device>: Int64]) -> FillingRequest {
        FillingRequest(
            batch: batch, applicationKey: applicationKey, devices: devices.filter { counted[$0] == nil }, badge: badge,
            needs: needs)
    }
}

extension PersonalizedValues.Values {
    /// From a row of `FillingStatements.rows`.
    fileprivate init(_ row: some SQLRow, naming: DeviceNaming, attributes names: Set<String>) throws {
        self.init()
        let own = naming.uuid(of: Key(row.integer(0)))
        let mark = try ImportMark(row, from: 1)
        deviceUUID = mark?.name(own: own) ?? own
        otherUUID = deviceUUID == own ? mark?.uuid : own
        userID = row.textIfAny(4)
        language = row.textIfAny(5)
        timeZone = row.textIfAny(6)
        guard !names.isEmpty, !row.isNull(7) else { return }
        var found: [String: UserAttribute] = [:]
        try JSONReader.document(row.blob(7)) { reader, name throws(InvalidInput) in
            guard names.contains(name) else { return try reader.skip() }
            found[name] = try UserAttribute(json: try reader.value(name), field: name)
        }
        attributes = found
    }
}

enum FillingStatements {
    /// Looks each device up by its key, and its user in `app_user_public`. What a profile does not say, the device may.
    static let rows: SQLText = """
        SELECT device.id, imported_uuid, imported_at_ms, import_stage, custom_user_id,
               coalesce(app_user.language, device_detail.language),
               coalesce(app_user.time_zone, device_detail.time_zone), attributes /* filling.rows */
          FROM device
          LEFT JOIN app_user ON app_user.application_id = $2 AND app_user.public_id = device.custom_user_id
          LEFT JOIN device_detail
            ON device_detail.platform_id = device.platform_id AND device_detail.device_id = device.id
         WHERE device.id \(among: "$1")
        """

    static let badges: SQLText = """
        SELECT device_id, badge /* filling.badges */ FROM device_detail
         WHERE platform_id = $1 AND device_id \(among: "$2")
        """
}

extension BatchStatements {
    static let forCounting: SQLText = """
        SELECT id, attempt, badges /* batches.for_counting */ FROM batch
         WHERE id \(among: "$1")
         ORDER BY id
           \(SQLText.forUpdate)
        """

    static let setBadges: SQLText = """
        UPDATE batch /* batches.set_badges */
           SET \(sqlite: "badges = $1 WHERE id = $2",
                postgres: """
                badges = counted.badges
                  FROM unnest($1, $2) AS counted (badges, id)
                 WHERE batch.id = counted.id
                """)
        """
}

extension DeviceDetailStatements {
    /// Devices that nothing was kept of begin at 0.
    static let count: SQLText = """
        INSERT INTO device_detail /* device_details.count */ (platform_id, device_id, badge)
        SELECT $1, \(sqlite: "value, $3 FROM json_each($2) WHERE true",
            postgres: "device_id, $3 FROM unnest($2) AS counted (device_id)")
         ORDER BY 2
            ON CONFLICT (platform_id, device_id) DO UPDATE
           SET badge = \(SQLText.least)(device_detail.badge + excluded.badge, $4)
        RETURNING device_id, badge
        """

    /// Writes nothing where the number is the same.
    static let setBadges: SQLText = """
        INSERT INTO device_detail /* device_details.set_badges */ (platform_id, device_id, badge)
        SELECT $1, \(sqlite: "value, $3 FROM json_each($2) WHERE true",
            postgres: "device_id, $3 FROM unnest($2) AS counted (device_id)")
         ORDER BY 2
            ON CONFLICT (platform_id, device_id) DO UPDATE
           SET badge = excluded.badge
         WHERE device_detail.badge <> excluded.badge
        """
}
