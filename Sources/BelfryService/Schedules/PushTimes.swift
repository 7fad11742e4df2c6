/// Checks the times of a push: its sending and its expiry must not have passed.
package enum PushTimes {
    /// The furthest that a send time may lie back: clocks differ, and requests take time. Such a push is sent at once.
    package static let lateMax = Duration.seconds(300)

    /// Throws where the push was to be sent longer ago than `lateMax`.
    ///
    /// - Parameter advice: the effect of leaving the time out.
    package static func check(
        sendAt: Instant?, field: String = "send_at", advice: String = "to send now", now: Instant
    ) throws(InvalidInput) {
        guard let sendAt, sendAt < now + (.zero - lateMax) else { return }
        throw InvalidInput(
            field: field, "is \(sendAt.text), which is over (it is \(now.text)): leave it out \(advice)")
    }

    /// Throws where the push would have expired before it is sent.
    ///
    /// - Parameter sendAt: the time at which it is sent; nil for now.
    package static func check(
        expiresAt: Instant?, sendAt: Instant?, field: String = "expires_at", now: Instant
    ) throws(InvalidInput) {
        let sentAt = max(sendAt ?? now, now)
        guard let expiresAt, expiresAt <= sentAt else { return }
        let words =
            sentAt == now
            ? "is over (it is \(now.text))" : "is not after the time at which the push is sent, \(sentAt.text)"
        throw InvalidInput(field: field, "is \(expiresAt.text), which \(words): no device would get the push")
    }
}
