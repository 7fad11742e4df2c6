import FoundationEssentials

/// An audience expression that was saved under a name, for targets and other segments: `{"segment": "loyal"}`.
package typealias Segment = Versioned<AudienceExpression>

extension Segment {
    package var expression: AudienceExpression { contents }

    /// How deep segments stand in one another.
    static var depthMax: Int { 4 }

    package static func checked(name: String, field: String = "name") throws(InvalidInput) -> String {
        try name.asName(field: field, bytesMax: nameBytesMax)
    }
}

extension AudienceExpression: VersionedContents {
    package static let statements = VersionedStatements("segment", of: "expression", others: ["point"])
    package static var savedMax: Int { 1_000 }
    /// The limit on the JSON of a segment: all of an application's are read together.
    static var savedBytesMax: Int { 1 << 16 }

    package var versionText: String { json.storedText }

    package init(versionText: String) throws {
        self = try StoreError.reading("a segment") {
            try AudienceExpression(json: JSONValue(json: versionText.utf8), field: "where")
        }
    }
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

    /// The names of the campaigns in it.
    var campaigns: [String] { terms.compactMap { if case .campaign(_, let name) = $0 { name } else { nil } } }

    /// The names of the topics in it.
    var topics: [String] {
        terms.flatMap { term -> [String] in if case .topics(let names) = term { names } else { [] } }
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
            guard !pushes.isEmpty else { return .not(.term(.everyone)) }
            return .term(report.map { .reported($0, pushes) } ?? .sent(pushes))
        }
        guard receipts.isEmpty || written.valueCount <= Self.resolvedValuesMax else {
            throw InvalidInput(
                field: "target.where",
                "has more than \(Self.resolvedValuesMax) values with the pushes of its campaigns, which is the limit")
        }
        return written
    }
}

extension Store {
    package func segments(of application: Key<Application>) async throws -> [Segment] {
        try await readCommitted { [damagedRows] db in
            try db.prepared(SegmentStatements.list).all(application, Segment.countMax) { row in
                try damagedRows.readable("segment \(row.integer(0))") { try Segment(row) }
            }.compactMap(\.self)
        }
    }

    package func segment(named name: String, of application: Key<Application>) async throws -> Segment? {
        try await versioned(name, of: application)
    }

    package func segmentExpression(
        _ name: String, of application: Key<Application>
    ) async throws -> AudienceExpression? {
        try await segment(named: name, of: application)?.expression
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

    /// Segments of all applications that have no point of the day yet, by their keys.
    package func segments(without day: Instant, after key: Key<Segment>, limit: Int) async throws -> [Segment] {
        try await readCommitted { [damagedRows] db in
            try DamagedRows.slice(of: limit, after: key) { last, limit in
                try db.prepared(SegmentStatements.uncounted).all(day, last, limit) { row in
                    let key = Key<Segment>(row.integer(0))
                    return (key, try damagedRows.readable("segment \(key)") { try Segment(row) })
                }
            }
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

    /// The first waiting schedules that fulfil a condition.
    package func schedules(
        of application: Key<Application>, limit: Int, where isMeant: (Schedule) -> Bool
    ) async throws -> [Schedule] {
        var (found, after): ([Schedule], Schedule?) = ([], nil)
        while found.count < limit {
            let page = try await schedules(of: application, after: after, limit: 50)
            found += page.filter(isMeant)
            guard page.count == 50 else { break }
            after = page.last
        }
        return Array(found.prefix(limit))
    }
}

extension SegmentPoint {
    fileprivate init(_ row: some SQLRow) {
        self.init(
            day: Instant(milliseconds: row.integer(0)),
            size: AudienceSize(devices: Int(row.integer(1)), margin: row.integerIfAny(2).map { Int($0) }))
    }
}

enum SegmentStatements {
    private static let columns = AudienceExpression.statements.columns

    /// Scans `segment_name`.
    static let list: SQLText = """
        SELECT \(columns) /* segments.list */ FROM segment
         WHERE application_id = $1
         ORDER BY name
         LIMIT $2
        """

    static let points: SQLText = """
        SELECT day_ms, devices, margin /* segments.points */ FROM segment_point
         WHERE segment_id = $1
         ORDER BY day_ms DESC
         LIMIT $2
        """

    static let uncounted: SQLText = """
        SELECT \(columns) /* segments.uncounted */ FROM segment
         WHERE NOT EXISTS (SELECT 1 FROM segment_point WHERE segment_id = segment.id AND day_ms = $1) AND id > $2
         ORDER BY id
         LIMIT $3
        """

    static let note: SQLText = """
        INSERT INTO segment_point /* segments.note */ (segment_id, day_ms, devices, margin)
        SELECT id, $2, $3, $4 FROM segment WHERE id = $1
            ON CONFLICT (segment_id, day_ms) DO NOTHING
        """

    static let forgetPoints: SQLText = """
        DELETE FROM segment_point /* segments.forget_points */ WHERE segment_id = $1 AND day_ms < $2
        """
}

/// Saved segments, their earlier versions and their daily sizes.
enum SegmentMigration: SchemaMigration {
    static let identifier = "0013 segments (additive)"
    static let tables = [
        StoreTable("segment", rows: .perRow("application", Segment.countMax), of: .application),
        StoreTable(
            "segment_version", rows: .perRow("segment", Segment.versionsMax), key: "segment_id, version",
            of: .row(of: "segment", by: "segment_id")),
        StoreTable(
            "segment_point", rows: .perRow("segment", 730), key: "segment_id, day_ms",
            of: .row(of: "segment", by: "segment_id")),
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- `expression` is an audience expression in JSON; see `AudienceExpression`.
                CREATE TABLE segment (
                    id \(.key),
                    application_id \(.bigint) NOT NULL REFERENCES application (id) ON DELETE CASCADE,
                    name text \(postgres: "COLLATE \"C\"") NOT NULL,
                    expression text NOT NULL,
                    version \(.bigint) NOT NULL CHECK (version > 0),
                    created_at_ms \(.bigint) NOT NULL,
                    updated_at_ms \(.bigint) NOT NULL
                ) \(.byID);
                CREATE UNIQUE INDEX segment_name ON segment (application_id, name);

                CREATE TABLE segment_version (
                    segment_id \(.bigint) NOT NULL REFERENCES segment (id) ON DELETE CASCADE,
                    version \(.bigint) NOT NULL,
                    expression text NOT NULL,
                    replaced_at_ms \(.bigint) NOT NULL,
                    PRIMARY KEY (segment_id, version)
                ) \(.byKey);

                -- The number of devices at some time of a day; `margin` where it was estimated.
                CREATE TABLE segment_point (
                    segment_id \(.bigint) NOT NULL REFERENCES segment (id) ON DELETE CASCADE,
                    day_ms \(.bigint) NOT NULL,
                    devices \(.bigint) NOT NULL,
                    margin \(.bigint),
                    PRIMARY KEY (segment_id, day_ms)
                ) \(.byKey);
                """)
    }
}
