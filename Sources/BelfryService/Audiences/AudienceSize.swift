/// How many devices an audience has.
package struct AudienceSize: Sendable, Hashable {
    package var devices: Int
    /// Half of the interval that holds the true number in 95 of 100 cases; nil where the number is exact.
    package var margin: Int?

    package init(devices: Int, margin: Int? = nil) { (self.devices, self.margin) = (devices, margin) }

    /// Margins of independent estimates add as their squares do.
    package static func + (left: Self, right: Self) -> Self {
        let devices = left.devices + right.devices
        guard left.margin != nil || right.margin != nil else { return Self(devices: devices) }
        let (one, other) = (Double(left.margin ?? 0), Double(right.margin ?? 0))
        return Self(devices: devices, margin: Int((one * one + other * other).squareRoot().rounded(.up)))
    }
}

package struct SampledDevice: Sendable {
    package let device: Device
    package let platform: Platform
}

/// An audience that nothing has been sent to: who would get a push.
package struct AudienceDraft: Sendable {
    package let platforms: [Platform]
    package let audience: Audience
}

/// Estimates the size of an audience from windows, spread over the keys of all devices.
package struct AudienceEstimate {
    private static let windows = 64
    private static let width: Int64 = 2_048
    /// So few keys are counted one by one.
    static let exactKeysMax = Int64(windows) * width

    /// - Parameters:
    ///   - last: the last key of any device.
    ///   - count: the devices of the audience from a key on, up to another.
    static func size(last: Int64, count: (Int64, Int64) throws -> Int) rethrows -> AudienceSize {
        let stride = last / Int64(windows)
        let counts = try (0..<Int64(windows)).map { window in
            // The places within the strides are spread evenly, so that no period of the keys is met by chance.
            let place = (Double(window) * 0.618_033_988_75).truncatingRemainder(dividingBy: 1) * Double(stride - width)
            let first = window * stride + max(0, Int64(place)) + 1
            return Double(try count(first, first + width - 1))
        }
        let scale = Double(last) / Double(width)
        let mean = counts.reduce(0, +) / Double(windows)
        // Neighbours are compared, since devices of one time resemble each other.
        let squares = zip(counts, counts.dropFirst()).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }
        let variance = max(squares / Double(2 * (windows - 1)), mean / 4)
        // Where no window has one, there may be three for as many windows in 95 of 100 cases.
        let margin = mean == 0 ? 3 * scale / Double(windows) : 1.96 * scale * (variance / Double(windows)).squareRoot()
        return AudienceSize(devices: Int((mean * scale).rounded()), margin: Int(margin.rounded(.up)))
    }
}

extension Store {
    /// The size of an audience: exact where it is counted by the deadline, else estimated.
    package func size(of draft: AudienceDraft, by deadline: ContinuousClock.Instant) async throws -> [AudienceSize] {
        var sizes: [AudienceSize] = []
        for platform in draft.platforms { sizes.append(try await size(of: draft.audience, on: platform, by: deadline)) }
        return sizes
    }

    private func size(
        of audience: Audience, on platform: Platform, by deadline: ContinuousClock.Instant
    ) async throws -> AudienceSize {
        var (count, after) = (0, Key<Device>?.none)
        while ContinuousClock.now < deadline {
            let slice = try await slice(of: audience, on: platform.key, after: after, limit: Self.countStep)
            count += slice.devices.count
            guard let end = slice.end else { return AudienceSize(devices: count) }
            after = end
        }
        let now = clock.now
        let estimate = try await read { db -> AudienceSize? in
            let last = try db.prepared(AudienceStatements.lastDevice).number() ?? 0
            guard last > AudienceEstimate.exactKeysMax else { return nil }
            let postings = db.postings(of: platform.key, application: platform.applicationKey, now: now)
            return try AudienceEstimate.size(last: last) { first, last in
                postings.last = last
                return try AudienceScan(audience, reader: postings).devices(after: Key(first - 1), limit: .max).count
            }
        }
        if let estimate { return estimate }
        // So few keys are read in no time.
        return try await size(of: audience, on: platform, by: .now + .seconds(60))
    }

