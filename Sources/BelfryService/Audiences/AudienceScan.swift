/// Reads posting lists of one platform. A store implements it within one read transaction.
package protocol PostingReader {
    /// Device keys of the list that are greater than `after`, ascending: fewer than `limit` at its end alone, or some more.
    func postings(_ list: PostingList, after: Int64, limit: Int) throws -> [Int64]
    var platform: Key<Platform> { get }
    /// The labels of a range that devices have; nil where they are more than `DeviceLabel.listsMax`.
    func labels(in range: LabelRange) throws -> [DeviceLabel]?
    /// The check with its values prepared, once for all scans by this reader.
    func prepared(_ check: DeviceCheck) -> PreparedCheck
    /// The devices among these, which ascend, that fulfil every check.
    func devices(_ devices: [Int64], that checks: [PreparedCheck]) throws -> [Int64]
}

/// Scans an audience in ascending order of devices, each once, with constant memory.
///
/// Devices whose keys are close to one another are read together, as bits: lists are merged, intersected and subtracted by the word. Where
/// one list of an all-of has a gap, the others skip it.
package struct AudienceScan {
    private let audience: Audience
    private let reader: any PostingReader

    /// The keys of a window, which grows while there are devices in each.
    private static let (keysMin, keysMax) = (256, 8_192)

    package init(_ audience: Audience, reader: any PostingReader) { (self.audience, self.reader) = (audience, reader) }

    /// Up to `limit` devices greater than `after`.
    package func devices(after: Key<Device>?, limit: Int) throws -> [Key<Device>] {
        try slice(after: after, limit: limit).devices
    }

    /// Up to `limit` devices greater than `after`; fewer where the time is over before, which counts once values are prepared. Those of a
    /// window at least are looked at.
    package func slice(after: Key<Device>?, limit: Int, within time: Duration? = nil) throws -> AudienceSlice {
        var found: [Key<Device>] = []
        found.reserveCapacity(min(limit, 4_096))
        // The cursor comes from a row, and so may be any number.
        guard limit > 0, var target = (after?.rawValue ?? 0).successor else {
            return AudienceSlice(devices: [], end: nil)
        }
        let root = try audience.cursor(reader: reader)
        let deadline = time.map { ContinuousClock.now + $0 }
        var keys = Self.keysMin
        while let first = try root.seek(target) {
            // Keys of damaged rows may be far apart.
            if first &- target > keys { keys = Self.keysMin }
            var window = DeviceWindow(from: first, keys: min(keys, max(Self.keysMin, limit - found.count)))
            try root.narrow(&window)
            for device in window.devices {
                found.append(Key(device))
                if found.count == limit { return AudienceSlice(devices: found, end: found.last) }
            }
            guard let next = window.last.successor else { break }
            target = next
            keys = min(2 * keys, Self.keysMax)
            if let deadline, ContinuousClock.now >= deadline {
                return AudienceSlice(devices: found, end: Key(window.last))
            }
        }
        return AudienceSlice(devices: found, end: nil)
    }
}

/// Devices with keys next to one another: a bit for each key tells whether its device is meant.
private struct DeviceWindow {
    let first: Int64
    private var words: [UInt64]

    /// All devices of so many keys, or some more.
    init(from first: Int64, keys: Int) {
        self.first = first
        words = [UInt64](repeating: .max, count: (keys + 63) / 64)
    }

    /// The last key.
    var last: Int64 {
        let (last, overflow) = first.addingReportingOverflow(Int64(words.count * 64 - 1))
        return overflow ? .max : last
    }

    var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    var devices: [Int64] {
        var devices: [Int64] = []
        for (place, word) in words.enumerated() {
            var rest = word
            while rest != 0 {
                devices.append(first + Int64(place * 64 + rest.trailingZeroBitCount))
                rest &= rest - 1
            }
        }
        return devices
    }

    /// The window with no devices.
    var emptied: DeviceWindow {
        var window = self
        window.words = [UInt64](repeating: 0, count: words.count)
        return window
    }

