import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// Pushes that are sent again until they are opened, and alarms for pushes that did not come; through the admin API.
@Suite struct RemindersTests {
    private struct Fixture {
        let server: TestAdminServer
        let application: BelfryService.Application
        let platforms: [Platform]
        /// By number: 0 and 1 are of one user on two platforms, 2 is of another, 3 of none.
        private(set) var devices: [Device] = []

        init(on engine: Engine = .sqlite) async throws {
            server = try await TestAdminServer()
            application = try await server.admin.createApplication(
                name: try Name("plant"), by: TestAdminServer.author
            ).application
            var made: [Platform] = []
            for kind in [PlatformKind.ios, .androidFCM] {
                made.append(try await server.store.create(.of(application, kind: kind)))
            }
            platforms = made
            for (number, user) in ["emma", "emma", "tom", nil].enumerated() {
                let registration = try Registration(
                    token: DeviceToken(bytes: [UInt8](repeating: UInt8(number + 1), count: 32)), about: Device.About(),
                    customUserID: user.map { .set($0) } ?? .clear, topics: .replace(["oncall"]))
                devices.append(
                    try await server.store.register(registration, as: nil, on: platforms[number == 1 ? 1 : 0]))
            }
        }

        func send(_ method: HTTPRequest.Method, _ rest: String, _ body: String? = nil) async throws -> TestAnswer {
            try await server.send(method, "apps/\(application.uuid.lowercased)/\(rest)", body)
        }

