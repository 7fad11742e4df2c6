/// Splits what a sender writes into records, however the network splits it.
///
/// It holds one unfinished record at most, of `heldBytesMax`. After a fault nothing is decoded any more: the protocol has no way to
/// find the next record.
package struct GatewayDecoder: Sendable {
    private var bytes: [UInt8] = []
    /// The number of leading `bytes` that are decoded already.
    private var start = 0
    private var hasFailed = false

    /// The longest frame that is read whole, so that a payload that is too long is named by its identifier.
    package static let frameBytesMax = 16_384
    package static let heldBytesMax = 5 + frameBytesMax

    /// A fault in the bytes. Behind a record of command 0 the connection is closed without a word.
    package struct Fault: Error, Hashable, Sendable {
        package let error: GatewayError
        package let isSilent: Bool

        init(_ status: GatewayStatus, _ identifier: UInt32 = 0, isSilent: Bool = false) {
            error = GatewayError(status, identifier: identifier)
            self.isSilent = isSilent
        }
    }

    package init() {}

    package mutating func append(_ new: some Collection<UInt8>) {
        guard !hasFailed else { return }
        if start > 0 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Bytes that are not decoded yet.
    package var heldBytes: Int { bytes.count - start }

    /// The next whole record; nil until more bytes come.
    package mutating func next() throws(Fault) -> GatewayRecord? {
        guard !hasFailed else { return nil }
        do {
            var reader = Reader(bytes: bytes, place: start)
            let record = try reader.record()
            if record != nil { start = reader.place }
            return record
        } catch {
            hasFailed = true
            (bytes, start) = ([], 0)
            throw error
        }
    }
}

/// Reads one record; nil, thrown away by the caller, where it is not whole yet.
private struct Reader {
    typealias Fault = GatewayDecoder.Fault

    let bytes: [UInt8]
    var place: Int

    mutating func record() throws(Fault) -> GatewayRecord? {
        guard let first = byte() else { return nil }
        guard let command = GatewayRecord.Command(rawValue: first) else { throw Fault(.protocolError) }
        switch command {
        case .simple: return try fields(.simple, identifier: 0, expiry: nil)
        case .enhanced:
            guard let identifier = number(), let expiry = number() else { return nil }
            return try fields(.enhanced, identifier: identifier, expiry: expiry)
        case .frame: return try frame()
        }
    }

    /// The token and the payload of commands 0 and 1. A fault is reported before the bytes behind it come.
    private mutating func fields(
        _ command: GatewayRecord.Command, identifier: UInt32, expiry: UInt32?
    ) throws(Fault) -> GatewayRecord? {
        let isSilent = command == .simple
        guard let tokenLength = length() else { return nil }
        if let status = GatewayRecord.fault(tokenLength: tokenLength) {
            throw Fault(status, identifier, isSilent: isSilent)
        }
        guard let token = take(tokenLength), let payloadLength = length() else { return nil }
        if let status = GatewayRecord.fault(payloadLength: payloadLength) {
            throw Fault(status, identifier, isSilent: isSilent)
        }
        guard let payload = take(payloadLength) else { return nil }
        return GatewayRecord(command: command, identifier: identifier, token: token, payload: payload, expiry: expiry)
    }

    private mutating func frame() throws(Fault) -> GatewayRecord? {
        guard let frameLength = number() else { return nil }
        guard frameLength <= GatewayDecoder.frameBytesMax else { throw Fault(.protocolError) }
        let end = place + Int(frameLength)
        guard end <= bytes.count else { return nil }
        let record = try FrameItems(bytes: bytes, place: place, end: end).record()
        place = end
        return record
    }

    private mutating func byte() -> UInt8? {
        guard place < bytes.count else { return nil }
        defer { place += 1 }
        return bytes[place]
    }

    private mutating func length() -> Int? { take(2).map { $0.reduce(0) { $0 << 8 | Int($1) } } }

    private mutating func number() -> UInt32? { take(4).map { $0.reduce(0) { $0 << 8 | UInt32($1) } } }

    private mutating func take(_ count: Int) -> [UInt8]? {
        guard bytes.count - place >= count else { return nil }
        defer { place += count }
        return Array(bytes[place..<place + count])
    }
}

/// The items of a frame, in whatever order.
private struct FrameItems {
    typealias Fault = GatewayDecoder.Fault

    private var token: [UInt8]?
    private var payload: [UInt8]?
    private var identifier: UInt32?
    private var expiry: UInt32?
    private var priority: GatewayRecord.Priority?

    /// Reads to the end. The identifier may come last, so that it is known to the faults of the other items.
    init(bytes: [UInt8], place: Int, end: Int) throws(Fault) {
        var place = place
        var isWhole = true
        while place < end, isWhole {
            let length = end - place < 3 ? Int.max : Int(bytes[place + 1]) << 8 | Int(bytes[place + 2])
            isWhole =
                end - place - 3 >= length && take(bytes[place], Array(bytes[(place + 3)..<(place + 3 + length)]))
            place += isWhole ? 3 + length : 0
        }
        guard isWhole else { throw Fault(.protocolError, identifier ?? 0) }
    }

    /// Returns false for an item that is unknown, there twice or of the wrong length.
    private mutating func take(_ id: UInt8, _ data: [UInt8]) -> Bool {
        guard let item = GatewayRecord.Item(rawValue: id) else { return false }
        switch item {
        case .token: return Self.set(&token, data)
        case .payload: return Self.set(&payload, data)
        case .identifier: return data.count == 4 && Self.set(&identifier, Self.number(data))
        case .expiry: return data.count == 4 && Self.set(&expiry, Self.number(data))
        case .priority:
            guard data.count == 1, let value = GatewayRecord.Priority(rawValue: data[0]) else { return false }
            return Self.set(&priority, value)
        }
    }

    private static func set<Value>(_ place: inout Value?, _ value: Value) -> Bool {
        guard place == nil else { return false }
        place = value
        return true
    }

    private static func number(_ data: [UInt8]) -> UInt32 { data.reduce(0) { $0 << 8 | UInt32($1) } }

    func record() throws(Fault) -> GatewayRecord {
        let identifier = identifier ?? 0
        if let status = GatewayRecord.fault(tokenLength: token?.count ?? 0) { throw Fault(status, identifier) }
        if let status = GatewayRecord.fault(payloadLength: payload?.count ?? 0) { throw Fault(status, identifier) }
        return GatewayRecord(
            command: .frame, identifier: identifier, token: token ?? [], payload: payload ?? [], expiry: expiry,
            priority: priority ?? .immediate)
    }
}

extension GatewayRecord {
    fileprivate static func fault(tokenLength: Int) -> GatewayStatus? {
        if tokenLength == 0 { return .missingToken }
        return (tokenBytesMin...tokenBytesMax).contains(tokenLength) ? nil : .invalidTokenSize
    }

    fileprivate static func fault(payloadLength: Int) -> GatewayStatus? {
        if payloadLength == 0 { return .missingPayload }
        return payloadLength <= payloadBytesMax ? nil : .invalidPayloadSize
    }
}