    /// Inserts devices in ascending order up to the last key, and returns the place of the first that is behind it.
    ///
    /// - Parameter start: the place of the first that is in the window.
    mutating func insert(_ devices: [Int64], from start: Int) -> Int {
        let (first, last) = (first, last)
        var place = start
        words.withUnsafeMutableBufferPointer { words in
            while place < devices.count, devices[place] <= last {
                let key = UInt64(bitPattern: devices[place] &- first)
                // A damaged list may descend.
                if key < words.count * 64 { words[Int(key >> 6)] |= 1 << (key & 63) }
                place += 1
            }
        }
        return place
    }

    mutating func formUnion(_ other: DeviceWindow) { combine(other) { $0 | $1 } }
    mutating func formIntersection(_ other: DeviceWindow) { combine(other) { $0 & $1 } }
    mutating func subtract(_ other: DeviceWindow) { combine(other) { $0 & ~$1 } }

    private mutating func combine(_ other: DeviceWindow, _ body: (UInt64, UInt64) -> UInt64) {
        for place in words.indices { words[place] = body(words[place], other.words[place]) }
    }
}

/// A position in an ascending list that only moves forward.
private protocol PostingCursor: AnyObject {
    /// A device at or after `target` that no device of the list is before; nil at the end. Targets never decrease.
    func seek(_ target: Int64) throws -> Int64?
    /// Leaves the devices that are in the list. Targets are behind the window from then on.
    func narrow(_ window: inout DeviceWindow) throws
}

extension Audience {
    fileprivate func cursor(reader: any PostingReader) throws -> any PostingCursor {
        switch self {
        case .list(.platforms(let platforms)):
            platforms.contains(reader.platform) ? ListCursor(.active, reader: reader) : AnyCursor([])
        case .list(.labels(let range)):
            if let labels = try reader.labels(in: range) {
                try Audience.any(labels.map { .list(.label($0)) }).cursor(reader: reader)
            } else {
                try Audience.checked(.list(.active), [DeviceCheck(.labels(range))]).cursor(reader: reader)
            }
        case .list(let list): ListCursor(list, reader: reader)
        case .any(let parts) where parts.count == 1: try parts[0].cursor(reader: reader)
        case .any(let parts): AnyCursor(try parts.map { try $0.cursor(reader: reader) })
        case .all(let parts): try Self.all(parts, [], reader)
        case .except(let whole, let part):
            ExceptCursor(try whole.cursor(reader: reader), try part.cursor(reader: reader))
        case .checked(.all(let parts), let checks): try Self.all(parts, checks, reader)
        case .checked(let whole, let checks): try Self.all([whole], checks, reader)
        case .meant(_, let audience): try audience.cursor(reader: reader)
        }
    }

    /// Intersects the lists, without those that have every active device of this platform, and looks up the rest: a range of too many
    /// lists is looked up too.
    private static func all(
        _ parts: [Audience], _ checks: [DeviceCheck], _ reader: any PostingReader
    ) throws -> any PostingCursor {
        var (cursors, checks): ([any PostingCursor], [DeviceCheck]) = ([], checks)
        for part in parts {
            switch part {
            case .list(.platforms(let platforms)):
                guard platforms.contains(reader.platform) else { return AnyCursor([]) }
            case .list(.labels(let range)):
                if let labels = try reader.labels(in: range) {
                    cursors.append(try Audience.any(labels.map { .list(.label($0)) }).cursor(reader: reader))
                } else {
                    checks.append(DeviceCheck(.labels(range)))
                }
            default: cursors.append(try part.cursor(reader: reader))
            }
        }
        let lists: any PostingCursor =
            cursors.isEmpty
            ? ListCursor(.active, reader: reader) : cursors.count == 1 ? cursors[0] : AllCursor(cursors)
        return checks.isEmpty ? lists : CheckedCursor(lists, checks, reader: reader)
    }
}

/// Reads a list in chunks that start small, for a list that others skip much of, and double while less is skipped between them than they
/// hold: with a thousand lists each gives a step of the fan-out few devices, and the next step reads any surplus again.
private final class ListCursor: PostingCursor {
    private let list: PostingList
    private let reader: any PostingReader
    private var chunk: [Int64] = []
    private var position = 0
    private var chunkSize = 16
    private var isAtEnd = false