        /// Sends a push with other fields, and returns its receipt.
        func push(_ fields: String = #""reminders":{"every":"PT10M","times":3}"#) async throws -> String {
            let sent = try await send(
                .post, "pushes", #"{"message":{"body":"Cold","badge":"+1"},"target":{"topics":["oncall"]},\#(fields)}"#)
            return try #require(sent["receipt_id"]?.stringValue, "\(sent)")
        }

        /// Lets schedules that are due become pushes.
        func release(after wait: Duration) async throws {
            server.clock.advance(by: wait)
            let builder = PushBuilder(store: server.store, clock: server.clock)
            let scheduler = Scheduler(
                store: server.store, clock: server.clock, poll: .seconds(1), pushObserver: NoPushObserver(),
                loop: RetryingLoop(clock: server.clock, pause: .seconds(1), logger: CapturedLog().logger))
            for due in try await server.store.dueSchedules(atMost: 10) { try await scheduler.release(due, by: builder) }
        }

        /// As `release`, and delivers the pushes; returns the numbers of the devices that were told.
        @discardableResult
        func run(after wait: Duration = .zero) async throws -> [Int] {
            try await release(after: wait)
            var told: [Int] = []
            try await server.store.deliver { _, device in
                told += devices.indices.filter { devices[$0].key == device }
                return .accepted
            }
            return told.sorted()
        }

        func open(_ number: Int, _ receipt: String) async throws {
            let event = AnalyticsEvent(
                kind: .opened, time: server.clock.now, device: devices[number].uuid,
                receiptID: UUID(uuidString: receipt), geofence: nil)
            _ = try await server.store.record([event], on: platforms[number == 1 ? 1 : 0], lateMax: .seconds(86_400))
        }

        /// Updates a push, delivers that, and returns its receipt.
        func update(_ receipt: String, _ fields: String = "") async throws -> String {
            let reply = try await server.send(
                .post, "pushes/\(receipt)/update", #"{"message":{"body":"Colder"}\#(fields)}"#)
            try await run()
            return try #require(reply["receipt_id"]?.stringValue, "\(reply)")
        }

        func schedule(of receipt: String) async throws -> TestAnswer {
            let shown = try await server.send(.get, "pushes/\(receipt)")
            let id = try #require(shown["reminders"]?["schedule_id"]?.stringValue, "\(shown)")
            return try await send(.get, "schedules/\(id)")
        }

        func pushes() async throws -> [Push] { try await server.store.allPushes().sorted { $0.key < $1.key } }
    }

    @Test func `a user is reminded until one device opened it`() async throws {
        let fixture = try await Fixture()
        let receipt = try await fixture.push()
        #expect(try await fixture.run() == [0, 1, 2, 3])
        #expect(try await fixture.run(after: .seconds(599)) == [])
        try await fixture.open(1, receipt)
        #expect(try await fixture.run(after: .seconds(1)) == [2, 3])
        let reminder = try #require(try await fixture.pushes().last)
        #expect(reminder.content.body == "Cold" && reminder.content.badge == nil)
        #expect(reminder.content.follows?.receiptID.lowercased == receipt)
        #expect(reminder.expiresAt == fixture.server.clock.now + .seconds(600))
        // Who opens the reminder has opened the push.
        try await fixture.open(3, reminder.receiptID.lowercased)
        #expect(try await fixture.run(after: .seconds(600)) == [2])
        #expect(try await fixture.run(after: .seconds(600)) == [2])
        #expect(try await fixture.pushes().last?.expiresAt == fixture.server.clock.now + .seconds(600))
        let schedule = try await fixture.schedule(of: receipt)
        #expect(schedule["state"] == .string("sent") && schedule["reminders"]?["receipt_id"] == .string(receipt))
        guard case .array(let history)? = schedule["history"] else { return #expect(Bool(false), "\(schedule)") }
        #expect(history.count == 3)
        #expect(try await fixture.run(after: .seconds(86_400)) == [])
        let shown = try await fixture.server.send(.get, "pushes/\(receipt)")
        #expect(shown.text.contains(#""kind":"reminder""#), "\(shown)")
    }

    @Test func `reminders end once nobody is left`() async throws {
        let fixture = try await Fixture()
        let receipt = try await fixture.push()
        try await fixture.run()
        for number in [0, 2, 3] { try await fixture.open(number, receipt) }
        #expect(try await fixture.run(after: .seconds(600)) == [])
        let schedule = try await fixture.schedule(of: receipt)
        #expect(schedule["state"] == .string("not_needed"), "\(schedule)")
        #expect(try await fixture.pushes().count == 1)
    }

    @Test func `a reminder goes to nobody whom the push passed over`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.push()
        let capped = fixture.devices[2].key
        try await fixture.server.store.deliver { _, device in device == capped ? .skipped(.capped) : .accepted }
        #expect(try await fixture.run(after: .seconds(600)) == [0, 1, 3])
    }

    @Test func `a reminder goes to nobody who waits for the push`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.push()
        let told = fixture.devices[1].key
        try await fixture.server.store.deliver { _, device in device == told ? .accepted : nil }
        // The reminder goes to one, and the push to the others.
        #expect(try await fixture.run(after: .seconds(600)) == [0, 1, 2, 3])
    }

    @Test func `missed reminders are one`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.push(#""reminders":{"every":"PT10M","times":5}"#)
        try await fixture.run()
        #expect(try await fixture.run(after: .seconds(25 * 60)) == [0, 1, 2, 3])
        #expect(try await fixture.run(after: .seconds(5 * 60)) == [0, 1, 2, 3])
        #expect(try await fixture.pushes().count == 3)
    }

    enum Named: CaseIterable { case push, itsReminder, firstOfRow }

