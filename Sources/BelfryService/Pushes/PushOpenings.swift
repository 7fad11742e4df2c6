// Who opened a push, and when: by the language of their devices, and by the hour.

/// The devices of a push by the language that their apps reported, from some of its batches.
package struct LanguageCounts: Sendable {
    package struct Row: Sendable {
        /// nil for devices whose app reported none.
        let language: String?
        var devices = 0
        var accepted = 0
        var opened = 0

        /// `de-AT`, or words.
        var title: String { language ?? "not reported" }
    }

    /// The language of most devices first.
    let rows: [Row]
    /// The devices that were counted.
    let devices: Int

    /// The most batches that are read, which are spread over the push.
    fileprivate static let batchesMax = 40
    fileprivate static let devicesMax = batchesMax * Batch.devicesMax
    /// The most languages that are told apart.
    private static let rowsMax = 20

    fileprivate init(_ found: [String?: Row]) {
        devices = found.values.reduce(0) { $0 + $1.devices }
        let sorted = found.values.sorted { ($1.devices, $0.title) < ($0.devices, $1.title) }
        let rest = sorted.dropFirst(Self.rowsMax)
        guard !rest.isEmpty else {
            rows = sorted
            return
        }
        rows =
            sorted.prefix(Self.rowsMax) + [
                rest.reduce(into: Row(language: "other languages")) { sum, row in
                    sum.devices += row.devices
                    sum.accepted += row.accepted
                    sum.opened += row.opened
                }
            ]
    }
}

extension Store {
    /// Reads a bounded number of batches, however many the push has, the languages of their devices and who reported opening it.
    ///
    /// - Parameter devices: the devices of the push.
    package func languages(of push: Key<Push>, devices: Int) async throws -> LanguageCounts {
        let stride = max(1, (devices + LanguageCounts.devicesMax - 1) / LanguageCounts.devicesMax)
        return try await read { db in
            let batches = try db.prepared(OpeningStatements.batches).all(push, stride, LanguageCounts.batchesMax) {
                row in
                row.withBlob(1) { devices in
                    row.withBlob(2) {
                        AnswerSearch.Candidate(platform: Key(row.integer(0)), devices: devices, answers: $0)
                    }
                }
            }
            var found: [String?: LanguageCounts.Row] = [:]
            for case let batch? in batches {
                guard let first = batch.devices.first else { continue }
                var languages: [Int64: String] = [:]
                try db.prepared(OpeningStatements.languages).each(batch.platform, SQLKeys(batch.devices)) { row in
                    languages[row.integer(0)] = row.text(1).asLanguage
                }
                let opened = Set(
                    try db.prepared(ReportStatements.ofPush).all(
                        push, PushReport.opened.kind.rawValue, batch.platform,
                        DeviceBlock.number(of: first.rawValue), batch.devices.count, as: DeviceBlock.init
                    ).flatMap(\.devices))
                for (device, answer) in zip(batch.devices, batch.answers) {
                    let language = languages[device.rawValue]
                    var row = found[language] ?? LanguageCounts.Row(language: language)
                    row.devices += 1
                    if answer == .accepted { row.accepted += 1 }
                    if opened.contains(device.rawValue) { row.opened += 1 }
                    found[language] = row
                }
            }
            return LanguageCounts(found)
        }
    }

    /// How often a push was opened in each hour that has any, ascending.
    package func openings(of push: Key<Push>) async throws -> [(start: Instant, count: Int)] {
        try await readCommitted { db in
            try db.prepared(OpeningStatements.ofPush).all(push, OpeningStatements.hoursMax) { row in
                (Instant(bucket: row.integer(0), of: .hour), Int(row.integer(1)))
            }
        }
    }
}

enum OpeningStatements {
    /// The most hours that are shown.
    static let hoursMax = 24 * 90

    static let add: SQLText = """
        INSERT INTO push_opening /* openings.add */ (push_id, hour, event_count) VALUES ($1, $2, $3)
            ON CONFLICT (push_id, hour) DO UPDATE SET event_count = push_opening.event_count + excluded.event_count
        """

    /// Scans the primary key.
    static let ofPush: SQLText = """
        SELECT hour, event_count /* openings.of_push */ FROM push_opening WHERE push_id = $1 ORDER BY hour LIMIT $2
        """

    /// Scans `batch_device`, and reads the devices of each `$2`th batch.
    static let batches: SQLText = """
        SELECT platform_id, devices, answers /* openings.batches */ FROM batch WHERE push_id = $1 AND id % $2 = 0 LIMIT $3
        """

    /// Reads each by its primary key.
    static let languages: SQLText = """
        SELECT device_id, language /* openings.languages */ FROM device_detail
         WHERE platform_id = $1 AND device_id \(among: "$2") AND language IS NOT NULL
        """
}

/// How often pushes were opened, by the hour.
enum OpeningMigration: SchemaMigration {
    static let identifier = "0023 openings of pushes (additive)"
    static let tables = [StoreTable("push_opening", rows: .derived("push"), key: "push_id, hour", of: .push)]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- Goes with the push, as `push_count` does. `hour` counts from 1970 UTC.
                CREATE TABLE push_opening (
                    push_id \(.bigint) NOT NULL,
                    hour \(.bigint) NOT NULL,
                    event_count \(.bigint) NOT NULL CHECK (event_count > 0),
                    PRIMARY KEY (push_id, hour)
                ) \(.byKey);
                """)
    }
}

extension PushPages {
    static func byLanguage(_ details: PushDetails) -> Section? {
        let found = details.languages
        guard found.rows.contains(where: { $0.language != nil }) else { return nil }
        let part =
            found.devices < details.receipt.devices
            ? "Of \(found.devices.grouped) of the devices, spread over the push. " : ""
        return Section("By language", text: part + "Opened is a share of accepted.") {
            Table(
                "By language", ["Language", "#Devices", "#Accepted", "#Opened"],
                found.rows.map { row in
                    [
                        [.text(row.title)], [.number(row.devices)],
                        [.text("\(row.accepted.grouped) · \(row.accepted.share(of: row.devices))")],
                        [.text("\(row.opened.grouped) · \(row.opened.share(of: row.accepted))")],
                    ]
                }, empty: "")
        }
    }

    static func openings(_ details: PushDetails) -> Section? {
        let (step, counts) = details.openingColumns
        guard !counts.isEmpty else { return nil }
        return Section("Openings over time", text: "When apps reported that it was opened, from its acceptance.") {
            Chart(
                "Openings over time", series: ["opened"],
                counts.map { Chart.Column($0.start.minute, [$0.count]) }, drawsLines: step > 1)
        }
    }
}

extension PushPages.PushDetails {
    /// The openings in steps of equal hours, from the push's acceptance to the last opening, and how many hours a step has.
    var openingColumns: (hours: Int64, columns: [(start: Instant, count: Int)]) {
        guard let last = openings.last?.start.bucket(of: .hour) else { return (1, []) }
        let first = min(receipt.push.acceptedAt.bucket(of: .hour), openings[0].start.bucket(of: .hour))
        let step = (last - first) / Self.openingColumnsMax + 1
        var counts = [Int](repeating: 0, count: Int((last - first) / step) + 1)
        for opening in openings { counts[Int((opening.start.bucket(of: .hour) - first) / step)] += opening.count }
        return (
            step,
            counts.enumerated().map { (Instant(bucket: first + Int64($0) * step, of: .hour), $1) }
        )
    }

    private static let openingColumnsMax: Int64 = 48
}
