/// Reads posting lists of one platform. A store implements it within one read transaction.
package protocol PostingReader {
    /// Up to `limit` device keys of the list that are greater than `after`, ascending.
    func postings(_ list: PostingList, after: Int64, limit: Int) throws -> [Int64]
    var platform: Key<Platform> { get }
    /// The labels of a range that devices have; nil where they are more than `DeviceLabel.listsMax`.
    func labels(in range: LabelRange) throws -> [DeviceLabel]?
    /// The devices among these, which ascend, that fulfil every check.
    func devices(_ devices: [Int64], that checks: [DeviceCheck]) throws -> [Int64]
}

/// Scans an audience in ascending order of devices, each once, with constant memory.
///
/// Any-of is a k-way merge, all-of a galloping intersection; a difference scans its first list.
package struct AudienceScan {
    private let root: any PostingCursor

    package init(_ audience: Audience, reader: any PostingReader) throws {
        root = try audience.cursor(reader: reader)
    }

    /// Up to `limit` devices greater than `after`.
    package func devices(after: Key<Device>?, limit: Int) throws -> [Key<Device>] {
        var found: [Key<Device>] = []
        found.reserveCapacity(min(limit, 4_096))
        // The cursor comes from a row, and so may be any number.
        guard var target = (after?.rawValue ?? 0).successor else { return [] }
        while found.count < limit, let device = try root.seek(target) {
            found.append(Key(device))
            guard let next = device.successor else { break }
            target = next
        }
        return found
    }
}

/// A position in an ascending list that only moves forward.
private protocol PostingCursor: AnyObject {
    /// The first device at or after `target`; nil at the end. Targets never decrease.
    func seek(_ target: Int64) throws -> Int64?
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

/// Reads a list in chunks that start small, for a gallop that needs few, and double while all of them are used: with a
/// thousand lists each gives a step of the fan-out few devices, and the next step reads any surplus again.
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
            while position < chunk.count {
                if chunk[position] >= target { return chunk[position] }
                position += 1
                if let last = chunk.last, last < target { position = chunk.count }
            }
            if isAtEnd { return nil }
            try read(from: target)
        }
    }

    private func read(from target: Int64) throws {
        let wasContiguous = chunk.last.map { $0 >= target - 1 } ?? false
        if wasContiguous { chunkSize = min(chunkSize * 2, Self.chunkSizeMax) }
        chunk = try reader.postings(list, after: target - 1, limit: chunkSize)
        position = 0
        isAtEnd = chunk.count < chunkSize
    }
}

/// A k-way merge over a binary heap of the parts' positions.
private final class AnyCursor: PostingCursor {
    private let parts: [any PostingCursor]
    private var heap: [(device: Int64, part: Int)] = []
    private var isStarted = false

    init(_ parts: [any PostingCursor]) { self.parts = parts }

    func seek(_ target: Int64) throws -> Int64? {
        if !isStarted { try start(target) }
        while let top = heap.first, top.device < target {
            if let device = try parts[top.part].seek(target) {
                heap[0].device = device
            } else {
                heap.swapAt(0, heap.count - 1)
                heap.removeLast()
            }
            siftDown(0)
        }
        return heap.first?.device
    }

    private func start(_ target: Int64) throws {
        isStarted = true
        for (index, part) in parts.enumerated() {
            guard let device = try part.seek(target) else { continue }
            heap.append((device, index))
        }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(index) }
    }

    /// Runs once for each posting: the entry moves only at the end, into the hole that the smaller ones left.
    private func siftDown(_ start: Int) {
        guard start < heap.count else { return }
        heap.withUnsafeMutableBufferPointer { heap in
            let moving = heap[start]
            var hole = start
            while 2 * hole + 1 < heap.count {
                var child = 2 * hole + 1
                if child + 1 < heap.count, heap[child + 1].device < heap[child].device { child += 1 }
                guard heap[child].device < moving.device else { break }
                heap[hole] = heap[child]
                hole = child
            }
            heap[hole] = moving
        }
    }
}

/// A galloping intersection: the lists skip ahead to one another until all are at the same device.
private final class AllCursor: PostingCursor {
    private let parts: [any PostingCursor]

    init(_ parts: [any PostingCursor]) {
        precondition(!parts.isEmpty, "an intersection of no lists is everybody, which no list holds")
        self.parts = parts
    }

    func seek(_ target: Int64) throws -> Int64? {
        var candidate = target
        var agreeing = 0
        var index = 0
        while agreeing < parts.count {
            guard let device = try parts[index].seek(candidate) else { return nil }
            agreeing = device == candidate ? agreeing + 1 : 1
            candidate = device
            index = (index + 1) % parts.count
        }
        return candidate
    }
}

/// Looks up devices of another cursor, some at a time: more while all of them are used.
private final class CheckedCursor: PostingCursor {
    private let whole: any PostingCursor
    private let checks: [DeviceCheck]
    private let reader: any PostingReader
    private var found: ArraySlice<Int64> = []
    /// The first device that has not been looked up.
    private var next: Int64? = .min
    private var chunkSize = 16

    private static let chunkSizeMax = 1_024

    init(_ whole: any PostingCursor, _ checks: [DeviceCheck], reader: any PostingReader) {
        (self.whole, self.checks, self.reader) = (whole, checks, reader)
    }

    func seek(_ target: Int64) throws -> Int64? {
        while true {
            found = found.drop { $0 < target }
            if let first = found.first { return first }
            guard let next else { return nil }
            chunkSize = target > next ? 16 : min(2 * chunkSize, Self.chunkSizeMax)
            try lookUp(from: max(target, next))
        }
    }

    private func lookUp(from first: Int64) throws {
        var devices: [Int64] = []
        var place: Int64? = first
        while devices.count < chunkSize, let from = place, let device = try whole.seek(from) {
            devices.append(device)
            place = device.successor
        }
        next = devices.count == chunkSize ? place : nil
        found = devices.isEmpty ? [] : try reader.devices(devices, that: checks)[...]
    }
}

private final class ExceptCursor: PostingCursor {
    private let whole: any PostingCursor
    private let part: any PostingCursor

    init(_ whole: any PostingCursor, _ part: any PostingCursor) {
        self.whole = whole
        self.part = part
    }

    func seek(_ target: Int64) throws -> Int64? {
        var target = target
        while let device = try whole.seek(target) {
            guard try part.seek(device) == device else { return device }
            guard let next = device.successor else { return nil }
            target = next
        }
        return nil
    }
}

extension Int64 {
    /// nil for the largest.
    fileprivate var successor: Int64? { self == .max ? nil : self + 1 }
}
