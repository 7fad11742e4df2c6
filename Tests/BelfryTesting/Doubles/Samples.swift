package import BelfryService
import FoundationEssentials

extension NewApplication {
    /// One of a series that differ only in their number.
    package static func numbered(_ number: Int) -> NewApplication {
        NewApplication(
            uuid: UUID(words: 1, UInt64(number)), name: "application \(number)",
            apiKeyHash: Array(repeating: UInt8(truncatingIfNeeded: number), count: 32), sharedSecret: Sealed(bytes: [1])
        )
    }
}

extension NewPlatform {
    /// One of a series that differ only in their number.
    package static func numbered(
        _ number: Int, of application: Key<Application>, kind: PlatformKind = .ios
    ) -> NewPlatform {
        NewPlatform(
            uuid: UUID(words: 2, UInt64(number)), applicationKey: application, kind: kind, mode: .production,
            name: "platform \(number)", secretHash: Array(repeating: UInt8(truncatingIfNeeded: number), count: 32),
            credentials: Sealed(bytes: [1]))
    }
}

extension Registration {
    /// One of a series that differ only in their token.
    package static func sample(_ number: UInt8, topics: Set<String> = []) throws -> Registration {
        try Registration(
            token: DeviceToken(bytes: Array(repeating: number, count: 32)), about: Device.About(), customUserID: .keep,
            topics: .replace(topics))
    }
}

extension NewPush {
    /// Says hello.
    package static func sample(
        _ number: UInt64 = 1, to platform: Platform, audience: Audience = .list(.active), lane: Lane = .normal,
        guarantee: Push.Guarantee = .atLeastOnce, expiresAt: Instant? = nil
    ) -> NewPush {
        NewPush(
            receiptID: UUID(words: 3, number), applicationKey: platform.applicationKey,
            content: Push.Content(body: "hello"), audience: audience, platformKeys: [platform.key], lane: lane,
            guarantee: guarantee, expiresAt: expiresAt)
    }
}