    @Test(arguments: ["cancel", "retract", "update"], Named.allCases)
    func `a cancelled, updated or retracted push reminds nobody`(path: String, named: Named) async throws {
        let fixture = try await Fixture()
        var reminded = try await (named == .firstOfRow ? fixture.push(#""kind":"any""#) : fixture.push())
        var receipt = reminded
        try await fixture.run()
        switch named {
        case .push: break
        case .itsReminder:
            try await fixture.run(after: .seconds(600))
            receipt = try #require(try await fixture.pushes().last).receiptID.lowercased
        case .firstOfRow:
            reminded = try await fixture.update(reminded)
            reminded = try await fixture.update(reminded, #","reminders":{"every":"PT10M","times":3}"#)
        }
        let body = path == "update" ? #"{"message":{"body":"Colder"}}"# : nil
        let reply = try await fixture.server.send(.post, "pushes/\(receipt)/\(path)", body)
        #expect(200..<300 ~= reply.status, "\(reply)")
        try await fixture.run()
        #expect(try await fixture.schedule(of: reminded)["state"] == .string("cancelled"))
        #expect(try await fixture.run(after: .seconds(3_600)) == [])
    }

    @Test(arguments: ["cancel", "retract", "update"], [false, true])
    func `a reminder that waits goes with its push`(path: String, isFannedOut: Bool) async throws {
        let fixture = try await Fixture()
        let receipt = try await fixture.push(#""reminders":{"every":"PT10M","times":1}"#)
        try await fixture.run()
        try await fixture.release(after: .seconds(600))
        let reminder = try #require(try await fixture.pushes().last)
        #expect(reminder.content.follows?.isReminder == true)
        // Its devices wait, as in quiet hours.
        if isFannedOut { try await fixture.server.store.deliver { _, _ in nil } }
        let body = path == "update" ? #"{"message":{"body":"Colder"}}"# : nil
        let reply = try await fixture.server.send(.post, "pushes/\(receipt)/\(path)", body)
        #expect(200..<300 ~= reply.status, "\(reply)")
        try await fixture.run()
        let counts = try await fixture.server.store.receipt(reminder.receiptID)?.counts
        #expect(counts == [.skipped(.cancelled): 4])
    }

    @Test func `a refused update leaves the reminders alone`() async throws {
        let fixture = try await Fixture()
        let receipt = try await fixture.push(#""reminders":{"every":"PT10M","times":1}"#)
        try await fixture.run()
        try await fixture.release(after: .seconds(600))
        let long = String(repeating: "x", count: 5_000)
        let reply = try await fixture.server.send(
            .post, "pushes/\(receipt)/update", #"{"message":{"body":"\#(long)"}}"#)
        #expect(reply.status == 400, "\(reply)")
        #expect(try await fixture.run() == [0, 1, 2, 3])
    }

    @Test func `an update has reminders of its own`() async throws {
        let fixture = try await Fixture()
        let receipt = try await fixture.push()
        try await fixture.run()
        let reply = try await fixture.server.send(
            .post, "pushes/\(receipt)/update",
            #"{"message":{"body":"Colder"},"reminders":{"every":"PT1M","times":1}}"#)
        #expect(reply.status == 201, "\(reply)")
        #expect(try await fixture.run() == [0, 1, 2, 3])
        try await fixture.open(0, try #require(reply["receipt_id"]?.stringValue))
        #expect(try await fixture.run(after: .seconds(60)) == [2, 3])
        let last = try #require(try await fixture.pushes().last)
        #expect(last.content.body == "Colder" && last.shownID.lowercased == receipt)
        #expect(try await fixture.run(after: .seconds(3_600)) == [])
    }

    @Test func `reminders are cancelled, and not changed`() async throws {
        let fixture = try await Fixture()
        let receipt = try await fixture.push()
        try await fixture.run()
        let id = try #require(try await fixture.schedule(of: receipt)["schedule_id"]?.stringValue)
        let change = try await fixture.send(.patch, "schedules/\(id)", #"{"message":{"body":"x"}}"#)
        #expect(change.status == 400 && change.text.contains("reminders"), "\(change)")
        #expect(try await fixture.send(.delete, "schedules/\(id)").status == 204)
        #expect(try await fixture.run(after: .seconds(3_600)) == [])
    }

    @Test(arguments: [
        (#""reminders":{"every":"PT30S","times":3}"#, "reminders.every"),
        (#""reminders":{"every":"PT10M","times":51}"#, "reminders.times"),
        (#""reminders":{"every":"P1D","times":8}"#, "P7D"), (#""reminders":{"every":"PT10M"}"#, "reminders.times"),
        (#""reminders":{"times":3}"#, "reminders.every is missing"),
        (#""reminders":{"every":"PT10M","times":3,"until":"read"}"#, "reminders.until"),
        (#""unless_sent":{"within":"P1D"}"#, "unless_sent goes with"),
        (#""unless_sent":{"within":"P32D"},"send_at":"2100-01-01T00:00:00Z""#, "P31D"),
        (#""unless_sent":{"within":"P1D"},"send_at":{"local":"2100-01-01T00:00"}"#, "unless_sent goes with"),
        (#""unless_sent":{"kind":"report"},"send_at":"2100-01-01T00:00:00Z""#, "unless_sent.within is missing"),
    ])
    func `wrong fields are refused by name`(fields: String, words: String) async throws {
        let fixture = try await Fixture()
        let reply = try await fixture.send(
            .post, "pushes", #"{"message":{"body":"Cold"},"target":{"topics":["oncall"]},\#(fields)}"#)
        #expect(reply.status == 400 && reply.text.contains(words), "\(reply)")
        #expect(try await fixture.pushes().isEmpty)
    }

    private static let alarm =
        #""recurrence":{"rule":"FREQ=DAILY","start":"2027-02-01T09:00","time_zone":"UTC"},"unless_sent":{"within":"P1D","kind":"Report"}"#

    @Test func `an alarm is sent where no other push was`() async throws {
        let fixture = try await Fixture()
        fixture.server.clock.advance(to: try Instant("2027-01-31T12:00:00Z", field: ""))
        let made = try await fixture.send(
            .post, "pushes", #"{"message":{"body":"No report"},"target":{"topics":["oncall"]},\#(Self.alarm)}"#)
        let id = try #require(made["schedule_id"]?.stringValue, "\(made)")
        func tell(at hour: Int, _ fields: String = #""kind":"report""#, to topic: String = "oncall") async throws
            -> String
        {
            fixture.server.clock.advance(by: .seconds(hour * 3_600))
            let sent = try await fixture.send(
                .post, "pushes", #"{"message":{"body":"Report"},"target":{"topics":["\#(topic)"]},\#(fields)}"#)
            try await fixture.server.store.deliver { _, _ in .accepted }
            return try #require(sent["receipt_id"]?.stringValue, "\(sent)")
        }
        // Monday has a report in time; Tuesday another kind alone, and Wednesday one that reaches nobody.
        let report = try await tell(at: 1)
        #expect(try await fixture.run(after: .seconds(20 * 3_600)) == [])
        _ = try await tell(at: 1, #""kind":"other""#)
        #expect(try await fixture.run(after: .seconds(23 * 3_600)) == [0, 1, 2, 3])
        _ = try await tell(at: 1, to: "nobody")
        #expect(try await fixture.run(after: .seconds(23 * 3_600)) == [0, 1, 2, 3])
        let shown = try await fixture.send(.get, "schedules/\(id)")
        guard case .array(let history)? = shown["history"] else { return #expect(Bool(false), "\(shown)") }
        #expect(history.map { $0["result"] } == [.string("sent"), .string("sent"), .string("not_needed")])
        #expect(history.last?["reason"]?.stringValue?.contains(report) == true, "\(shown)")
        #expect(shown["unless_sent"]?["kind"] == .string("report"))
    }

    /// The answer of all devices to another push; nil for no such push.
    @Test(arguments: [nil, .accepted, .unknown, .skipped(.cancelled), .skipped(.quietHours)] as [Answer?])
    func `an alarm for once looks at every kind`(answer: Answer?) async throws {
        let fixture = try await Fixture()
        let time = fixture.server.clock.now + .seconds(3_600)
        let made = try await fixture.send(
            .post, "pushes",
            #"{"message":{"body":"Silence"},"target":{"topics":["oncall"]},"send_at":"\#(time.text)","unless_sent":{"within":"PT2H"}}"#
        )
        let id = try #require(made["schedule_id"]?.stringValue, "\(made)")
        if let answer {
            _ = try await fixture.push(#""kind":"any""#)
            try await fixture.server.store.deliver { _, _ in answer }
        }
        try await fixture.release(after: .seconds(3_600))
        let isSent = answer == .accepted || answer == .unknown
        let state = try await fixture.send(.get, "schedules/\(id)")["state"]
        #expect(state == .string(isSent ? "not_needed" : "sent"))
    }
}
