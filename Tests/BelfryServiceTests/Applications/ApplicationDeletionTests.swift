import BelfryTesting
import Foundation
import GRDB
import GRDBSQLite
import PostgreSQL
import Synchronization
import Testing

@testable import BelfryService

@Suite struct ApplicationDeletionTests {
    private static let tables =
        ["application"] + StoreTable.sqlite.filter { $0.owner != nil && !empty.contains($0.name) }.map(\.name)
    /// Tables in which the applications of these tests have nothing.
    private static let empty: Set = ["application_use", "compose_draft", "search_index_count"]

    /// An application with something in each table, some of its devices merged and some not.
    private func furnish(_ store: SQLiteStore) async throws -> TestStore {
        let fixture = try await TestStore(store: store, clock: ManualClock())
        for number in 0..<40 {
            try await fixture.register("\(number)", topics: .replace(["a", "b"]), user: .set("Kim"))
            if number == 20 { try await store.writer.write { try SQLiteSubscriptionMerge(session: $0).step() } }
        }
        _ = try await fixture.push()
        try await fixture.fanOut(batchesOf: 10)
        _ = try await store.settle(Settlement(try await fixture.claimOne(), all: .accepted))
        _ = try await fixture.push(lane: .bulk)
        _ = try await fixture.schedule(in: .zero)
        try await recur(fixture)
        try await store.mirror(MirrorCall(.delete), of: Key(1), on: fixture.platform.key)
        try await fixture.drawMap()
        let segment = try await store.create("loyal", AudienceExpression.term(.everyone), of: fixture.application.key)
        _ = try await store.change("loyal", of: fixture.application.key, to: AudienceExpression.term(.imported))
        try await store.note(SegmentPoint(day: .zero, size: AudienceSize(devices: 1)), of: segment.key)
        var pacing = Pacing()
        pacing.rules = DeliveryRules(caps: [FrequencyCap(limit: 1, period: .day, kind: nil)])
        _ = try await store.pace([.sample(1, pacing, devices: [Key(1)])])
        _ = try await store.create("welcome", Push.Content(body: "a"), of: fixture.application.key)
        _ = try await store.change("welcome", of: fixture.application.key, to: Push.Content(body: "b"))
        let campaign = try await store.create(
            "spring", .sample(), of: fixture.application.key, by: CampaignPerson(name: "emma", person: nil))
        let request = PushRequest(content: Push.Content(body: "hello"), target: .everyone)
        try await store.start(
            campaign, [NewCampaignPart(place: 0, request: WrittenRequest(request), dueAt: fixture.clock.now)])
        return fixture
    }

    /// A recurring schedule, one of whose times has passed.
    private func recur(_ fixture: TestStore) async throws {
        let recurrence = try Recurrence(
            rule: RecurrenceRule("FREQ=DAILY", field: "rule"), start: LocalTime("2023-01-01T09:00", field: "start"),
            zone: ZoneInfo("UTC", field: "zone"))
        let schedule = try await fixture.store.schedule(
            PushRequest(content: Push.Content(body: "hello"), target: .everyone), at: fixture.clock.now,
            recurring: recurrence, for: fixture.application.key)
        #expect(try await fixture.store.end(schedule, .missed))
    }

    private func rows(in store: SQLiteStore) async throws -> [String: Int] {
        try await store.pool.read { db in
            var counts: [String: Int] = [:]
            for table in Self.tables {
                let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
                if count > 0 { counts[table] = count }
            }
            return counts
        }
    }

    @Test func `a deleted application leaves nothing and takes nothing else`() async throws {
        try await withSQLiteStore { store, _ in
            _ = try await furnish(store)
            try await store.writer.write { try SQLiteSubscriptionMerge(session: $0).step() }
            let before = try await rows(in: store)
            #expect(before.count == Self.tables.count)
            // A copy goes on behind the last row of each table, whatever its key is made of.
            for table in try await store.copiedTables() {
                let last = try await store.lastKey(of: table)
                guard let last else { continue }
                #expect(try await store.rows(of: table, after: last, limit: 9).isEmpty, "\(table.name)")
            }
            // Its pushes are not fanned out: a claim would take the batches of both.
            let beingDeleted = try await TestStore(store: store, clock: ManualClock())
            for number in 0..<40 { try await beingDeleted.register("\(number)", topics: .replace(["a"])) }
            _ = try await beingDeleted.push()
            let sent = try await beingDeleted.schedule(in: .zero)
            _ = try await store.release(sent, as: .sample(to: beingDeleted.platform))
            _ = try await beingDeleted.schedule(in: .seconds(900))
            try await recur(beingDeleted)
            try await beingDeleted.drawMap()
            try await store.delete(beingDeleted.application.key, force: true)
            #expect(try await rows(in: store) == before)
        }
    }

