import FoundationEssentials

/// An audience expression that was saved under a name, for targets and other segments: `{"segment": "loyal"}`.
package struct Segment: Sendable, Hashable {
    package let key: Key<Segment>
    package let applicationKey: Key<Application>
    package let name: String
    package let expression: AudienceExpression
    /// 1, and one more with each change of the expression.
    package let version: Int64
    package let createdAt: Instant
    package let updatedAt: Instant

    package static let nameBytesMax = 100
    /// The most segments of one application.
    package static let countMax = 1_000
    /// The versions that are kept, besides the present one.
    static let versionsMax = 20
    /// How deep segments stand in one another.
    static let depthMax = 4

    package static func checked(name: String, field: String = "name") throws(InvalidInput) -> String {
        try name.asName(field: field, bytesMax: nameBytesMax)
    }
}

/// An earlier expression of a segment.
package struct SegmentVersion: Sendable, Hashable {
    package let version: Int64
    package let expression: AudienceExpression
    /// When the next version replaced it.
    package let replacedAt: Instant
}

/// The size of a segment on a day.
package struct SegmentPoint: Sendable, Hashable {
    /// The start of the day in UTC.
    package let day: Instant
    package let size: AudienceSize
}

extension AudienceExpression {
    /// The names of the segments in it.
    package var segments: [String] {
        terms.compactMap { term in
            if case .segment(let name) = term { name } else { nil }
        }
    }

    /// The expression with segments in the place of their names.
    func replacing(_ segments: [String: AudienceExpression]) -> AudienceExpression {
        replacing { term in if case .segment(let name) = term { segments[name] } else { nil } }
    }

    /// The expression with others in the place of some terms.
    private func replacing(_ other: (AudienceTerm) -> AudienceExpression?) -> AudienceExpression {
        switch self {
        case .all(let parts): .all(parts.map { $0.replacing(other) })
        case .any(let parts): .any(parts.map { $0.replacing(other) })
        case .not(let part): .not(part.replacing(other))
        case .term(let term): other(term) ?? self
        }
    }

    /// The most terms of an expression together with those of its segments.
    static let resolvedTermsMax = 256
    /// The most values of them all.
    static let resolvedValuesMax = 4_096

    /// The expression with every segment written out. Throws where there is no such segment, and where the whole is too large.
    ///
    /// - Parameter find: the expression of a segment.
    package func resolved(
        _ find: (String) async throws -> AudienceExpression?
    ) async throws -> AudienceExpression {
        var resolved = self
        for _ in 0..<Segment.depthMax {
            let names = Set(resolved.segments)
            guard !names.isEmpty else { return resolved }
            var found: [String: AudienceExpression] = [:]
            for name in names.sorted() {
                guard let expression = try await find(name) else {
                    throw InvalidInput(field: "target.where", "names the segment '\(name)', which there is not")
                }
                found[name] = expression
            }
            resolved = resolved.replacing(found)
            guard resolved.terms.count <= Self.resolvedTermsMax else {
                throw InvalidInput(
                    field: "target.where",
                    "has more than \(Self.resolvedTermsMax) terms with those of its segments, which is the limit")
            }
            guard resolved.valueCount <= Self.resolvedValuesMax else {
                throw InvalidInput(
                    field: "target.where",
                    "has more than \(Self.resolvedValuesMax) values with those of its segments, which is the limit")
            }
        }
        guard resolved.segments.isEmpty else {
            throw InvalidInput(
                field: "target.where",
                "has segments in one another, \(Segment.depthMax) deep at most; '\(resolved.segments[0])' is deeper or names itself"
            )
        }
        return resolved
    }
}

