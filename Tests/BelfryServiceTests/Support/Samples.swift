import BelfryService
import BelfryTesting
import FoundationEssentials

extension Push {
    static func sample(
        guarantee: Guarantee = .atLeastOnce, acceptedAt: Instant = .zero, expiresAt: Instant? = nil
    ) -> Push {
        Push(
            key: Key(1), receiptID: UUID(words: 1, 2), applicationKey: Key(1), content: Content(body: "hello"),
            audience: .list(.active), lane: .normal, guarantee: guarantee, acceptedAt: acceptedAt, expiresAt: expiresAt)
    }
}

extension Platform {
    static let sample: Platform = .sample(version: 1)

    static func sample(version: Int64) -> Platform {
        Platform(
            key: Key(1), uuid: UUID(words: 3, 4), applicationKey: Key(1), kind: .ios, mode: .production, name: "iOS",
            secretHash: [], credentials: Sealed(bytes: []), credentialsVersion: version, parked: nil, createdAt: .zero)
    }
}

extension Batch {
    /// Devices 1, 2, 3, ... with these answers.
    static func sample(_ answers: [Answer], attempt: Int64 = 1, retryTimes: [Int: Instant] = [:]) -> Batch {
        Batch(
            key: Key(1), pushKey: Key(1), platformKey: Key(1), lane: .normal,
            devices: answers.indices.map { Key(Int64($0 + 1)) }, answers: answers, attempt: attempt, isLapsed: false,
            retryTimes: retryTimes)
    }
}
