import BelfryTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import BelfryService

/// Campaigns through the admin API.
@Suite struct CampaignAPITests {
    private struct Fixture {
        let server: TestAdminServer
        let application: BelfryService.Application
        let platform: Platform

        /// - Parameter devices: every second one is of a user who has it alone.
        init(devices: Int = 0) async throws {
            server = try await TestAdminServer()
            application = try await server.admin.createApplication(
                name: try Name("shop"), by: TestAdminServer.author
            ).application
            platform = try await server.store.create(.of(application, kind: .ios))
            for number in 0..<devices {
                let registration = try Registration(
                    token: DeviceToken(
                        bytes: [UInt8](repeating: UInt8(number >> 8), count: 31) + [UInt8(number & 255)]),
                    about: Device.About(), customUserID: number.isMultiple(of: 2) ? .set("u\(number)") : .clear,
                    topics: .replace(number < 3 ? ["testers"] : []))
                _ = try await server.store.register(registration, as: nil, on: platform)
            }
        }

        func send(
            _ method: HTTPRequest.Method, _ rest: String, _ body: String? = nil, as key: String? = nil,
            headers: HTTPFields = [:]
        ) async throws -> TestAnswer {
            try await server.send(
                method, "apps/\(application.uuid.lowercased)/\(rest)", as: key, body, headers: headers)
        }

        /// Lets schedules that are due become pushes, and delivers those.
        func run() async throws {
            try await release()
            try await server.store.deliver { _, _ in .accepted }
        }

        func release() async throws {
            let builder = PushBuilder(store: server.store, clock: server.clock)
            let scheduler = Scheduler(
                store: server.store, clock: server.clock, poll: .seconds(1), pushObserver: NoPushObserver(),
                loop: RetryingLoop(clock: server.clock, pause: .seconds(1), logger: CapturedLog().logger))
            for due in try await server.store.dueSchedules(atMost: 10) { try await scheduler.release(due, by: builder) }
        }

        func line(_ name: String, of campaign: String) async throws -> JSONValue {
            let shown = try await send(.get, "campaigns/\(campaign)")
            guard case .array(let lines)? = shown["report"] else { return .null }
            return lines.first { $0["variant"] == .string(name) } ?? .null
        }

        /// The devices of a line's pushes.
        func devices(_ name: String, of campaign: String) async throws -> Set<UUID> {
            let line = try await line(name, of: campaign)
            var found: Set<UUID> = []
            for receipt in try line["receipts"]?.strings("receipts") ?? [] {
                let push = try #require(try await server.store.receipt(UUID(uuidString: receipt) ?? UUID())).push
                let page = try await server.store.answers(in: push.key, kind: .all, after: nil, limit: 1_000)
                found.formUnion(page.answers.map(\.uuid))
            }
            return found
        }

        func open(_ devices: some Sequence<UUID>, _ receipt: String) async throws {
            let id = try #require(UUID(uuidString: receipt))
            _ = try await server.store.record(
                devices.map {
                    AnalyticsEvent(kind: .opened, time: server.clock.now, device: $0, receiptID: id, geofence: nil)
                }, on: platform, lateMax: .seconds(3_600))
        }
    }