    private static let chunkSizeMax = 4_096

    init(_ list: PostingList, reader: any PostingReader) {
        self.list = list
        self.reader = reader
    }

    func seek(_ target: Int64) throws -> Int64? {
        while true {
            if let last = chunk.last, last >= target {
                while chunk[position] < target { position += 1 }
                return chunk[position]
            }
            if isAtEnd { return nil }
            try read(from: target)
        }
    }

    func narrow(_ window: inout DeviceWindow) throws {
        var own = window.emptied
        var target = window.first
        while let device = try seek(target), device <= window.last {
            position = own.insert(chunk, from: position)
            guard position == chunk.count, let next = chunk.last?.successor else { break }
            target = next
        }
        window.formIntersection(own)
    }

    private func read(from target: Int64) throws {
        if let first = chunk.first, let last = chunk.last, target &- last <= max(1, last &- first) {
            chunkSize = min(chunkSize * 2, Self.chunkSizeMax)
        }
        chunk = try reader.postings(list, after: target - 1, limit: chunkSize)
        position = 0
        isAtEnd = chunk.count < chunkSize
    }
}

private final class AnyCursor: PostingCursor {
    private let parts: [any PostingCursor]

    init(_ parts: [any PostingCursor]) { self.parts = parts }

    func seek(_ target: Int64) throws -> Int64? {
        var nearest: Int64?
        for part in parts {
            guard let device = try part.seek(target) else { continue }
            nearest = min(device, nearest ?? device)
        }
        return nearest
    }

    func narrow(_ window: inout DeviceWindow) throws {
        var all = window.emptied
        for part in parts {
            var own = window
            try part.narrow(&own)
            all.formUnion(own)
        }
        window = all
    }
}

private final class AllCursor: PostingCursor {
    private let parts: [any PostingCursor]

    init(_ parts: [any PostingCursor]) {
        precondition(!parts.isEmpty, "an intersection of no lists is everybody, which no list holds")
        self.parts = parts
    }

    func seek(_ target: Int64) throws -> Int64? {
        var device = target
        for part in parts {
            guard let next = try part.seek(device) else { return nil }
            device = next
        }
        return device
    }

    func narrow(_ window: inout DeviceWindow) throws {
        for part in parts where !window.isEmpty { try part.narrow(&window) }
    }
}

/// Looks up the devices of another cursor in their rows.
private final class CheckedCursor: PostingCursor {
    private let whole: any PostingCursor
    private let checks: [PreparedCheck]
    private let reader: any PostingReader

    private static let devicesAtOnce = 1_024

    init(_ whole: any PostingCursor, _ checks: [DeviceCheck], reader: any PostingReader) {
        (self.whole, self.checks, self.reader) = (whole, checks.map(reader.prepared), reader)
    }

    func seek(_ target: Int64) throws -> Int64? { try whole.seek(target) }

    func narrow(_ window: inout DeviceWindow) throws {
        try whole.narrow(&window)
        let devices = window.devices
        window = window.emptied
        for start in stride(from: 0, to: devices.count, by: Self.devicesAtOnce) {
            let some = Array(devices[start..<min(start + Self.devicesAtOnce, devices.count)])
            _ = window.insert(try reader.devices(some, that: checks), from: 0)
        }
    }
}

private final class ExceptCursor: PostingCursor {
    private let whole: any PostingCursor
    private let part: any PostingCursor

    init(_ whole: any PostingCursor, _ part: any PostingCursor) {
        self.whole = whole
        self.part = part
    }

    func seek(_ target: Int64) throws -> Int64? { try whole.seek(target) }

    func narrow(_ window: inout DeviceWindow) throws {
        try whole.narrow(&window)
        guard !window.isEmpty else { return }
        var other = window
        try part.narrow(&other)
        window.subtract(other)
    }
}

extension Int64 {
    /// nil for the largest.
    fileprivate var successor: Int64? { self == .max ? nil : self + 1 }
}