    @Test func `a deletion's step costs no more with more pushes`() async throws {
        try await withSQLiteStore { few, _ in
            try await withSQLiteStore { many, _ in
                let cost = try await costOfDearestStep(of: few, pushes: 1_000)
                #expect(cost > 0)
                #expect(try await costOfDearestStep(of: many, pushes: 3_000) <= cost * 5 / 4)
            }
        }
    }

    private func costOfDearestStep(of store: SQLiteStore, pushes: Int) async throws -> Int {
        let fixture = try await TestStore(store: store, clock: ManualClock())
        return try await store.writer.write { session in
            try session.db.execute(
                sql: """
                    WITH RECURSIVE number AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM number WHERE n < ?)
                    INSERT INTO push (receipt_id, application_id, lane, guarantee, accepted_at_ms, content, audience)
                    SELECT randomblob(16), ?, 0, 0, 0, '{}', '{}' FROM number
                    """, arguments: [pushes, fixture.application.key.rawValue])
            _ = try session.prepared(ApplicationDeletionStatements.markDeleted).run(fixture.application.key)
            return try session.costOfDearest {
                try ApplicationDeletion(session: session).step(fixture.application.key)
            }
        }
    }

    @Test(.timeLimit(.minutes(20)), arguments: [false, true])
    func `a long deletion is answered, and goes on`(ofPlatform: Bool) async throws {
        let clock = ManualClock()
        let store = try SQLiteStore.temporary(clock: clock)
        let fixture = try await TestStore(store: store, clock: clock)
        _ = try await fixture.registerMany(900)
        let writes = Mutex(0)
        let slow = InterceptedStore(store) { access in
            guard access == .write else { return }
            writes.withLock { $0 += 1 }
            clock.advance(by: .seconds(3))
        }
        if ofPlatform {
            try await slow.delete(fixture.platform.key, force: true)
        } else {
            try await slow.delete(fixture.application.key, force: true)
        }
        let count = writes.withLock { $0 }
        #expect(count <= 3)
        while try await store.read({ try $0.prepared("SELECT 1 FROM platform").hasRow() }) { await Task.yield() }
    }

    @Test(.timeLimit(.minutes(20)), arguments: Engine.allCases)
    func `a deletion that fails stops no other`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let stuck = try await fixture.ports.create(.named("stuck"))
            try await fixture.store.delete(fixture.platform.key, beside: stuck.key)
        }
    }

    @Test func `a tenant waits for the rest of its applications`() async throws {
        try await withPostgresStore { store, connection in
            // In the place of whichever node's turn it would be.
            let watching = try Connection(ConnectionOptions(connection))
            try watching.prepared("SELECT pg_advisory_lock(7236828794)").run()
            let tenant = try await store.create(NewTenant(uuid: UUID(), name: try Name("second")))
            let application = try await store.create(
                NewApplication(
                    uuid: UUID(), name: "theirs", apiKeyHash: [1], sharedSecret: Sealed(bytes: [2]),
                    tenantKey: tenant.key))
            try await store.write { session in
                _ = try session.prepared(ApplicationDeletionStatements.markDeleted).run(application.key)
            }
            let words = "the tenant's applications are still being cleared away: try again later"
            await #expect(throws: StoreError.conflict(words)) { try await store.delete(tenant.key) }
        }
    }

    @Test(.timeLimit(.minutes(20))) func `a crash's remains are cleared by the next process`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            let fixture = try await furnish(store)
            try await store.pool.write { db in
                _ = try db.prepared(ApplicationDeletionStatements.markDeleted).run(fixture.application.key)
            }
            try await store.close()
            let next = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: false)
            #expect(try await next.applications().isEmpty)
            while try await !rows(in: next).isEmpty { await Task.yield() }
            try await next.close()
        }
    }
}

extension Store {
    /// Returns when the maintenance has deleted the platform, while it fails to delete an application: another table refers to it.
    fileprivate func delete(_ platform: Key<Platform>, beside application: Key<Application>) async throws {
        try await write { session in
            try session.db.run(script: "CREATE TABLE later (application_id \(.bigint) REFERENCES application (id))")
            _ = try session.prepared("INSERT INTO later VALUES ($1)").run(application)
            _ = try session.prepared(ApplicationDeletionStatements.markDeleted).run(application)
            _ = try session.prepared(PlatformDeletionStatements.markDeleted).run(platform)
        }
        while try await read({ try $0.prepared("SELECT 1 FROM platform").hasRow() }) { await Task.yield() }
        let isLeft = try await read { try $0.prepared("SELECT 1 FROM application WHERE is_being_deleted").hasRow() }
        #expect(isLeft)
        try await write { try $0.db.run(script: "DROP TABLE later") }
    }
}