extension AudienceExpression {
    /// The expression with the pushes of every campaign written out. Throws where there is no such campaign.
    ///
    /// - Parameter find: the receipts of a campaign's pushes.
    func withCampaigns(_ find: (String) async throws -> [UUID]?) async throws -> AudienceExpression {
        var receipts: [String: [UUID]] = [:]
        for case .campaign(_, let name) in terms where receipts[name] == nil {
            guard let found = try await find(name) else {
                throw InvalidInput(field: "target.where", "names the campaign '\(name)', which there is not")
            }
            receipts[name] = found
        }
        let written = replacing { term in
            guard case .campaign(let report, let name) = term else { return nil }
            let pushes = receipts[name] ?? []
            return .term(report.map { .reported($0, pushes) } ?? .sent(pushes))
        }
        guard written.valueCount <= Self.resolvedValuesMax else {
            throw InvalidInput(
                field: "target.where",
                "has more than \(Self.resolvedValuesMax) values with the pushes of its campaigns, which is the limit")
        }
        return written
    }
}

extension Store {
    package func segments(
        of application: Key<Application>, after name: String? = nil, limit: Int = Segment.countMax
    ) async throws -> [Segment] {
        try await readCommitted { db in
            try db.prepared(SegmentStatements.behind).all(application, name ?? "", limit, as: Segment.init)
        }
    }

    package func segment(named name: String, of application: Key<Application>) async throws -> Segment? {
        try await readCommitted { db in
            try db.prepared(SegmentStatements.byName).first(application, name, as: Segment.init)
        }
    }

    package func segmentExpression(
        _ name: String, of application: Key<Application>
    ) async throws -> AudienceExpression? {
        try await segment(named: name, of: application)?.expression
    }

    /// Earlier versions, the latest first.
    package func versions(of segment: Key<Segment>) async throws -> [SegmentVersion] {
        try await readCommitted { db in
            try db.prepared(SegmentStatements.versions).all(segment, Segment.versionsMax) { row in
                SegmentVersion(
                    version: row.integer(0), expression: try AudienceExpression(stored: row.text(1)),
                    replacedAt: Instant(milliseconds: row.integer(2)))
            }
        }
    }

    /// The last points, the newest first.
    package func points(of segment: Key<Segment>, limit: Int) async throws -> [SegmentPoint] {
        try await readCommitted { db in
            try db.prepared(SegmentStatements.points).all(segment, limit, as: SegmentPoint.init)
        }
    }

    /// The last point of each of the segments that has one.
    package func latestPoints(of segments: [Key<Segment>]) async throws -> [Key<Segment>: SegmentPoint] {
        try await readCommitted { db in
            var found: [Key<Segment>: SegmentPoint] = [:]
            let points = try db.prepared(SegmentStatements.points)
            for segment in segments { found[segment] = try points.first(segment, 1, as: SegmentPoint.init) }
            return found
        }
    }

    /// Segments of all applications that have no point of the day yet.
    package func segments(without day: Instant, limit: Int) async throws -> [Segment] {
        try await readCommitted { db in
            try db.prepared(SegmentStatements.uncounted).all(day, limit, as: Segment.init)
        }
    }

    package func note(_ point: SegmentPoint, of segment: Key<Segment>) async throws {
        try await write { session in
            try session.prepared(SegmentStatements.note).send(
                segment, point.day, point.size.devices, point.size.margin)
            try session.prepared(SegmentStatements.forgetPoints).send(
                segment, point.day + .seconds(-86_400 * Self.pointDays))
        }
    }

    private static var pointDays: Int { 730 }

    package func create(
        _ name: String, _ expression: AudienceExpression, of application: Key<Application>
    ) async throws -> Segment {
        try await write { session in
            try session.check(application)
            guard try session.prepared(SegmentStatements.count).count(application) < Segment.countMax else {
                throw StoreError.conflict("the application has \(Segment.countMax) segments, which is the limit")
            }
            guard try !session.prepared(SegmentStatements.byName).hasRow(application, name) else {
                throw StoreError.conflict("a segment of that name exists")
            }
            let now = session.now
            let key = try session.insert(SegmentStatements.insert, application, name, expression.json.storedText, now)
            return Segment(
                key: Key(key), applicationKey: application, name: name, expression: expression, version: 1,
                createdAt: now, updatedAt: now)
        }
    }

