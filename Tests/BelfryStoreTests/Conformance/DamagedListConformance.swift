import BelfryCore
import BelfryTesting
import Foundation
import Testing

/// A row that cannot be read stops nobody else: it is left out of lists, reported once, and can be taken away.
@Suite struct DamagedListConformance {
    @Test(arguments: Hull.allCases, ["content", "target"])
    func `a damaged schedule is left out of lists, which go on behind it, and is cancelled all the same`(
        hull: Hull, column: String
    ) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            var schedules: [Schedule] = []
            for seconds in 1...5 { schedules.append(try await scene.schedule(in: .seconds(seconds * 100))) }
            let damaged = Array(schedules[0...1]) + [schedules[3]]
            let numbers = damaged.map { "\($0.key)" }.joined(separator: ", ")
            try await wreck.run("UPDATE schedule SET \(column) = '[nonsense' WHERE id IN (\(numbers))")
            let application = scene.application.key
            for _ in 1...2 {
                let page = try await store.schedules(of: application, after: nil, limit: 2)
                #expect(page == [schedules[2], schedules[4]])
                #expect(wreck.complaints == 3)
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

    @Test(arguments: Hull.allCases)
    func `damaged schedules that are due do not keep others from being sent`(hull: Hull) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            for _ in 1...3 { _ = try await scene.schedule(in: .seconds(1)) }
            try await wreck.run("UPDATE schedule SET content = 'nonsense'")
            let other = try await scene.schedule(in: .seconds(2))
            scene.clock.advance(by: .seconds(5))
            #expect(try await store.dueSchedules(atMost: 2).isEmpty)
            #expect(wreck.complaints == 2)
            #expect(try await store.dueSchedules(atMost: 2) == [other])
            #expect(try await store.cancel(other.key, of: scene.application.key))
            #expect(try await store.dueSchedules(atMost: 2).isEmpty)
            // The scheduler sleeps until they are looked at again.
            #expect(try await store.nextScheduleDue() == scene.clock.now + Damage.setAsideFor)
            scene.clock.advance(by: Damage.setAsideFor)
            #expect(try await store.dueSchedules(atMost: 9).isEmpty)
            #expect(wreck.complaints == 6)
        }
    }

    @Test(arguments: Hull.allCases, ["data", "tags"])
    func `a damaged geofence is left out of lists and feeds, starts, ends and is deleted all the same`(
        hull: Hull, column: String
    ) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            let location = try await scene.locate()
            let damaged = try await scene.fence([location], startsIn: .seconds(10))
            let sound = try await scene.fence([location])
            let stranger = try await store.create(.named("stranger"))
            let phones = try await store.create(.of(stranger))
            try await wreck.run("UPDATE geofence SET \(column) = '{nonsense' WHERE id = \(damaged.key)")
            let application = scene.application.key
            for _ in 1...2 {
                let list = try await store.geofences(of: application, MapQuery())
                #expect(list == Listing([sound], total: 2))
                #expect(wreck.complaints == 1)
            }
            await #expect(throws: StoreError.self) { try await store.geofence(damaged.key, of: application) }

            // Its start is due, which once stopped the feeds of all tenants.
            scene.clock.advance(by: .seconds(11))
            let updates = try await scene.updates()
            #expect(updates.geofences == [sound] && updates.gone.isEmpty)
            #expect(try await scene.updates(on: phones).geofences.isEmpty)
            let since = try await scene.updates(since: updates.lastModified)
            #expect(since.geofences.isEmpty && since.gone.isEmpty)
            #expect(try await store.delete(damaged.key, of: application))
            #expect(try await scene.updates(since: updates.lastModified).gone == [damaged.key])
            #expect(try await store.geofences(of: application, MapQuery()) == Listing([sound], total: 1))
            #expect(wreck.complaints == 1)
        }
    }

    @Test(arguments: Hull.allCases, [("platform", "'toaster'"), ("phase", "7"), ("starts_at_ms", "4000000000000")])
    func `a geofence whose columns contradict one another ends and is deleted all the same`(
        hull: Hull, damage: (column: String, value: String)
    ) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            let location = try await scene.locate()
            let damaged = try await scene.fence([location], startsIn: .seconds(10), expiresIn: .seconds(20))
            let sound = try await scene.fence([location])
            try await wreck.run(hull.withoutChecks(of: "geofence", "geofence_\(damage.column)_check"))
            try await wreck.run(
                hull.withoutChecks(of: "geofence", "geofence_check")
                    + "UPDATE geofence SET \(damage.column) = \(damage.value) WHERE id = \(damaged.key)")
            scene.clock.advance(by: .seconds(11))
            #expect(try await scene.updates().geofences.map(\.key).contains(sound.key))
            scene.clock.advance(by: .seconds(11))
            #expect(try await scene.updates().geofences == [sound])
            #expect(try await store.delete(damaged.key, of: scene.application.key))
            #expect(try await store.geofences(of: scene.application.key, MapQuery()) == Listing([sound], total: 1))
        }
    }

    @Test(arguments: Hull.allCases)
    func `a geofence with the most data that is taken is read again, however its numbers are spelt`(
        hull: Hull
    ) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            let location = try await scene.locate()
            let numbers = Array(repeating: JSONValue.number(1e18), count: 1_350)
            let data = try GeofenceData(["own": .array(numbers + [.number(-0.0), .number(5), .integer(.min)])])
            let plan = try GeofencePlan(
                locations: [location.key], trigger: .enter, data: data, expiresAt: scene.clock.now + .seconds(60))
            let geofence = try await store.create(plan, of: scene.application.key)
            #expect(try await store.geofence(geofence.key, of: scene.application.key) == geofence)
            #expect(try await scene.updates().geofences == [geofence])
        }
    }

    @Test(arguments: Hull.allCases)
    func `the deepest content that is taken is read again where it is stored`(hull: Hull) async throws {
        try await hull.wreck { wreck in
            let scene = wreck.scene
            let deepest = (0..<62).reduce(JSONValue.number(1e18)) { inner, _ in .object(["a": inner]) }
            let content = Push.Content(body: nil, custom: ["own": deepest])
            try content.check(for: [.webhook], receiptID: UUID())
            let order = Order(content: content, target: .everyone)
            let schedule = try await scene.store.schedule(order, at: .zero, for: scene.application.key)
            #expect(try await scene.store.schedule(schedule.key, of: scene.application.key) == schedule)
            #expect(try await scene.store.dueSchedules(atMost: 1) == [schedule])
            _ = try await scene.registerMany(1)
            let push = try await scene.store.accept(
                NewPush(
                    receiptID: UUID(), applicationKey: scene.application.key, content: content,
                    audience: .list(.active), platformKeys: [scene.platform.key], lane: .normal))
            try await wreck.blank.spread()
            #expect(try await wreck.blank.store.load(try await wreck.blank.claimOne())?.push == push)
        }
    }

    @Test(arguments: Hull.allCases)
    func `a damaged line of the audit log is left out, and the list goes on behind it`(hull: Hull) async throws {
        try await hull.wreck { wreck in
            let store = wreck.store
            for number in 1...4 {
                let change = AuditedChange(
                    keyID: nil, address: nil, action: "a", subject: "\(number)", tenant: nil, application: nil,
                    details: ["n": "\"\(number)\""])
                try await store.audited(change) {}
                try await wreck.run(
                    "INSERT INTO audit (at_ms, action, subject, details) VALUES (0, 'a', 'damaged', '{\"n\":1}')")
            }
            for _ in 1...2 {
                let lines = try await store.auditLog(AuditQuery(bounds: .everything, limit: 3))
                #expect(lines.map(\.change.subject) == ["4", "3", "2"])
                #expect(lines.first?.change.details == ["n": "\"4\""])
            }
            #expect(wreck.complaints == 3)
        }
    }

    @Test(arguments: Hull.allCases)
    func `a push whose counts make no sense is left out of lists of receipts`(hull: Hull) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            _ = try await scene.registerMany(1)
            let pushes = [try await scene.push(), try await scene.push(), try await scene.push()]
            try await scene.spread()
            for page in try await scene.claim(9) { #expect(try await store.settle(Settlement(page, all: .accepted))) }
            try await wreck.run("UPDATE tally SET answer = 99 WHERE push_id = \(pushes[1].key)")
            for _ in 1...2 {
                let receipts = try await store.receipts(of: scene.application.key, before: nil, limit: 9)
                #expect(receipts.map(\.push.key) == [pushes[2].key, pushes[0].key])
            }
            #expect(wreck.complaints == 1)
            await #expect(throws: StoreError.self) { try await store.receipt(pushes[1].receiptID) }
        }
    }
}