extension SQLiteWriteSession {
    /// The cost of the dearest step, until one returns false, in tens of SQLite's instructions.
    func costOfDearest(_ step: () throws -> Bool) throws -> Int {
        let connection = db.sqliteConnection
        let cost = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        cost.initialize(to: 0)
        defer {
            sqlite3_progress_handler(connection, 0, nil, nil)
            cost.deallocate()
        }
        let count: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { cost in
            cost?.assumingMemoryBound(to: Int.self).pointee += 1
            return 0
        }
        sqlite3_progress_handler(connection, 10, count, cost)
        var dearest = 0
        repeat {
            dearest = max(dearest, cost.pointee)
            cost.pointee = 0
        } while try step()
        return dearest
    }
}

extension TestStore {
    /// Something in each table of locations, geofences, users, open endpoints and counts but `push_count`, which a settled batch fills.
    fileprivate func drawMap() async throws {
        try await store.create(
            "crm", "https://crm.example", [.deviceRegistered], as: UUID(), secrets: Sealed(bytes: [1]),
            for: application.key)
        let shop = try await locate()
        let shops = try await store.create(
            LocationGroupPlan(name: "shops", summary: "", locations: [shop.key]), of: application.key)
        _ = try await store.delete(try await fence([shop]).key, of: application.key)
        let plan = try GeofencePlan.around([shop.key], groups: [shops.key], expiresAt: clock.now + .seconds(3_600))
        let geofence = try await store.create(plan, of: application.key)
        let device = try await register("beating")
        let events = [
            AnalyticsEvent(kind: .heartbeat, time: clock.now, device: device.uuid),
            AnalyticsEvent(kind: .geofenceTriggered, time: clock.now, device: device.uuid, geofence: geofence.key),
            AnalyticsEvent(
                kind: .opened, time: clock.now, device: device.uuid, receiptID: try await push(lane: .bulk).receiptID),
        ]
        _ = try await store.record(events, on: platform, lateMax: .seconds(3_600))
        _ = try await store.setUser("Kim", of: application.key) { _ in
            try UserProfile(language: nil, timeZone: nil, attributes: ["vip": .flag(true)])
        }
        let hash = Array("\(application.key)".utf8)
        _ = try await store.create(try NewOpenEndpoint(kind: .genero, application: application.key, keyHash: hash))
        let fingerprint = [UInt8](repeating: UInt8(application.key.rawValue), count: 32)
        _ = try await store.createGatewayCredential(fingerprint, expiresAt: nil, on: platform.key)
        try await store.setDetail(of: device.key, on: platform.key, DeviceDetail.Change(badge: 3))
        let endpoint = try await store.create(
            NewWebPushEndpoint(), keyHash: fingerprint, for: device, of: application.key)
        _ = try await store.keep(
            try EndpointMessage(WebPushRig.headers(), body: [1]), as: UUID(), for: endpoint.key)
        try await store.set(
            AcrobitsAppID(name: "org.example.phone", applicationKey: application.key, platformKey: platform.key))
        let carma = try await store.createCarmaApp(
            customerID: 7, appID: "\(application.key)", for: application.key)
        let template = try CarmaTemplate(try JSONValue(json: #"{"languages":{"en":{"alert":"Hi"}}}"#.utf8))
        let trigger = try await store.createCarmaTrigger(template, of: carma)
        _ = try await store.createCarmaImport(
            UUID(), CarmaImport.Settings(kind: .add, delimiter: 44, encoding: .utf8, identityColumn: "originalId"),
            of: carma.key)
        try await store.note(
            CarmaDevice(
                applicationKey: application.key, contact: "kim", token: "ab", platformKey: platform.key,
                device: device.uuid))
        _ = try await store.create(
            NewCarmaMessage(
                applicationKey: application.key, trigger: trigger.key, contact: "kim", name: "", html: "",
                pageHash: [UInt8](repeating: UInt8(application.key.rawValue), count: 32)))
        try await store.note(
            AcrobitsRegistration(
                applicationKey: application.key, appID: "org.example.phone", selector: "S", token: "T",
                platformKey: platform.key, device: device.uuid, account: "kim"))
        let job = try await store.createImport(
            .timeOrdered(), of: application.key,
            from: ImportJob.Source(format: .csv, mapping: nil, platform: nil, isDryRun: false), position: 0,
            by: nil)
        _ = try await store.note(ImportStep(position: 1, tally: ImportTally(), lines: [1]), of: job)
        if let sql = store as? SQLiteStore {
            try await sql.writer.write { session in
                try session.deactivate(
                    [Settlement.DeadToken(device: device.key, since: .distantFuture)], on: platform.key, as: .gone)
                try session.noteFeedback(
                    of: [Settlement.DeadToken(device: device.key, since: .distantFuture)], on: platform.key)
            }
        }
    }
}
