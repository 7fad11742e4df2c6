import BelfryService
import Testing

/// The examples of "Push a message", of 1.6 and 1.9, posted as they stand there, do what the page says.
@Suite struct PushExamplesTests {
    static let message = #""message":{"body":"Hi"}"#
    static let target = #""target":{"platforms":["ios"]}"#

    @Test(arguments: [
        ("push-devices", message), ("push-topics", message), ("push-platforms", message),
        ("push-platform-and-topic", message), ("push-interactive", message), ("push-users", message),
        ("push-user-and-topics", message), ("push-users-and-topics", message), ("push-town-hall", ""),
        ("push-mail", ""),
    ])
    func `a push without a time is sent at once`(name: String, rest: String) async throws {
        let body = try Example(name).posted(rest: rest)
        try await RecordedServer.open(at: ExampleRequest.then) { server in
            try await server.exchange(ExampleRequest.sent("POST /v1/push", server.sender, body), 200, .receipt)
        }
    }

    @Test func `the fields of an iOS push are taken`() async throws {
        let fields = try Example("push-ios-fields").posted()
        try await RecordedServer.open(at: ExampleRequest.then) { server in
            try await server.exchange(
                ExampleRequest.sent(
                    "POST /v1/push", server.sender, #"{"message":{"custom":\#(fields)},\#(Self.target)}"#), 200,
                .receipt)
        }
    }
}
