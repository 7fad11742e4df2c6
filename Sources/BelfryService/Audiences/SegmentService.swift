import FoundationEssentials
package import Logging
import ServiceLifecycle

/// Changes the saved segments of applications. Each change has its line in the audit log.
package struct SegmentService: Sendable {
    private let store: any Store

    package init(store: any Store) { self.store = store }

    package func create(
        _ name: String, _ expression: AudienceExpression, of application: Application, by author: AuditAuthor
    ) async throws -> Segment {
        try await check(expression, under: name, of: application)
        return try await store.audited(AuditedChange(by: author, "segment.create", application, ["segment": name])) {
            try await store.create(name, expression, of: application.key)
        }
    }

    package func change(
        _ name: String, of application: Application, to expression: AudienceExpression, by author: AuditAuthor
    ) async throws -> Segment {
        try await check(expression, under: name, of: application)
        return try await store.audited(
            AuditedChange(by: author, "segment.update", application, ["segment": name]), orUnknown: "segment"
        ) {
            try await store.change(name, of: application.key, to: expression)
        }
    }

    /// Throws where something uses it.
    package func delete(_ name: String, of application: Application, by author: AuditAuthor) async throws {
        let users = try await users(of: name, application.key).map(\.words)
        guard users.isEmpty else {
            throw StoreError.conflict("the segment is used by \(users.prefix(3).joined(separator: ", "))")
        }
        try await store.audited(
            AuditedChange(by: author, "segment.delete", application, ["segment": name]), orUnknown: "segment"
        ) {
            try await store.delete(Segment.self, named: name, of: application.key)
        }
    }

    /// The waiting schedules, other segments and drafts of campaigns that name a segment.
    package func users(of name: String, _ application: Key<Application>) async throws -> [SegmentUser] {
        try await store.users(in: application) { $0.segments.contains(name) }
    }

    /// The segments that use others, and the first 500 waiting schedules that do, by the names of those they use.
    package func users(ofAll application: Key<Application>) async throws -> [String: [SegmentUser]] {
        var users: [String: [SegmentUser]] = [:]
        for segment in try await store.segments(of: application) {
            for name in Set(segment.expression.segments) { users[name, default: []].append(.segment(segment)) }
        }
        var last: Schedule?
        for _ in 0..<10 {
            let some = try await store.schedules(of: application, after: last, limit: 50)
            for schedule in some {
                for name in Set(schedule.pushRequest.target.expression?.segments ?? []) {
                    users[name, default: []].append(.schedule(schedule))
                }
            }
            guard some.count == 50 else { break }
            last = some.last
        }
        return users
    }

    /// Throws where the expression is too large or names a segment or campaign that there is not, and where its segment, or one that leads
    /// to it, could not be used then.
    private func check(
        _ expression: AudienceExpression, under name: String, of application: Application
    ) async throws {
        try expression.json.checkStored("where", bytesMax: AudienceExpression.savedBytesMax)
        let segments = try await store.segments(of: application.key).map { ($0.name, $0.expression) }
        let present = Dictionary(segments) { $1 }
        let changed = present.merging([name: expression]) { $1 }
        var leading = [name]
        var used = leading
        while !used.isEmpty {
            let users = present.filter { !leading.contains($0.key) && !Set($0.value.segments).isDisjoint(with: used) }
            used = users.keys.sorted()
            leading += used
        }
        for other in leading {
            let use = AudienceExpression.term(.segment(other))
            if other != name, (try? await use.resolved { present[$0] }) == nil { continue }
            do { _ = try await use.resolved { changed[$0] } } catch let error as InvalidInput {
                let words = other == name ? "" : "breaks the segment '\(other)', which "
                throw InvalidInput(field: "where", words + error.problem)
            }
        }
        for campaign in expression.campaigns {
            guard try await store.campaign(named: campaign, of: application.key) != nil else {
                throw InvalidInput(field: "where", "names the campaign '\(campaign)', which there is not")
            }
        }
    }
}

extension Store {
    /// The segments, waiting schedules and drafts of campaigns whose audience fulfils a condition.
    func users(
        in application: Key<Application>, where isMeant: @escaping @Sendable (AudienceExpression) -> Bool
    ) async throws -> [SegmentUser] {
        let segments = try await segments(of: application).filter { isMeant($0.expression) }
        let schedules = try await schedules(of: application, limit: 100) {
            isMeant($0.pushRequest.target.asExpression)
        }
        let campaigns = try await drafts(of: application) { $0.expressions.contains(where: isMeant) }
        return segments.map { .segment($0) } + schedules.map { .schedule($0) } + campaigns.map { .campaign($0) }
    }
}

/// Something that names a segment or a campaign, which stays as long.
package enum SegmentUser: Sendable {
    case segment(Segment)
    case schedule(Schedule)
    case campaign(String)

    package var words: String {
        switch self {
        case .segment(let segment): "\(kind) \(segment.name)"
        case .schedule(let schedule): "\(kind) \(schedule.key.id)"
        case .campaign(let name): "\(kind) \(name)"
        }
    }

    var kind: String {
        switch self {
        case .segment: "segment"
        case .schedule: "schedule"
        case .campaign: "campaign"
        }
    }
}

/// Notes the size of each segment once a day.
package struct SegmentCounter: Service {
    private let store: any Store
    private let pushes: PushService
    private let clock: any WallClock
    private let logger: Logger

    private static let pause = Duration.seconds(600)

    package init(store: any Store, pushes: PushService, clock: any WallClock, logger: Logger) {
        (self.store, self.pushes, self.clock, self.logger) = (store, pushes, clock, logger)
    }

    package func run() async throws {
        await PeriodicTask(name: "segment sizes", clock: clock, pause: Self.pause, logger: logger).run {
            try await round()
        }
    }

    /// Counts the segments that have no size of today yet. Throws the error of one that cannot be counted once it has counted the others.
    package func round() async throws {
        let today = Instant(milliseconds: clock.now.milliseconds / 86_400_000 * 86_400_000)
        var last = Key<Segment>(0)
        var fault: (any Error)?
        while true {
            let segments = try await store.segments(without: today, after: last, limit: 50)
            guard let end = segments.last?.key else { break }
            last = end
            for segment in segments {
                let size: AudienceSize
                do {
                    let draft = try await pushes.audience(of: Target(segment.expression), for: segment.applicationKey)
                    let sizes = try await store.size(of: draft, by: .now + .milliseconds(500))
                    size = sizes.reduce(AudienceSize(devices: 0), +)
                } catch is InvalidInput {
                    // It names a segment that there is not any more.
                    size = AudienceSize(devices: 0)
                } catch let error where !(error is CancellationError) {
                    fault = error
                    continue
                }
                try await store.note(SegmentPoint(day: today, size: size), of: segment.key)
            }
        }
        if let fault { throw fault }
    }
}
