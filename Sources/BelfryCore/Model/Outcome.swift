/// What came of one delivery, in a few words with one consequence each. `Settlement` draws the consequences.
package enum Outcome: Sendable, Hashable {
    /// The provider took the message. It may still never reach the device.
    case accepted
    /// Accepted, and by now the provider knows the device by another token; the one used will be refused some day.
    case moved(to: DeviceToken)
    /// Refused for good: the same bytes would be refused again.
    case refused(Refusal)
    /// The token is dead. Devices that registered before `since` are deactivated; without it, none is.
    case gone(since: Instant?)
    /// The provider asked for patience; `retryAfter` is its own figure, when it gave one.
    case throttled(retryAfter: Duration?)
    /// Certainly not delivered: a provider in trouble. Worth another attempt.
    case failed(retryAfter: Duration?)
    /// Certainly not delivered: the provider could not be connected to. Worth another attempt.
    case unreachable(ConnectionFault)
    /// Sent, and no answer came. The device may have been told.
    case unanswered
    /// The provider refuses us, not the message: key, certificate, topic. The words are for a person.
    case credentialsRefused(String)
}

extension Outcome {
    package var connectionFault: ConnectionFault? {
        if case .unreachable(let fault) = self { fault } else { nil }
    }
}

/// Why a provider refused a message for good. A batch keeps it in one byte: never renumber, only add.
package enum Refusal: UInt8, Sendable, Hashable, CaseIterable {
    /// Malformed, or of the provider's other world (development, production). Never a reason to prune.
    case badToken = 64
    case tokenOfAnotherApplication = 65
    case payloadTooLarge = 66
    case payloadEmpty = 67
    case badCollapseID = 68
    case badExpiration = 69
    case badMessageID = 70
    case badPriority = 71
    case badPushType = 72
    case duplicateHeaders = 73
    case forbidden = 74
    case badPath = 75
    case methodNotAllowed = 76
    case missingToken = 77
    /// Taken and thrown away: the device is offline and it was not to be kept, or its user wants none.
    case dropped = 90
    /// A reason we have no word for; the log has the provider's own.
    case other = 127
}

/// Why a device was passed over.
package enum Skip: UInt8, Sendable, Hashable, CaseIterable {
    /// It unregistered, its token died, or another registration took the token.
    case inactive = 16
    /// It was erased after the audience was scanned.
    case missing = 17
    /// Its batch could not be read, and a person gave it up. It may have been told before.
    case damaged = 18
}
