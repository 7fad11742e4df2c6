/// The next step for a device of a push, and what a person can do about it.
package struct DeliveryAdvice: Sendable, Hashable {
    /// A sentence on the next step.
    package let next: String
    /// A sentence on a remedy; nil where nothing is wrong, or nothing can be done.
    package let help: String?

    /// - Parameters:
    ///   - delivery: nil while the push's audience is still being looked up.
    ///   - registeredAt: when the device last registered.
    ///   - parked: the device's platform, if it is parked.
    package init(
        _ delivery: DeviceDelivery?, isActive: Bool, registeredAt: Instant? = nil, parked: ParkedPlatform?,
        nodes: NodeTrouble = .none, now: Instant
    ) {
        if let delivery, delivery.answer != .pending {
            next = "nothing: the device has its answer"
            help = delivery.help(isActive: isActive, registeredAt: registeredAt)
            return
        }
        if let parked {
            next =
                "it is sent once platform \(parked.uuid.lowercased) (\(parked.name)), parked since \(parked.parking.since.text), "
                + "is resumed" + (parked.nextProbe(at: now).map { "; it is \($0)" } ?? "")
            help = "\(parked.parking.detail): \(parked.remedy)"
            return
        }
        help = delivery?.attempts.last.map { attempt in
            attempt.answer.hasPrefix(ConnectionFault.Kind.tls.unreachable)
                ? "give the platform the certificate of its provider's CA, if that is a private one (`belfry platform credentials PLATFORM "
                    + "--credential trust_root=@FILE`), and try it with `belfry platform test PLATFORM`; the push is tried until it expires"
                : "nothing yet: it is tried until the push expires"
        }
        if let words = nodes.next(delivery?.next, now: now) {
            next = words
            return
        }
        switch delivery?.next {
        case .attempt(let at)? where at <= now:
            next = "it is due: it is sent as soon as a server has room for it at its provider"
        case .attempt(let at)?: next = "it is sent at \(at.text)" + (delivery?.claims == 0 ? "" : ", again")
        case .inFlight(let until)?:
            next = "it is being sent; should this node die, another sends it after \(until.text)"
        case .nothing?, nil: next = "the audience of the push is still being looked up"
        }
    }
}

extension DeviceDelivery {
    /// - Parameter registeredAt: when the device last registered.
    fileprivate func help(isActive: Bool, registeredAt: Instant?) -> String? {
        switch answer {
        case .pending, .accepted: nil
        case .gone where isActive: whyActive(registeredAt)
        default: answer.words.help
        }
    }

    /// Why a device is active whose token was dead.
    private func whyActive(_ registeredAt: Instant?) -> String {
        if let registeredAt, let answeredAt, registeredAt > answeredAt {
            return "the device is active again: its app registered at \(registeredAt.text), after this answer"
        }
        let next = "the device stays active, and is sent the next push: the verdict names"
        let isTimed = attempts.last?.answer.contains(Outcome.sinceUnknown) == false
        return switch (attempts.last, registeredAt) {
        case (_?, _) where !isTimed: "\(next) no time from which the token is dead"
        case (_?, let registeredAt?): "\(next) a time before the device registered, at \(registeredAt.text)"
        default: "\(next) no time, or one before the device registered, or the app has registered since"
        }
    }
}
