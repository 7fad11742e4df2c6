import Testing

@testable import BelfrySimulators

@Suite(.timeLimit(.minutes(20))) struct MPNSTests {
    typealias TestSimulator = TestService<MPNSService>

    private static func wrap(_ inner: String) -> String {
        #"<?xml version="1.0" encoding="utf-8"?><wp:Notification xmlns:wp="WPNotification">\#(inner)</wp:Notification>"#
    }

    private static let toast = wrap("<wp:Toast><wp:Text1>a</wp:Text1><wp:Text2>b</wp:Text2></wp:Toast>")

    private func post(
        _ fixture: TestSimulator, _ channel: String, _ fields: [(String, String)], _ body: String
    ) async throws -> Curl.Answer {
        try await fixture.curl.post(fixture.simulator.channel(channel), [("content-type", "text/xml")] + fields, body)
    }

    @Test(
        arguments: [
            ([("x-windowsphone-target", "toast"), ("x-notificationclass", "2")], Sample(toast), 200),
            ([("x-windowsphone-target", "toast"), ("x-notificationclass", "22")], Sample(toast), 200),
            ([("x-windowsphone-target", "toast"), ("x-notificationclass", "1")], Sample(toast), 400),
            ([("x-windowsphone-target", "token"), ("x-notificationclass", "11")], Sample(wrap("<wp:Tile/>")), 200),
            ([("x-windowsphone-target", "token"), ("x-notificationclass", "11")], Sample(toast), 400),
            ([("x-notificationclass", "3")], "anything", 200), ([("x-notificationclass", "3")], "", 400),
            ([("x-notificationclass", "3")], Sample(String(repeating: "x", count: 1025)), 400),
            ([("x-windowsphone-target", "tost")], Sample(toast), 400),
            ([("x-windowsphone-target", "toast")], "<wp:Notification>", 400),
            ([("x-windowsphone-target", "toast")], Sample(wrap("<wp:Toast><wp:Param>?a=b</wp:Param></wp:Toast>")), 200),
            (
                [("x-windowsphone-target", "toast")],
                Sample(wrap("<wp:Toast><wp:Param>https://a.example/</wp:Param></wp:Toast>")), 400
            ),
            ([("x-windowsphone-target", "toast")], Sample(wrap("<wp:Toast><wp:Title>t</wp:Title></wp:Toast>")), 400),
        ] as [([(String, String)], Sample, Int)])
    func `target, class and XML have to fit`(fields: [(String, String)], body: Sample, status: Int) async throws {
        try await TestSimulator.with { fixture in
            let answer = try await post(fixture, "c1", fields, body.text)
            #expect(answer.status == status)
            #expect(fixture.simulator.ledger.totals().told == (status == 200 ? 1 : 0))
            guard status == 200 else { return }
            #expect(answer.fields["x-notificationstatus"] == "Received")
            #expect(answer.fields["x-subscriptionstatus"] == "Active")
        }
    }

    @Test(arguments: [
        ("QueueFull", 200, "QueueFull", "Active"), ("Suppressed", 200, "Suppressed", "Active"),
        ("Unauthorized", 401, "Dropped", "Active"), ("Forbidden", 403, nil, nil),
        ("Expired", 404, "Dropped", "Expired"), ("Throttled", 406, "Dropped", "Active"),
        ("InActive", 412, "Dropped", "N/A"), ("ServiceUnavailable", 503, "N/A", "N/A"),
    ])
    func `a scripted channel is answered in MPNS's headers`(
        reason: String, status: Int, notification: String?, subscription: String?
    ) async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer(reason), for: ["bad"])
            let answer = try await post(fixture, "bad", [("x-windowsphone-target", "toast")], Self.toast)
            #expect(answer.status == status)
            #expect(answer.fields["x-notificationstatus"] == notification)
            #expect(answer.fields["x-subscriptionstatus"] == subscription)
            #expect(fixture.simulator.ledger.totals().told == 0)
        }
    }

    @Test func `a channel has a daily limit and echoes message ids`() async throws {
        try await TestSimulator.with({ $0.messagesPerDay = 1 }) { fixture in
            let id = "8b2b7a1e-0000-4000-8000-000000000001"
            let fields = [("x-windowsphone-target", "toast"), ("x-messageid", id)]
            let first = try await post(fixture, "c1", fields, Self.toast)
            #expect(first.fields["x-messageid"] == id)
            let second = try await post(fixture, "c1", fields, Self.toast)
            #expect(second.status == 406)
            fixture.clock.move(by: 86_400)
            let third = try await post(fixture, "c1", fields, Self.toast)
            #expect(third.status == 200)
            #expect(fixture.simulator.ledger.totals().duplicateIDs == 1)
        }
    }
}