    private static let plan = #"""
        "labels": ["sale"], "target": {"everyone": true}, "message": {"title": "Spring", "body": "Hi"},
        "variants": [{"name": "A", "share": 20}, {"name": "B", "share": 30, "message": {"title": "Now"}}],
        "hold_out": 10, "winner": {"by": "opened", "after": "PT4H"}, "test_target": {"where": "topic:testers"}
        """#

    @Test func `each device has one variant, and the rest the better`() async throws {
        let fixture = try await Fixture(devices: 400)
        let made = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        #expect(made.status == 201 && made["state"] == .string("draft"), "\(made)")
        try await fixture.run()
        #expect(try await fixture.server.store.allPushes().isEmpty)
        #expect(try await fixture.send(.post, "campaigns/spring/start")["state"] == .string("running"))
        #expect(try await fixture.send(.post, "campaigns/spring/start").status == 409)
        try await fixture.run()
        let (one, two) = (
            try await fixture.devices("A", of: "spring"), try await fixture.devices("B", of: "spring")
        )
        #expect(one.isDisjoint(with: two) && one.count > 40 && two.count > 70)
        let titles = try await fixture.server.store.allPushes().map(\.content.shared.title)
        #expect(Set(titles) == ["Spring", "Now"])
        let line = try await fixture.line("B", of: "spring")
        #expect(line["accepted"] == .integer(Int64(two.count)) && line["opened"]?["count"] == .integer(0))
        guard case .array(let receipts)? = line["receipts"] else { return }
        try await fixture.open(two.prefix(5), receipts[0].stringValue ?? "")
        #expect(try await fixture.line("B", of: "spring")["opened"]?["count"] == .integer(5))
        for (term, count) in [
            ("opened_campaign:spring", 5), ("sent_campaign:spring", one.count + two.count),
            ("sent_campaign:spring -opened_campaign:spring", one.count + two.count - 5),
            ("received_campaign:spring", 0),
        ] {
            let counted = try await fixture.send(.post, "audience/count", #"{"where":"\#(term)"}"#)
            #expect(counted["devices"] == .integer(Int64(count)), "\(term): \(counted)")
        }
        let unknown = try await fixture.send(.post, "audience/count", #"{"where":"opened_campaign:autumn"}"#)
        #expect(unknown.status == 400 && unknown.text.contains("'autumn', which there is not"), "\(unknown)")

        fixture.server.clock.advance(by: .seconds(4 * 3_600 - 1))
        try await fixture.run()
        #expect(try await fixture.devices("winner", of: "spring").isEmpty)
        fixture.server.clock.advance(by: .seconds(1))
        try await fixture.run()
        let rest = try await fixture.devices("winner", of: "spring")
        #expect(rest.isDisjoint(with: one.union(two)) && rest.count > 100)
        #expect(one.count + two.count + rest.count < 400, "some are held out")
        let last = try #require(try await fixture.server.store.allPushes().max { $0.key < $1.key })
        #expect(last.content.shared.title == "Now")
        #expect(try await fixture.send(.get, "campaigns/spring")["winner"] == .string("B"))
        #expect(try await fixture.send(.get, "campaigns?label=sale").text.contains("spring"))
        #expect(try await !fixture.send(.get, "campaigns?label=other").text.contains("spring"))
    }

    @Test(arguments: [true, false])
    func `the rest waits for an accepted variant, or a day`(isAccepted: Bool) async throws {
        let fixture = try await Fixture(devices: 40)
        let (store, clock) = (fixture.server.store, fixture.server.clock)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        try await fixture.release()
        clock.advance(by: .seconds(4 * 3_600))
        try await fixture.release()
        #expect(try await store.allPushes().count == 2)
        #expect(try await fixture.send(.get, "campaigns/spring")["winner"] == .null)
        if isAccepted { try await store.deliver { _, _ in .accepted } }
        clock.advance(by: .seconds(isAccepted ? 300 : 86_400))
        try await fixture.release()
        #expect(try await store.allPushes().count == 3)
        #expect(try await fixture.send(.get, "campaigns/spring")["winner"] == .string("A"))
    }

    @Test func `the rest goes out before it expires`() async throws {
        let fixture = try await Fixture(devices: 40)
        let clock = fixture.server.clock
        let end = (clock.now + .seconds(5 * 3_600)).text
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring","expires_at":"\#(end)",\#(Self.plan)}"#)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        try await fixture.release()
        for (seconds, pushes) in [(4 * 3_600, 2), (3_000, 3)] {
            clock.advance(by: .seconds(seconds))
            try await fixture.release()
            #expect(try await fixture.server.store.allPushes().count == pushes)
        }
    }

    @Test func `a variant sent late is judged later`() async throws {
        let fixture = try await Fixture(devices: 40)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        for (hours, pushes) in [(3, 2), (1, 2), (3, 3)] {
            fixture.server.clock.advance(by: .seconds(hours * 3_600))
            try await fixture.run()
            #expect(try await fixture.server.store.allPushes().count == pushes, "after \(hours) hours more")
        }
    }

    @Test func `a winner is chosen when somebody wants it`() async throws {
        let fixture = try await Fixture(devices: 40)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        try await fixture.run()
        let id = try await fixture.line("winner", of: "spring")["schedule_id"]?.stringValue ?? ""
        let time = (fixture.server.clock.now + .seconds(60)).text
        #expect(try await fixture.send(.patch, "schedules/\(id)", #"{"send_at":"\#(time)"}"#).status == 200)
        fixture.server.clock.advance(by: .seconds(60))
        try await fixture.run()
        #expect(try await fixture.send(.get, "campaigns/spring")["winner"] == .string("A"))
    }

    @Test func `the rest gets a variant whose share has nobody`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        try await fixture.run()
        fixture.server.clock.advance(by: .seconds(4 * 3_600))
        try await fixture.run()
        let last = try await fixture.server.store.allPushes().max { $0.key < $1.key }
        #expect(last?.content.shared.title == "Spring")
        #expect(try await fixture.send(.get, "campaigns/spring")["winner"] == .string("A"))
        #expect(try await fixture.line("winner", of: "spring")["state"] == .string("sent"))
    }

    @Test func `a device that opens twice counts once`() async throws {
        let fixture = try await Fixture(devices: 10)
        let body = #"{"name":"spring","message":{"body":"Hi"},"target":{"everyone":true}}"#
        _ = try await fixture.send(.post, "campaigns", body)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        try await fixture.run()
        let devices = try await fixture.devices("", of: "spring")
        let receipt = try #require(try await fixture.line("", of: "spring")["receipts"]?.strings("receipts").first)
        for _ in 0..<2 {
            try await fixture.open(devices.prefix(2), receipt)
            fixture.server.clock.advance(by: .seconds(60))
        }
        #expect(try await fixture.line("", of: "spring")["opened"]?["count"] == .integer(2))
    }

    @Test func `a reminder that is opened counts for its variant`() async throws {
        let fixture = try await Fixture(devices: 10)
        let body = #"{"name":"spring","message":{"body":"Hi"},"target":{"everyone":true},"#
        _ = try await fixture.send(
            .post, "campaigns", body + #""reminders":{"every":"PT1H","times":2}}"#)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        try await fixture.run()
        let devices = Array(try await fixture.devices("", of: "spring"))
        // The last reminder counts as the first does, and twice by one device counts once.
        for opened in [0..<2, 1..<3] {
            fixture.server.clock.advance(by: .seconds(3_600))
            try await fixture.run()
            let reminder = try #require(try await fixture.server.store.allPushes().max { $0.key < $1.key })
            #expect(reminder.content.follows?.isReminder == true)
            try await fixture.open(devices[opened], reminder.receiptID.lowercased)
        }
        #expect(try await fixture.line("", of: "spring")["opened"]?["count"] == .integer(3))
    }

    @Test func `a changed template has to be approved again`() async throws {
        let fixture = try await Fixture(devices: 1)
        _ = try await fixture.send(.patch, "", #"{"campaign_approval":true}"#)
        let (emma, noah) = (
            try await fixture.server.key(.operator, .everything), try await fixture.server.key(.operator, .everything)
        )
        func post(_ path: String) async throws -> Int { try await fixture.send(.post, path, as: noah).status }
        _ = try await fixture.send(.post, "templates", #"{"name":"hello","message":{"body":"Hi"}}"#)
        let body = #"{"name":"spring","template":"hello","target":{"everyone":true}}"#
        #expect(try await fixture.send(.post, "campaigns", body, as: emma).status == 201)
        #expect(try await post("campaigns/spring/approve") == 200)
        let shown = try await fixture.send(.get, "campaigns/spring")
        #expect(shown["plan"]?["approved_digest"] == nil && shown["approved_by"] != .null, "\(shown)")
        #expect(try await post("campaigns/spring/approve") == 409)
        #expect(try await fixture.send(.patch, "templates/hello", #"{"message":{"body":"Buy"}}"#).status == 200)
        let early = try await fixture.send(.post, "campaigns/spring/start")
        #expect(early.status == 409 && early.message?.contains("approved again") == true, "\(early)")
        #expect(try await post("campaigns/spring/approve") == 200)
        #expect(try await post("campaigns/spring/start") == 200)
    }

    /// The template changes at each of the steps of a start.
    @Test(arguments: 1...10)
    func `a start sends what was approved, whatever changes meanwhile`(step: Int) async throws {
        let clock = ManualClock()
        let base = try SQLiteStore.temporary(clock: clock)
        let key = try await base.create(.named("shop")).key
        try await base.edit(key, ApplicationEdit(approvesCampaigns: true))
        let application = try #require(try await base.application(key))
        _ = try await base.create("hello", Push.Content(body: "Hi"), of: key)
        let stepsLeft = Mutex(Int.max)
        let store = InterceptedStore(base) { _ in
            let isDue = stepsLeft.withLock { steps in
                steps -= 1
                return steps == 0
            }
            if isDue { _ = try await base.change("hello", of: key, to: Push.Content(body: "Buy")) }
        }
        let campaigns = Services(store, clock: clock).campaigns
        let plan = try CampaignPlan([
            "template": .string("hello"), "target": .object(["everyone": .bool(true)]),
        ])
        let draft = try await campaigns.create("spring", plan, of: application, by: .local(systemUser: "emma"))
        let approved = try await campaigns.approve(draft, of: application, by: .local(systemUser: "noah"))
        stepsLeft.withLock { $0 = step }
        let started: Campaign
        do {
            started = try await campaigns.start(approved, of: application, by: .local(systemUser: "noah"))
        } catch StoreError.conflict {
            return
        }
        let part = try #require(try await base.parts(of: started.key).first)
        #expect(try await base.schedule(part.schedule, of: key)?.pushRequest.content.body == "Hi")
    }

    @Test func `a draft keeps its segments and templates`() async throws {
        let fixture = try await Fixture(devices: 1)
        for name in ["all", "testers"] {
            _ = try await fixture.send(.post, "segments", #"{"name":"\#(name)","where":"topic:testers"}"#)
        }
        _ = try await fixture.send(.post, "templates", #"{"name":"hello","message":{"body":"Hi"}}"#)
        let plan = #""template":"hello","target":{"where":"segment:all"},"test_target":{"where":"segment:testers"}"#
        #expect(try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(plan)}"#).status == 201)
        for used in ["segments/all", "segments/testers", "templates/hello"] {
            let refused = try await fixture.send(.delete, used)
            #expect(refused.status == 409 && refused.message?.contains("campaign spring") == true, "\(refused)")
        }
        #expect(try await fixture.send(.delete, "campaigns/spring").status == 204)
        #expect(try await fixture.send(.delete, "segments/all").status == 204)
    }

    @Test func `its schedules keep their target and their template`() async throws {
        let fixture = try await Fixture(devices: 4)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        func change(_ line: String, _ body: String) async throws -> TestAnswer {
            let id = try await fixture.line(line, of: "spring")["schedule_id"]?.stringValue ?? ""
            return try await fixture.send(.patch, "schedules/\(id)", body)
        }
        for (line, body) in [("A", #"{"target":{"everyone":true}}"#), ("winner", #"{"message":{"body":"Hi"}}"#)] {
            let refused = try await change(line, body)
            #expect(refused.status == 400 && refused.message?.contains("'spring'") == true, "\(refused)")
        }
        #expect(try await change("A", #"{"message":{"body":"Hello"}}"#).status == 200)
        #expect(try await change("winner", #"{"urgency":"urgent"}"#).status == 200)
    }

    @Test func `a stop ends its schedules and its pushes`() async throws {
        let fixture = try await Fixture(devices: 10)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        #expect(try await fixture.send(.post, "campaigns/spring/stop").status == 409)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        let builder = PushBuilder(store: fixture.server.store, clock: fixture.server.clock)
        let scheduler = Scheduler(
            store: fixture.server.store, clock: fixture.server.clock, poll: .seconds(1),
            pushObserver: NoPushObserver(),
            loop: RetryingLoop(clock: fixture.server.clock, pause: .seconds(1), logger: CapturedLog().logger))
        let due = try await fixture.server.store.dueSchedules(atMost: 1)
        try await scheduler.release(try #require(due.first), by: builder)
        #expect(try await fixture.send(.delete, "campaigns/spring").status == 409)
        // The second finishes what a first that was cut short has left.
        for _ in 0..<2 {
            #expect(try await fixture.send(.post, "campaigns/spring/stop")["state"] == .string("stopped"))
        }
        fixture.server.clock.advance(by: .seconds(86_400))
        try await fixture.run()
        let push = try #require(try await fixture.server.store.allPushes().first)
        let receipt = try #require(try await fixture.server.store.receipt(push.receiptID))
        #expect(receipt.settledAt != nil && receipt.count(.accepted) == 0)
        #expect(try await fixture.server.store.campaign(of: push.head) == "spring")
        #expect(try await fixture.server.store.allPushes().count == 1)
        #expect(try await fixture.send(.delete, "campaigns/spring").status == 204)
        #expect(try await fixture.send(.get, "campaigns/spring").status == 404)
        let lines = try await fixture.server.audited().filter { $0.hasPrefix("campaign.") }
        #expect(lines == ["campaign.delete", "campaign.stop", "campaign.start", "campaign.create"])
    }

    @Test func `a second person approves before the start`() async throws {
        let fixture = try await Fixture(devices: 1)
        let server = fixture.server
        let rule = try await fixture.send(.patch, "", #"{"campaign_approval":true}"#)
        #expect(rule["campaign_approval"] == .bool(true), "\(rule)")
        let (emma, noah) = (
            try await server.key(.operator, .everything), try await server.key(.operator, .everything)
        )
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#, as: emma)
        let early = try await fixture.send(.post, "campaigns/spring/start", as: noah)
        #expect(early.status == 409 && early.message?.contains("has to approve it first") == true, "\(early)")
        #expect(try await fixture.send(.post, "campaigns/spring/approve", as: emma).status == 409)
        #expect(try await fixture.send(.post, "campaigns/spring/approve", as: noah).status == 200)
        let tag = try #require(try await fixture.send(.get, "campaigns/spring").headers[.eTag])
        // A change ends it, and its author is the maker from then on.
        _ = try await fixture.send(.patch, "campaigns/spring", #"{"labels":null}"#, as: noah)
        #expect(try await fixture.send(.post, "campaigns/spring/start", as: emma).status == 409)
        #expect(try await fixture.send(.post, "campaigns/spring/approve", as: noah).status == 409)
        let old = try await fixture.send(.post, "campaigns/spring/approve", as: emma, headers: [.ifMatch: tag])
        #expect(old.status == 412)
        #expect(try await fixture.send(.post, "campaigns/spring/approve", as: emma).status == 200)
        #expect(try await fixture.send(.post, "campaigns/spring/start", as: noah).status == 200)
    }

    @Test func `changes and deletions heed the version of If-Match`() async throws {
        let fixture = try await Fixture(devices: 1)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        func status(_ method: HTTPRequest.Method, _ tag: String, _ body: String? = nil) async throws -> Int {
            try await fixture.send(method, "campaigns/spring", body, headers: [.ifMatch: tag]).status
        }
        let tag = try #require(try await fixture.send(.get, "campaigns/spring").headers[.eTag])
        let changed = try await fixture.send(
            .patch, "campaigns/spring", #"{"labels":["sale"]}"#, headers: [.ifMatch: tag])
        #expect(changed.status == 200 && changed.headers[.eTag] != tag, "\(changed)")
        #expect(try await status(.patch, tag, #"{"labels":null}"#) == 412)
        #expect(try await status(.delete, tag) == 412)
        #expect(try await status(.delete, try #require(changed.headers[.eTag])) == 204)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        #expect(try await status(.delete, tag) == 412, "it is another campaign of the name")
    }

    @Test func `a test goes to the test audience alone`() async throws {
        let fixture = try await Fixture(devices: 10)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        let sent = try await fixture.send(.post, "campaigns/spring/test")
        guard case .array(let pushes)? = sent["pushes"], pushes.count == 2 else {
            Issue.record("\(sent)")
            return
        }
        try await fixture.run()
        for push in pushes {
            let id = try #require(push["receipt_id"]?.stringValue.flatMap { UUID(uuidString: $0) })
            #expect(try #require(try await fixture.server.store.receipt(id)).devices == 3)
        }
        _ = try await fixture.send(.patch, "campaigns/spring", #"{"test_target":{"where":"topic:nobody"}}"#)
        #expect(try await fixture.send(.post, "campaigns/spring/test").status == 400)
    }

    @Test func `a repeated test sends each variant once`() async throws {
        let fixture = try await Fixture(devices: 10)
        let store = fixture.server.store
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        let campaign = try #require(try await store.campaign(named: "spring", of: fixture.application.key))
        let service = Services(store, clock: fixture.server.clock).campaigns
        let id = UUID()
        var receipts: [UUID] = []
        for _ in 0..<2 {
            let sent = try await IdempotentID.$given.withValue(id) {
                try await service.test(campaign, of: fixture.application, by: .local(systemUser: "emma"))
            }
            receipts += sent.map(\.receiptID)
        }
        #expect(receipts.count == 4 && Set(receipts).count == 2)
        let titles = try await store.allPushes().map(\.content.shared.title)
        #expect(titles.count == 2 && Set(titles) == ["Spring", "Now"])
    }

    @Test func `a share of no platforms goes to nobody`() async throws {
        let fixture = try await Fixture(devices: 4)
        let plan = #""message":{"body":"x"},"target":{"everyone":true,"platforms":[]},"hold_out":10"#
        #expect(try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(plan)}"#).status == 201)
        #expect(try await fixture.send(.post, "campaigns/spring/start").status == 200)
        try await fixture.run()
        #expect(try await fixture.line("", of: "spring")["state"] == .string("sent"))
        #expect(try await fixture.devices("", of: "spring").isEmpty)
    }

    @Test func `variants share the throttle, the rest has it whole`() async throws {
        let fixture = try await Fixture(devices: 1)
        let plan = #"{"name":"spring","throttle_per_minute":50,\#(Self.plan)}"#
        _ = try await fixture.send(.post, "campaigns", plan)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        let schedules = try await fixture.server.store.schedules(of: fixture.application.key, after: nil, limit: 9)
        #expect(schedules.map(\.pushRequest.content.pacing.perMinute) == [20, 30, 50])
    }

    @Test func `a campaign that others name stays`() async throws {
        let fixture = try await Fixture(devices: 1)
        let target = #""target":{"where":"-sent_campaign:spring"}"#
        let segment = #"{"name":"missed","where":"-sent_campaign:spring"}"#
        #expect(try await fixture.send(.post, "segments", segment).status == 400)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        #expect(try await fixture.send(.patch, "campaigns/spring", "{\(target)}").status == 200)
        #expect(try await fixture.send(.post, "segments", segment).status == 201)
        let push = #"{"message":{"body":"x"},"send_at":"2100-01-01T00:00:00Z",\#(target)}"#
        let schedule = try await fixture.send(.post, "pushes", push)["schedule_id"]?.stringValue ?? ""
        _ = try await fixture.send(.post, "campaigns", #"{"name":"autumn","message":{"body":"x"},\#(target)}"#)
        let refused = try await fixture.send(.delete, "campaigns/spring")
        #expect(refused.status == 409, "\(refused)")
        for user in ["segment missed", "schedule \(schedule)", "campaign autumn"] {
            #expect(refused.message?.contains(user) == true, "\(refused)")
        }
        for path in ["segments/missed", "schedules/\(schedule)", "campaigns/autumn", "campaigns/spring"] {
            #expect(try await fixture.send(.delete, path).status == 204, "\(path)")
        }
    }

    private static let recurring = #"""
        "name":"a","message":{"body":"x"},"target":{"everyone":true},
        "recurrence":{"rule":"FREQ=DAILY","start":"2100-01-01T09:00","time_zone":"UTC"}
        """#

    @Test(arguments: [
        (#"{"name":"","message":{"body":"x"},"target":{"everyone":true}}"#, "name"),
        (#"{"message":{"body":"x"},"target":{"everyone":true}}"#, "name is missing"),
        (#"{"name":"a","message":{"body":"x"}}"#, "target is missing"),
        (#"{"name":"a","target":{"everyone":true}}"#, "message is missing"),
        (#"{"name":"a","message":{"body":"x"},"target":{"where":"segment:none"}}"#, "none"),
        (#"{"name":"a","template":"none","target":{"everyone":true}}"#, "template names the template 'none'"),
        (#"{"name":"a","message":{"body":"x"},"target":{"channels":["c"]}}"#, "target.channels"),
        (#"{"name":"a","message":{"body":"x","colour":1},"target":{"everyone":true}}"#, "message.colour"),
        (
            #"{"name":"a","message":{"body":"x"},"variants":[{"name":"A","template":"none"}],"target":{"everyone":true}}"#,
            "template"
        ),
        (#"{\#(recurring),"send_at":"2100-01-01T09:00:00Z"}"#, "recurrence and send_at exclude"),
        (#"{\#(recurring),"send_at":{"local":"2100-01-01T09:00"}}"#, "recurrence and a local send_at exclude"),
        (#"{\#(recurring),"expires_at":"2100-01-01T09:00:00Z"}"#, "expires_at is given, but the push recurs"),
    ])
    func `a wrong campaign is refused with its field`(body: String, words: String) async throws {
        let fixture = try await Fixture()
        let reply = try await fixture.send(.post, "campaigns", body)
        #expect(reply.status == 400 && reply.message?.contains(words) == true, "\(reply)")
    }

    @Test func `a change is merged, and refused once started`() async throws {
        let fixture = try await Fixture(devices: 1)
        _ = try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#)
        #expect(try await fixture.send(.post, "campaigns", #"{"name":"spring",\#(Self.plan)}"#).status == 409)
        let changed = try await fixture.send(.patch, "campaigns/spring", #"{"winner":null,"variants":null}"#)
        #expect(changed["version"] == .integer(2) && changed["plan"]?["winner"] == nil, "\(changed)")
        #expect(changed["plan"]?["labels"] == .strings(["sale"]))
        #expect(try await fixture.send(.patch, "campaigns/spring", "{}").status == 400)
        #expect(try await fixture.send(.patch, "campaigns/spring", #"{"name":"x"}"#).status == 400)
        _ = try await fixture.send(.post, "campaigns/spring/start")
        #expect(try await fixture.send(.patch, "campaigns/spring", #"{"labels":[]}"#).status == 409)
    }
}

/// Campaigns on each engine.
@Suite struct CampaignConformance {
    @Test(arguments: Engine.allCases)
    func `one of many starts is the one`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            let campaign = try await store.create(
                "spring", .sample(), of: app, by: CampaignPerson(name: "emma", person: 7))
            let request = WrittenRequest(PushRequest(content: Push.Content(body: "hello"), target: .everyone))
            let started = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let part = NewCampaignPart(place: 0, request: request, dueAt: .zero)
                        return (try? await store.start(campaign, [part])) != nil
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(started == 1)
            #expect(try await store.parts(of: campaign.key).count == 1)
            #expect(try await store.schedules(of: app, after: nil, limit: 10).count == 1)
            let read = try #require(try await store.campaign(named: "spring", of: app))
            #expect(read.state == .running && read.plan == campaign.plan && read.maker == campaign.maker)
            await #expect(throws: EditConflict.self) {
                try await store.change(campaign, to: .sample(), by: campaign.maker)
            }
            #expect(try await store.delete(read) == false)
            #expect(try await store.stop(read))
            #expect(try await store.stop(read) == false)
            #expect(try await store.schedules(of: app, after: nil, limit: 10).isEmpty)
            #expect(try await store.delete(read))
            #expect(try await store.campaigns(of: app).isEmpty)
        }
    }

    /// Three variants: one is being sent, one was found, one is still a schedule. The clock stands still until the stop has returned.
    @Test(arguments: Engine.allCases)
    func `a stop leaves only what a worker has`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, clock) = (fixture.store, fixture.clock)
            let devices = try await fixture.registerMany(40)
            let campaigns = Services(store, clock: clock).campaigns
            let author = AuditAuthor.local(systemUser: "test")
            let draft = try await campaigns.create("spring", .threeVariants(), of: fixture.application, by: author)
            let campaign = try await campaigns.start(draft, of: fixture.application, by: author)
            let scheduler = Scheduler(
                store: store, clock: clock, poll: .seconds(1), pushObserver: NoPushObserver(),
                loop: RetryingLoop(clock: clock, pause: .seconds(1), logger: .strict))
            let builder = PushBuilder(store: store, clock: clock)
            let due = try await store.dueSchedules(atMost: 9)
            #expect(due.count == 3)
            for schedule in due.prefix(2) { try await scheduler.release(schedule, by: builder) }
            try await fixture.fanOut(batchesOf: 3)

            let held = try await fixture.claimOne()
            let ledger = Ledger()
            let worker = DeliveryWorker.byHand(
                store, FakeProvider(ledger: ledger, clock: clock, pace: .init(delay: .seconds(2))),
                clock: clock)
            async let sending: Void = worker.deliver([held])
            while clock.sleepers == 0 { await Task.yield() }
            let stopped = try await campaigns.stop(campaign, of: fixture.application, by: author)
            #expect(stopped.state == .stopped && clock.sleepers == 1, "it waits for nobody")
            #expect(try await fixture.claim(99).isEmpty)
            #expect(try await store.dueSchedules(atMost: 9).isEmpty)

            clock.advance(by: .seconds(2))
            await sending
            clock.advance(by: .seconds(86_400))
            for schedule in due { try await scheduler.release(schedule, by: builder) }
            try await fixture.fanOut()
            #expect(try await fixture.claim(99).isEmpty)
            let pushes = try await store.allPushes()
            #expect(pushes.count == 2)
            let told = pushes.flatMap { push in devices.filter { ledger[push.key, $0].told > 0 } }
            #expect(Set(told) == Set(held.devices) && told.count == held.devices.count)
            for push in pushes {
                let receipt = try #require(try await store.receipt(push.receiptID))
                let accepted = push.key == held.pushKey ? held.devices.count : 0
                #expect(receipt.state == .settled && receipt.count(.accepted) == accepted && receipt.devices > 3)
                #expect(receipt.counts[.skipped(.cancelled)] == receipt.devices - accepted)
            }
        }
    }
}

extension CampaignPlan {
    /// Three messages to a third of everyone each.
    fileprivate static func threeVariants() throws -> CampaignPlan {
        try CampaignPlan([
            "message": .object(["body": .string("Hi")]), "target": .object(["everyone": .bool(true)]),
            "variants": .array(["A", "B", "C"].map { .object(["name": .string($0)]) }),
        ])
    }
}
