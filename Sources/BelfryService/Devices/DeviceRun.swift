/// The devices of a posting list on several platforms, ascending, with a chunk of each platform in memory at a time.
struct DeviceRun<Connection: SQLConnection> {
    private var slices: [Slice]

    private static var chunkSize: Int { 1_024 }

    init(_ list: PostingList, on platforms: [Platform], after: Key<Device>?, now: Instant, _ db: Connection) {
        slices = platforms.map { platform in
            Slice(
                list: list, after: after?.rawValue ?? 0,
                postings: db.postings(of: platform.key, application: platform.applicationKey, now: now))
        }
    }

    mutating func next() throws -> Key<Device>? {
        var nearest: (index: Int, device: Int64)?
        for index in slices.indices {
            guard let device = try slices[index].first() else { continue }
            if nearest.map({ device < $0.device }) ?? true { nearest = (index, device) }
        }
        guard let nearest else { return nil }
        slices[nearest.index].dropFirst()
        return Key(nearest.device)
    }

    mutating func next(_ count: Int) throws -> [Key<Device>] {
        var devices: [Key<Device>] = []
        while devices.count < count, let device = try next() { devices.append(device) }
        return devices
    }

    mutating func skip(_ count: Int, within budget: SearchBudget) throws {
        for number in 0..<max(count, 0) {
            if number.isMultiple(of: Self.chunkSize) { try budget.check() }
            guard try next() != nil else { return }
        }
    }

    /// The rest of one platform.
    private struct Slice {
        let list: PostingList
        var after: Int64
        let postings: DevicePostings<Connection>
        var chunk: ArraySlice<Int64> = []
        var isAtEnd = false

        mutating func first() throws -> Int64? {
            if chunk.isEmpty, !isAtEnd {
                chunk = try postings.postings(list, after: after, limit: DeviceRun.chunkSize)[...]
                after = chunk.last ?? after
                isAtEnd = chunk.count < DeviceRun.chunkSize
            }
            return chunk.first
        }

        mutating func dropFirst() { chunk = chunk.dropFirst() }
    }
}
