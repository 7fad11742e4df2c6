import Testing

@testable import BelfrySimulators

@Suite struct ValidationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var expected: APNsReason?
        var change: @Sendable (inout RequestFacts) -> Void
        var testDescription: String { expected?.rawValue ?? "accepted" }

        init(_ expected: APNsReason?, _ change: @escaping @Sendable (inout RequestFacts) -> Void) {
            self.expected = expected
            self.change = change
        }
    }

    static let good: RequestFacts = {
        var facts = RequestFacts()
        facts.method = .post
        facts.path = .device
        facts.topic = .init(suffix: .none)
        facts.pushType = .known(.alert)
        facts.authorization = .good
        facts.payloadBytes = 100
        facts.payloadOpening = UInt8(ascii: "{")
        return facts
    }()

    static let rows: [Row] = [
        Row(nil) { _ in },
        Row(.duplicateHeaders) { $0.repeatsHeader = true },
        Row(.badMessageID) { $0.id = .bad },
        Row(.methodNotAllowed) { $0.method = .other },
        Row(.missingTopic) { $0.topic = nil },
        Row(nil) { $0.collapseIDBytes = 64 },
        Row(.badCollapseID) { $0.collapseIDBytes = 65 },
        Row(.badPriority) { $0.priority = .bad },
        Row(.badPriority) { $0.pushType = .known(.background) },
        Row(.badPriority) { ($0.pushType, $0.priority, $0.priorityLevel) = (.known(.background), .good, 10) },
        Row(nil) { ($0.pushType, $0.priority, $0.priorityLevel) = (.known(.background), .good, 5) },
        Row(.invalidPushType) { $0.pushType = .unknown },
        Row(.badTopic) { $0.pushType = .known(.voip) },
        Row(.badTopic) { $0.topic = .init(suffix: .voip) },
        Row(nil) { ($0.pushType, $0.topic) = (.known(.voip), .init(suffix: .voip)) },
        Row(.badTopic) { $0.pushType = .known(.mdm) },
        Row(nil) { ($0.pushType, $0.topic) = (.known(.mdm), .init(suffix: .none, isMDM: true)) },
        Row(nil) { $0.pushType = .absent },
        Row(.badExpirationDate) { $0.expiration = .bad },
        Row(.missingDeviceToken) { $0.path = .withoutToken },
        Row(.badPath) { $0.path = .foreign },
        Row(.badDeviceToken) { $0.path = .badToken },
        Row(.missingProviderToken) { $0.authorization = .absent },
        Row(.expiredProviderToken) { $0.authorization = .refused(.expiredProviderToken) },
        Row(.topicDisallowed) { $0.topic?.isAllowed = false },
        Row(.payloadEmpty) { $0.payloadBytes = 0 },
        Row(nil) { $0.payloadBytes = 4096 },
        Row(.payloadTooLarge) { $0.payloadBytes = 4097 },
        Row(nil) { ($0.pushType, $0.topic, $0.payloadBytes) = (.known(.voip), .init(suffix: .voip), 5120) },
        Row(.payloadTooLarge) {
            ($0.pushType, $0.topic, $0.payloadBytes) = (.known(.voip), .init(suffix: .voip), 5121)
        },
        Row(.badRequestPayload) { $0.payloadOpening = UInt8(ascii: "[") },
        // The first complaint wins.
        Row(.badMessageID) { ($0.id, $0.method, $0.path) = (.bad, .other, .foreign) },
        Row(.badDeviceToken) { ($0.path, $0.authorization, $0.payloadBytes) = (.badToken, .absent, 0) },
        Row(.missingProviderToken) { ($0.authorization, $0.payloadBytes) = (.absent, 0) },
    ]

    @Test(arguments: rows)
    func `each flaw has its reason`(row: Row) {
        var facts = Self.good
        row.change(&facts)
        let validation = Validation()
        let complaint =
            validation.complaintAboutForm(of: facts) ?? validation.complaintAboutSender(of: facts)
            ?? validation.complaintAboutPayload(of: facts)
        #expect(complaint == row.expected)
    }

    @Test func `every push type has one fitting topic and one wrong`() {
        for type in PushType.allCases where type != .mdm {
            #expect(TopicSuffix(of: "com.example.app" + type.topicSuffix.rawValue) == type.topicSuffix)
        }
        #expect(TopicSuffix(of: "com.example.app.voip-ptt") == .pushtotalk)
        #expect(TopicSuffix(of: "com.example.voip.app") == .none)
    }
}
