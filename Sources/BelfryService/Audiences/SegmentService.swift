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
        let segments = try await store.segments(of: application).filter { $0.expression.segments.contains(name) }
        let schedules = try await store.schedules(of: application, limit: 100) {
            $0.pushRequest.target.expression?.segments.contains(name) ?? false
        }
        let campaigns = try await store.drafts(of: application) { $0.segments.contains(name) }
        return segments.map { .segment($0) } + schedules.map { .schedule($0) } + campaigns.map { .campaign($0) }
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

    /// Throws where the expression names itself, or a segment that there is not.
    private func check(
        _ expression: AudienceExpression, under name: String, of application: Application
    ) async throws {
        do {
            _ = try await expression.resolved { other in
                guard other != name else {
                    throw InvalidInput(field: "where", "leads back to the segment '\(name)' itself")
                }
                return try await store.segmentExpression(other, of: application.key)
            }
        } catch let error as InvalidInput {
            throw InvalidInput(field: "where", error.problem)
        }
    }
}

/// Something that names a segment, which stays as long.
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

    /// Counts the segments that have no size of today yet.
    package func round() async throws {
        let today = Instant(milliseconds: clock.now.milliseconds / 86_400_000 * 86_400_000)
        while true {
            let segments = try await store.segments(without: today, limit: 50)
            guard !segments.isEmpty else { return }
            for segment in segments {
                let size: AudienceSize
                do {
                    let draft = try await pushes.audience(of: Target(segment.expression), for: segment.applicationKey)
                    let sizes = try await store.size(of: draft, by: .now + .milliseconds(500))
                    size = sizes.reduce(AudienceSize(devices: 0), +)
                } catch is InvalidInput {
                    // It names a segment that there is not any more.
                    size = AudienceSize(devices: 0)
                }
                try await store.note(SegmentPoint(day: today, size: size), of: segment.key)
            }
        }
    }
}
