/// The part of a push that is the same for all phones.
public struct MPNSMessage: Sendable, Hashable {
    public let kind: Kind
    /// XML; for ``Kind/raw`` any bytes.
    public let body: [UInt8]
    public let batching: Batching

    public enum Kind: Sendable, Hashable, CaseIterable {
        case toast, tile, raw
    }

    /// How long the service may wait, to wake the phone for several at once.
    public enum Batching: Sendable, Hashable, CaseIterable {
        case immediate
        case within450Seconds
        case within900Seconds

        /// The longest wait that ends before the push does.
        ///
        /// - Parameter lifetime: the remaining seconds; nil for a push without an expiry, which is sent at once.
        public init(lifetime: Int?) {
            self =
                switch lifetime ?? 0 {
                case ..<450: .immediate
                case ..<900: .within450Seconds
                default: .within900Seconds
                }
        }
    }

    /// No longer published; the limit that libraries for MPNS observed.
    public static let bodyBytesMax = 3_072
    public static let rawBytesMax = 1_024

    public init(_ kind: Kind, body: [UInt8], batching: Batching = .immediate) throws(MPNSError) {
        guard !body.isEmpty else { throw MPNSError("body is empty") }
        let limit = kind == .raw ? Self.rawBytesMax : Self.bodyBytesMax
        guard body.count <= limit else { throw MPNSError("body is \(body.count) bytes, MPNS takes \(limit)") }
        self.kind = kind
        self.body = body
        self.batching = batching
    }

    /// `X-NotificationClass`. Source: Microsoft, "Sending push notifications for Windows Phone".
    var notificationClass: Int {
        let base =
            switch kind {
            case .tile: 1
            case .toast: 2
            case .raw: 3
            }
        return switch batching {
        case .immediate: base
        case .within450Seconds: base + 10
        case .within900Seconds: base + 20
        }
    }

    /// `X-WindowsPhone-Target`; a tile has an odd one, a raw notification none.
    var target: String? {
        switch kind {
        case .toast: "toast"
        case .tile: "token"
        case .raw: nil
        }
    }
}

/// Why something cannot be sent, detected beforehand.
public struct MPNSError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
