import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// A row that cannot be read stops no other: it is left out of lists, reported once, and can be taken away.
@Suite struct DamagedListConformance {
    @Test(arguments: DamageableEngine.allCases, ["content", "target"])
    func `a damaged schedule is hidden from lists and still cancellable`(
        damageableEngine: DamageableEngine, column: String
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            var schedules: [Schedule] = []
            for seconds in 1...5 { schedules.append(try await fixture.schedule(in: .seconds(seconds * 100))) }
            let damaged = Array(schedules[0...1]) + [schedules[3]]
            let numbers = damaged.map { "\($0.key)" }.joined(separator: ", ")
            try await damageable.run("UPDATE schedule SET \(column) = '[nonsense' WHERE id IN (\(numbers))")
            let application = fixture.application.key
            for _ in 1...2 {
                let batch = try await store.schedules(of: application, after: nil, limit: 2)
                #expect(batch == [schedules[2], schedules[4]])
                #expect(damageable.complaints == 3)
            }
            #expect(try await store.schedules(of: application, after: schedules[2], limit: 1) == [schedules[4]])

            let error = await #expect(throws: StoreError.self) {
                try await store.schedule(schedules[0].key, of: application)
            }
            #expect(error?.description.hasPrefix("schedule \(schedules[0].key) is damaged: ") == true)
            for schedule in damaged { #expect(try await store.cancel(schedule.key, of: application)) }
            #expect(try await !store.cancel(schedules[0].key, of: application))
            #expect(try await store.end(schedules[4], .expired))
            #expect(
                try await store.endedSchedules(of: application, after: nil, limit: 2).map(\.key) == [schedules[4].key])
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `damaged due schedules do not stop others`(damageableEngine: DamageableEngine)
        async throws
    {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            for _ in 1...3 { _ = try await fixture.schedule(in: .seconds(1)) }
            try await damageable.run("UPDATE schedule SET content = 'nonsense'")
            let other = try await fixture.schedule(in: .seconds(2))
            fixture.clock.advance(by: .seconds(5))
            #expect(try await store.dueSchedules(atMost: 2).isEmpty)
            #expect(damageable.complaints == 2)
            #expect(try await store.dueSchedules(atMost: 2) == [other])
            #expect(try await store.cancel(other.key, of: fixture.application.key))
            #expect(try await store.dueSchedules(atMost: 2).isEmpty)
            // The scheduler sleeps until they are looked at again.
            #expect(try await store.nextScheduleDue() == fixture.clock.now + Damage.setAsideFor)
            fixture.clock.advance(by: Damage.setAsideFor)
            #expect(try await store.dueSchedules(atMost: 9).isEmpty)
            #expect(damageable.complaints == 6)
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a segment that cannot be counted holds up no other`(damageableEngine: DamageableEngine) async throws {
        try await damageableEngine.damageable { damageable in
            let (store, clock) = (damageable.store, damageable.fixture.clock)
            let app = damageable.fixture.application.key
            let campaign = try await store.create(
                "spring", .sample(), of: app, by: CampaignPerson(name: "emma", person: nil))
            let request = WrittenRequest(PushRequest(content: Push.Content(body: "hello"), target: .everyone))
            try await store.start(campaign, [NewCampaignPart(place: 0, request: request, dueAt: clock.now)])
            var segments: [Key<Segment>] = []
            for term in [AudienceTerm.campaign(nil, "spring"), .everyone, .everyone] {
                segments.append(
                    try await store.create("\(segments.count)", AudienceExpression.term(term), of: app).key)
            }
            try await damageable.run("UPDATE schedule SET target = '[nonsense'")
            try await damageable.run("UPDATE segment SET expression = '[nonsense' WHERE id = \(segments[1])")
            let counter = SegmentCounter(
                store: store, pushes: PushService(store: store), clock: clock, logger: damageable.log.logger)
            await #expect(throws: StoreError.self) { try await counter.round() }
            #expect(try await store.latestPoints(of: segments).keys.sorted() == [segments[2]])
            #expect(try await store.segments(of: app).map(\.key) == [segments[0], segments[2]])
        }
    }

    @Test(arguments: DamageableEngine.allCases, ["data", "tags"])
    func `a damaged geofence is hidden, yet starts, ends, can go`(
        damageableEngine: DamageableEngine, column: String
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            let location = try await fixture.locate()
            let damaged = try await fixture.fence([location], startsIn: .seconds(10))
            let sound = try await fixture.fence([location])
            let stranger = try await store.create(.named("stranger"))
            let phones = try await store.create(.of(stranger))
            try await damageable.run("UPDATE geofence SET \(column) = '{nonsense' WHERE id = \(damaged.key)")
            let application = fixture.application.key
            for _ in 1...2 {
                let list = try await store.geofences(of: application, GeoListQuery())
                #expect(list == ListPage([sound], total: 2))
                #expect(damageable.complaints == 1)
            }
            await #expect(throws: StoreError.self) { try await store.geofence(damaged.key, of: application) }

            // Its start is due, which once stopped the feeds of all tenants.
            fixture.clock.advance(by: .seconds(11))
            let updates = try await fixture.updates()
            #expect(updates.geofences == [sound] && updates.gone.isEmpty)
            #expect(try await fixture.updates(on: phones).geofences.isEmpty)
            let since = try await fixture.updates(since: updates.lastModified)
            #expect(since.geofences.isEmpty && since.gone.isEmpty)
            #expect(try await store.delete(damaged.key, of: application))
            #expect(try await fixture.updates(since: updates.lastModified).gone == [damaged.key])
            #expect(try await store.geofences(of: application, GeoListQuery()) == ListPage([sound], total: 1))
            #expect(damageable.complaints == 1)
        }
    }

    @Test(
        arguments: DamageableEngine.allCases,
        [("platform", "'toaster'"), ("phase", "7"), ("starts_at_ms", "4000000000000")])
    func `a contradictory geofence still ends and can be deleted`(
        damageableEngine: DamageableEngine, damage: (column: String, value: String)
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            let location = try await fixture.locate()
            let damaged = try await fixture.fence([location], startsIn: .seconds(10), expiresIn: .seconds(20))
            let sound = try await fixture.fence([location])
            try await damageable.run(damageableEngine.withoutChecks(of: "geofence", "geofence_\(damage.column)_check"))
            try await damageable.run(
                damageableEngine.withoutChecks(of: "geofence", "geofence_check")
                    + "UPDATE geofence SET \(damage.column) = \(damage.value) WHERE id = \(damaged.key)")
            fixture.clock.advance(by: .seconds(11))
            #expect(try await fixture.updates().geofences.map(\.key).contains(sound.key))
            fixture.clock.advance(by: .seconds(11))
            #expect(try await fixture.updates().geofences == [sound])
            #expect(try await store.delete(damaged.key, of: fixture.application.key))
            #expect(
                try await store.geofences(of: fixture.application.key, GeoListQuery()) == ListPage([sound], total: 1))
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a geofence with maximal data is read again`(
        damageableEngine: DamageableEngine
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            let location = try await fixture.locate()
            let numbers = Array(repeating: JSONValue.number(1e18), count: 1_350)
            let data = try GeofenceData(["own": .array(numbers + [.number(-0.0), .number(0.5), .integer(.min)])])
            let plan = try GeofencePlan(
                locations: [location.key], trigger: .enter, data: data, expiresAt: fixture.clock.now + .seconds(60))
            let geofence = try await store.create(plan, of: fixture.application.key)
            #expect(try await store.geofence(geofence.key, of: fixture.application.key) == geofence)
            #expect(try await fixture.updates().geofences == [geofence])
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `the deepest accepted content reads back from storage`(damageableEngine: DamageableEngine)
        async throws
    {
        try await damageableEngine.damageable { damageable in
            let fixture = damageable.fixture
            let deepest = (0..<62).reduce(JSONValue.number(1e18)) { inner, _ in .object(["a": inner]) }
            let content = Push.Content(body: nil, custom: ["own": deepest])
            try content.check(for: [.webhook], receiptID: UUID())
            let pushRequest = PushRequest(content: content, target: .everyone)
            let schedule = try await fixture.store.schedule(pushRequest, at: .zero, for: fixture.application.key)
            #expect(try await fixture.store.schedule(schedule.key, of: fixture.application.key) == schedule)
            #expect(try await fixture.store.dueSchedules(atMost: 1) == [schedule])
            _ = try await fixture.registerMany(1)
            let push = try await fixture.store.accept(
                NewPush(
                    receiptID: UUID(), applicationKey: fixture.application.key, content: content,
                    audience: .list(.active), platformKeys: [fixture.platform.key], lane: .normal))
            try await damageable.blank.fanOut()
            #expect(try await damageable.blank.store.load(try await damageable.blank.claimOne())?.push == push)
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a damaged audit line is listed as it is stored`(damageableEngine: DamageableEngine) async throws {
        try await damageableEngine.damageable { damageable in
            let store = damageable.store
            let change = AuditedChange(
                keyID: "k", address: nil, action: "a", subject: "whole", tenant: nil, application: nil,
                details: ["n": "\"4\""])
            for _ in 1...2 {
                try await store.audited(change) {}
                try await damageable.run(
                    "INSERT INTO audit (at_ms, action, subject, details) VALUES (0, 'a', 'damaged', '{\"n\":1}')")
            }
            let lines = try await store.auditLog(AuditQuery(bounds: .everything, limit: 3)).map(\.change)
            #expect(lines.map(\.subject) == ["damaged", "whole", "damaged"])
            #expect(lines.prefix(2).map(\.details) == [["unreadable": "{\"n\":1}"], change.details])
            for (who, subject) in [("k", "whole"), ("local operator", "damaged")] {
                let query = AuditQuery(bounds: .everything, keyID: who, limit: 9)
                #expect(try await store.auditLog(query).map(\.change.subject) == [subject, subject])
            }
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a damaged admin key is skipped and the list continues`(
        damageableEngine: DamageableEngine
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let store = damageable.store
            for number in 1...4 {
                _ = try await store.create(
                    NewAdminKey(
                        id: "\(number)", name: try Name("key"), scope: .operator, bounds: .everything, secretHash: [1]))
            }
            let update = "UPDATE admin_key SET scope = 'nonsense' WHERE public_id IN ('1', '3')"
            switch damageableEngine {
            case .sqlite: try await damageable.run("PRAGMA ignore_check_constraints = ON; \(update)")
            case .postgres:
                try await damageable.run(
                    """
                    ALTER TABLE admin_key DROP CONSTRAINT admin_key_scope_check, DROP CONSTRAINT admin_key_check; \(update)
                    """)
            }
            let keys = try await store.adminKeys(within: .everything, after: nil, limit: 2)
            #expect(keys.map(\.id) == ["2", "4"])
            #expect(damageable.complaints == 2)
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func
        `a damaged open endpoint leaves lists and can be deleted`(
            damageableEngine: DamageableEngine
        ) async throws
    {
        try await damageableEngine.damageable { damageable in
            let (store, application) = (damageable.store, damageable.fixture.application.key)
            let (damaged, sound) = (
                try await store.create(NewOpenEndpoint(kind: .genero, application: application, keyHash: [1])),
                try await store.create(NewOpenEndpoint(kind: .genero, application: application, keyHash: [2]))
            )
            try await damageable.run("UPDATE open_endpoint SET options = '{nonsense' WHERE id = \(damaged.key)")
            for _ in 1...2 {
                #expect(try await store.openEndpoints(of: application) == [sound])
            }
            #expect(damageable.complaints == 1)
            #expect(try await store.delete(damaged.key, of: application))
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a carma contact's damaged device is left out`(damageableEngine: DamageableEngine)
        async throws
    {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            for token in ["a", "b"] {
                try await store.note(
                    CarmaDevice(
                        applicationKey: fixture.application.key, contact: "c", token: token,
                        platformKey: fixture.platform.key, device: UUID(), country: nil, invalidation: .none,
                        invalidatedAt: nil))
            }
            let checks = ["carma_device_invalidation_check", "carma_device_check"].map {
                damageableEngine.withoutChecks(of: "carma_device", $0)
            }
            try await damageable.run(
                checks.joined() + "UPDATE carma_device SET invalidation = 9 WHERE token = 'a'")
            let devices = try await store.carmaDevices(of: "c", fixture.application.key)
            #expect(devices.map(\.token) == ["b"])
            #expect(damageable.complaints == 1)
        }
    }

    /// PostgreSQL keeps nothing in this column but UUIDs.
    @Test func `a damaged softphone registration is left out of lists`() async throws {
        try await DamageableEngine.sqlite.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            let (application, platform) = (fixture.application.key, fixture.platform.key)
            let devices = [UUID(), UUID()]
            for (number, device) in devices.enumerated() {
                try await store.note(
                    AcrobitsRegistration(
                        applicationKey: application, appID: "app \(number)", selector: "s", token: "t",
                        platformKey: platform,
                        device: device, account: nil, seenAt: fixture.clock.now))
            }
            try await damageable.run(
                "PRAGMA ignore_check_constraints = ON; UPDATE acrobits_registration SET device_uuid = x'00' WHERE app_id = 'app 0'"
            )
            let found = try await store.acrobitsRegistrations(selector: "s", of: application)
            #expect(found.map(\.device) == [devices[1]])
            #expect(damageable.complaints == 1)
        }
    }

    /// PostgreSQL keeps nothing in these columns but UUIDs.
    @Test func `damaged tenants and nodes are left out of lists`() async throws {
        try await DamageableEngine.sqlite.damageable { damageable in
            let store = damageable.store
            let tenants = [
                try await store.create(NewTenant(uuid: UUID(), name: try Name("a"))),
                try await store.create(NewTenant(uuid: UUID(), name: try Name("b"))),
            ]
            for host in ["one", "two"] {
                try await store.recordHeartbeat(NodeReport(uuid: UUID(), host: host, version: "1"))
            }
            try await damageable.run(
                """
                PRAGMA ignore_check_constraints = ON;
                UPDATE tenant SET uuid = x'00' WHERE id = \(tenants[0].key);
                UPDATE node SET uuid = x'00' WHERE host = 'one';
                """)
            #expect(try await store.tenants(after: Tenant.first, limit: 1) == [tenants[1]])
            #expect(try await store.nodes().map(\.host) == ["two"])
            #expect(damageable.complaints == 2)
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a push with senseless counts is left out of receipts`(damageableEngine: DamageableEngine)
        async throws
    {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            _ = try await fixture.registerMany(1)
            let pushes = [try await fixture.push(), try await fixture.push(), try await fixture.push()]
            try await fixture.fanOut()
            for batch in try await fixture.claim(9) {
                #expect(try await store.settle(Settlement(batch, all: .accepted)))
            }
            try await damageable.run("UPDATE tally SET answer = 99 WHERE push_id = \(pushes[1].key)")
            for _ in 1...2 {
                let receipts = try await store.receipts(of: fixture.application.key, before: nil, limit: 9)
                #expect(receipts.map(\.push.key) == [pushes[2].key, pushes[0].key])
            }
            // A page that is not full would be the end of the list.
            let page = try await store.receipts(of: fixture.application.key, before: nil, limit: 2)
            #expect(page.map(\.push.key) == [pushes[2].key, pushes[0].key])
            #expect(damageable.complaints == 1)
            await #expect(throws: StoreError.self) { try await store.receipt(pushes[1].receiptID) }
        }
    }
}

/// PostgreSQL takes a radius that is no number for one that is large; SQLite takes infinity.
extension DamagedListConformance {
    @Test(arguments: DamageableEngine.allCases)
    func `a damaged location is hidden from lists but deletable`(
        damageableEngine: DamageableEngine
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store, application) = (
                damageable.fixture, damageable.store, damageable.fixture.application.key
            )
            let (damaged, sound) = (try await fixture.locate("a"), try await fixture.locate("b"))
            let fence = try await fixture.fence([damaged])
            let other = try await fixture.fence([sound])
            let groups = [
                try await store.create(
                    try LocationGroupPlan(name: "x", summary: "", locations: [damaged.key]), of: application),
                try await store.create(
                    try LocationGroupPlan(name: "y", summary: "", locations: [sound.key]), of: application),
            ]
            try await damageable.run(
                "UPDATE location SET radius = \(damageableEngine.infinity) WHERE id = \(damaged.key)")
            for _ in 1...2 {
                #expect(try await store.locations(of: application, GeoListQuery()).elements == [sound])
                #expect(try await store.locationGroups(of: application, GeoListQuery()).elements == [groups[1]])
                #expect(try await store.geofences(of: application, GeoListQuery()).elements == [other])
                #expect(try await fixture.updates().geofences == [other])
            }
            #expect(damageable.complaints == 3)
            await #expect(throws: StoreError.self) { try await store.location(damaged.key, of: application) }
            await #expect(throws: StoreError.self) { try await store.locationGroup(groups[0].key, of: application) }
            #expect(try await store.delete(fence.key, of: application))
            #expect(try await store.delete(groups[0].key, of: application))
            #expect(try await store.delete(damaged.key, of: application))
            #expect(try await store.locations(of: application, GeoListQuery()) == ListPage([sound], total: 1))
        }
    }
}

extension DamageableEngine {
    /// A disk that lies knows no constraints.
    fileprivate func withoutChecks(of table: String, _ constraint: String) -> String {
        switch self {
        case .sqlite: "PRAGMA ignore_check_constraints = 1;"
        case .postgres: "ALTER TABLE \(table) DROP CONSTRAINT IF EXISTS \(constraint);"
        }
    }

    fileprivate var infinity: String {
        switch self {
        case .sqlite: "9e999"
        case .postgres: "'Infinity'"
        }
    }
}
