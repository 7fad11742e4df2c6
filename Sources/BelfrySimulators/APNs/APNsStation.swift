/// What all connections of one simulator share.
final class APNsStation: Sendable {
    let configuration: APNsSimulator.Configuration
    let ledger: Ledger
    let book: APNsScriptBook
    let tokens: ProviderTokenCheck
    let roster = Roster()
    let validation = Validation()

    init(_ configuration: APNsSimulator.Configuration) {
        let ledger = Ledger(detail: configuration.ledgerDetail)
        self.configuration = configuration
        self.ledger = ledger
        self.book = APNsScriptBook { ledger.connectionsEver }
        self.tokens = ProviderTokenCheck(keys: configuration.authentication.knownKeys)
    }

    /// What a topic is, as far as its ending and the known topics tell.
    func classify(_ topic: String) -> RequestFacts.Topic {
        let suffix = TopicSuffix(of: topic)
        let bundle = String(topic.dropLast(suffix.rawValue.count))
        let isAllowed = configuration.topics.map { $0.contains(bundle) || $0.contains(topic) } ?? true
        return RequestFacts.Topic(suffix: suffix, isMDM: topic.hasPrefix("com.apple.mgmt."), isAllowed: isAllowed)
    }
}

extension APNsSimulator.Authentication {
    /// The keys to verify with; nil believes any.
    var knownKeys: [String: APNsSimulator.SigningKey]? {
        guard case .tokens(let keys) = self else { return nil }
        return Dictionary(keys.map { ($0.keyID, $0) }) { _, last in last }
    }
}
