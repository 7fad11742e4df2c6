import BelfryTesting
import FoundationEssentials
import Logging
import Synchronization
import Testing

@testable import BelfryService

/// Webhooks and their events in both databases, with receivers that are a table of statuses.
@Suite struct WebhookConformance {
    private static let author = AuditAuthor.local(systemUser: "test")

    @Test(arguments: Engine.allCases)
    func `a webhook is made, changed, rotated and deleted`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (service, app) = (fixture.webhooks(Receiver()), fixture.application)
            let made = try await service.create(
                " crm ", "https://crm.example/in", [.userDeleted], of: app, by: Self.author)
            #expect(made.webhook.name == "crm" && made.webhook.kinds == [.userDeleted] && made.webhook.paused == nil)
            #expect(try await fixture.store.webhooks(of: app.key) == [made.webhook])
            let changed = try await service.change(
                made.webhook, WebhookEdit(kinds: [.userCreated, .userDeleted]), of: app, by: Self.author)
            #expect(changed.kinds == [.userCreated, .userDeleted] && changed.url == made.webhook.url)
            let rotated = try await service.rotate(changed, of: app, by: Self.author)
            #expect(rotated.secret != made.secret)
            let seal = try WebhookSeal(of: rotated.webhook, by: PlaintextVault())
            let now = fixture.clock.now
            #expect(seal.signing(rotated.webhook, at: now) == [rotated.secret.text, made.secret.text])
            #expect(seal.signing(rotated.webhook, at: now + Webhook.overlap) == [rotated.secret.text])
            let sealed = try await fixture.store.sealedSecrets(.webhook, after: nil, limit: 9)
            #expect(sealed.map(\.purpose) == [VaultPurpose.webhook(changed.uuid)])
            #expect(try await fixture.store.reseal(try #require(sealed.first), as: Sealed(bytes: [1])))
            let unreadable = try #require(try await fixture.store.webhook(changed.uuid, of: app.key))
            let renewed = try await service.rotate(unreadable, of: app, by: Self.author)
            #expect(try WebhookSeal(of: renewed.webhook, by: PlaintextVault()).former == nil)
            #expect(renewed.webhook.formerUntil == now)
            #expect(try await service.pause(rotated.webhook, of: app, by: Self.author).paused == .asked)
            #expect(try await service.resume(rotated.webhook, of: app, by: Self.author).paused == nil)
            try await service.delete(rotated.webhook, of: app, by: Self.author)
            #expect(try await fixture.store.webhooks(of: app.key).isEmpty)
            let lines = try await fixture.store.auditLog(AuditQuery(bounds: .everything, limit: 20)).map(\.change)
            #expect(
                Set(lines.map(\.action)).isSuperset(of: [
                    "webhook.create", "webhook.update", "webhook.rotate", "webhook.pause", "webhook.resume",
                    "webhook.delete",
                ]))
            #expect(!lines.contains { "\($0)".contains("whsec_") })
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application has so many webhooks and no more`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let service = fixture.webhooks(Receiver())
            for number in 0..<Webhook.perApplicationMax {
                _ = try await service.create(
                    "\(number)", "https://a.example", [.userDeleted], of: fixture.application, by: Self.author)
            }
            await #expect(throws: StoreError.self) {
                try await service.create(
                    "more", "https://a.example", [.userDeleted], of: fixture.application, by: Self.author)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `events are kept only where something listens`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application)
            try await fixture.register("before")
            let service = fixture.webhooks(Receiver())
            try await service.setFeed([.deviceRegistered], of: app, by: Self.author)
            let device = try await fixture.register("after", user: .set("kim"))
            try await fixture.register("after", as: device.uuid, user: .set("kim"))
            _ = try await store.setUser("kim", of: app.key) { $0 }
            let page = try await fixture.feed()
            #expect(page.events.map(\.subject) == [device.uuid.lowercased] && page.next == 1 && page.dropped == 0)
            #expect(page.events[0].data.contains(#""user_id":"kim""#))
            try await service.setFeed([], of: app, by: Self.author)
            try await fixture.register("silent")
            #expect(try await fixture.feed(after: 1).events.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `each kind of event comes from its source`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application)
            try await fixture.webhooks(Receiver()).setFeed(
                Set(WebhookEvent.Kind.allCases), of: app, by: Self.author)
            let first = try await fixture.register("a", user: .set("kim"))
            let second = try await fixture.register("b")
            let batch = try await fixture.claimBatch()
            let receipt = try #require(try await store.push(batch.pushKey)).receiptID
            _ = try await store.settle(
                Settlement(
                    batch, all: .accepted, deadTokens: [.init(device: second.key, since: .distantFuture)]))
            _ = try await store.record(
                [AnalyticsEvent(kind: .opened, time: fixture.clock.now, device: first.uuid, receiptID: receipt)],
                on: fixture.platform, lateMax: .seconds(3_600))
            try await store.unregister(first.uuid, on: fixture.platform.key)
            _ = try await store.setUser("kim", of: app.key) { _ in
                try UserProfile(language: nil, timeZone: nil, attributes: ["vip": .flag(true)])
            }
            _ = try await store.setUser("kim", of: app.key) { $0 }
            _ = try await store.setUser("kim", of: app.key) { _ in UserProfile() }
            #expect(try await store.deleteUser("kim", of: app.key))
            try await store.park(
                fixture.platform.key, Parking(cause: .operator, detail: "because", since: fixture.clock.now))
            try await store.resume(fixture.platform.key)
            try await store.tellExpiring(fixture.platform, at: fixture.clock.now)
            try await store.tellExpiring(fixture.platform, at: fixture.clock.now)
            let kinds = try await fixture.feed().events.map(\.kind)
            #expect(
                kinds == [
                    .deviceRegistered, .deviceRegistered, .deviceGone, .pushSettled, .pushOpened, .deviceGone,
                    .userCreated, .userChanged, .userDeleted, .platformParked, .platformResumed, .credentialsExpiring,
                ])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push settles once, with its counts`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            try await fixture.webhooks(Receiver()).setFeed(
                [.pushSettled], of: fixture.application, by: Self.author)
            let empty = try await fixture.push()
            try await fixture.fanOut()
            let devices = try await fixture.registerMany(5)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 2)
            let whole = try await fixture.push(naming: [fixture.platform.key: devices])
            while let batch = try await fixture.claim(1).first {
                _ = try await fixture.store.settle(Settlement(batch, all: .accepted))
            }
            let events = try await fixture.feed().events
            #expect(
                events.map(\.subject).sorted()
                    == [empty, push, whole].map { $0.receiptID.lowercased }.sorted())
            #expect(events.count { $0.data.contains(#""counts":{"accepted":5}"#) } == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `campaigns and imports tell of their ends`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application)
            try await fixture.webhooks(Receiver()).setFeed(
                [.campaignStarted, .campaignFinished, .importFinished], of: app, by: Self.author)
            let request = PushRequest(content: Push.Content(body: "hello"), target: .everyone)
            for name in ["spring", "autumn"] {
                let campaign = try await store.create(
                    name, .sample(), of: app.key, by: CampaignPerson(name: "emma", person: nil))
                try await store.start(
                    campaign, [NewCampaignPart(place: 0, request: WrittenRequest(request), dueAt: fixture.clock.now)])
                if name == "spring" {
                    let part = try #require(try await store.parts(of: campaign.key).first)
                    let schedule = try #require(try await store.schedule(part.schedule, of: app.key))
                    #expect(try await store.end(schedule, .missed))
                } else {
                    #expect(try await store.stop(campaign))
                }
            }
            let job = try await store.createImport(
                UUID(), of: app.key,
                from: ImportJob.Source(format: .csv, mapping: nil, platform: nil, isDryRun: false), position: 0, by: nil
            )
            _ = try await store.end(job, as: .waiting, reason: "")
            let again = try #require(try await store.resumeImport(job.key, by: nil))
            _ = try await store.end(again, as: .completed, reason: "")
            let events = try await fixture.feed().events
            #expect(
                events.map(\.kind) == [
                    .campaignStarted, .campaignFinished, .campaignStarted, .campaignFinished, .importFinished,
                ])
            #expect(events.map(\.subject).prefix(4) == ["spring", "spring", "autumn", "autumn"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a campaign goes on while its last time goes round`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app, clock) = (fixture.store, fixture.application, fixture.clock)
            try await fixture.webhooks(Receiver()).setFeed([.campaignFinished], of: app, by: Self.author)
            let campaign = try await store.create(
                "spring", .sample(), of: app.key, by: CampaignPerson(name: "emma", person: nil))
            let start = LocalTime(day: ZoneInfo.utc.local(at: clock.now).day + 2, second: 32_400)
            let recurrence = try Recurrence(
                rule: RecurrenceRule("FREQ=DAILY;COUNT=1", field: "rule"), start: start, zone: .utc, past: .skip)
            let dueAt = try recurrence.firstTime(after: clock.now)
            let request = WrittenRequest(PushRequest(content: Push.Content(body: "hello"), target: .everyone))
            try await store.start(
                campaign, [NewCampaignPart(place: 0, request: request, dueAt: dueAt, recurrence: recurrence)])
            clock.advance(by: dueAt - clock.now)
            let schedule = try #require(try await store.dueSchedules(atMost: 1).first)
            let occurrence = try #require(schedule.occurrence(at: clock.now))
            #expect(try await store.start(occurrence, of: schedule))
            while let child = try await store.schedules(of: app.key, after: nil, limit: 1).first {
                #expect(try await fixture.feed().events.isEmpty && child.key != schedule.key)
                #expect(try await store.end(child, .missed))
            }
            #expect(try await fixture.feed().events.map(\.kind) == [.campaignFinished])
        }
    }

    @Test(arguments: Engine.allCases)
    func `receivers get events in order, and log them`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let receiver = Receiver()
            let made = try await fixture.webhooks(receiver).create(
                "crm", "https://crm.example", [.userCreated, .userDeleted], of: fixture.application, by: Self.author)
            for round in 0..<3 {
                for user in ["kim", "lee"] {
                    _ = try await fixture.store.setUser(user, of: fixture.application.key) { _ in
                        try UserProfile(language: nil, timeZone: nil, attributes: ["round": .number(Double(round + 1))])
                    }
                    #expect(try await fixture.store.deleteUser(user, of: fixture.application.key))
                }
            }
            try await fixture.deliver(receiver)
            let each = ["user.created", "user.deleted"]
            for user in ["kim", "lee"] { #expect(receiver.types(about: user) == each + each + each) }
            #expect(receiver.secrets == [[made.secret.text]])
            let webhook = try await fixture.only()
            #expect(webhook.pending == 0 && webhook.retries == 0 && webhook.dueAt == nil)
            let attempts = try await fixture.store.attempts(of: webhook.key, limit: 20)
            #expect(attempts.count == 12 && attempts.allSatisfy { $0.answer.status == 200 && $0.number == 1 })
            let older = try await fixture.store.attempts(of: webhook.key, before: attempts[9].key, limit: 20)
            #expect(older == Array(attempts[10...]))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a refused event is retried and keeps its place`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let receiver = Receiver()
            receiver.refuse("kim", with: 500)
            _ = try await fixture.webhooks(receiver).create(
                "crm", "https://crm.example", [.userCreated, .userDeleted], of: fixture.application, by: Self.author)
            for user in ["kim", "lee"] { try await fixture.comeAndGo(user) }
            try await fixture.deliver(receiver)
            #expect(receiver.types(about: "lee") == ["user.created", "user.deleted"])
            #expect(receiver.types(about: "kim") == ["user.created"])
            #expect(try await fixture.only().retries == 2)
            try await fixture.comeAndGo("kim")
            try await fixture.deliver(receiver)
            #expect(receiver.types(about: "kim") == ["user.created"], "it is not due")
            try await fixture.comeAndGo("max")
            try await fixture.deliver(receiver)
            #expect(receiver.types(about: "max").count == 2, "others do not wait for it")
            receiver.refuse("kim", with: nil)
            fixture.clock.advance(by: .seconds(7))
            try await fixture.deliver(receiver)
            #expect(
                receiver.types(about: "kim") == [
                    "user.created", "user.created", "user.deleted", "user.created", "user.deleted",
                ])
            #expect(receiver.ids(about: "kim").prefix(2).count == 2)
            #expect(receiver.ids(about: "kim")[0] == receiver.ids(about: "kim")[1], "a repetition has the same id")
            #expect(try await fixture.only().retries == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a dead receiver is asked less, then paused and told`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let receiver = Receiver()
            receiver.refuseAll(with: nil)
            _ = try await fixture.webhooks(receiver).create(
                "crm", "https://crm.example", [.userCreated], of: fixture.application, by: Self.author)
            let start = fixture.clock.now
            while fixture.clock.now < start + .seconds(4 * 86_400) {
                _ = try await fixture.store.setUser("\(fixture.clock.now.milliseconds)", of: fixture.application.key) {
                    _ in try UserProfile(language: nil, timeZone: nil, attributes: ["vip": .flag(true)])
                }
                try await fixture.deliver(receiver)
                fixture.clock.advance(by: .seconds(1_800))
            }
            let webhook = try await fixture.only()
            #expect(webhook.paused == .failing && webhook.retries <= Webhook.retriesMax)
            #expect(receiver.count < 150, "\(receiver.count) requests in three days")
            let line = try await fixture.store.auditLog(AuditQuery(bounds: .everything, limit: 1)).first?.change
            #expect(line?.action == "webhook.pause" && line?.keyID == "server" && line?.details["reason"] == "failing")
            receiver.refuseAll(with: 200)
            _ = try await fixture.webhooks(receiver).resume(webhook, of: fixture.application, by: Self.author)
            try await fixture.deliver(receiver)
            let resumed = try await fixture.only()
            #expect(resumed.paused == nil && resumed.pending == 0 && resumed.retries == 0)
        }
    }

    @Test func `a reader that waits is answered when the node stops`() async throws {
        try await TestStore.play(on: .sqlite) { fixture in
            let service = fixture.webhooks(Receiver())
            async let page = service.feed(of: fixture.application.key, after: 0, limit: 9, wait: .seconds(30))
            while fixture.clock.sleepers == 0 { await Task.yield() }
            service.stop.close()
            fixture.clock.advance(by: .seconds(1))
            let found = try await page
            #expect(found.events.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `410 ends it at once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let receiver = Receiver()
            receiver.refuseAll(with: 410)
            _ = try await fixture.webhooks(receiver).create(
                "crm", "https://crm.example", [.userCreated, .userDeleted], of: fixture.application, by: Self.author)
            try await fixture.comeAndGo("kim")
            try await fixture.deliver(receiver)
            #expect(try await fixture.only().paused == .gone && receiver.count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a lost lease changes nothing, and repeats`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let receiver = Receiver()
            _ = try await fixture.webhooks(receiver).create(
                "crm", "https://crm.example", [.userCreated, .userDeleted], of: fixture.application, by: Self.author)
            try await fixture.comeAndGo("kim")
            let store = fixture.store
            #expect(try await store.numberWebhookEvents(keptMax: 1_000) == false)
            let lost = try #require(try await fixture.claim().first)
            #expect(try await fixture.claim().isEmpty)
            let turn = try #require(try await store.webhookTurn(lost))
            fixture.clock.advance(by: .seconds(31))
            let held = try #require(try await fixture.claim().first)
            #expect(held.lease > lost.lease)
            #expect(try await store.webhookTurn(lost) == nil)
            let attempts = turn.lanes[0].map {
                WebhookTurn.Attempt(
                    item: $0, at: fixture.clock.now, answer: ReceiverAnswer(status: 200, milliseconds: 1))
            }
            let result = turn.result(attempts, at: fixture.clock.now) { 0 }
            try await store.settle(result, of: turn.webhook, pausing: fixture.line)
            #expect(try await fixture.only().pending == 2, "the settlement came too late")
            try await fixture.worker(receiver).turn(held)
            #expect(try await fixture.only().pending == 0 && receiver.count == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `events are sent again by time and by id`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let receiver = Receiver()
            let service = fixture.webhooks(receiver)
            _ = try await service.create(
                "crm", "https://crm.example", [.userCreated, .userDeleted], of: fixture.application, by: Self.author)
            var times: [Instant] = []
            for number in 0..<5 {
                times.append(fixture.clock.now)
                try await fixture.comeAndGo("\(number)")
                fixture.clock.advance(by: .seconds(60))
            }
            try await fixture.deliver(receiver)
            #expect(receiver.count == 10)
            let webhook = try await fixture.only()
            #expect(
                try await service.replay(webhook, since: times[3], of: fixture.application, by: Self.author) == 4)
            try await fixture.deliver(receiver)
            #expect(
                receiver.count == 14 && receiver.types(about: "3").count == 4 && receiver.types(about: "2").count == 2)
            let id = receiver.ids(about: "1")[0]
            #expect(
                try await service.replay(webhook, [id, "evt_999999"], of: fixture.application, by: Self.author) == 1)
            try await fixture.deliver(receiver)
            #expect(receiver.ids(about: "1").count { $0 == id } == 2)
            let narrowed = try await service.change(
                webhook, WebhookEdit(kinds: [.userDeleted]), of: fixture.application, by: Self.author)
            let both = Array(receiver.ids(about: "4").prefix(2))
            #expect(try await service.replay(narrowed, both, of: fixture.application, by: Self.author) == 1)
            #expect(
                try await service.replay(webhook, since: .distantPast, of: fixture.application, by: Self.author) == 10)
            await #expect(throws: InvalidInput.self) {
                try await service.replay(webhook, ["17"], of: fixture.application, by: Self.author)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `old and too many events go, and that is told`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let receiver = Receiver()
            receiver.refuseAll(with: 500)
            _ = try await fixture.webhooks(receiver).create(
                "crm", "https://crm.example", [.userCreated, .userDeleted], of: fixture.application, by: Self.author)
            for number in 0..<20 {
                try await fixture.comeAndGo("\(number)")
                _ = try await fixture.store.numberWebhookEvents(keptMax: 10)
            }
            let page = try await fixture.feed()
            #expect(page.dropped == 30 && page.events.map(\.position) == Array(31...40))
            receiver.refuseAll(with: 200)
            try await fixture.deliver(receiver)
            #expect(try await fixture.only().dropped == 30 && receiver.count == 10)
            fixture.clock.advance(by: WebhookEvent.lifetime + .seconds(1))
            while try await fixture.store.deleteExpired(.webhooks, before: fixture.clock.now).isMore {}
            let empty = try await fixture.feed(after: 35)
            #expect(empty.dropped == 5 && empty.events.isEmpty && empty.next == 40)
            #expect(try await fixture.store.attempts(of: fixture.only().key, limit: 9).isEmpty)
            try await fixture.comeAndGo("later")
            #expect(try await fixture.feed(after: 40).events.map(\.position) == [41, 42])
        }
    }

    @Test(arguments: Engine.allCases)
    func `the log keeps the newest attempts`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.webhooks(Receiver()).create(
                "crm", "https://crm.example", [.userCreated], of: fixture.application, by: Self.author)
            let webhook = try await fixture.only()
            let answer = ReceiverAnswer(status: nil, fault: "no connection", milliseconds: 3, body: "a\u{FFFD}b")
            for _ in 0..<12 {
                let attempts = (0..<100).map { number in
                    WebhookAttempt.New(
                        event: Key(Int64(number)), type: "user.created", number: 1, at: fixture.clock.now,
                        answer: answer)
                }
                #expect(try await fixture.store.note(attempts, of: webhook))
            }
            let kept = try await fixture.store.attempts(of: webhook.key, limit: 2_000)
            #expect(kept.count == WebhookAttempt.keptMax && kept[0].answer == answer)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a test is sent and logged though it is paused`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let receiver = Receiver()
            let service = fixture.webhooks(receiver)
            let made = try await service.create(
                "crm", "https://crm.example", [.userCreated], of: fixture.application, by: Self.author)
            _ = try await service.pause(made.webhook, of: fixture.application, by: Self.author)
            receiver.refuseAll(with: 418)
            #expect(try await service.test(made.webhook, of: fixture.application, by: Self.author).status == 418)
            let attempt = try #require(try await fixture.store.attempts(of: made.webhook.key, limit: 9).first)
            #expect(attempt.type == "webhook.test" && attempt.event == nil && attempt.answer.status == 418)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a webhook that is deleted during its test is unknown`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let made = try await fixture.webhooks(Receiver()).create(
                "crm", "https://crm.example", [.userCreated], of: fixture.application, by: Self.author)
            let receiver = Answering {
                _ = try? await fixture.store.delete(made.webhook)
                return 200
            }
            await #expect(throws: StoreError.unknown("such webhook")) {
                try await fixture.webhooks(receiver).test(made.webhook, of: fixture.application, by: Self.author)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `active devices of a deleted platform are gone`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            try await fixture.webhooks(Receiver()).setFeed([.deviceGone], of: fixture.application, by: Self.author)
            let active = try await fixture.register("a")
            try await fixture.store.unregister(try await fixture.register("b").uuid, on: fixture.platform.key)
            try await fixture.store.delete(fixture.platform.key, force: true)
            let events = try await fixture.feed().events
            #expect(events.count == 2 && events.last?.subject == active.uuid.lowercased, "\(events)")
            #expect(events.last?.data.contains(#""reason":"deactivated""#) == true)
        }
    }

    // MARK: Receivers that hang

    @Test(arguments: Engine.allCases)
    func `dead receivers leave room for others of their tenant`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let service = fixture.webhooks(Receiver())
            for number in 0..<Webhook.perApplicationMax {
                _ = try await service.create(
                    "\(number)", "https://a.example", [.userCreated], of: fixture.application, by: Self.author)
            }
            try await fixture.comeAndGo("kim")
            _ = try await fixture.store.numberWebhookEvents(keptMax: 1_000)
            let claims = try await fixture.claim()
            #expect(claims.count == Webhook.perApplicationMax)
            let dead = Receiver()
            dead.refuseAll(with: nil)
            for (index, claim) in claims.enumerated() {
                try await fixture.worker(index == 0 ? Receiver() : dead).turn(claim)
            }
            try await fixture.comeAndGo("lee")
            _ = try await fixture.store.numberWebhookEvents(keptMax: 1_000)
            fixture.clock.advance(by: .seconds(10))
            let later = try await fixture.claim()
            #expect(later.filter { !$0.isFailing }.map(\.webhook) == [claims[0].webhook])
            #expect(later.count { $0.isFailing } == 8)
        }
    }

    @Test func `a receiver that hangs gets two events of a turn`() async throws {
        try await TestStore.play(on: .sqlite) { fixture in
            let count = Mutex(0)
            let receiver = Answering {
                count.withLock { $0 += 1 }
                for _ in 0..<100 { await Task.yield() }
                fixture.clock.advance(by: ReceiverAnswer.deadline)
                return nil
            }
            try await fixture.turn(of: receiver)
            let sent = count.withLock { $0 }
            #expect((1...2).contains(sent))
            #expect(try await fixture.only().failingSince != nil)
        }
    }

    @Test func `a receiver that takes one gets many at once`() async throws {
        try await TestStore.play(on: .sqlite) { fixture in
            let counts = Mutex((underWay: 0, most: 0))
            let receiver = Answering {
                counts.withLock { ($0.underWay, $0.most) = ($0.underWay + 1, max($0.most, $0.underWay + 1)) }
                for _ in 0..<10_000 where counts.withLock({ $0.most < 3 }) { await Task.yield() }
                counts.withLock { $0.underWay -= 1 }
                return 200
            }
            try await fixture.turn(of: receiver)
            let most = counts.withLock { $0.most }
            #expect((3...WebhookBudget.ofReceiverMax).contains(most))
            #expect(try await fixture.only().retries == 0)
        }
    }
}