    /// Devices of an audience: all of a small one, of a large one some that are spread over the time of their first registration.
    package func sample(of draft: AudienceDraft, atMost limit: Int) async throws -> [SampledDevice] {
        var found: [SampledDevice] = []
        let now = clock.now
        for (index, platform) in draft.platforms.enumerated() where found.count < limit {
            let room = max(1, (limit - found.count) / (draft.platforms.count - index))
            let first = try await firstDevices(
                of: draft.audience, on: platform.key, atMost: room + 1, by: .now + .milliseconds(500))
            found += try await read { [secrets] db in
                let postings = db.postings(of: platform.key, application: platform.applicationKey, now: now)
                var keys = first
                if keys.count > room {
                    let last = try db.prepared(AudienceStatements.lastDevice).number() ?? 0
                    var spread: Set<Key<Device>> = []
                    for place in 0..<Int64(room) {
                        let from = last / Int64(room) * place
                        postings.last = from + Self.sampleWidth
                        let scan = AudienceScan(draft.audience, reader: postings)
                        if let device = try scan.devices(after: Key(from), limit: 1).first { spread.insert(device) }
                    }
                    keys = (spread + keys.filter { !spread.contains($0) }.prefix(room - spread.count)).sorted()
                }
                return try db.prepared(DirectoryStatements.byKeys).all(SQLKeys(keys), as: DeviceRow.init).map { row in
                    SampledDevice(
                        device: row.device(naming: secrets.naming, topicNames: try db.topicNames(row.topics, at: now)),
                        platform: platform)
                }
            }
        }
        return found
    }

    private static var countStep: Int { 50_000 }
    /// The keys after each place that a device of a sample is looked for in.
    private static var sampleWidth: Int64 { 1_024 }
}

enum AudienceStatements {
    /// Reads the end of the primary key.
    static let lastDevice: SQLText = "SELECT coalesce(max(id), 0) /* audiences.last_device */ FROM device"
}

/// A stable part of all users, in percent: `0-25@spring` is a quarter of them, and `25-50@spring` is another.
///
/// A user's devices are together. Different seeds cut independently of each other.
package struct AudienceShare: Sendable, Hashable {
    package let seed: String
    /// From 0 to 99.
    package let from: Int
    /// From 1 to 100; not in the part.
    package let to: Int

    package init(seed: String, from: Int, to: Int) { (self.seed, self.from, self.to) = (seed, from, to) }

    /// Reads `0-25@spring`.
    package init(_ text: String, field: String) throws(InvalidInput) {
        let problem = InvalidInput(
            field: field, "is '\(text.prefix(64))', it has to be such as 0-25@spring: percents, and a name for the draw"
        )
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, bounds.count == 2, let from = Int(bounds[0]), let to = Int(bounds[1]), from >= 0,
            from < to, to <= 100
        else { throw problem }
        let seed = try String(parts[1]).asName(field: field)
        guard seed.utf8.count <= 200 else {
            throw InvalidInput(field: field, "has a name of \(seed.utf8.count) bytes, the limit is 200")
        }
        self.init(seed: seed, from: from, to: to)
    }

    package var text: String { "\(from)-\(to)@\(seed)" }

    func holds(_ holder: String) -> Bool { from..<to ~= Self.percent(of: holder, seed) }

    /// A number from 0 to 99 that is the same on every node and in every release.
    static func percent(of holder: String, _ seed: String) -> Int {
        // FNV-1a, and the finalizer of MurmurHash3, since the last bytes alone would else move neighbours little.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in seed.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ 0xFF) &* 0x100_0000_01B3
        for byte in holder.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return Int((hash ^ hash >> 33) % 100)
    }
}
