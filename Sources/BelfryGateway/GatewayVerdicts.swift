package import BelfryService
import FoundationEssentials
import Synchronization

/// Tells senders that are still connected what APNs refused of their records.
///
/// It receives the settlements of this process only. A verdict that another node receives, or that comes after the connection ended,
/// is not reported here; dead tokens reach the feedback service all the same, unless another node receives the verdict on a device that was
/// registered for the record, or it comes after an answer over HTTP/2.
package final class GatewayVerdicts: PushObserver {
    private let next: any PushObserver
    private let watched = Mutex(WatchedPushes(countMax: 100_000))

    /// - Parameter next: gets all hints too.
    package init(next: any PushObserver) { self.next = next }

    package func accepted(_ push: PushHead) { next.accepted(push) }

    package func pushMayHaveChanged(_ push: PushHead) { next.pushMayHaveChanged(push) }

    package func settled(_ push: PushHead, _ settlement: Settlement) {
        next.settled(push, settlement)
        guard settlement.retryAt == nil,
            let tell = watched.withLock({ $0.remove(push.receiptID, of: push.applicationKey) })
        else { return }
        tell(GatewayVerdict(settlement))
    }

    /// Watched before it is accepted, since its verdict may come before the acceptance is known.
    func watch(_ push: NewPush, tell: @escaping @Sendable (GatewayVerdict) -> Void) {
        watched.withLock { $0.add(push.receiptID, of: push.applicationKey, tell) }
    }

    func forget(_ push: NewPush) { watched.withLock { _ = $0.remove(push.receiptID, of: push.applicationKey) } }
}

/// The pushes whose verdicts are waited for. Those that other nodes settle stay here: when there are too many, the application that has
/// the most forgets its older ones.
struct WatchedPushes: Sendable {
    typealias Tell = @Sendable (GatewayVerdict) -> Void

    private var pushes: [Key<Application>: [UUID: (number: Int, tell: Tell)]] = [:]
    private(set) var count = 0
    private var lastNumber = 0
    private let countMax: Int

    init(countMax: Int) { self.countMax = countMax }

    mutating func add(_ push: UUID, of application: Key<Application>, _ tell: @escaping Tell) {
        if count >= countMax { forgetOldest() }
        lastNumber += 1
        count += 1
        pushes[application, default: [:]][push] = (lastNumber, tell)
    }

    mutating func remove(_ push: UUID, of application: Key<Application>) -> Tell? {
        guard let found = pushes[application]?.removeValue(forKey: push) else { return nil }
        count -= 1
        if pushes[application]?.isEmpty == true { pushes[application] = nil }
        return found.tell
    }

    private mutating func forgetOldest() {
        guard let (application, most) = pushes.max(by: { $0.value.count < $1.value.count }),
            let oldest = most.values.map(\.number).min()
        else { return }
        let middle = (oldest + lastNumber) / 2
        let kept = most.filter { $0.value.number > middle }
        count -= most.count - kept.count
        pushes[application] = kept.isEmpty ? nil : kept
    }
}

/// The verdict on the one device of a push.
enum GatewayVerdict: Sendable, Hashable {
    case accepted
    /// The token is dead, since a time if the provider named one.
    case gone(since: Instant?)
    case refused(Refusal)
    /// It expired, or nobody knows.
    case other

    init(_ settlement: Settlement) {
        self =
            switch settlement.answers.first {
            case .accepted: .accepted
            case .gone: .gone(since: settlement.deadTokens.first?.since)
            case .refused(let refusal): .refused(refusal)
            default: .other
            }
    }
}

extension GatewayStatus {
    /// Source: docs/compatibility/genero.md, "What the gateway answers".
    init(_ refusal: Refusal) {
        self =
            switch refusal {
            case .badToken, .tokenOfAnotherApplication: .invalidToken
            case .missingToken: .missingToken
            case .payloadEmpty: .missingPayload
            case .payloadTooLarge: .invalidPayloadSize
            default: .processingError
            }
    }
}

/// Why a record was not taken, as the gateway tells it. Source: Apple, "Binary Provider API", codes in error-response packet.
package enum GatewayStatus: UInt8, Sendable, Hashable, CaseIterable, Error {
    case processingError = 1
    case missingToken = 2
    case missingTopic = 3
    case missingPayload = 4
    case invalidTokenSize = 5
    case invalidTopicSize = 6
    case invalidPayloadSize = 7
    case invalidToken = 8
    /// The gateway goes away: the identifier is that of the last record that was taken.
    case shutdown = 10
    /// The bytes cannot be parsed.
    case protocolError = 128
    case unknown = 255
}

/// The only answer of the gateway: six bytes, after which it closes.
package struct GatewayError: Sendable, Hashable, Error {
    package let status: GatewayStatus
    package let identifier: UInt32

    package init(_ status: GatewayStatus, identifier: UInt32 = 0) {
        self.status = status
        self.identifier = identifier
    }

    static let command: UInt8 = 8
    package static let byteCount = 6

    package var bytes: [UInt8] { [Self.command, status.rawValue] + identifier.octets }

    /// nil unless they are an error packet.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.command, let status = GatewayStatus(rawValue: bytes[1])
        else { return nil }
        self.init(status, identifier: bytes[2...].reduce(0) { $0 << 8 | UInt32($1) })
    }
}

/// A device that lost the app, as the feedback service tells of it.
package struct FeedbackTuple: Sendable, Hashable {
    /// Seconds since 1970.
    package let time: UInt32
    package let token: [UInt8]

    package var bytes: [UInt8] { time.octets + UInt16(truncatingIfNeeded: token.count).octets + token }

    /// The tuples of a whole answer; nil when it ends in the middle of one.
    package static func list(_ bytes: [UInt8]) -> [FeedbackTuple]? {
        var tuples: [FeedbackTuple] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            guard rest.count >= 6 else { return nil }
            let time = rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
            let length = rest.dropFirst(4).prefix(2).reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 6 + length else { return nil }
            tuples.append(FeedbackTuple(time: time, token: Array(rest.dropFirst(6).prefix(length))))
            rest = rest.dropFirst(6 + length)
        }
        return tuples
    }
}