    /// Replaces the expression; nil where there is no such segment. The earlier one is kept as a version.
    package func change(
        _ name: String, of application: Key<Application>, to expression: AudienceExpression
    ) async throws -> Segment? {
        try await write { session in
            guard let old = try session.prepared(SegmentStatements.held).first(application, name, as: Segment.init)
            else { return nil }
            guard old.expression != expression else { return old }
            let now = session.now
            try session.prepared(SegmentStatements.keepVersion).send(
                old.key, old.version, old.expression.json.storedText, now)
            try session.prepared(SegmentStatements.forgetVersions).send(
                old.key, old.version - Int64(Segment.versionsMax))
            try session.prepared(SegmentStatements.update).send(expression.json.storedText, now, old.key)
            return Segment(
                key: old.key, applicationKey: application, name: name, expression: expression, version: old.version + 1,
                createdAt: old.createdAt, updatedAt: now)
        }
    }

    /// Returns false when there is none.
    package func deleteSegment(_ name: String, of application: Key<Application>) async throws -> Bool {
        try await writeIfFound { session in
            guard let old = try session.prepared(SegmentStatements.held).first(application, name, as: Segment.init)
            else { return false }
            for sql in [SegmentStatements.deleteVersions, SegmentStatements.deletePoints, SegmentStatements.delete] {
                try session.prepared(sql).send(old.key)
            }
            return true
        }
    }

    /// The first waiting schedules that fulfil a condition.
    package func schedules(
        of application: Key<Application>, limit: Int, where isMeant: (Schedule) -> Bool
    ) async throws -> [Schedule] {
        var (found, after): ([Schedule], Schedule?) = ([], nil)
        while found.count < limit {
            let page = try await schedules(of: application, after: after, limit: 500)
            found += page.filter(isMeant)
            guard page.count == 500 else { break }
            after = page.last
        }
        return Array(found.prefix(limit))
    }
}

extension AudienceExpression {
    /// The stored JSON.
    init(stored text: String) throws {
        self = try StoreError.reading("a segment") {
            try AudienceExpression(json: JSONValue(json: text.utf8), field: "where")
        }
    }
}

extension SegmentPoint {
    fileprivate init(_ row: some SQLRow) {
        self.init(
            day: Instant(milliseconds: row.integer(0)),
            size: AudienceSize(devices: Int(row.integer(1)), margin: row.integerIfAny(2).map { Int($0) }))
    }
}

extension Segment {
    init(_ row: some SQLRow) throws {
        self.init(
            key: Key(row.integer(0)), applicationKey: Key(row.integer(1)), name: row.text(2),
            expression: try AudienceExpression(stored: row.text(3)), version: row.integer(4),
            createdAt: Instant(milliseconds: row.integer(5)), updatedAt: Instant(milliseconds: row.integer(6)))
    }
}

enum SegmentStatements {
    private static let columns = "id, application_id, name, expression, version, created_at_ms, updated_at_ms"

    /// Scans `segment_name`.
    static let behind: SQLText = """
        SELECT \(columns) /* segments.behind */ FROM segment
         WHERE application_id = $1 AND name > $2
         ORDER BY name
         LIMIT $3
        """

    /// Scans `segment_name`.
    static let byName: SQLText = """
        SELECT \(columns) /* segments.by_name */ FROM segment WHERE application_id = $1 AND name = $2
        """

    static let held: SQLText = """
        SELECT \(columns) /* segments.held */ FROM segment WHERE application_id = $1 AND name = $2
        \(SQLText.forUpdate)
        """

    static let count: SQLText = "SELECT count(*) /* segments.count */ FROM segment WHERE application_id = $1"

    static let insert: SQLText = """
        INSERT INTO segment /* segments.insert */ (
            application_id, name, expression, version, created_at_ms, updated_at_ms)
        VALUES ($1, $2, $3, 1, $4, $4)
        RETURNING id
        """