/// PostgreSQL takes a radius that is no number for one that is large; SQLite takes infinity.
extension DamagedListConformance {
    @Test(arguments: Hull.allCases)
    func `a damaged location is left out of lists with what uses it, and is deleted all the same`(
        hull: Hull
    ) async throws {
        try await hull.wreck { wreck in
            let (scene, store, application) = (wreck.scene, wreck.store, wreck.scene.application.key)
            let (damaged, sound) = (try await scene.locate("a"), try await scene.locate("b"))
            let fence = try await scene.fence([damaged])
            let other = try await scene.fence([sound])
            let groups = [
                try await store.create(
                    try LocationGroupPlan(name: "x", summary: "", locations: [damaged.key]), of: application),
                try await store.create(
                    try LocationGroupPlan(name: "y", summary: "", locations: [sound.key]), of: application),
            ]
            try await wreck.run("UPDATE location SET radius = \(hull.infinity) WHERE id = \(damaged.key)")
            for _ in 1...2 {
                #expect(try await store.locations(of: application, MapQuery()).elements == [sound])
                #expect(try await store.locationGroups(of: application, MapQuery()).elements == [groups[1]])
                #expect(try await store.geofences(of: application, MapQuery()).elements == [other])
                #expect(try await scene.updates().geofences == [other])
            }
            #expect(wreck.complaints == 3)
            await #expect(throws: StoreError.self) { try await store.location(damaged.key, of: application) }
            await #expect(throws: StoreError.self) { try await store.locationGroup(groups[0].key, of: application) }
            #expect(try await store.delete(fence.key, of: application))
            #expect(try await store.delete(groups[0].key, of: application))
            #expect(try await store.delete(damaged.key, of: application))
            #expect(try await store.locations(of: application, MapQuery()) == Listing([sound], total: 1))
        }
    }
}

extension Hull {
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
