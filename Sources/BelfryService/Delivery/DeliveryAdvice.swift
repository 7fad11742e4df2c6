/// The next step for a device of a push, and what a person can do about it.
package struct DeliveryAdvice: Sendable, Hashable {
    /// A sentence on the next step.
    package let next: String
    /// A sentence on a remedy; nil where nothing is wrong, or nothing can be done.
    package let help: String?

    /// - Parameters:
    ///   - delivery: nil while the push's audience is still being looked up.
    ///   - parked: the device's platform, if it is parked.
    package init(
        _ delivery: DeviceDelivery?, isActive: Bool, parked: ParkedPlatform?, nodes: NodeTrouble = .none, now: Instant
    ) {
        if let answer = delivery?.answer, answer != .pending {
            next = "nothing: the device has its answer"
            help = answer.help(isActive: isActive)
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

extension Answer {
    fileprivate func help(isActive: Bool) -> String? {
        switch self {
        case .pending, .accepted: nil
        case .gone where isActive:
            "the device stays active, and is sent the next push: the verdict names no time, or one before the device registered, "
                + "or the app has registered since"
        case .gone:
            "the provider said that the token is dead, and the device was deactivated: the app gets a new token when it is opened, and "
                + "registers it"
        case .expired: "send it again, with a later expiry"
        case .unknown: "it may have arrived: a push that is at most once is not sent again"
        case .skipped(let skip): skip.help
        case .refused(let refusal): refusal.help
        }
    }
}

extension Skip {
    fileprivate var help: String {
        switch self {
        case .inactive: "the device unregistered, or its token died: it gets pushes again once its app registers"
        case .missing: "the device was deleted before its turn"
        case .damaged: "its batch could not be read: send the push to it again"
        case .cancelled: "the push was cancelled before its turn"
        case .quietHours: "it has quiet hours: the application's settings say what a push does that comes in them"
        case .capped:
            "its user got as many pushes as the application's settings allow; pushes of the kind transactional are exempt"
        }
    }
}

extension Refusal {
    fileprivate var help: String {
        switch self {
        case .badToken:
            "the token is not one of the provider's, or of its other environment: compare the platform's mode (development or "
                + "production) with how the app was built"
        case .tokenOfAnotherApplication:
            "the token belongs to another app: compare the platform's topic, project or key with those of the app"
        case .payloadTooLarge: "send a shorter message"
        case .payloadEmpty: "the message has nothing for this type of platform: give it a text, or a part for the type"
        case .badCollapseID, .badExpiration, .badMessageID, .badPriority, .badPushType, .duplicateHeaders, .badPath,
            .methodNotAllowed, .missingToken:
            "the provider finds fault with the message: see docs/Providers.md for the fields that it takes"
        case .forbidden: "the provider refuses this one device: see docs/Providers.md for what it means by that"
        case .dropped:
            "the provider took it and threw it away: the device is offline and stores nothing, or its user wants none"
        case .addressNotAllowed:
            "the device's push service is at an address that is not public: providers.addresses.allow lets it be posted to"
        case .other: "the provider's words say why; docs/Providers.md lists them"
        }
    }
}