    static let update: SQLText = """
        UPDATE segment /* segments.update */ SET expression = $1, updated_at_ms = $2, version = version + 1 WHERE id = $3
        """

    static let delete: SQLText = "DELETE FROM segment /* segments.delete */ WHERE id = $1"

    static let versions: SQLText = """
        SELECT version, expression, replaced_at_ms /* segments.versions */ FROM segment_version
         WHERE segment_id = $1
         ORDER BY version DESC
         LIMIT $2
        """

    static let keepVersion: SQLText = """
        INSERT INTO segment_version /* segments.keep_version */ (segment_id, version, expression, replaced_at_ms)
        VALUES ($1, $2, $3, $4)
        """

    static let forgetVersions: SQLText = """
        DELETE FROM segment_version /* segments.forget_versions */ WHERE segment_id = $1 AND version <= $2
        """

    static let deleteVersions: SQLText = """
        DELETE FROM segment_version /* segments.delete_versions */ WHERE segment_id = $1
        """

    static let points: SQLText = """
        SELECT day_ms, devices, margin /* segments.points */ FROM segment_point
         WHERE segment_id = $1
         ORDER BY day_ms DESC
         LIMIT $2
        """

    static let uncounted: SQLText = """
        SELECT \(columns) /* segments.uncounted */ FROM segment
         WHERE NOT EXISTS (SELECT 1 FROM segment_point WHERE segment_id = segment.id AND day_ms = $1)
         ORDER BY id
         LIMIT $2
        """

    static let note: SQLText = """
        INSERT INTO segment_point /* segments.note */ (segment_id, day_ms, devices, margin)
        SELECT id, $2, $3, $4 FROM segment WHERE id = $1
            ON CONFLICT (segment_id, day_ms) DO NOTHING
        """

    static let forgetPoints: SQLText = """
        DELETE FROM segment_point /* segments.forget_points */ WHERE segment_id = $1 AND day_ms < $2
        """

    static let deletePoints: SQLText = "DELETE FROM segment_point /* segments.delete_points */ WHERE segment_id = $1"
}

/// Saved segments, their earlier versions and their daily sizes.
enum SegmentMigration: SchemaMigration {
    static let identifier = "0013 segments (additive)"
    static let tables = [
        StoreTable("segment", of: .application),
        StoreTable("segment_version", key: "segment_id, version", of: .row(of: "segment", by: "segment_id")),
        StoreTable("segment_point", key: "segment_id, day_ms", of: .row(of: "segment", by: "segment_id")),
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- `expression` is an audience expression in JSON; see `AudienceExpression`.
                CREATE TABLE segment (
                    id \(.key),
                    application_id \(.bigint) NOT NULL REFERENCES application (id),
                    name text \(postgres: "COLLATE \"C\"") NOT NULL,
                    expression text NOT NULL,
                    version \(.bigint) NOT NULL CHECK (version > 0),
                    created_at_ms \(.bigint) NOT NULL,
                    updated_at_ms \(.bigint) NOT NULL
                ) \(.byID);
                CREATE UNIQUE INDEX segment_name ON segment (application_id, name);

                CREATE TABLE segment_version (
                    segment_id \(.bigint) NOT NULL REFERENCES segment (id),
                    version \(.bigint) NOT NULL,
                    expression text NOT NULL,
                    replaced_at_ms \(.bigint) NOT NULL,
                    PRIMARY KEY (segment_id, version)
                ) \(.byKey);

                -- The number of devices at some time of a day; `margin` where it was estimated.
                CREATE TABLE segment_point (
                    segment_id \(.bigint) NOT NULL REFERENCES segment (id),
                    day_ms \(.bigint) NOT NULL,
                    devices \(.bigint) NOT NULL,
                    margin \(.bigint),
                    PRIMARY KEY (segment_id, day_ms)
                ) \(.byKey);
                """)
    }
}