/// A receiver that answers with a status, or not at all.
private struct Answering: WebhookPoster {
    let status: @Sendable () async -> Int?

    func post(_ message: WebhookMessage) async -> ReceiverAnswer {
        let status = await status()
        return ReceiverAnswer(status: status, fault: status == nil ? "no answer" : nil, milliseconds: 1)
    }
}

/// A receiver that notes what it gets.
private final class Receiver: WebhookPoster {
    private struct State {
        var messages: [WebhookMessage] = []
        var statuses: [String: Int] = [:]
        var status: Int? = 200
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.messages.count } }
    var secrets: Set<[String]> { Set(state.withLock { $0.messages.map(\.secrets) }) }

    func refuse(_ user: String, with status: Int?) { state.withLock { $0.statuses[user] = status } }
    func refuseAll(with status: Int?) { state.withLock { $0.status = status } }

    func post(_ message: WebhookMessage) async -> ReceiverAnswer {
        let user = Self.user(message)
        return state.withLock { state in
            state.messages.append(message)
            let status = state.statuses[user] ?? state.status
            return ReceiverAnswer(status: status, fault: status == nil ? "no connection" : nil, milliseconds: 1)
        }
    }

    private static func user(_ message: WebhookMessage) -> String {
        (try? JSONValue(json: message.body.utf8))?["data"]?["user_id"]?.stringValue ?? ""
    }

    private func about(_ user: String) -> [WebhookMessage] {
        state.withLock(\.messages).filter { Self.user($0) == user }
    }

    func types(about user: String) -> [String] {
        about(user).map { (try? JSONValue(json: $0.body.utf8))?["type"]?.stringValue ?? "" }
    }

    func ids(about user: String) -> [String] { about(user).map(\.id) }
}

