import BelfryService
import Testing

/// The examples of "Schedule", and those of "Push a message" that have a time.
@Suite struct ScheduleExamplesTests {
    static let message = #""message":{"body":"Hi"}"#
    static let target = #""target":{"platforms":["ios"]}"#

    @Test(
        arguments: [
            ("push-schedule-at", 1_454_313_600_000), ("push-schedule-in", 1_350_979_200_000),
            ("push-cheese", 1_343_786_400_000), ("push-all-options", 1_345_852_800_000),
            ("push-all-options-1.6", 1_345_852_800_000),
        ] as [(String, Int64)])
    func `a push with a time waits for it`(name: String, due: Int64) async throws {
        let body = try Example(name).posted(rest: "\(Self.message),\(Self.target)")
        try await RecordedServer.open(at: ExampleRequest.then) { server in
            let answer = try await server.exchange(
                ExampleRequest.sent("POST /v1/push", server.sender, body), 200, .scheduled)
            let id = try #require(answer?["schedule_id"]?.string)
            let shown = try await server.exchange(
                ExampleRequest.asked("GET /v1/schedules/\(id)", server.sender), 200, .schedule)
            #expect(shown?["scheduled_for"] == .integer(due))
            #expect(shown?["push"]?["scheduleAt"] == .integer(due))
            #expect(shown?["push"]?["scheduleIn"] == .integer(0))
        }
    }

    @Test func `a schedule is listed, shown, changed and cancelled as shown`() async throws {
        let push = try Example("push-all-options-1.6").posted()
        let put = try Example("schedule-put").posted()
        // What the app sent comes back as it was, and not with every key there is. Devices override what else is named,
        // and those of the page are no UUIDs.
        let besides: Set = ["message", "expiryTime", "devices", "topics", "platforms"]
        try await RecordedServer.open(at: ExampleRequest.then) { server in
            let created = try await server.exchange(
                ExampleRequest.sent("POST /v1/push", server.sender, push), 200, .scheduled)
            let id = try #require(created?["schedule_id"]?.string)
            #expect(id.wholeMatch(of: /[0-9a-f]{16}/) != nil)
            let list = try #require(
                try await server.exchange(
                    ExampleRequest.asked("GET /v1/schedules", server.sender), 200, .array(.schedule)))
            #expect(list.lacks(try Example("schedules-answer").answer(), besides: besides) == [])
            let shown = try #require(
                try await server.exchange(ExampleRequest.asked("GET /v1/schedule/\(id)", server.sender), 200, .schedule)
            )
            #expect(shown.lacks(try Example("schedule-answer").answer(), besides: besides) == [])
            #expect(shown["push"]?["message"]?["custom"]?["bb10"] == .string("BB10 only message body"))
            let changed = try #require(
                try await server.exchange(
                    ExampleRequest.sent("PUT /v1/schedules/\(id)", server.sender, put), 200, .schedule))
            #expect(changed.lacks(try Example("schedule-put-answer").answer(), besides: besides) == [])
            #expect(changed["schedule_id"] == .string(id))
            #expect(changed["scheduled_for"] == .integer(1_345_852_800_000))
            try await server.exchange(ExampleRequest.asked("DELETE /v1/schedules/\(id)", server.sender), 204, nil)
            try await server.exchange(ExampleRequest.asked("GET /v1/schedules/\(id)", server.sender), 404, .error)
            let rest = try await server.exchange(
                ExampleRequest.asked("GET /v1/schedules", server.sender), 200, .array(.schedule))
            #expect(rest == .array([]))
        }
    }
}
