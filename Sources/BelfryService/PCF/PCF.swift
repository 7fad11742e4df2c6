import HTTPTypes

/// The wire format of PCF Push Notification Service, versions 1.6 to 1.10, as its SDKs and senders actually use it.
///
/// `docs/compatibility/pcf.md` says what its clients may rely on.
package enum PCF {
    /// The version of the API that is served. SDKs up to 1.8 send analytics only to 1.3.2 or later.
    static let version = "1.9.0"

    /// The operator's settings.
    package struct Options: Sendable {
        /// Whether custom user ids must be signed with the application's shared secret.
        package var verifiesCustomUserIDs = true
        /// A push that is due sooner than this is sent at once instead of being scheduled.
        package var sendsImmediatelyWithin: Duration = .seconds(60)
        /// The longest request body, in bytes: 4,096 custom user ids of 255 characters each fit beside the longest message.
        package var bodyBytesMax = 1_310_720
        /// An event that is reported later than this is not counted, since it may be a repeat.
        package var eventsLateMax: Duration = .seconds(30 * 86_400)
        /// Shown to a person who is asked for a password.
        package var realm = "Belfry"
        /// How long a request with an `Idempotency-Key` may run; longer than any request takes.
        package var idempotencyHold: Duration = .seconds(35)

        /// Applications whose registrations are kept for an old server too.
        package var mirrored = MirroredApplications.none

        package init() {}
    }
}

extension PCF {
    /// A thing of an application, or a 404 where there is no such.
    static func found<Thing>(_ thing: String, _ find: () async throws -> Thing?) async throws -> Thing {
        do { if let found = try await find() { return found } } catch StoreError.unknown {}
        throw APIError(.notFound, "This application has no \(thing)")
    }
}