extension TestStore {
    fileprivate func webhooks(_ receiver: any WebhookPoster) -> WebhookService {
        WebhookService(store: store, vault: PlaintextVault(), poster: receiver)
    }

    fileprivate func worker(_ receiver: any WebhookPoster) -> WebhookWorker {
        WebhookWorker(
            store: store, vault: PlaintextVault(), poster: receiver, clock: clock, random: { 0.5 }, logger: .strict)
    }

    fileprivate func claim() async throws -> [WebhookClaim] {
        try await store.claimWebhooks(within: WebhookBudget(), until: clock.now + .seconds(30))
    }

    /// Sends all that is due.
    fileprivate func deliver(_ receiver: Receiver) async throws {
        while try await store.numberWebhookEvents(keptMax: 1_000_000) {}
        while let claim = try await claim().first { try await worker(receiver).turn(claim) }
    }

    /// A turn with the events of twenty users.
    fileprivate func turn(of receiver: any WebhookPoster) async throws {
        _ = try await webhooks(receiver).create(
            "crm", "https://crm.example", [.userCreated], of: application, by: .local(systemUser: "test"))
        for number in 0..<20 { try await comeAndGo("\(number)") }
        _ = try await store.numberWebhookEvents(keptMax: 1_000)
        try await worker(receiver).turn(try #require(try await claim().first))
    }

    fileprivate func feed(after position: Int64 = 0) async throws -> WebhookFeedPage {
        while try await store.numberWebhookEvents(keptMax: 1_000_000) {}
        return try await webhooks(Receiver()).feed(of: application.key, after: position, limit: 1_000)
    }

    fileprivate func only() async throws -> Webhook {
        try #require(try await store.webhooks(of: application.key).first)
    }

    /// Makes a user and deletes them: two events of one subject.
    fileprivate func comeAndGo(_ user: String) async throws {
        _ = try await store.setUser(user, of: application.key) { _ in
            try UserProfile(language: nil, timeZone: nil, attributes: ["vip": .flag(true)])
        }
        #expect(try await store.deleteUser(user, of: application.key))
    }

    fileprivate var line: AuditedChange {
        AuditedChange(by: .local(systemUser: "test"), "webhook.pause", application)
    }
}
