import Foundation

/// The facts of one request to APNs, and the verdict on it. Reused for later requests, with its memory.
struct APNsRequest {
    static let idBytes = 36

    var facts = RequestFacts()
    var headersSeen: HeaderSet = []
    var tokenHash: UInt64 = 0
    var idHash: UInt64?
    var payload: [UInt8] = []
    var headers: [LedgerRequest.Header] = []
    var topic: String?

    /// nil is 200.
    var verdict: APNsVerdict?
    /// The device was notified, as far as the ledger knows.
    var isTold = false

    private let tokenStore: UnsafeMutableRawBufferPointer
    private var tokenCount = 0
    /// The `apns-id` of request and answer, as text.
    let id: UnsafeMutablePointer<UInt8>

    init(tokenBytesMax: Int) {
        tokenStore = .allocate(byteCount: tokenBytesMax, alignment: 8)
        id = .allocate(capacity: Self.idBytes)
        id.initialize(repeating: 0, count: Self.idBytes)
    }

    func deallocate() {
        tokenStore.deallocate()
        id.deallocate()
    }

    var token: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: tokenStore[..<tokenCount])
    }

    /// The path it was sent to, as far as APNs has it.
    var path: String {
        switch facts.path {
        case .device: "/3/device/\(Hex.encode(token))"
        case .broadcast: "/4/broadcasts/apps/\(topic ?? "")"
        case .missing, .foreign, .withoutToken, .badToken: ""
        }
    }

    /// Clears the previous request.
    mutating func begin() {
        facts = RequestFacts()
        headersSeen = []
        tokenCount = 0
        tokenHash = 0
        idHash = nil
        topic = nil
        verdict = nil
        if !payload.isEmpty { payload.removeAll(keepingCapacity: true) }
        if !headers.isEmpty { headers.removeAll(keepingCapacity: true) }
        isTold = false
    }

    /// Reads a token from hex digits; false when it is malformed or has a length that tokens do not have.
    mutating func readToken(_ digits: UnsafeRawBufferPointer, allowed: ClosedRange<Int>) -> Bool {
        guard digits.count.isMultiple(of: 2), allowed.contains(digits.count / 2) else { return false }
        for index in 0..<digits.count / 2 {
            guard let high = Hex.value(digits[2 * index]), let low = Hex.value(digits[2 * index + 1]) else {
                return false
            }
            tokenStore[index] = high << 4 | low
        }
        tokenCount = digits.count / 2
        tokenHash = StableHash.hash(token)
        return true
    }

    /// Stores the bytes in place of a token; false when they are too many.
    mutating func keepToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= tokenStore.count else { return false }
        tokenStore.copyMemory(from: bytes)
        tokenCount = bytes.count
        tokenHash = StableHash.hash(token)
        return true
    }

    /// Stores an `apns-id` if it has the canonical form, 8-4-4-4-12 hex digits.
    mutating func readID(_ value: UnsafeRawBufferPointer) -> Bool {
        guard value.count == Self.idBytes, let start = value.baseAddress else { return false }
        for (index, byte) in value.enumerated() {
            let isDash = index == 8 || index == 13 || index == 18 || index == 23
            guard isDash ? byte == UInt8(ascii: "-") : Hex.value(byte) != nil else { return false }
        }
        memcpy(id, start, Self.idBytes)
        idHash = StableHash.hash(value)
        return true
    }

    /// Makes an `apns-id` for a request without one.
    func writeID(from random: (UInt64, UInt64)) {
        UUIDText.write(random, to: id)
    }
}

/// Writes 128 bits as a UUID of version 4.
enum UUIDText {
    static func write(_ bits: (UInt64, UInt64), to text: UnsafeMutablePointer<UInt8>) {
        var high = bits.0 & ~0xF000 | 0x4000
        var low = bits.1 & ~(3 << 62) | (2 << 62)
        var index = 0
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                text[index] = UInt8(ascii: "-")
                index += 1
            }
            if digit == 16 { swap(&high, &low) }
            text[index] = Hex.digit(UInt8(high >> 60))
            high <<= 4
            index += 1
        }
    }
}

/// The headers that APNs refuses when repeated.
struct HeaderSet: OptionSet {
    let rawValue: UInt16
    static let authorization = HeaderSet(rawValue: 1 << 0)
    static let topic = HeaderSet(rawValue: 1 << 1)
    static let pushType = HeaderSet(rawValue: 1 << 2)
    static let id = HeaderSet(rawValue: 1 << 3)
    static let priority = HeaderSet(rawValue: 1 << 4)
    static let expiration = HeaderSet(rawValue: 1 << 5)
    static let collapseID = HeaderSet(rawValue: 1 << 6)
    static let channelID = HeaderSet(rawValue: 1 << 7)
}
