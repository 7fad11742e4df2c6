package import NIOCore

/// Apple's side of APNs: its checks, and the senders that it accepts.
///
/// Unlike the other providers it serves its connections itself: see ``APNsConnection``.
package final class APNsService: SimulatedProvider {
    package static let habits = {
        var habits = HTTPHabits()
        habits.speaksHTTP2 = true
        habits.speaksHTTP1 = false
        habits.goAwayData = { #"{"reason":"\#($0)"}"# }
        return habits
    }()
    package static let tokenText = Ledger.TokenText.hex

    let configuration: APNsConfiguration
    let tokens: ProviderTokenCheck
    let validation = Validation()

    package init(_ configuration: APNsConfiguration) {
        self.configuration = configuration
        self.tokens = ProviderTokenCheck(keys: configuration.authentication.knownKeys)
    }

    package func answer(for reason: String) -> ServiceAnswer? {
        APNsReason(rawValue: reason).map { ServiceAnswer($0.status, reason: reason) }
    }

    package func handler(at handler: ServiceHandler, ordinal: Int, overHTTP2: Bool) -> any ChannelHandler {
        APNsConnection(handler: handler, ordinal: ordinal, service: self)
    }

    /// The kind of a topic, as far as its suffix and the known topics tell.
    func classify(_ topic: String) -> RequestFacts.Topic {
        let suffix = TopicSuffix(of: topic)
        let bundle = String(topic.dropLast(suffix.rawValue.count))
        let isAllowed = configuration.topics.map { $0.contains(bundle) || $0.contains(topic) } ?? true
        return RequestFacts.Topic(suffix: suffix, isMDM: topic.hasPrefix("com.apple.mgmt."), isAllowed: isAllowed)
    }
}
